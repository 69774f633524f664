//! Which GPUs are emulated, and how.

use std::ffi::OsString;

use roci_emu::{Checks, Chip};

/// What is emulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The GPUs, in the order of their numbers.
    pub chips: Vec<Chip>,
    /// Their places in the machine, where programs see only some of its GPUs.
    pub places: Vec<u32>,
    /// Bytes of memory of each; its chip's if none.
    pub memory: Option<u64>,
    /// Checks that the hardware does not make.
    pub checks: Checks,
    /// Threads of each; as many as cores if none.
    pub threads: Option<usize>,
    /// Queues look for doorbells every now and then, also where they could sleep until one is written.
    pub polls: bool,
    /// Say nothing of faults: [`last_fault`](crate::last_fault) tells.
    pub quiet: bool,
}

/// A variable of the environment cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={value:?}: {reason}")]
pub struct ConfigError {
    /// The variable.
    pub variable: &'static str,
    /// What it says.
    pub value: String,
    /// What is wrong with it, and what would be right.
    pub reason: String,
}

/// The GPUs.
const GPUS: &str = "ROCI_EMU";
/// Memory of each.
const MEMORY: &str = "ROCI_EMU_MEMORY";
/// Checks.
const CHECKS: &str = "ROCI_EMU_CHECK";
/// Threads of each.
const THREADS: &str = "ROCI_EMU_THREADS";
/// How queues learn of doorbells.
const DOORBELLS: &str = "ROCI_EMU_DOORBELLS";
/// Which of the GPUs are seen.
const VISIBLE: &str = "ROCR_VISIBLE_DEVICES";
/// What is emulated if the environment does not say.
const DEFAULT: Chip = Chip::Gfx1010;

impl Config {
    /// These chips, each as it is.
    pub fn new(chips: Vec<Chip>) -> Self {
        Self {
            chips,
            places: Vec::new(),
            memory: None,
            checks: Checks::default(),
            threads: None,
            polls: false,
            quiet: false,
        }
    }

    /// The place in the machine of the GPU of this number. Id and PCI address go with the place, whatever programs see.
    pub(crate) fn place(&self, index: u32) -> u32 {
        let seen = self.places.len() as u32;
        let behind = self.places.iter().max().map_or(0, |last| last + 1);
        self.places.get(index as usize).copied().unwrap_or(behind + index.saturating_sub(seen))
    }

    /// These chips for this very process, quiet, and otherwise as the environment asks for.
    pub fn for_process(chips: Vec<Chip>) -> Result<Self, ConfigError> {
        Ok(Self { chips, places: Vec::new(), quiet: true, ..Self::from_environment()? })
    }

    /// What the environment asks for.
    pub(crate) fn from_environment() -> Result<Self, ConfigError> {
        #[expect(
            clippy::disallowed_methods,
            reason = "a library in other people's programs, without the project's table"
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
            Some(value) => value.parse().map_err(|error| wrong(CHECKS, &value, format!("{error}")))?,
        };
        let threads = text(THREADS).map(|value| threads(&value)).transpose()?;
        let polls = text(DOORBELLS).map_or(Ok(false), |value| polls(&value))?;
        let (places, chips) = match text(VISIBLE) {
            None => (Vec::new(), chips),
            Some(list) => crate::topology::visible(&chips, &list).into_iter().unzip(),
        };
        Ok(Self { chips, places, memory, checks, threads, polls, quiet: false })
    }
}

fn wrong(variable: &'static str, value: &str, reason: String) -> ConfigError {
    ConfigError { variable, value: value.to_owned(), reason }
}

fn chip(name: &str, value: &str) -> Result<Chip, ConfigError> {
    Chip::ALL.iter().copied().find(|chip| chip.name() == name).ok_or_else(|| {
        let known: Vec<&str> = Chip::ALL.iter().map(|chip| chip.name()).collect();
        wrong(GPUS, value, format!("{name:?} is no chip that can be emulated; those are {}", known.join(", ")))
    })
}

/// An amount of memory: `512M`, `8G`, `8GiB` or a plain number of bytes.
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
    bytes.ok_or_else(|| wrong(MEMORY, value, "it is no amount of memory, such as 512MiB or 8GiB".to_owned()))
}

fn threads(value: &str) -> Result<usize, ConfigError> {
    let number = value.trim().parse().ok().filter(|threads| *threads > 0);
    number.ok_or_else(|| wrong(THREADS, value, "it is no number of threads, such as 4".to_owned()))
}

fn polls(value: &str) -> Result<bool, ConfigError> {
    match value.trim() {
        "trap" => Ok(false),
        "poll" => Ok(true),
        _ => Err(wrong(DOORBELLS, value, "it is neither trap nor poll".to_owned())),
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
    fn the_environment_says_what_is_emulated() {
        assert_eq!(config(&[]), Ok(Config::new(vec![Chip::Gfx1010])));
        let two = config(&[(GPUS, "gfx1010, gfx1151"), (MEMORY, "512MiB"), (THREADS, "1")]).expect("all is right");
        assert_eq!(
            (two.chips, two.memory, two.threads),
            (vec![Chip::Gfx1010, Chip::Gfx1151], Some(512 << 20), Some(1))
        );
        assert!(config(&[(DOORBELLS, "poll")]).expect("all is right").polls);
        for (text, want) in [("4096", 4096), ("8G", 8 << 30), ("8GiB", 8 << 30), ("3 MB", 3 << 20)] {
            assert_eq!(memory_size(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn programs_see_what_they_are_let_see() {
        let some = config(&[(GPUS, "gfx1010,gfx1030,gfx1151"), (VISIBLE, "2,0")]).expect("all is right");
        assert_eq!(some.chips, [Chip::Gfx1151, Chip::Gfx1010]);
        assert_eq!([0, 1, 2, 3].map(|index| some.place(index)), [2, 0, 3, 4]);
        let all = config(&[(GPUS, "gfx1010,gfx1030")]).expect("all is right");
        assert_eq!([0, 1, 2].map(|index| all.place(index)), [0, 1, 2]);
        assert_eq!(config(&[(VISIBLE, "")]).expect("all is right").chips, []);
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
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
