//! Errors in a file or in a part of it. They are not fatal: the other files are still processed.

use std::path::PathBuf;

use roci_base::Hint;
use roci_codeobj::FileError;

/// Why a file, or a part of it, cannot be analyzed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// The file cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The file has an unsupported format, or is damaged.
    #[error("`{}`: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The error in the file.
        source: FileError,
    },
    /// A part of the file is damaged.
    #[error("`{}` at {location}: {source}", path.display())]
    Part {
        /// Path of the file.
        path: PathBuf,
        /// Location of the code in the file.
        location: String,
        /// The error in the file.
        source: FileError,
    },
    /// A code object is damaged, or of an unsupported kind.
    #[error("`{}` at {location}: {source}", path.display())]
    Object {
        /// Path of the file.
        path: PathBuf,
        /// Location of the code in the file.
        location: String,
        /// The error in the code object.
        source: roci_codeobj::Error,
    },
    /// Extracted code cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The disassembler does not support the target.
    #[error("`{}` at {location}: code for {target} cannot be disassembled", path.display())]
    Disassemble {
        /// Path of the file.
        path: PathBuf,
        /// Location of the code in the file.
        location: String,
        /// Target of the code.
        target: String,
    },
    /// No file contains the requested kernel.
    #[error("no file has a kernel `{name}`")]
    NoKernel {
        /// The requested kernel.
        name: String,
        /// Kernels of all files.
        known: Vec<String>,
    },
}

impl Hint for ObjectError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::File { source: FileError::UnknownFormat, .. } => {
                Some("files may be code objects, offload bundles, ELF programs and libraries, or archives".into())
            }
            Self::Write { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists => {
                Some("nothing is overwritten: remove the file, or name another folder".into())
            }
            Self::Write { .. } => Some("name a folder that you may write to".into()),
            Self::Disassemble { .. } => {
                let chips: Vec<_> = roci_isa::Chip::ALL.iter().map(ToString::to_string).collect();
                Some(format!("the disassembler supports {}", chips.join(", ")))
            }
            Self::NoKernel { known, .. } if known.is_empty() => Some("these files have no kernels".into()),
            Self::NoKernel { known, .. } => Some(format!("kernels are: {}", known.join(", "))),
            Self::Object { source: roci_codeobj::Error::Version(_), .. } => {
                Some("build it again with `-mcode-object-version=5`".into())
            }
            Self::Read { .. } | Self::File { .. } | Self::Part { .. } | Self::Object { .. } => None,
        }
    }
}
