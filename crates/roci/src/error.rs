//! Errors that end a command.

use std::path::PathBuf;

use roci_base::Hint;
use roci_base::env::Variable;

/// An error that ends a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// A device, or its URI, is invalid.
    #[error(transparent)]
    Hal(#[from] roci_hal::Error),
    /// The device that an environment variable names cannot be used.
    #[error("{}: {source}", variable.name)]
    Variable {
        variable: &'static Variable,
        /// The error of its value or of the device.
        source: roci_hal::Error,
    },
    /// A kernel cannot be compiled for the device's language.
    #[error(transparent)]
    Kernel(#[from] roci_kernels::Error),
    /// The embedded device library is invalid.
    #[error(transparent)]
    Library(#[from] roci_device_library::Error),
    /// Standard output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
    /// A file cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    /// The chip of `roci objects --for` is invalid.
    #[error(transparent)]
    Chip(#[from] roci_objects::coverage::ChipError),
    /// A language model cannot be benchmarked.
    #[error(transparent)]
    Bench(Box<crate::commands::bench::BenchError>),
    /// A kernel cannot be emulated, or it failed.
    #[error(transparent)]
    Emu(#[from] crate::commands::emu::EmuError),
    /// The doctor cannot analyze the machine.
    #[error(transparent)]
    Doctor(#[from] crate::commands::doctor::DoctorError),
    /// An experiment cannot be run, or its results cannot be read.
    #[error(transparent)]
    Lab(#[from] roci_lab::LabError),
    /// The matrix cannot be run.
    #[error(transparent)]
    Matrix(#[from] crate::commands::matrix::MatrixError),
    /// A language model cannot be loaded or run.
    #[error(transparent)]
    Language(#[from] crate::commands::language::LanguageError),
    /// An ONNX model cannot be run.
    #[error(transparent)]
    Onnx(#[from] crate::commands::onnx::OnnxError),
    /// A driver that is not in this binary.
    #[error("there is no driver `{name}`")]
    UnknownDriver {
        name: String,
        /// The available names.
        known: Vec<&'static str>,
    },
    /// A kernel that is not in the table.
    #[error("there is no kernel whose name starts with `{name}`")]
    UnknownKernel {
        name: String,
        /// The available names.
        known: Vec<&'static str>,
    },
}

impl From<crate::commands::bench::BenchError> for CliError {
    fn from(error: crate::commands::bench::BenchError) -> Self {
        Self::Bench(Box::new(error))
    }
}

impl From<roci_probe::Error> for CliError {
    fn from(error: roci_probe::Error) -> Self {
        match error {
            roci_probe::Error::Hal(error) => Self::Hal(error),
            roci_probe::Error::Kernel(error) => Self::Kernel(error),
            roci_probe::Error::UnknownKernel { name, known } => Self::UnknownKernel { name, known },
        }
    }
}

impl Hint for CliError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Hal(error) => error.hint(),
            Self::Variable { variable, source } => {
                let set = format!("set or unset {}", variable.name);
                Some(source.hint().map_or(set.clone(), |hint| format!("{hint}; {set}")))
            }
            Self::Kernel(_) => Some("this is a bug in roci: report it with the output of `roci devices --json`".into()),
            Self::Library(error) => error.hint(),
            Self::Output(_) => Some("check whether the disk is full or standard output is closed".into()),
            Self::Bench(error) => error.hint(),
            Self::Emu(error) => error.hint(),
            Self::Language(error) => error.hint(),
            Self::Doctor(error) => error.hint(),
            Self::Lab(error) => error.hint(),
            Self::Matrix(error) => error.hint(),
            Self::Onnx(error) => error.hint(),
            Self::UnknownDriver { known, .. } => Some(format!("drivers are: {}", known.join(", "))),
            Self::Chip(error) => error.hint(),
            Self::File { .. } => Some("choose a folder that you may write to".into()),
            Self::UnknownKernel { known, .. } => Some(format!("kernels are: {}", known.join(", "))),
        }
    }
}
