//! Checks that hardware does not make: missing waits, uninitialized values, LDS races.
//!
//! `waits`, `uninit` and `races` implement one check each. `memory_access` computes the bytes that
//! a micro-op accesses.

mod memory_access;
mod races;
mod uninit;
mod waits;

use std::str::FromStr;

use roci_isa::Op;

use crate::engine::Machine;
use crate::launch::Launch;
use crate::observe::ObservedInstruction;
use crate::wave::Wave;

/// The enabled checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// A register is used before an `s_waitcnt` covers its load.
    pub waits: bool,
    /// An uninitialized value determines an address, a branch or `exec`, or is stored to global
    /// memory.
    pub uninit: bool,
    /// Two waves of a workgroup access the same LDS bytes with no barrier between them, and one
    /// writes.
    pub races: bool,
}

impl Checks {
    /// Enables all checks.
    pub const ALL: Self = Self { waits: true, uninit: true, races: true };

    /// Whether any check is enabled.
    pub fn any(self) -> bool {
        self.waits || self.uninit || self.races
    }
}

/// The name of a check that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown check {0:?}: the checks are waits, uninit, races and all")]
pub struct UnknownCheck(String);

impl FromStr for Checks {
    type Err = UnknownCheck;

    /// Parses a comma-separated list such as `waits,races`; `all` enables all.
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

/// State of the checks for one workgroup.
pub(crate) struct GroupChecks {
    /// The enabled checks.
    checks: Checks,
    /// Outstanding memory operations by wave.
    pending: Vec<waits::OutstandingOps>,
    uninit: Option<uninit::WorkgroupShadows>,
    races: Option<races::LdsHistory>,
}

impl GroupChecks {
    /// State for waves about to start.
    pub(crate) fn new(checks: Checks, launch: &Launch, waves: &[Wave]) -> Self {
        Self {
            checks,
            pending: waves.iter().map(|_| waits::OutstandingOps::default()).collect(),
            uninit: checks.uninit.then(|| uninit::WorkgroupShadows::new(launch, waves)),
            races: checks.races.then(|| races::LdsHistory::new(launch.lds as usize)),
        }
    }

    /// All waves have passed a barrier.
    pub(crate) fn barrier(&mut self) {
        if let Some(races) = &mut self.races {
            races.barrier();
        }
    }

    /// Checks a micro-op before it runs. `first` is false for the second micro-op of a pair. The
    /// error is the finding.
    pub(crate) fn before(
        &mut self,
        machine: &Machine<'_>,
        index: u32,
        decoded: &ObservedInstruction,
        first: bool,
    ) -> Result<(), String> {
        let number = machine.wave.number as usize;
        let accessed = memory_access::accessed(machine, index);
        if first && (self.checks.waits || self.checks.races) {
            self.pending[number].before(machine, index, decoded, accessed.as_ref(), self.checks.waits)?;
        }
        if let Some(uninit) = &mut self.uninit {
            uninit.before(machine, index, decoded, accessed.as_ref())?;
        }
        if let Some(races) = &mut self.races {
            match &accessed {
                Some(accessed) => races.before(machine, index, accessed)?,
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
    fn checks_parse_from_a_list() {
        let parsed = |text: &str| text.parse::<Checks>();
        assert_eq!(parsed("waits, races"), Ok(Checks { waits: true, uninit: false, races: true }));
        assert_eq!(parsed("all"), Ok(Checks::ALL));
        assert_eq!(parsed(""), Ok(Checks::default()));
        assert!(parsed("wait").expect_err("no such check").to_string().contains("waits, uninit, races"));
    }
}
