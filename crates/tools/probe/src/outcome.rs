//! The outcome of a probe.

use roci_base::renamed_key;
use serde::{Deserialize, Serialize};

renamed_key!(optional error_ratio: "error_ratio", formerly "excess");

/// Outcome of a probe. The order is not a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The results match the reference.
    Works,
    /// The results differ from the reference, without an error.
    Wrong,
    /// The process died, or the device was lost.
    Crashes,
    /// The probe did not finish before the timeout.
    Hangs,
    /// The device reports that it cannot run the probe.
    Unsupported,
    /// The probe was skipped.
    NotTried,
}

impl Outcome {
    /// All outcomes, worst first.
    pub const ALL: [Self; 6] =
        [Self::Wrong, Self::Crashes, Self::Hangs, Self::NotTried, Self::Unsupported, Self::Works];

    /// Name in tables, files and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Wrong => "wrong",
            Self::Crashes => "crashes",
            Self::Hangs => "hangs",
            Self::Unsupported => "unsupported",
            Self::NotTried => "not-tried",
        }
    }

    /// Parses a name; `None` if it is unknown.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// Whether the device is broken: wrong, crashes or hangs. Unsupported is not broken.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Wrong | Self::Crashes | Self::Hangs)
    }
}

/// Outcome of a probe with details.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The outcome itself.
    pub outcome: Outcome,
    /// The first difference, the error, why it is unsupported, or how the result was computed if
    /// not by a kernel.
    pub detail: Option<String>,
    /// The largest error as a multiple of the tolerance; null if there is none or if it is not
    /// finite.
    #[serde(flatten, with = "error_ratio")]
    pub error_ratio: Option<f64>,
}

impl Verdict {
    /// A probe that works, without details.
    pub fn works() -> Self {
        Self { outcome: Outcome::Works, detail: None, error_ratio: None }
    }

    /// An outcome with a detail.
    pub fn new(outcome: Outcome, detail: impl Into<String>) -> Self {
        Self { outcome, detail: Some(detail.into()), error_ratio: None }
    }

    /// Short form for a table cell. A star marks a probe that works without a kernel of its own.
    pub fn mark(&self) -> &'static str {
        match self.outcome {
            Outcome::Works if self.detail.is_some() => "ok*",
            Outcome::Works => "ok",
            Outcome::Wrong => "WRONG",
            Outcome::Crashes => "CRASH",
            Outcome::Hangs => "HANG",
            Outcome::Unsupported => "-",
            Outcome::NotTried => "?",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_json() {
        for outcome in Outcome::ALL {
            assert_eq!(serde_json::to_value(outcome).expect("a name"), outcome.name());
            assert_eq!(Outcome::from_name(outcome.name()), Some(outcome));
        }
        assert_eq!(Outcome::from_name("fine"), None);
    }
}
