//! The verbs, one file each.

mod completions;
mod demo;
mod devices;
mod env;
mod man;

use crate::cli::Command;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::Printer;

/// Runs one verb.
pub(crate) fn run(command: Command, printer: &Printer) -> Result<ExitStatus, CliError> {
    match command {
        Command::Demo(arguments) => demo::run(&arguments, printer),
        Command::Devices(arguments) => devices::run(&arguments, printer),
        Command::Env(arguments) => env::run(&arguments, printer),
        Command::Completions { shell } => completions::run(shell, printer),
        Command::Man { folder } => man::run(folder.as_deref(), printer),
    }
}
