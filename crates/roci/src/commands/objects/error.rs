//! What can be wrong with a file, or with a part of it. None of it ends the command: the other files go on.

use std::path::PathBuf;

use roci_codeobj::FileError;
use roci_hal::Hint;

/// Something to report and to go on from.
#[derive(Debug, thiserror::Error)]
pub(super) enum ObjectsError {
    /// The file cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// The file is of the wrong kind, or damaged.
    #[error("`{}`: {source}", path.display())]
    File { path: PathBuf, source: FileError },
    /// A part of the file is damaged.
    #[error("`{}` at {place}: {source}", path.display())]
    Part { path: PathBuf, place: String, source: FileError },
    /// A code object is damaged, or of a kind that is not supported.
    #[error("`{}` at {place}: {source}", path.display())]
    Object { path: PathBuf, place: String, source: roci_codeobj::Error },
    /// Extracted code cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    /// There is no disassembler for the code.
    #[error("`{}` at {place}: code for {target} cannot be disassembled", path.display())]
    Disassemble { path: PathBuf, place: String, target: String },
    /// No file has the kernel that was asked for.
    #[error("no kernel is called `{name}`")]
    NoKernel { name: String, known: Vec<String> },
}

impl Hint for ObjectsError {
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
                Some(format!("the disassembler knows {}", chips.join(", ")))
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
