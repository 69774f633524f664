//! Checks that no hardware makes: loads used before they are waited for, values never set, LDS races.
//!
//! `waits`, `uninit` and `races` are one file or folder each; `touch` says which bytes a step touches.

mod races;
mod touch;
mod uninit;
mod waits;

use std::str::FromStr;

use roci_isa::Op;

use crate::engine::Machine;
use crate::launch::Launch;
use crate::observe::Decoded;
use crate::wave::Wave;

/// Which checks are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// A register is used before the wait counter covers its load.
    pub waits: bool,
    /// A value that was never set decides an address, a branch, `exec`, or goes to global memory.
    pub uninit: bool,
    /// Two waves of a group use the same bytes of LDS without a barrier between, and one of them writes.
    pub races: bool,
}

impl Checks {
    /// All of them.
    pub const ALL: Self = Self { waits: true, uninit: true, races: true };

    /// Whether any is to be made.
    pub fn any(self) -> bool {
        self.waits || self.uninit || self.races
    }
}

/// A word that names no check.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no check (waits, uninit, races, all)")]
pub struct UnknownCheck(String);

impl FromStr for Checks {
    type Err = UnknownCheck;

    /// A list with commas: `waits,races`; `all` is all of them.
    fn from_str(text: &str) -> Result<Self, UnknownCheck> {
        let mut checks = Self::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "waits" => checks.waits = true,
                "uninit" => checks.uninit = true,
                "races" => checks.races = true,
                "all" => checks = Self::ALL,
                other => return Err(UnknownCheck(other.to_owned())),
            }
        }
        Ok(checks)
    }
}

/// What the checks know of one group.
pub(crate) struct GroupChecks {
    /// Which checks are made.
    checks: Checks,
    /// By wave: what it has not waited for.
    pending: Vec<waits::Pending>,
    uninit: Option<uninit::Group>,
    races: Option<races::Group>,
}

impl GroupChecks {
    /// For waves that are about to start.
    pub(crate) fn new(checks: Checks, launch: &Launch, waves: &[Wave]) -> Self {
        Self {
            checks,
            pending: waves.iter().map(|_| waits::Pending::default()).collect(),
            uninit: checks.uninit.then(|| uninit::Group::new(launch, waves)),
            races: checks.races.then(|| races::Group::new(launch.lds as usize)),
        }
    }

    /// All waves have come to a barrier and go on.
    pub(crate) fn barrier(&mut self) {
        if let Some(races) = &mut self.races {
            races.barrier();
        }
    }

    /// Looks at a step before it runs; `first` is false for the second step of a pair. The error is what is wrong.
    pub(crate) fn before(
        &mut self,
        machine: &Machine<'_>,
        index: u32,
        decoded: &Decoded,
        first: bool,
    ) -> Result<(), String> {
        let number = machine.wave.number as usize;
        let touched = touch::touched(machine, index);
        if first && (self.checks.waits || self.checks.races) {
            self.pending[number].before(machine, index, decoded, touched.as_ref(), self.checks.waits)?;
        }
        if let Some(uninit) = &mut self.uninit {
            uninit.before(machine, index, decoded, touched.as_ref())?;
        }
        if let Some(races) = &mut self.races {
            match &touched {
                Some(touched) => races.before(machine, index, touched)?,
                None if decoded.instruction.op == Op::SBarrier => {
                    races.arrive(machine.wave.number, self.pending[number].late_writes());
                }
                None => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_a_list() {
        let parsed = |text: &str| text.parse::<Checks>();
        assert_eq!(parsed("waits, races"), Ok(Checks { waits: true, uninit: false, races: true }));
        assert_eq!(parsed("all"), Ok(Checks::ALL));
        assert_eq!(parsed(""), Ok(Checks::default()));
        assert!(parsed("wait").expect_err("no such check").to_string().contains("waits, uninit, races"));
    }
}
