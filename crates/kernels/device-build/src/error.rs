//! Errors of building and checking the library.

use std::path::PathBuf;

use roci_base::Hint;
use roci_base::env::DEVICE_TARGETS;
use roci_codeobj::{TargetError, TargetId};
use roci_device_library::Toolchain;

/// Why the library was not built, or failed its check.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A required program is missing or too old.
    #[error("`{program}` is needed: {reason}")]
    Missing {
        /// Name of the program.
        program: &'static str,
        /// What was found instead.
        reason: String,
        /// The Debian package that provides it.
        package: &'static str,
    },
    /// A program could not be started.
    #[error("cannot run `{program}`: {source}")]
    Run {
        /// Name of the program.
        program: String,
        /// Error from the operating system.
        source: std::io::Error,
    },
    /// A program failed, or printed output when none was expected.
    #[error("`{program}` failed for {what}:\n{output}")]
    Refused {
        /// Name of the program.
        program: String,
        /// The input it was run on.
        what: String,
        /// Its output.
        output: String,
    },
    /// A file cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error from the operating system.
        source: std::io::Error,
    },
    /// A kernel cannot be written as OpenCL C.
    #[error(transparent)]
    Kernel(#[from] roci_kernels::Error),
    /// An archive cannot be read.
    #[error(transparent)]
    Library(#[from] roci_device_library::Error),
    /// The list of targets is invalid.
    #[error("{}: {source}", DEVICE_TARGETS.name)]
    Targets {
        /// What is invalid.
        #[from]
        source: TargetError,
    },
    /// The compiler produced code for a target other than the requested one.
    #[error("the code for {expected} is wrong: {reason}")]
    Target {
        /// The requested target.
        expected: TargetId,
        /// How the code differs.
        reason: String,
    },
    /// The archive was built by a different toolchain, so its bytes cannot be compared.
    #[error("the archive was built by `{}` and `{}`, but this machine has `{}` and `{}`: the bytes cannot be compared",
        recorded.clang, recorded.linker, here.clang, here.linker)]
    OtherPrograms {
        /// The toolchain recorded in the archive.
        recorded: Toolchain,
        /// The toolchain of this machine.
        here: Toolchain,
    },
    /// The archive is out of date.
    #[error("the device library does not match the sources:\n  {}", .0.join("\n  "))]
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
                Some("give targets by their clang names, separated by commas: `gfx1010,gfx11-generic`".into())
            }
            Self::OtherPrograms { .. } => {
                Some("rebuild the library with this machine's programs, or check with the original ones".into())
            }
            Self::Stale(_) => Some("`cargo run --release -p roci-device-build` rebuilds it".into()),
            _ => None,
        }
    }
}
