//! What keeps the doctor from an answer.

use std::path::PathBuf;

use roci_doctor::RuleError;
use roci_hal::Hint;

/// An error of `roci doctor`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DoctorError {
    /// A file that was named cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is no snapshot.
    #[error("`{}` is not a snapshot of a machine: {reason}", path.display())]
    NoSnapshot {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A folder that was named is none.
    #[error("`{}` is not a folder", path.display())]
    NoFolder {
        /// What was named.
        path: PathBuf,
    },
    /// A folder of rules that was named is none.
    #[error("there is no folder `{}` with rules", path.display())]
    NoRules {
        /// What was named.
        path: PathBuf,
    },
    /// An option that has nothing to do with rules.
    #[error("`{option}` judges a machine or a log, and rules were asked for")]
    OutOfPlace {
        /// The option.
        option: &'static str,
    },
    /// A file of rules is wrong.
    #[error(transparent)]
    Rules(#[from] RuleError),
    /// There is no such rule.
    #[error("there is no rule `{id}`")]
    NoRule {
        /// What was asked for.
        id: String,
        /// Rules of the same kind.
        near: Vec<String>,
    },
    /// Our own data is wrong.
    #[error("{0}")]
    Fault(String),
}

impl Hint for DoctorError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unreadable { .. } => "name a file that you may read, or `-` for standard input".into(),
            Self::NoSnapshot { .. } => "`roci doctor --capture FILE` writes one".into(),
            Self::NoFolder { .. } => "name the folder that holds another machine's /sys, /proc and /etc".into(),
            Self::NoRules { .. } => "name a folder with files of rules that end in .toml".into(),
            Self::OutOfPlace { .. } => "leave it out, or ask for rules by themselves".into(),
            Self::Rules(_) => {
                "docs/doctor.md has the format; `roci doctor explain` shows how others are written".into()
            }
            Self::NoRule { near, .. } if near.is_empty() => "`roci doctor rules` lists them".into(),
            Self::NoRule { near, .. } => format!("like it are: {}", near.join(", ")),
            Self::Fault(_) => "this is a fault of roci: report it".into(),
        })
    }
}
