//! The environment in which an unmodified program finds emulated GPUs.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use roci_base::env::{self, Variable};
use roci_emu::Chip;

use super::install::Installation;

/// A change of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentChange {
    /// Name of the variable.
    pub name: Cow<'static, str>,
    /// The new value; `None` removes the variable.
    pub value: Option<OsString>,
}

/// Settings of the emulated GPUs of a program.
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentOptions<'a> {
    /// One GPU per chip.
    pub chips: &'a [Chip],
    /// Memory of each GPU in bytes; `None` for the chip's.
    pub memory: Option<u64>,
    /// Checks of the emulator, separated by commas.
    pub check: Option<&'a str>,
    /// Threads of each GPU; `None` for all cores.
    pub threads: Option<usize>,
    /// Whether to keep HSA_OVERRIDE_GFX_VERSION, which would hide the emulated chip.
    pub keep_overrides: bool,
}

/// The environment that a program needs.
pub fn environment_changes(options: &EnvironmentOptions<'_>, installation: &Installation) -> Vec<EnvironmentChange> {
    let set =
        |variable: &Variable, value: OsString| EnvironmentChange { name: variable.name.into(), value: Some(value) };
    let names: Vec<_> = options.chips.iter().map(ToString::to_string).collect();
    let mut changes = vec![
        set(&env::LD_LIBRARY_PATH, prepended(installation.folder.as_os_str(), &env::LD_LIBRARY_PATH)),
        set(&env::LD_PRELOAD, prepended(installation.preload.as_os_str(), &env::LD_PRELOAD)),
        set(&env::EMU_EXEC, installation.folder.clone().into()),
        set(&env::EMU, names.join(",").into()),
    ];
    let optional = [
        (&env::EMU_MEMORY, options.memory.map(|bytes| bytes.to_string())),
        (&env::EMU_CHECK, options.check.map(str::to_owned)),
        (&env::EMU_THREADS, options.threads.map(|threads| threads.to_string())),
    ];
    changes.extend(optional.into_iter().filter_map(|(variable, value)| Some(set(variable, value?.into()))));
    if !options.keep_overrides {
        let overrides = env::HSA_OVERRIDE.get_all();
        changes.extend(overrides.into_iter().map(|found| EnvironmentChange { name: found.name.into(), value: None }));
    }
    changes
}

/// An entry, followed by the list in the environment.
fn prepended(entry: &OsStr, variable: &'static Variable) -> OsString {
    let mut list = entry.to_owned();
    if let Some(others) = variable.get_raw() {
        list.push(":");
        list.push(others);
    }
    list
}

/// The changes as lines for `eval` in a POSIX shell; values are quoted.
pub fn shell_commands(changes: &[EnvironmentChange]) -> String {
    let line = |change: &EnvironmentChange| match &change.value {
        Some(value) => format!("export {}={}\n", change.name, quoted(value)),
        None => format!("unset {}\n", change.name),
    };
    changes.iter().map(line).collect()
}

/// A value in quotes that every shell understands.
fn quoted(value: &OsStr) -> String {
    format!("'{}'", String::from_utf8_lossy(value.as_bytes()).replace('\'', r"'\''"))
}

/// Whether a path can be an entry of LD_LIBRARY_PATH and LD_PRELOAD.
pub(crate) fn is_listable(path: &Path) -> bool {
    // The dynamic loader also splits LD_PRELOAD at spaces.
    !path.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b':' | b';' | b' ' | b'\t' | b'$'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_for_shells() {
        let change = |value| EnvironmentChange { name: env::EMU.name.into(), value };
        assert_eq!(shell_commands(&[change(Some("a b'c".into()))]), "export ROCI_EMU='a b'\\''c'\n");
        assert_eq!(shell_commands(&[change(None)]), "unset ROCI_EMU\n");
    }

    #[test]
    fn paths_that_the_dynamic_loader_would_split_are_not_listable() {
        assert!(is_listable(Path::new("/home/me/.cache/roci")));
        for path in ["/home/my self/.cache", "/a:b", "/$ORIGIN"] {
            assert!(!is_listable(Path::new(path)), "{path}");
        }
    }
}
