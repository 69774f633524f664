//! `roci emu`: runs kernels of code objects and whole programs on an emulated GPU.
//! [`roci_emu_run`] prepares and launches them.

mod error;
mod exec;
mod run;
mod trace;

use roci_base::env;
use roci_emu_run::{KernelOptions, PreparedKernel, parse_chip};

use crate::cli::{EmuCommand, EmuKernelArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::input;
use crate::interrupt;
use crate::printer::Printer;
pub(crate) use error::EmuError;

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

/// Finds the kernel and binds its arguments.
fn prepare(arguments: &EmuKernelArgs, threads: usize, printer: &Printer) -> Result<PreparedKernel, CliError> {
    let chip = parse_chip(&arguments.gpu)?;
    let checks = arguments.check.clone().or_else(|| env::EMU_CHECK.get()).unwrap_or_default();
    let timeout = match arguments.timeout {
        Some(timeout) => timeout,
        None => roci_hal::deadline::timeout_from_environment()?,
    };
    let kernel = PreparedKernel::new(&KernelOptions {
        chip,
        file: &arguments.file,
        kernel: &arguments.kernel,
        grid: arguments.grid,
        block: arguments.block,
        arguments: &arguments.args,
        lds: arguments.lds,
        checks: &checks,
        timeout,
        threads: Some(threads),
        read: &input::read,
    })?;
    kernel.note().iter().for_each(|note| printer.note(note));
    Ok(kernel)
}
