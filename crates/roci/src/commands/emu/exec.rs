//! `roci emu exec`: runs somebody else's program on emulated GPUs.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use roci_emu::{Checks, Chip};
use roci_hal::env::{self, Variable};

use super::EmuError;
use super::install::{self, Installed};
use crate::cli::EmuExecArgs;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::Printer;

/// What becomes of a variable of the environment.
struct Change {
    name: Cow<'static, str>,
    /// Its value; it is removed if there is none.
    value: Option<OsString>,
}

/// Runs the program in place of this process, or prints the environment for it.
pub(super) fn run(arguments: &EmuExecArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let chips = arguments.gpu.split(',').map(|name| {
        let name = name.trim();
        name.parse().map_err(|_| EmuError::UnknownGpu(name.to_owned()))
    });
    let chips: Vec<Chip> = chips.collect::<Result<_, _>>()?;
    if let Some(checks) = &arguments.check {
        checks.parse::<Checks>().map_err(EmuError::from)?;
    }
    let installed = install::install()?;
    let changes = changes(arguments, &chips, &installed);
    if arguments.print {
        printer.data(&shell(&changes))?;
        return Ok(ExitStatus::Success);
    }
    let Some((program, rest)) = arguments.program.split_first() else { return Ok(ExitStatus::Success) };
    for taken in changes.iter().filter(|change| change.value.is_none()) {
        printer.note(&format!(
            "note: {} is taken away: the emulated GPUs are what they are (`--keep-env` leaves it)",
            taken.name
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

/// The environment that the program needs.
fn changes(arguments: &EmuExecArgs, chips: &[Chip], installed: &Installed) -> Vec<Change> {
    let set = |variable: &Variable, value: OsString| Change { name: variable.name.into(), value: Some(value) };
    let names: Vec<_> = chips.iter().map(ToString::to_string).collect();
    let mut changes = vec![
        set(&env::LD_LIBRARY_PATH, before(installed.folder.as_os_str(), &env::LD_LIBRARY_PATH)),
        set(&env::LD_PRELOAD, before(installed.preload.as_os_str(), &env::LD_PRELOAD)),
        set(&env::EMU_EXEC, installed.folder.clone().into()),
        set(&env::EMU, names.join(",").into()),
    ];
    let options = [
        (&env::EMU_MEMORY, arguments.memory.map(|bytes| bytes.to_string())),
        (&env::EMU_CHECK, arguments.check.clone()),
        (&env::EMU_THREADS, arguments.threads.map(|threads| threads.to_string())),
    ];
    changes.extend(options.into_iter().filter_map(|(variable, value)| Some(set(variable, value?.into()))));
    if !arguments.keep_env {
        let overrides = env::HSA_OVERRIDE.get_all();
        changes.extend(overrides.into_iter().map(|found| Change { name: found.name.into(), value: None }));
    }
    changes
}

/// An entry before those of a list that the environment has.
fn before(entry: &OsStr, variable: &'static Variable) -> OsString {
    let mut list = entry.to_owned();
    if let Some(others) = variable.get_raw() {
        list.push(":");
        list.push(others);
    }
    list
}

/// The changes for a shell.
fn shell(changes: &[Change]) -> String {
    let line = |change: &Change| match &change.value {
        Some(value) => format!("export {}={}\n", change.name, quoted(value)),
        None => format!("unset {}\n", change.name),
    };
    changes.iter().map(line).collect()
}

/// A value as every shell reads it.
fn quoted(value: &OsStr) -> String {
    format!("'{}'", String::from_utf8_lossy(value.as_bytes()).replace('\'', r"'\''"))
}

/// Whether a path can be an entry of a list with colons between.
pub(super) fn is_listable(path: &Path) -> bool {
    // The dynamic loader also takes spaces between preloaded libraries for ends.
    !path.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b':' | b';' | b' ' | b'\t' | b'$'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_a_shell() {
        let change = |value| Change { name: env::EMU.name.into(), value };
        assert_eq!(shell(&[change(Some("a b'c".into()))]), "export ROCI_EMU='a b'\\''c'\n");
        assert_eq!(shell(&[change(None)]), "unset ROCI_EMU\n");
    }

    #[test]
    fn the_dynamic_loader_would_split_some_paths() {
        assert!(is_listable(Path::new("/home/me/.cache/roci")));
        for path in ["/home/my self/.cache", "/a:b", "/$ORIGIN"] {
            assert!(!is_listable(Path::new(path)), "{path}");
        }
    }
}
