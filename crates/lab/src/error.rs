//! What ends a command of the lab early.

use std::path::PathBuf;

use roci_hal::Hint;

use crate::executor::StartError;

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
    },
    /// Nothing of that name is there.
    #[error("there is no {what} `{name}`")]
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
            Self::File { verb: "write", .. } => Some("name a file in a folder that you may write to".into()),
            Self::File { .. } => Some("name a file that is there and that you may read".into()),
            Self::Store { .. } => Some("move the file away, or name another with `--db` or ROCI_LAB_DB".into()),
            Self::Unknown { known, .. } if known.is_empty() => {
                Some("there is none yet: `roci lab run` makes one".into())
            }
            Self::Unknown { known, .. } => Some(format!("there are: {}", known.join(", "))),
            Self::Busy { .. } => Some("wait for it, end it, or give `--steal` if it is gone".into()),
            Self::Usage { hint, .. } => Some(hint.clone()),
            Self::Executor(error) => error.hint(),
            Self::Output(_) => Some("look for a full disk or a closed file behind standard output".into()),
        }
    }
}
