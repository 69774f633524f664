//! `roci emu exec`: runs an unmodified program on emulated GPUs.

use std::os::unix::process::CommandExt;
use std::process::Command;

use roci_emu::{Checks, Chip};
use roci_emu_run::{EnvironmentOptions, Error, environment_changes, install, parse_chip, shell_commands};

use super::EmuError;
use crate::cli::EmuExecArgs;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::Printer;

/// Replaces this process with the program, or prints the environment.
pub(super) fn run(arguments: &EmuExecArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let chips: Vec<Chip> = arguments.gpu.split(',').map(|name| parse_chip(name.trim())).collect::<Result<_, _>>()?;
    if let Some(checks) = &arguments.check {
        checks.parse::<Checks>().map_err(Error::from)?;
    }
    let options = EnvironmentOptions {
        chips: &chips,
        memory: arguments.memory,
        check: arguments.check.as_deref(),
        threads: arguments.threads,
        keep_overrides: arguments.keep_env,
    };
    let changes = environment_changes(&options, &install()?);
    if arguments.print {
        printer.data(&shell_commands(&changes))?;
        return Ok(ExitStatus::Success);
    }
    let Some((program, rest)) = arguments.program.split_first() else { return Ok(ExitStatus::Success) };
    for removed in changes.iter().filter(|change| change.value.is_none()) {
        printer.note(&format!(
            "note: {} is unset for the program, because it would hide the emulated chip (`--keep-env` keeps it)",
            removed.name
        ));
    }
    let names: Vec<_> = chips.iter().map(ToString::to_string).collect();
    printer.note(&format!("note: `{}` runs on emulated GPUs: {}", program.display(), names.join(", ")));
    let mut command = Command::new(program);
    command.args(rest);
    for change in changes {
        match change.value {
            Some(value) => command.env(&*change.name, value),
            None => command.env_remove(&*change.name),
        };
    }
    let source = command.exec();
    Err(EmuError::NotStarted { program: program.to_string_lossy().into_owned(), source }.into())
}
