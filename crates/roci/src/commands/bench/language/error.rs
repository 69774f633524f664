//! Errors of language model benchmarks.

use roci_base::Hint;

use crate::commands::language::LanguageError;
use crate::exit::ExitStatus;

/// Why a language model cannot be benchmarked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// The tests have neither a prompt nor tokens to generate.
    #[error("nothing to measure: no prompt and no tokens to generate")]
    NoTests,
    /// Tests that differ only in the number of sequences would be the same SQL row.
    #[error("`-o sql` has no column for the number of sequences")]
    ParallelSql,
    /// The model file cannot be loaded.
    #[error(transparent)]
    File(LanguageError),
    /// The model cannot run on a device.
    #[error("{device}: {source}")]
    Device { device: String, source: Box<LanguageError> },
    /// The logits are wrong, so the speed is meaningless.
    #[error("{device}: {test} gave logits that {fault}")]
    InvalidLogits {
        device: String,
        test: String,
        /// What is wrong with the logits.
        fault: &'static str,
    },
}

impl BenchError {
    pub(crate) fn status(&self) -> ExitStatus {
        match self {
            Self::NoTests | Self::ParallelSql => ExitStatus::Error,
            Self::File(error) => error.status(),
            Self::Device { source, .. } => source.status(),
            Self::InvalidLogits { .. } => ExitStatus::Problems,
        }
    }
}

impl Hint for BenchError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::NoTests => Some("give `-p` or `-n` a positive number".into()),
            Self::ParallelSql => Some("use `-o csv` or `-o json`, or leave `--parallel` out".into()),
            Self::File(error) => error.hint(),
            Self::Device { source, .. } => source.hint(),
            Self::InvalidLogits { device, .. } => {
                Some(format!("`roci demo --device {device}` checks the kernels of the device"))
            }
        }
    }
}
