//! `roci completions`: shell completions, generated from the definition of the command line.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::Printer;

/// Prints the completion script of a shell.
pub(crate) fn run(shell: Shell, printer: &Printer) -> Result<ExitStatus, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "roci", &mut script);
    printer.data(&String::from_utf8_lossy(&script))?;
    Ok(ExitStatus::Success)
}
