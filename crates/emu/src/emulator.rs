//! The emulated GPU: loads code objects, runs kernels.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use roci_codeobj::{CodeObject, KernelDescriptor, LoadError, Mismatch, TargetId};
use roci_isa::{Chip, Family, WaveSize};

use crate::check::Checks;
use crate::counts::Counts;
use crate::dispatch::{DispatchError, Grid};
use crate::grid_sync::GridSync;
use crate::lanes::Level;
use crate::launch::{Clock, Launch};
use crate::memory::{Access, Allocation, Memory};
use crate::observe::{Observer, Watch};
use crate::pool::Pool;
use crate::program::{Code, Program, Target};

/// LDS that a workgroup can have.
pub const MAX_LDS: u32 = 64 << 10;
/// Work-items that a workgroup can have.
pub const MAX_WORKGROUP: u32 = 1024;
/// Private memory that a wave can have: the largest number its register holds, in units of a kibibyte or 256 bytes.
fn max_scratch(chip: Chip) -> u64 {
    match chip.family() {
        Family::Gfx10 => 0x1fff << 10,
        Family::Gfx11 => 0x7fff << 8,
    }
}
/// Private memory added for kernels whose stack has no fixed size.
const DYNAMIC_STACK: u32 = 16 << 10;

/// What keeps a code object from being loaded, or a kernel from being launched.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The code object is for another chip.
    #[error("the code object is for {code}, the emulated GPU is a {chip}: {why}")]
    WrongChip {
        /// What the code is for.
        code: TargetId,
        /// What is emulated.
        chip: Chip,
        /// Why it does not run.
        why: Mismatch,
    },
    /// The code object cannot be laid out in memory.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// There is no such kernel.
    #[error("the code object has no kernel {name:?}; it has {}", list(.known))]
    NoKernel {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The launch asks for what the chip cannot do.
    #[error("{0}")]
    Launch(String),
    /// The kernel did not end well.
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// An emulated GPU.
#[derive(Debug)]
pub struct Emulator {
    chip: Chip,
    memory: Arc<Memory>,
    threads: usize,
    checks: Checks,
    clock: Clock,
    pool: Pool,
    grid_sync: Arc<GridSync>,
}

impl Emulator {
    /// An emulated chip that runs on all cores.
    pub fn new(chip: Chip) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            chip,
            memory: Arc::new(Memory::new()),
            threads,
            checks: Checks::default(),
            clock: Clock::Since(Instant::now()),
            pool: Pool::default(),
            grid_sync: Arc::default(),
        }
    }

    /// The same with another clock than one that begins now: it gives ticks of 100 MHz.
    pub fn with_clock(self, clock: fn() -> u64) -> Self {
        Self { clock: Clock::Given(clock), ..self }
    }

    /// The same on so many threads; one makes every run the same.
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads: threads.max(1), ..self }
    }

    /// The same with checks that the hardware does not make. Runs are some ten times slower, and what a check finds is a
    /// [`Fault::Check`](crate::Fault::Check).
    pub fn with_checks(self, checks: Checks) -> Self {
        Self { checks, ..self }
    }

    /// The chip.
    pub fn chip(&self) -> Chip {
        self.chip
    }

    /// The memory that kernels can reach.
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Loads a code object.
    pub fn load(&self, object: &CodeObject<'_>) -> Result<Module, Error> {
        self.load_with(object, |_| None)
    }

    /// The same, with `resolve` giving the addresses of symbols that are defined elsewhere.
    pub fn load_with(
        &self,
        object: &CodeObject<'_>,
        resolve: impl FnMut(&str) -> Option<u64>,
    ) -> Result<Module, Error> {
        let device: TargetId = self.chip.name().parse().map_err(|error| Error::Launch(format!("{error}")))?;
        object.runs_on(&device).map_err(|why| Error::WrongChip { code: object.target(), chip: self.chip, why })?;
        let size = object.image_size();
        let image = usize::try_from(size).ok().and_then(|size| self.memory.try_allocate_parts(size));
        let mut image = image.ok_or_else(|| Error::Launch(format!("the host has no {size} bytes for the code")))?;
        let base = image.address();
        let bytes = object.load_image_with(base, resolve)?;
        image.bytes_mut()[..bytes.len()].copy_from_slice(&bytes);
        for segment in object.segments() {
            let part = segment.address as usize..(segment.address + segment.size) as usize;
            // Code was decoded when it was loaded: a kernel that changes it is told so rather than left with the old one.
            image.open(part, if segment.writable { Access::ReadWrite } else { Access::Read });
        }
        let executable = |address: u64| {
            object.segments().iter().find(|segment| {
                segment.executable && (segment.address..segment.address + segment.size).contains(&address)
            })
        };
        let mut codes: HashMap<u64, Arc<Code>> = HashMap::new();
        let mut kernels = Vec::new();
        for kernel in object.kernels() {
            let Some(segment) = executable(kernel.entry) else { continue };
            let code = codes.entry(segment.address).or_insert_with(|| {
                let range = segment.address as usize..(segment.address + segment.size) as usize;
                Arc::new(Code { base: base + segment.address, bytes: bytes[range].into() })
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

    /// Decodes a kernel ahead of its first run.
    pub fn prepare(&self, kernel: &Kernel) {
        kernel.program(self.chip, false);
    }

    /// Runs a kernel to its end, or until `stop` is set.
    pub fn run(&self, kernel: &Kernel, dispatch: &Dispatch, stop: &AtomicBool) -> Result<Counts, Error> {
        self.dispatch(kernel, dispatch, stop, None)
    }

    /// Runs a kernel on one thread and shows instructions to an observer.
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
        let watch = Watch::new(self.checks, observer, kernel.entry);
        let launch = self.launch(kernel, dispatch)?;
        if dispatch.grid.contains(&0) {
            return Ok(Counts::default());
        }
        let program = kernel.program(self.chip, watch.is_some());
        let grid = Grid {
            target: *program.target(),
            launch: &launch,
            code: &kernel.code,
            entry: kernel.entry,
            kernel: &kernel.name,
            memory: &self.memory,
            stop,
            threads,
            pool: &self.pool,
            watch: watch.as_ref(),
        };
        Ok(grid.run(program)?)
    }

    fn launch(&self, kernel: &Kernel, dispatch: &Dispatch) -> Result<Launch, Error> {
        let descriptor = kernel.descriptor;
        let threads: u64 = dispatch.block.iter().map(|&size| u64::from(size)).product();
        if threads == 0 || threads > u64::from(MAX_WORKGROUP) {
            return Err(Error::Launch(format!(
                "a workgroup of {} work-items cannot be launched: 1 to {MAX_WORKGROUP} are possible",
                threads
            )));
        }
        let lds = descriptor.group_segment_fixed_size.max(dispatch.lds);
        if lds > MAX_LDS {
            return Err(Error::Launch(format!("{lds} bytes of LDS do not fit: a workgroup can have {MAX_LDS}")));
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
        let most = max_scratch(self.chip);
        if launch.scratch_per_wave() > most {
            return Err(Error::Launch(format!(
                "{private} bytes of private memory a work-item do not fit: a wave can have {most}, its {} work-items {} each",
                launch.lanes(),
                most / u64::from(launch.lanes())
            )));
        }
        Ok(launch)
    }
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dispatch {
    /// Work-items in each dimension.
    pub grid: [u32; 3],
    /// Work-items of a group in each dimension.
    pub block: [u32; 3],
    /// The address of the arguments.
    pub kernarg: u64,
    /// The address of the dispatch packet, should the kernel ask for it.
    pub packet: u64,
    /// The address of the queue, should the kernel ask for it.
    pub queue: u64,
    /// The number of the dispatch.
    pub id: u64,
    /// LDS of a group, with that of the kernel itself.
    pub lds: u32,
    /// Private memory of a lane, at least.
    pub private: u32,
    /// Whether groups may wait for each other: all of them are under way at once, however many they are.
    pub cooperative: bool,
}

/// A loaded code object.
#[derive(Debug)]
pub struct Module {
    image: Allocation,
    kernels: Vec<Arc<Kernel>>,
}

impl Module {
    /// Where it is loaded.
    pub fn address(&self) -> u64 {
        self.image.address()
    }

    /// Its kernels.
    pub fn kernels(&self) -> &[Arc<Kernel>] {
        &self.kernels
    }

    /// A kernel by its name.
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
    code: Arc<Code>,
    /// As it runs fastest, and with every instruction kept.
    programs: Mutex<[Option<Arc<Program>>; 2]>,
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernel").field("name", &self.name).field("entry", &self.entry).finish_non_exhaustive()
    }
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its descriptor.
    pub fn descriptor(&self) -> &KernelDescriptor {
        &self.descriptor
    }

    /// Where its descriptor is: the `kernel_object` of a dispatch packet.
    pub fn descriptor_address(&self) -> u64 {
        self.descriptor_address
    }

    fn wave_size(&self) -> WaveSize {
        if self.descriptor.wave_size() == 64 { WaveSize::Wave64 } else { WaveSize::Wave32 }
    }

    /// Its code, decoded once.
    fn program(&self, chip: Chip, keep_all: bool) -> Arc<Program> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let made = programs[usize::from(keep_all)].get_or_insert_with(|| {
            let wave = self.wave_size();
            let granule = if wave == WaveSize::Wave64 { 4 } else { 8 };
            let registers = ((self.descriptor.rsrc1 & 63) + 1) * granule;
            let target = Target { chip, wave, registers: registers.min(256) as u16, keep_all };
            Arc::new(Program::new(&self.code, target, Level::best(), &[self.entry]))
        });
        Arc::clone(made)
    }
}
