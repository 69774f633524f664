//! What can go wrong while the library is made.

use std::path::PathBuf;

use roci_codeobj::{TargetError, TargetId};
use roci_device_library::Toolchain;
use roci_hal::Hint;
use roci_hal::env::DEVICE_TARGETS;

/// Why the library was not made, or not found good.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program that is not there, or too old.
    #[error("`{program}` is needed: {reason}")]
    Missing {
        /// The program.
        program: &'static str,
        /// What was found instead.
        reason: String,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// A program that could not be started.
    #[error("cannot run `{program}`: {source}")]
    Run {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// A program that says no, or anything at all where silence means yes.
    #[error("`{program}` says of {what}:\n{output}")]
    Refused {
        /// The program.
        program: String,
        /// What it was given.
        what: String,
        /// What it says.
        output: String,
    },
    /// A file that cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A kernel that has no OpenCL C.
    #[error(transparent)]
    Kernel(#[from] roci_kernels::Error),
    /// An archive that cannot be read.
    #[error(transparent)]
    Library(#[from] roci_device_library::Error),
    /// A list of targets with something wrong in it.
    #[error("{}: {source}", DEVICE_TARGETS.name)]
    Targets {
        /// What is wrong.
        #[from]
        source: TargetError,
    },
    /// Code that came out for another target than it was made for.
    #[error("the code for {wanted} came out wrong: {reason}")]
    Target {
        /// What it was made for.
        wanted: TargetId,
        /// What it is.
        reason: String,
    },
    /// The archive was made by other programs, so that its bytes cannot be compared.
    #[error("the archive was made by `{}` and `{}`, here are `{}` and `{}`: its bytes are not compared",
        recorded.clang, recorded.linker, here.clang, here.linker)]
    OtherPrograms {
        /// What made the archive.
        recorded: Toolchain,
        /// What is here.
        here: Toolchain,
    },
    /// The archive is not what the sources give.
    #[error("the device library is not what the sources give:\n  {}", .0.join("\n  "))]
    Stale(Vec<String>),
}

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Missing { package, .. } => {
                Some(format!("`apt install {package}` (Debian and Ubuntu; LLVM 22 also comes from apt.llvm.org)"))
            }
            Self::Library(error) => error.hint(),
            Self::Targets { .. } => {
                Some("name targets as clang does, separated by commas: `gfx1010,gfx11-generic`".into())
            }
            Self::OtherPrograms { .. } => {
                Some("rebuild the library with the programs here, or check with those".into())
            }
            Self::Stale(_) => Some("`cargo run --release -p roci-device-build` makes it anew".into()),
            _ => None,
        }
    }
}
