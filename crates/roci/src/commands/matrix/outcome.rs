//! How a probe can end.

use serde::{Deserialize, Serialize};

/// How a probe ended, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    /// The results are those of the reference.
    Works,
    /// They are not, and nobody said so.
    Wrong,
    /// The process ended, or the device failed.
    Crashes,
    /// It did not end.
    Hangs,
    /// The device cannot do it, and says so.
    Unsupported,
    /// It was left out.
    NotTried,
}

impl Outcome {
    /// All of them, the worst first.
    pub(crate) const ALL: [Self; 6] =
        [Self::Wrong, Self::Crashes, Self::Hangs, Self::NotTried, Self::Unsupported, Self::Works];

    /// The word for it, as people and files have it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Wrong => "wrong",
            Self::Crashes => "crashes",
            Self::Hangs => "hangs",
            Self::Unsupported => "unsupported",
            Self::NotTried => "not-tried",
        }
    }

    /// What a word says.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.word() == word)
    }

    /// Whether something is broken. What a device refuses is not.
    pub(crate) fn is_bad(self) -> bool {
        matches!(self, Self::Wrong | Self::Crashes | Self::Hangs)
    }
}

/// How a probe ended, with what there is to say of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Verdict {
    /// In a word.
    pub(crate) outcome: Outcome,
    /// The first difference, the error, why it is not supported, or how it works where that is not by a kernel.
    pub(crate) detail: Option<String>,
    /// The largest error, in tolerances; null where there is none to speak of.
    pub(crate) excess: Option<f64>,
}

impl Verdict {
    /// It works, with nothing to say.
    pub(crate) fn works() -> Self {
        Self { outcome: Outcome::Works, detail: None, excess: None }
    }

    /// It ended so, and why.
    pub(crate) fn new(outcome: Outcome, detail: impl Into<String>) -> Self {
        Self { outcome, detail: Some(detail.into()), excess: None }
    }

    /// The short form for a cell of a table. A star is for what works without a kernel of its own.
    pub(crate) fn mark(&self) -> &'static str {
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
    fn words_are_those_of_json() {
        for outcome in Outcome::ALL {
            assert_eq!(serde_json::to_value(outcome).expect("it is a word"), outcome.word());
            assert_eq!(Outcome::of_word(outcome.word()), Some(outcome));
        }
        assert_eq!(Outcome::of_word("fine"), None);
    }
}
