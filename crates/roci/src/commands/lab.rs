//! `roci lab`: runs the lab's own command line and maps its result to an exit code.

use roci_lab::cli::{CommandOutcome, Io, LabArgs};
use roci_lab::progress_display::TerminalSize;

use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::Printer;

/// Runs a verb of the lab.
pub(super) fn run(arguments: &LabArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    if arguments.is_long() {
        interrupt::listen();
    }
    let (mut out, mut err) = printer.streams();
    let mut io = Io {
        out: &mut out,
        err: &mut err,
        screen: printer.draws_progress().then(TerminalSize::of_standard_error).flatten(),
        quiet: printer.is_quiet(),
        stop: &interrupt::requested,
    };
    Ok(match roci_lab::cli::main(arguments, &mut io)? {
        CommandOutcome::Fine => ExitStatus::Success,
        CommandOutcome::Problems => ExitStatus::Problems,
        CommandOutcome::Interrupted => ExitStatus::Interrupted,
    })
}
