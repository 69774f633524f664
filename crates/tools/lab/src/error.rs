//! Errors of lab commands.

use std::io::ErrorKind;
use std::path::PathBuf;

use roci_base::Hint;

use crate::executor::StartError;
use crate::experiment::near;
use crate::message::{cut, listed};

/// Why the lab cannot read, run or store an experiment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// An invalid experiment.
    #[error("{location}: {reason}")]
    Experiment {
        /// The file, with the line if known.
        location: String,
        /// Description of the problem.
        reason: String,
        /// Remedy.
        hint: Option<String>,
    },
    /// A file cannot be read or written.
    #[error("cannot {verb} `{}`: {source}", path.display())]
    File {
        /// `read` or `write`.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The results database cannot be used.
    #[error("cannot use the results database `{}`: {reason}", path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
        /// Remedy.
        hint: Option<String>,
    },
    /// Nothing with this name exists.
    #[error("there is no {what} `{}`", cut(name))]
    Unknown {
        /// `experiment`, `run`, `strategy`.
        what: &'static str,
        /// The given name.
        name: String,
        /// Names that exist.
        known: Vec<String>,
    },
    /// Another process is running this experiment.
    #[error("experiment {id} is being run by process {process}")]
    Busy {
        /// Number of the experiment.
        id: i64,
        /// The process, and its machine.
        process: String,
    },
    /// An invalid request.
    #[error("{reason}")]
    Usage {
        /// Why.
        reason: String,
        /// Remedy.
        hint: String,
    },
    /// A rule file of the user is invalid.
    #[error(transparent)]
    Rules(#[from] roci_doctor::RuleError),
    /// An executor cannot be used here.
    #[error(transparent)]
    Executor(#[from] StartError),
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
}

impl Hint for LabError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Experiment { hint, .. } => hint.clone(),
            // A new file and an existing folder of the same name give the same error.
            Self::File { verb, path, .. } if path.is_dir() => Some(file_hint(verb, ErrorKind::IsADirectory).into()),
            Self::File { verb, source, .. } => Some(file_hint(verb, source.kind()).into()),
            Self::Store { hint, .. } => {
                let other = "move the file away, or choose another with `--db` or ROCI_LAB_DB";
                Some(hint.clone().unwrap_or_else(|| other.into()))
            }
            Self::Unknown { known, .. } if known.is_empty() => {
                Some("there is none yet: `roci lab run` creates one".into())
            }
            Self::Unknown { known, name, .. } => Some(match near(name, known.iter().map(String::as_str)) {
                Some(meant) => format!("did you mean `{meant}`? There are: {}", listed(known)),
                None => format!("there are: {}", listed(known)),
            }),
            Self::Busy { .. } => Some("wait for it, stop it, or add `--steal` if it no longer runs".into()),
            Self::Usage { hint, .. } => Some(hint.clone()),
            Self::Rules(_) => Some("fix the file or move it away; docs/reference/rules.md describes the format".into()),
            Self::Executor(error) => error.hint(),
            Self::Output(_) => Some("check for a full disk or a closed standard output".into()),
        }
    }
}

/// Remedy for a file error, by its kind.
fn file_hint(verb: &str, kind: ErrorKind) -> &'static str {
    match (verb, kind) {
        (_, ErrorKind::AlreadyExists) => {
            "roci does not overwrite files: choose another name, or move the existing file away"
        }
        (_, ErrorKind::IsADirectory) => "this is a folder: name a file in it",
        (_, ErrorKind::NotADirectory) => "a component of the path is a file, not a folder",
        ("write", ErrorKind::NotFound) => "create the folder first, or choose an existing one",
        ("write", ErrorKind::StorageFull) => "free disk space, or choose a file on another disk",
        ("write", _) => "choose a file in a folder that you can write to",
        (_, ErrorKind::PermissionDenied) => "no permission to read it: ask its owner, or copy it as that user",
        _ => "name an existing file that you can read",
    }
}
