//! A kernel of a file, ready to be launched.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use roci_codeobj::CodeObject;
use roci_emu::{Access, Allocation, Checks, Chip, Counts, Dispatch, DispatchError, Emulator, Kernel, Module};

use super::arguments::{self, BoundArguments, KernelArgument, Output};
use super::error::Error;
use super::trace::{self, Trace, TraceOptions};
use super::{launch, object, output};

/// Reads a whole file.
pub(crate) type ReadFile<'a> = dyn Fn(&Path) -> io::Result<Vec<u8>> + 'a;

/// Interval at which the timeout and the interruption are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Argument memory is a multiple of this size in bytes, because compilers load several arguments at
/// once, also beyond the last.
const KERNARG_GRANULE: usize = 64;

/// A kernel and its launch parameters.
pub struct KernelOptions<'a> {
    /// The chip to emulate.
    pub chip: Chip,
    /// A code object, or a file that contains one.
    pub file: &'a Path,
    /// Name of the kernel, with or without `.kd`.
    pub kernel: &'a str,
    /// Work-items of the grid.
    pub grid: [u32; 3],
    /// Workgroup size in work-items.
    pub block: [u32; 3],
    /// Arguments in order, such as `in:x.npy` or `u32:5`.
    pub arguments: &'a [String],
    /// Dynamic LDS of a workgroup in bytes.
    pub lds: u32,
    /// Checks of the emulator, separated by commas.
    pub checks: &'a str,
    /// Time limit of the launch.
    pub timeout: Duration,
    /// Threads that run workgroups; `None` for all cores.
    pub threads: Option<usize>,
    /// Reads input files.
    pub read: &'a ReadFile<'a>,
}

impl std::fmt::Debug for KernelOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = f.debug_struct("KernelOptions");
        text.field("chip", &self.chip).field("file", &self.file).field("kernel", &self.kernel).finish_non_exhaustive()
    }
}

/// Parses the name of a chip.
pub fn parse_chip(name: &str) -> Result<Chip, Error> {
    name.parse().map_err(|_| Error::UnknownGpu(name.to_owned()))
}

/// A kernel that is ready to be launched.
pub struct PreparedKernel {
    pub(crate) emulator: Emulator,
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) dispatch: Dispatch,
    bound: BoundArguments,
    /// The target and the location of the code in the file.
    pub(crate) location: String,
    timeout: Duration,
    _module: Module,
    /// Kernel arguments, dispatch packet and queue.
    _memory: [Allocation; 3],
}

impl std::fmt::Debug for PreparedKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = f.debug_struct("PreparedKernel");
        text.field("kernel", &self.name()).field("location", &self.location).finish_non_exhaustive()
    }
}

impl PreparedKernel {
    /// Finds the kernel, checks its arguments and writes everything to memory.
    pub fn new(options: &KernelOptions<'_>) -> Result<Self, Error> {
        let checks: Checks = options.checks.parse()?;
        let arguments = options.arguments.iter().map(|text| KernelArgument::parse(text));
        let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
        let mut emulator = Emulator::new(options.chip).with_checks(checks);
        if let Some(threads) = options.threads {
            emulator = emulator.with_threads(threads);
        }
        object::with_object(options.file, options.chip, options.read, |object, location| {
            prepare(options, &arguments, emulator, object, location)
        })
    }

    /// Runs the kernel and writes its outputs. The time is that of the launch alone.
    pub fn run(&self, interrupted: &(dyn Fn() -> bool + Sync)) -> Result<(Counts, Duration), Error> {
        let counts = self.launch(interrupted, |stop| self.emulator.run(&self.kernel, &self.dispatch, stop))?;
        output::write_all(&self.bound)?;
        Ok(counts)
    }

    /// Runs the kernel, passes a line per selected instruction to `write`, and writes the outputs
    /// if the kernel completes.
    pub fn trace(
        &self,
        options: &TraceOptions<'_>,
        interrupted: &(dyn Fn() -> bool + Sync),
        write: &(dyn Fn(&str) -> io::Result<()> + Sync),
    ) -> Result<Trace, Error> {
        let tracer = trace::Tracer::new(options, write);
        let launched =
            self.launch(interrupted, |stop| self.emulator.trace(&self.kernel, &self.dispatch, stop, &tracer));
        let trace = tracer.finish()?;
        match launched {
            Ok(_) => output::write_all(&self.bound).map(|()| trace),
            Err(Error::Emulator(roci_emu::Error::Dispatch(DispatchError::Stopped))) if !trace.is_complete => Ok(trace),
            Err(error) => Err(error),
        }
    }

    /// Launches the kernel; stops it after the timeout or when `interrupted` returns true.
    fn launch(
        &self,
        interrupted: &(dyn Fn() -> bool + Sync),
        start: impl FnOnce(&AtomicBool) -> Result<Counts, roci_emu::Error>,
    ) -> Result<(Counts, Duration), Error> {
        let (stop, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let begin = Instant::now();
        let (result, time) = std::thread::scope(|scope| {
            let watchdog = scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    if interrupted() || begin.elapsed() > self.timeout {
                        stop.store(true, Ordering::Relaxed);
                    }
                    std::thread::park_timeout(POLL_INTERVAL);
                }
            });
            let result = start(&stop);
            let time = begin.elapsed();
            ended.store(true, Ordering::Relaxed);
            watchdog.thread().unpark();
            (result, time)
        });
        match result {
            Ok(counts) => Ok((counts, time)),
            Err(roci_emu::Error::Dispatch(DispatchError::Stopped)) if interrupted() => Err(Error::Interrupted),
            Err(roci_emu::Error::Dispatch(DispatchError::Stopped)) if begin.elapsed() > self.timeout => {
                Err(Error::Timeout { seconds: self.timeout.as_secs_f64() })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The emulated chip.
    pub fn chip(&self) -> Chip {
        self.emulator.chip()
    }

    /// Mangled name, as in the code object.
    pub fn name(&self) -> &str {
        self.kernel.name()
    }

    /// The target and the location of the code in the file, as text.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// Work-items of the grid.
    pub fn grid(&self) -> [u32; 3] {
        self.dispatch.grid
    }

    /// Workgroup size in work-items.
    pub fn block(&self) -> [u32; 3] {
        self.dispatch.block
    }

    /// Number of workgroups.
    pub fn workgroups(&self) -> u64 {
        let (grid, block) = (self.grid(), self.block());
        (0..3).map(|axis| u64::from(grid[axis].div_ceil(block[axis].max(1)))).product()
    }

    /// The output arrays.
    pub fn outputs(&self) -> &[Output] {
        &self.bound.outputs
    }

    /// A warning if the grid is smaller than a workgroup: it was probably given in workgroups.
    pub fn note(&self) -> Option<String> {
        let (grid, block) = (self.grid(), self.block());
        (0..3).any(|axis| grid[axis] < block[axis]).then(|| {
            format!(
                "note: the grid ({}) is smaller than a workgroup ({}): `--grid` counts work-items, not workgroups",
                format_size(grid),
                format_size(block)
            )
        })
    }
}

fn prepare(
    options: &KernelOptions<'_>,
    arguments: &[KernelArgument],
    emulator: Emulator,
    object: &CodeObject<'_>,
    location: String,
) -> Result<PreparedKernel, Error> {
    let name = options.kernel.strip_suffix(".kd").unwrap_or(options.kernel);
    let Some(described) = object.kernels().iter().find(|kernel| kernel.name == name) else {
        let known = object.kernels().iter().map(|kernel| kernel.name.escape_debug().to_string()).collect();
        return Err(Error::NoKernel { path: options.file.into(), name: name.to_owned(), known });
    };
    let metadata = described.metadata.clone().unwrap_or_default();
    if let Some(required) = metadata.reqd_workgroup_size.filter(|required| *required != options.block) {
        return Err(Error::WorkgroupSize { required: format_size(required), given: format_size(options.block) });
    }
    // The compiler may have removed barriers that only larger workgroups need.
    let max = u64::from(metadata.max_flat_workgroup_size);
    let block_threads: u64 = options.block.iter().map(|size| u64::from(*size)).product();
    if max > 0 && block_threads > max {
        return Err(Error::WorkgroupTooLarge { max, given: block_threads });
    }
    let module = emulator.load(object)?;
    let kernel = Arc::clone(module.kernel(name)?);
    let fixed_lds = kernel.descriptor().group_segment_fixed_size;
    let size = usize::try_from(described.kernarg_size()).unwrap_or(0);
    let memory = emulator.memory();
    let mut bound = BoundArguments::new(arguments, &metadata.args, size, fixed_lds, memory, options.read)?;
    let dynamic_lds = bound.lds.max(options.lds);
    let mut kernarg = arguments::allocate(size.next_multiple_of(KERNARG_GRANULE).max(1) as u64, Access::Read, memory)?;
    let mut packet = arguments::allocate(64, Access::Read, memory)?;
    let queue = arguments::allocate(4096, Access::Read, memory)?;
    let dispatch = Dispatch {
        grid: options.grid,
        block: options.block,
        kernarg: kernarg.address(),
        packet: packet.address(),
        queue: queue.address(),
        lds: fixed_lds.saturating_add(dynamic_lds),
        private: kernel.descriptor().private_segment_fixed_size,
        ..Dispatch::default()
    };
    launch::hidden(&metadata.args, &dispatch, dynamic_lds, &mut bound.kernarg);
    kernarg.bytes_mut()[..size].copy_from_slice(&bound.kernarg);
    packet.bytes_mut().copy_from_slice(&launch::packet(&dispatch, kernel.descriptor_address()));
    Ok(PreparedKernel {
        emulator,
        kernel,
        dispatch,
        bound,
        location,
        timeout: options.timeout,
        _module: module,
        _memory: [kernarg, packet, queue],
    })
}

/// A size in the format of the command line: `X`, `X,Y` or `X,Y,Z`.
pub fn format_size(size: [u32; 3]) -> String {
    match size {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("{x},{y}"),
        [x, y, z] => format!("{x},{y},{z}"),
    }
}
