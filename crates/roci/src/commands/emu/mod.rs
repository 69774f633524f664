//! `roci emu`: kernels of code objects and whole programs, run on an emulated GPU.

mod arguments;
mod error;
mod exec;
mod install;
mod launch;
mod object;
mod run;
mod save;
mod trace;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use roci_codeobj::CodeObject;
use roci_emu::{Access, Allocation, Checks, Chip, Counts, Dispatch, DispatchError, Emulator, Kernel, Module};
use roci_hal::env;

use crate::cli::{EmuCommand, EmuKernelArgs, EmuRunArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::Printer;
use arguments::{Bound, Given};
pub(crate) use error::EmuError;

/// How often a running kernel is looked at: whether it is late, or somebody pressed Ctrl-C.
const LOOK: Duration = Duration::from_millis(10);

/// Arguments are given memory in blocks of this size: compilers load several at once, also behind the last.
const ARGUMENT_BLOCK: usize = 64;

/// Runs or traces a kernel, or runs a program.
pub(crate) fn run(command: &EmuCommand, printer: &Printer) -> Result<ExitStatus, CliError> {
    match command {
        EmuCommand::Exec(arguments) => exec::run(arguments, printer),
        EmuCommand::Run(arguments) => {
            interrupt::listen();
            run::run(arguments, printer)
        }
        EmuCommand::Trace(arguments) => {
            interrupt::listen();
            trace::run(arguments, printer)
        }
    }
}

/// A kernel that is ready to be launched.
struct Prepared {
    emulator: Emulator,
    kernel: Arc<Kernel>,
    dispatch: Dispatch,
    bound: Bound,
    /// Which code of the file it is.
    place: String,
    timeout: Duration,
    /// What the kernel reads besides its buffers.
    _module: Module,
    _memory: [Allocation; 3],
}

impl Prepared {
    /// Finds the kernel, checks its arguments and puts everything into memory.
    fn new(arguments: &EmuKernelArgs, threads: Option<usize>, printer: &Printer) -> Result<Self, CliError> {
        let chip: Chip = arguments.gpu.parse().map_err(|_| EmuError::UnknownGpu(arguments.gpu.clone()))?;
        let checks = checks(arguments)?;
        let timeout = match arguments.timeout {
            Some(timeout) => timeout,
            None => roci_hal::deadline::timeout_from_environment()?,
        };
        let given = arguments.args.iter().map(|text| Given::parse(text)).collect::<Result<Vec<_>, _>>()?;
        let mut emulator = Emulator::new(chip).with_checks(checks);
        if let Some(threads) = threads {
            emulator = emulator.with_threads(threads);
        }
        let prepared = object::with_object(&arguments.file, chip, |object, place| {
            prepare(arguments, &given, emulator, object, place, timeout)
        })?;
        let (grid, block) = (prepared.dispatch.grid, prepared.dispatch.block);
        if (0..3).any(|axis| grid[axis] < block[axis]) {
            printer.note(&format!(
                "note: the grid ({}) is less than a block ({}): `--grid` counts work-items, not blocks",
                list(grid),
                list(block)
            ));
        }
        Ok(prepared)
    }

    /// Launches it; stops it when it takes too long or Ctrl-C is pressed.
    fn launch(
        &self,
        start: impl FnOnce(&AtomicBool) -> Result<Counts, roci_emu::Error>,
    ) -> Result<(Counts, Duration), EmuError> {
        let (stop, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let begin = Instant::now();
        let (result, time) = std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    if interrupt::asked() || begin.elapsed() > self.timeout {
                        stop.store(true, Ordering::Relaxed);
                    }
                    std::thread::park_timeout(LOOK);
                }
            });
            let result = start(&stop);
            let time = begin.elapsed();
            ended.store(true, Ordering::Relaxed);
            watcher.thread().unpark();
            (result, time)
        });
        match result {
            Ok(counts) => Ok((counts, time)),
            Err(roci_emu::Error::Dispatch(DispatchError::Stopped)) if interrupt::asked() => Err(EmuError::Interrupted),
            Err(roci_emu::Error::Dispatch(DispatchError::Stopped)) if begin.elapsed() > self.timeout => {
                Err(EmuError::Timeout { seconds: self.timeout.as_secs_f64() })
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn prepare(
    arguments: &EmuKernelArgs,
    given: &[Given],
    emulator: Emulator,
    object: &CodeObject<'_>,
    place: String,
    timeout: Duration,
) -> Result<Prepared, EmuError> {
    let short = arguments.kernel.strip_suffix(".kd").unwrap_or(&arguments.kernel);
    let Some(described) = object.kernels().iter().find(|kernel| kernel.name == short) else {
        let known = object.kernels().iter().map(|kernel| kernel.name.escape_debug().to_string()).collect();
        return Err(EmuError::NoKernel { path: arguments.file.clone(), name: short.to_owned(), known });
    };
    let metadata = described.metadata.clone().unwrap_or_default();
    if let Some(wanted) = metadata.reqd_workgroup_size.filter(|wanted| *wanted != arguments.block) {
        return Err(EmuError::BlockSize { wanted: list(wanted), given: list(arguments.block) });
    }
    // The compiler may have left out barriers of larger blocks.
    let most = u64::from(metadata.max_flat_workgroup_size);
    let asked: u64 = arguments.block.iter().map(|size| u64::from(*size)).product();
    if most > 0 && asked > most {
        return Err(EmuError::BlockTooLarge { most, given: asked });
    }
    let module = emulator.load(object)?;
    let kernel = Arc::clone(module.kernel(short)?);
    let fixed = kernel.descriptor().group_segment_fixed_size;
    let size = usize::try_from(described.kernarg_size()).unwrap_or(0);
    let mut bound = Bound::new(given, &metadata.args, size, fixed, emulator.memory())?;
    let dynamic = bound.lds.max(arguments.lds);
    let memory = emulator.memory();
    let mut kernarg = arguments::allocate(size.next_multiple_of(ARGUMENT_BLOCK).max(1) as u64, Access::Read, memory)?;
    let mut packet = arguments::allocate(64, Access::Read, memory)?;
    let queue = arguments::allocate(4096, Access::Read, memory)?;
    let dispatch = Dispatch {
        grid: arguments.grid,
        block: arguments.block,
        kernarg: kernarg.address(),
        packet: packet.address(),
        queue: queue.address(),
        lds: fixed.saturating_add(dynamic),
        private: kernel.descriptor().private_segment_fixed_size,
        ..Dispatch::default()
    };
    launch::hidden(&metadata.args, &dispatch, dynamic, &mut bound.kernarg);
    kernarg.bytes_mut()[..size].copy_from_slice(&bound.kernarg);
    packet.bytes_mut().copy_from_slice(&launch::packet(&dispatch, kernel.descriptor_address()));
    Ok(Prepared {
        emulator,
        kernel,
        dispatch,
        bound,
        place,
        timeout,
        _module: module,
        _memory: [kernarg, packet, queue],
    })
}

/// The checks of `--check`, or of the environment.
fn checks(arguments: &EmuKernelArgs) -> Result<Checks, EmuError> {
    let text = arguments.check.clone().or_else(|| env::EMU_CHECK.get()).unwrap_or_default();
    Ok(text.parse()?)
}

/// A size as on the command line.
fn list(size: [u32; 3]) -> String {
    match size {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("{x},{y}"),
        [x, y, z] => format!("{x},{y},{z}"),
    }
}

/// The number of threads that a run uses.
fn threads(arguments: &EmuRunArgs) -> usize {
    arguments.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}
