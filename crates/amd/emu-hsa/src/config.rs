//! Configuration: which GPUs are emulated, and how.

use std::ffi::OsString;

use roci_emu::{Checks, Chip};

use crate::visible::visible;

/// The emulated GPUs and their options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Chips of the visible GPUs, by index.
    pub chips: Vec<Chip>,
    /// Index of each visible GPU among all GPUs of the machine; empty if all are visible.
    pub physical_indices: Vec<u32>,
    /// Device memory of each GPU in bytes; default is that of a real card.
    pub memory: Option<u64>,
    /// Checks that the hardware does not have.
    pub checks: Checks,
    /// Host threads per GPU; default is the number of cores.
    pub threads: Option<usize>,
    /// Poll doorbells even where the system allows sleeping until one is written.
    pub poll_doorbells: bool,
    /// Do not write faults to standard error; [`last_fault`](crate::last_fault) returns them.
    pub quiet: bool,
}

/// An environment variable has an invalid value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={value:?}: {reason}")]
pub struct ConfigError {
    /// Name of the variable.
    pub variable: &'static str,
    /// Text of the variable.
    pub value: String,
    /// Why the value is invalid, and what is valid.
    pub reason: String,
}

/// Chips of the GPUs, separated by commas.
const GPUS: &str = "ROCI_EMU";
/// Device memory of each GPU.
const MEMORY: &str = "ROCI_EMU_MEMORY";
/// Additional checks.
const CHECKS: &str = "ROCI_EMU_CHECK";
/// Host threads per GPU.
const THREADS: &str = "ROCI_EMU_THREADS";
/// `trap` or `poll`.
const DOORBELLS: &str = "ROCI_EMU_DOORBELLS";
/// AMD's variable: which GPUs are visible, and in which order.
const VISIBLE: &str = "ROCR_VISIBLE_DEVICES";
/// Emulated without [`GPUS`].
const DEFAULT: Chip = Chip::Gfx1010;

impl Config {
    /// One GPU per chip with default options.
    pub fn new(chips: Vec<Chip>) -> Self {
        Self {
            chips,
            physical_indices: Vec::new(),
            memory: None,
            checks: Checks::default(),
            threads: None,
            poll_doorbells: false,
            quiet: false,
        }
    }

    /// Index among all GPUs of the machine of the visible GPU with this index. UUID and PCI address
    /// depend on it. GPUs that are added later come after all others.
    pub(crate) fn physical_index(&self, index: u32) -> u32 {
        let visible = self.physical_indices.len() as u32;
        let next = self.physical_indices.iter().max().map_or(0, |last| last + 1);
        self.physical_indices.get(index as usize).copied().unwrap_or(next + index.saturating_sub(visible))
    }

    /// One GPU per chip for use inside this process: quiet, with the other options from the
    /// environment.
    pub fn for_process(chips: Vec<Chip>) -> Result<Self, ConfigError> {
        Ok(Self { chips, physical_indices: Vec::new(), quiet: true, ..Self::from_environment()? })
    }

    /// Configuration from the environment.
    pub(crate) fn from_environment() -> Result<Self, ConfigError> {
        #[expect(
            clippy::disallowed_methods,
            reason = "runs inside foreign programs, without the project's table of variables"
        )]
        let variable = |name| std::env::var_os(name);
        Self::from_variables(variable)
    }

    fn from_variables(variable: impl Fn(&'static str) -> Option<OsString>) -> Result<Self, ConfigError> {
        let text = |name| variable(name).map(|value: OsString| value.to_string_lossy().into_owned());
        let chips = match text(GPUS).filter(|value| !value.trim().is_empty()) {
            None => vec![DEFAULT],
            Some(value) => value.split(',').map(|name| chip(name.trim(), &value)).collect::<Result<_, _>>()?,
        };
        let memory = text(MEMORY).map(|value| memory_size(&value)).transpose()?;
        let checks = match text(CHECKS) {
            None => Checks::default(),
            Some(value) => value.parse().map_err(|error| invalid(CHECKS, &value, format!("{error}")))?,
        };
        let threads = text(THREADS).map(|value| threads(&value)).transpose()?;
        let poll_doorbells = text(DOORBELLS).map_or(Ok(false), |value| poll_doorbells(&value))?;
        let (physical_indices, chips) = match text(VISIBLE) {
            None => (Vec::new(), chips),
            Some(list) => visible(&chips, &list).into_iter().unzip(),
        };
        Ok(Self { chips, physical_indices, memory, checks, threads, poll_doorbells, quiet: false })
    }
}

fn invalid(variable: &'static str, value: &str, reason: String) -> ConfigError {
    ConfigError { variable, value: value.to_owned(), reason }
}

fn chip(name: &str, value: &str) -> Result<Chip, ConfigError> {
    Chip::ALL.iter().copied().find(|chip| chip.name() == name).ok_or_else(|| {
        let known: Vec<&str> = Chip::ALL.iter().map(|chip| chip.name()).collect();
        invalid(GPUS, value, format!("chip {name:?} is not supported; the supported chips are {}", known.join(", ")))
    })
}

/// Parses a memory size: `512M`, `8G`, `8GiB` or a number of bytes.
pub fn memory_size(value: &str) -> Result<u64, ConfigError> {
    let text = value.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let shift = match text[digits..].trim_start().trim_end_matches("iB").trim_end_matches('B') {
        "" => 0,
        "K" | "k" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => 64,
    };
    let number = text[..digits].parse::<u64>().ok().filter(|number| *number > 0 && shift < 64);
    let bytes = number.and_then(|number| number.checked_mul(1 << shift.min(63)));
    bytes.ok_or_else(|| invalid(MEMORY, value, "expected a memory size such as 512MiB or 8GiB".to_owned()))
}

fn threads(value: &str) -> Result<usize, ConfigError> {
    let number = value.trim().parse().ok().filter(|threads| *threads > 0);
    number.ok_or_else(|| invalid(THREADS, value, "expected a number of threads such as 4".to_owned()))
}

fn poll_doorbells(value: &str) -> Result<bool, ConfigError> {
    match value.trim() {
        "trap" => Ok(false),
        "poll" => Ok(true),
        _ => Err(invalid(DOORBELLS, value, "expected trap or poll".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(variables: &[(&'static str, &str)]) -> Result<Config, ConfigError> {
        let find = |name| variables.iter().find(|one| one.0 == name).map(|one| OsString::from(one.1));
        Config::from_variables(find)
    }

    #[test]
    fn variables_set_chips_memory_threads_and_polling() {
        assert_eq!(config(&[]), Ok(Config::new(vec![Chip::Gfx1010])));
        let two = config(&[(GPUS, "gfx1010, gfx1151"), (MEMORY, "512MiB"), (THREADS, "1")]).expect("valid");
        assert_eq!(
            (two.chips, two.memory, two.threads),
            (vec![Chip::Gfx1010, Chip::Gfx1151], Some(512 << 20), Some(1))
        );
        assert!(config(&[(DOORBELLS, "poll")]).expect("valid").poll_doorbells);
        for (text, expected) in [("4096", 4096), ("8G", 8 << 30), ("8GiB", 8 << 30), ("3 MB", 3 << 20)] {
            assert_eq!(memory_size(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn visible_devices_selects_and_reorders() {
        let selected = config(&[(GPUS, "gfx1010,gfx1030,gfx1151"), (VISIBLE, "2,0")]).expect("valid");
        assert_eq!(selected.chips, [Chip::Gfx1151, Chip::Gfx1010]);
        assert_eq!([0, 1, 2, 3].map(|index| selected.physical_index(index)), [2, 0, 3, 4]);
        let all = config(&[(GPUS, "gfx1010,gfx1030")]).expect("valid");
        assert_eq!([0, 1, 2].map(|index| all.physical_index(index)), [0, 1, 2]);
        assert_eq!(config(&[(VISIBLE, "")]).expect("valid").chips, []);
    }

    #[test]
    fn invalid_values_are_errors() {
        for (variable, value) in [
            (GPUS, "gfx1010,"),
            (GPUS, "gfx906"),
            (MEMORY, "much"),
            (MEMORY, "0"),
            (MEMORY, "99999999999T"),
            (CHECKS, "everything"),
            (THREADS, "0"),
            (DOORBELLS, "never"),
        ] {
            let error = config(&[(variable, value)]).expect_err(value);
            assert_eq!((error.variable, error.value.as_str()), (variable, value));
        }
    }
}
