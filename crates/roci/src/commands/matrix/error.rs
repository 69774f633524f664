//! Why there is no matrix.

use std::path::PathBuf;

use roci_hal::Hint;

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MatrixError {
    /// The file of results.
    #[error("the results in `{}` cannot be used: {reason}", path.display())]
    Database {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Nothing is called that.
    #[error("no probe has `{0}` in its name")]
    NoProbe(String),
    /// Two answers for one reader.
    #[error("`--json` and `--markdown -` both go to standard output")]
    TwoAnswers,
}

impl Hint for MatrixError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Database { .. } => "name another file by `--database`, or move this one away".into(),
            Self::NoProbe(_) => "`roci matrix --list` shows all of them".into(),
            Self::TwoAnswers => "name a file behind `--markdown`".into(),
        })
    }
}
