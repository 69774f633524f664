//! Errors of `roci doctor`.

use std::path::PathBuf;

use roci_base::Hint;
use roci_doctor::RuleError;
use roci_doctor::fix::FixError;

/// An error of `roci doctor`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DoctorError {
    /// A file cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// A file is not a snapshot.
    #[error("`{}` is not a snapshot of a machine: {reason}", path.display())]
    InvalidSnapshot {
        path: PathBuf,
        /// Why the file is invalid.
        reason: String,
    },
    #[error("`{}` is not a folder", path.display())]
    NotAFolder { path: PathBuf },
    #[error("cannot read the folder `{}`: {source}", path.display())]
    UnreadableFolder { path: PathBuf, source: std::io::Error },
    #[error("`{}` has none of the folders of a machine, such as /sys, /proc and /etc", path.display())]
    NoMachine { path: PathBuf },
    /// A rule that is to be fixed does not apply.
    #[error("`{id}` does not apply to this machine")]
    NotFound { id: String },
    /// A rule whose remedy is not data.
    #[error("`{id}` has no remedy that can be applied")]
    NoFix { id: String },
    #[error("the kernel log cannot be read: {0}")]
    NoKernelLog(std::io::Error),
    /// The program that is to be watched.
    #[error("cannot start `{program}`: {source}")]
    NotStarted { program: String, source: std::io::Error },
    /// A change cannot be made.
    #[error(transparent)]
    Fix(#[from] FixError),
    /// The path of a rules folder is not a folder.
    #[error("there is no folder `{}` with rules", path.display())]
    NoRulesFolder { path: PathBuf },
    /// An option that does not apply to rules.
    #[error("`{option}` does not apply to `rules` and `explain`")]
    MisplacedOption { option: &'static str },
    /// A rules file is invalid.
    #[error(transparent)]
    Rules(#[from] RuleError),
    #[error("there is no rule `{id}`")]
    UnknownRule {
        id: String,
        /// Rules of the same kind.
        similar: Vec<String>,
    },
    /// The built-in data is invalid.
    #[error("{0}")]
    Internal(String),
}

impl Hint for DoctorError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unreadable { .. } => "choose a file that you may read, or `-` for standard input".into(),
            Self::InvalidSnapshot { .. } => "`roci doctor --capture FILE` writes one".into(),
            Self::UnreadableFolder { .. } => "choose a folder that you may read, or use sudo".into(),
            Self::NoKernelLog(_) => "use sudo, `--log FILE`, or `-- PROGRAM` to watch a program alone".into(),
            Self::NotStarted { .. } => "check its name and path".into(),
            Self::NotFound { .. } => "`roci doctor fix` lists the remedies for this machine".into(),
            Self::NoFix { id } => format!("`roci doctor explain {id}` has the steps"),
            Self::Fix(error) => return error.hint(),
            Self::NotAFolder { .. } | Self::NoMachine { .. } => {
                "give the folder that contains another machine's /sys, /proc and /etc".into()
            }
            Self::NoRulesFolder { .. } => "give a folder with rule files that end in .toml".into(),
            Self::MisplacedOption { .. } => "leave it out, or run `roci doctor` without a verb".into(),
            Self::Rules(_) => {
                "docs/reference/rules.md has the format; crates/tools/doctor/rules/ has the built-in rules".into()
            }
            Self::UnknownRule { similar, .. } if similar.is_empty() => "`roci doctor rules` lists them".into(),
            Self::UnknownRule { similar, .. } => format!("similar rules: {}", similar.join(", ")),
            Self::Internal(_) => "this is a bug in roci: report it".into(),
        })
    }
}
