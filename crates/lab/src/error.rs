//! What ends a command of the lab early.

use std::io::ErrorKind;
use std::path::PathBuf;

use roci_hal::Hint;

use crate::executor::StartError;
use crate::experiment::near;
use crate::words::{cut, listed};

/// An error of the lab.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// An experiment cannot be read as one.
    #[error("{place}: {reason}")]
    Experiment {
        /// The file, with the line where it is known.
        place: String,
        /// What is wrong.
        reason: String,
        /// What to do.
        hint: Option<String>,
    },
    /// A file cannot be read or written.
    #[error("cannot {verb} `{}`: {source}", path.display())]
    File {
        /// `read` or `write`.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file with the results.
    #[error("the results in `{}` cannot be used: {reason}", path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
        /// What to do.
        hint: Option<String>,
    },
    /// Nothing of that name is there.
    #[error("there is no {what} `{}`", cut(name))]
    Unknown {
        /// `experiment`, `run`, `strategy`.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Another process is at this experiment.
    #[error("experiment {id} is being run by process {process}")]
    Busy {
        /// The experiment.
        id: i64,
        /// Who, and where.
        process: String,
    },
    /// A request that makes no sense.
    #[error("{reason}")]
    Usage {
        /// Why.
        reason: String,
        /// What to do.
        hint: String,
    },
    /// A file with rules of the user's is wrong.
    #[error(transparent)]
    Rules(#[from] roci_doctor::RuleError),
    /// An executor that cannot work here.
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
            // A file that is to be new and a folder of its name give the same error.
            Self::File { verb, path, .. } if path.is_dir() => Some(file_hint(verb, ErrorKind::IsADirectory).into()),
            Self::File { verb, source, .. } => Some(file_hint(verb, source.kind()).into()),
            Self::Store { hint, .. } => {
                let other = "move the file away, or name another with `--db` or ROCI_LAB_DB";
                Some(hint.clone().unwrap_or_else(|| other.into()))
            }
            Self::Unknown { known, .. } if known.is_empty() => {
                Some("there is none yet: `roci lab run` makes one".into())
            }
            Self::Unknown { known, name, .. } => Some(match near(name, known.iter().map(String::as_str)) {
                Some(meant) => format!("did you mean `{meant}`? There are: {}", listed(known)),
                None => format!("there are: {}", listed(known)),
            }),
            Self::Busy { .. } => Some("wait for it, end it, or give `--steal` if it is gone".into()),
            Self::Usage { hint, .. } => Some(hint.clone()),
            Self::Rules(_) => Some("mend the file, or move it away; docs/doctor.md has the format".into()),
            Self::Executor(error) => error.hint(),
            Self::Output(_) => Some("look for a full disk or a closed file behind standard output".into()),
        }
    }
}

/// What to do about a file, by what is wrong with it.
fn file_hint(verb: &str, kind: ErrorKind) -> &'static str {
    match (verb, kind) {
        (_, ErrorKind::AlreadyExists) => {
            "roci writes over no file of yours: choose another name, or move that one away"
        }
        (_, ErrorKind::IsADirectory) => "that is a folder: name a file in it",
        (_, ErrorKind::NotADirectory) => "a part of that path is a file and no folder",
        ("write", ErrorKind::NotFound) => "make the folder first, or name one that is there",
        ("write", ErrorKind::StorageFull) => "make room, or name a file on another disk",
        ("write", _) => "name a file in a folder that you may write to",
        (_, ErrorKind::PermissionDenied) => "you may not read it: ask whoever owns it, or copy it as them",
        _ => "name a file that is there and that you may read",
    }
}
