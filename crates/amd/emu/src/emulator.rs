//! The emulated GPU: loads code objects and runs kernels.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use roci_codeobj::{CodeObject, KernelDescriptor, LoadError, Mismatch, TargetId};
use roci_isa::{Chip, Family, WaveSize};

use crate::check::Checks;
use crate::counts::Counts;
use crate::dispatch::{DispatchError, PreparedDispatch};
use crate::grid_sync::GridSync;
use crate::lanes::Level;
use crate::launch::{ClockSource, Launch};
use crate::memory::{Access, Allocation, Memory};
use crate::observe::{DispatchMonitor, Observer};
use crate::pool::ThreadPool;
use crate::program::{DecodeOptions, DecodedProgram, LoadedCode};

/// Maximum LDS of a workgroup, in bytes.
pub const MAX_LDS: u32 = 64 << 10;
/// Maximum number of work-items in a workgroup.
pub const MAX_WORKGROUP: u32 = 1024;
/// Maximum scratch memory of a wave in bytes: the largest value of the `WAVESIZE` field, in units
/// of 1 KiB or 256 bytes.
fn max_scratch(chip: Chip) -> u64 {
    match chip.family() {
        Family::Gfx10 => 0x1fff << 10,
        Family::Gfx11 => 0x7fff << 8,
    }
}
/// Scratch memory added for kernels with a dynamic stack, in bytes per work-item.
const DYNAMIC_STACK: u32 = 16 << 10;

/// Why a code object cannot be loaded, or why a kernel cannot be launched or has failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The code object is for another chip.
    #[error("the code object is for {code}, but the emulated GPU is {chip}: {why}")]
    WrongChip {
        /// Target of the code object.
        code: TargetId,
        /// The emulated chip.
        chip: Chip,
        /// Why the two are incompatible.
        why: Mismatch,
    },
    /// The code object cannot be laid out in memory.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The code object has no kernel of this name.
    #[error("the code object has no kernel {name:?}; it has {}", list(.known))]
    NoKernel {
        /// The requested name.
        name: String,
        /// Names of the kernels that it has.
        known: Vec<String>,
    },
    /// The launch exceeds a limit of the chip.
    #[error("{0}")]
    Launch(String),
    /// The dispatch failed.
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// An emulated GPU. Runs workgroups on all cores unless [`with_threads`](Self::with_threads) limits
/// it.
#[derive(Debug)]
pub struct Emulator {
    chip: Chip,
    memory: Arc<Memory>,
    threads: usize,
    checks: Checks,
    clock: ClockSource,
    pool: ThreadPool,
    grid_sync: Arc<GridSync>,
}

impl Emulator {
    /// Emulates `chip` on all cores.
    pub fn new(chip: Chip) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            chip,
            memory: Arc::new(Memory::new()),
            threads,
            checks: Checks::default(),
            clock: ClockSource::Since(Instant::now()),
            pool: ThreadPool::default(),
            grid_sync: Arc::default(),
        }
    }

    /// Replaces the clock that kernels read. `clock` returns ticks of 100 MHz; the default counts
    /// from the creation of the emulator.
    pub fn with_clock(self, clock: fn() -> u64) -> Self {
        Self { clock: ClockSource::Given(clock), ..self }
    }

    /// Sets the number of threads. With one thread, runs are deterministic.
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads: threads.max(1), ..self }
    }

    /// Enables checks that the hardware does not make. They slow execution down by a factor of
    /// about ten. A finding is a [`Fault::Check`](crate::Fault::Check).
    pub fn with_checks(self, checks: Checks) -> Self {
        Self { checks, ..self }
    }

    /// The emulated chip.
    pub fn chip(&self) -> Chip {
        self.chip
    }

    /// The memory that kernels can access.
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Copies a code object into the GPU's memory. It may not use symbols that are defined
    /// elsewhere.
    pub fn load(&self, object: &CodeObject<'_>) -> Result<Module, Error> {
        self.load_with(object, |_| None)
    }

    /// Like [`load`](Self::load); `resolve` returns the addresses of symbols defined elsewhere.
    pub fn load_with(
        &self,
        object: &CodeObject<'_>,
        resolve: impl FnMut(&str) -> Option<u64>,
    ) -> Result<Module, Error> {
        let device: TargetId = self.chip.name().parse().map_err(|error| Error::Launch(format!("{error}")))?;
        object.runs_on(&device).map_err(|why| Error::WrongChip { code: object.target(), chip: self.chip, why })?;
        let size = object.image_size();
        let image = usize::try_from(size).ok().and_then(|size| self.memory.try_allocate_parts(size));
        let mut image = image.ok_or_else(|| Error::Launch(format!("cannot allocate {size} bytes for the code")))?;
        let base = image.address();
        let bytes = object.load_image_with(base, resolve)?;
        image.bytes_mut()[..bytes.len()].copy_from_slice(&bytes);
        for segment in object.segments() {
            let part = segment.address as usize..(segment.address + segment.size) as usize;
            // Code is decoded on load. A kernel that writes to it faults rather than keep
            // running the old code.
            image.open(part, if segment.writable { Access::ReadWrite } else { Access::Read });
        }
        let executable = |address: u64| {
            object.segments().iter().find(|segment| {
                segment.executable && (segment.address..segment.address + segment.size).contains(&address)
            })
        };
        let mut codes: HashMap<u64, Arc<LoadedCode>> = HashMap::new();
        let mut kernels = Vec::new();
        for kernel in object.kernels() {
            let Some(segment) = executable(kernel.entry) else { continue };
            let code = codes.entry(segment.address).or_insert_with(|| {
                let range = segment.address as usize..(segment.address + segment.size) as usize;
                Arc::new(LoadedCode { base: base + segment.address, bytes: bytes[range].into() })
            });
            kernels.push(Arc::new(Kernel {
                name: kernel.name.clone(),
                descriptor: kernel.descriptor,
                descriptor_address: base + kernel.descriptor_address,
                entry: base + kernel.entry,
                code: Arc::clone(code),
                programs: Mutex::new([None, None]),
            }));
        }
        Ok(Module { image, kernels })
    }

    /// Decodes a kernel before its first run.
    pub fn prepare(&self, kernel: &Kernel) {
        kernel.program(self.chip, false);
    }

    /// Runs a kernel until it ends or `stop` is set.
    pub fn run(&self, kernel: &Kernel, dispatch: &Dispatch, stop: &AtomicBool) -> Result<Counts, Error> {
        self.dispatch(kernel, dispatch, stop, None)
    }

    /// Runs a kernel on one thread and reports instructions to an observer.
    pub fn trace(
        &self,
        kernel: &Kernel,
        dispatch: &Dispatch,
        stop: &AtomicBool,
        observer: &dyn Observer,
    ) -> Result<Counts, Error> {
        self.dispatch(kernel, dispatch, stop, Some(observer))
    }

    fn dispatch(
        &self,
        kernel: &Kernel,
        dispatch: &Dispatch,
        stop: &AtomicBool,
        observer: Option<&dyn Observer>,
    ) -> Result<Counts, Error> {
        let threads = if observer.is_some() { 1 } else { self.threads };
        let monitor = DispatchMonitor::new(self.checks, observer, kernel.entry);
        let launch = self.launch(kernel, dispatch)?;
        if dispatch.grid.contains(&0) {
            return Ok(Counts::default());
        }
        let program = kernel.program(self.chip, monitor.is_some());
        let grid = PreparedDispatch {
            target: *program.target(),
            launch: &launch,
            code: &kernel.code,
            entry: kernel.entry,
            kernel: &kernel.name,
            memory: &self.memory,
            stop,
            threads,
            pool: &self.pool,
            monitor: monitor.as_ref(),
        };
        Ok(grid.run(program)?)
    }

    fn launch(&self, kernel: &Kernel, dispatch: &Dispatch) -> Result<Launch, Error> {
        let descriptor = kernel.descriptor;
        let threads: u64 = dispatch.block.iter().map(|&size| u64::from(size)).product();
        if threads == 0 || threads > u64::from(MAX_WORKGROUP) {
            return Err(Error::Launch(format!(
                "invalid workgroup size of {} work-items: a workgroup has 1 to {MAX_WORKGROUP}",
                threads
            )));
        }
        let lds = descriptor.group_segment_fixed_size.max(dispatch.lds);
        if lds > MAX_LDS {
            return Err(Error::Launch(format!("{lds} bytes of LDS exceed the limit of {MAX_LDS} bytes per workgroup")));
        }
        let mut private = descriptor.private_segment_fixed_size.max(dispatch.private);
        if descriptor.uses_dynamic_stack() {
            private = private.saturating_add(DYNAMIC_STACK);
        }
        let launch = Launch {
            chip: self.chip,
            wave_size: kernel.wave_size(),
            descriptor,
            grid: dispatch.grid,
            block: dispatch.block,
            kernarg: dispatch.kernarg,
            packet: dispatch.packet,
            queue: dispatch.queue,
            id: dispatch.id,
            lds,
            private,
            clock: self.clock,
            cooperative: dispatch.cooperative,
            grid_sync: Arc::clone(&self.grid_sync),
        };
        let limit = max_scratch(self.chip);
        if launch.scratch_per_wave() > limit {
            return Err(Error::Launch(format!(
                "{private} bytes of private memory per work-item exceed the limit of {limit} bytes per wave: with {} work-items, that is {} bytes each",
                launch.lanes(),
                limit / u64::from(launch.lanes())
            )));
        }
        Ok(launch)
    }
}

/// Launch parameters of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dispatch {
    /// Grid size in work-items.
    pub grid: [u32; 3],
    /// Workgroup size in work-items.
    pub block: [u32; 3],
    /// Address of the kernarg segment.
    pub kernarg: u64,
    /// Address of the dispatch packet, if the kernel uses it.
    pub packet: u64,
    /// Address of the queue, if the kernel uses it.
    pub queue: u64,
    /// ID of the dispatch packet, for kernels that read it (`dispatch_id`).
    pub id: u64,
    /// LDS of a workgroup in bytes, static and dynamic.
    pub lds: u32,
    /// Minimum scratch memory of a work-item, in bytes.
    pub private: u32,
    /// Cooperative launch: all workgroups are resident at once, however many there are, and may
    /// wait for each other.
    pub cooperative: bool,
}

/// A loaded code object.
#[derive(Debug)]
pub struct Module {
    image: Allocation,
    kernels: Vec<Arc<Kernel>>,
}

impl Module {
    /// Load address.
    pub fn address(&self) -> u64 {
        self.image.address()
    }

    /// The kernels of the code object.
    pub fn kernels(&self) -> &[Arc<Kernel>] {
        &self.kernels
    }

    /// Finds a kernel by name.
    pub fn kernel(&self, name: &str) -> Result<&Arc<Kernel>, Error> {
        let short = name.strip_suffix(".kd").unwrap_or(name);
        self.kernels.iter().find(|kernel| kernel.name == short).ok_or_else(|| Error::NoKernel {
            name: name.to_owned(),
            known: self.kernels.iter().map(|kernel| kernel.name.clone()).collect(),
        })
    }
}

/// A kernel of a loaded code object.
pub struct Kernel {
    name: String,
    descriptor: KernelDescriptor,
    descriptor_address: u64,
    entry: u64,
    code: Arc<LoadedCode>,
    /// The fast program, and the one that keeps every instruction.
    programs: Mutex<[Option<Arc<DecodedProgram>>; 2]>,
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernel").field("name", &self.name).field("entry", &self.entry).finish_non_exhaustive()
    }
}

impl Kernel {
    /// Mangled name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Descriptor of the kernel: registers, scratch and LDS that each wave gets.
    pub fn descriptor(&self) -> &KernelDescriptor {
        &self.descriptor
    }

    /// Address of the kernel descriptor: `kernel_object` of a dispatch packet.
    pub fn descriptor_address(&self) -> u64 {
        self.descriptor_address
    }

    fn wave_size(&self) -> WaveSize {
        if self.descriptor.wave_size() == 64 { WaveSize::Wave64 } else { WaveSize::Wave32 }
    }

    /// The decoded program; decoded on first use.
    fn program(&self, chip: Chip, keep_all: bool) -> Arc<DecodedProgram> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let program = programs[usize::from(keep_all)].get_or_insert_with(|| {
            let wave = self.wave_size();
            let granule = if wave == WaveSize::Wave64 { 4 } else { 8 };
            let registers = ((self.descriptor.rsrc1 & 63) + 1) * granule;
            let target = DecodeOptions { chip, wave, registers: registers.min(256) as u16, keep_all };
            Arc::new(DecodedProgram::new(&self.code, target, Level::best(), &[self.entry]))
        });
        Arc::clone(program)
    }
}
