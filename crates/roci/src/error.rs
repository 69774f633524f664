//! What ends a command early.

use std::path::PathBuf;

use roci_hal::Hint;
use roci_hal::env::Variable;

/// An error that ends a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The device, or its name.
    #[error(transparent)]
    Hal(#[from] roci_hal::Error),
    /// The device that an environment variable names.
    #[error("{}: {source}", variable.name)]
    Variable {
        /// The variable.
        variable: &'static Variable,
        /// What is wrong with its value, or with the device.
        source: roci_hal::Error,
    },
    /// A kernel cannot be written in the device's language.
    #[error(transparent)]
    Kernel(#[from] roci_kernels::Error),
    /// The kernels that roci carries.
    #[error(transparent)]
    Library(#[from] roci_device_library::Error),
    /// Standard output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
    /// A file cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A chip that does not exist.
    #[error("{source}")]
    Target {
        /// What is wrong with its name.
        source: roci_codeobj::TargetError,
        /// Chips with names like it.
        near: Vec<&'static str>,
    },
    /// A generic target where a chip is meant.
    #[error("{name} is a generic target, which code is made for; a device is a chip")]
    GenericTarget {
        /// The target.
        name: &'static str,
        /// What it covers.
        chips: Vec<&'static str>,
    },
    /// A language model cannot be measured.
    #[error(transparent)]
    Bench(Box<crate::commands::bench::BenchError>),
    /// A kernel cannot be emulated, or did not end well.
    #[error(transparent)]
    Emu(#[from] crate::commands::emu::EmuError),
    /// The doctor has no answer.
    #[error(transparent)]
    Doctor(#[from] crate::commands::doctor::DoctorError),
    /// An experiment cannot be run, or its results cannot be had.
    #[error(transparent)]
    Lab(#[from] roci_lab::LabError),
    /// There is no matrix.
    #[error(transparent)]
    Matrix(#[from] crate::commands::matrix::MatrixError),
    /// A language model has no answer.
    #[error(transparent)]
    Language(#[from] crate::commands::language::LanguageError),
    /// A model cannot be run.
    #[error(transparent)]
    Model(#[from] crate::commands::model::ModelError),
    /// A driver that is not in this binary.
    #[error("there is no driver `{name}`")]
    UnknownDriver {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// A kernel that is not in the table.
    #[error("there is no kernel whose name starts with `{name}`")]
    UnknownKernel {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
}

impl From<crate::commands::bench::BenchError> for CliError {
    fn from(error: crate::commands::bench::BenchError) -> Self {
        Self::Bench(Box::new(error))
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
            Self::Kernel(_) => {
                Some("this is a fault of roci: report it, with what `roci devices --json` prints".into())
            }
            Self::Library(error) => error.hint(),
            Self::Output(_) => Some("look for a full disk or a closed file behind standard output".into()),
            Self::Bench(error) => error.hint(),
            Self::Emu(error) => error.hint(),
            Self::Language(error) => error.hint(),
            Self::Doctor(error) => error.hint(),
            Self::Lab(error) => error.hint(),
            Self::Matrix(error) => error.hint(),
            Self::Model(error) => error.hint(),
            Self::UnknownDriver { known, .. } => Some(format!("drivers are: {}", known.join(", "))),
            Self::Target { source: roci_codeobj::TargetError::Processor { .. }, near } => {
                Some(format!("chips with names like that are: {}", near.join(", ")))
            }
            Self::Target { .. } => Some("write the chip alone, such as `gfx1013`".into()),
            Self::GenericTarget { chips, .. } => {
                Some(format!("name one of the chips that it covers: {}", chips.join(", ")))
            }
            Self::File { .. } => Some("name a folder that you may write to".into()),
            Self::UnknownKernel { known, .. } => Some(format!("kernels are: {}", known.join(", "))),
        }
    }
}
