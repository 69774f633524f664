//! Errors before and during the emulation of a kernel or a program.

use std::path::PathBuf;

use roci_base::Hint;
use roci_codeobj::FileError;
use roci_emu::{DispatchError, Fault};
use roci_npy::NpyError;

/// Folders as a list, for a message.
fn list(folders: &[PathBuf]) -> String {
    let quoted: Vec<_> = folders.iter().map(|folder| format!("`{}`", folder.display())).collect();
    quoted.join(", ")
}

/// Why a kernel or a program cannot run on an emulated GPU.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no emulated chip of this name.
    #[error("the GPU `{0}` is not emulated")]
    UnknownGpu(String),
    /// A file cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Write {
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
    /// The file has no code for the chip.
    #[error("`{}` has no code that runs on {gpu}", path.display())]
    NoObject {
        /// Path of the file.
        path: PathBuf,
        /// The chip.
        gpu: String,
        /// Targets that the file has code for.
        targets: Vec<String>,
    },
    /// The code object is damaged, or of an unsupported kind.
    #[error("`{}`: {source}", path.display())]
    Object {
        /// Path of the file.
        path: PathBuf,
        /// The error in the code object.
        source: roci_codeobj::Error,
    },
    /// The code object has no kernel of this name.
    #[error("`{}` has no kernel `{name}`", path.display())]
    NoKernel {
        /// Path of the file.
        path: PathBuf,
        /// The requested kernel.
        name: String,
        /// Kernels of the code object.
        known: Vec<String>,
    },
    /// An input array is not a valid NumPy file.
    #[error("`{}`: {source}", path.display())]
    Npy {
        /// Path of the file.
        path: PathBuf,
        /// The error in the file.
        source: NpyError,
    },
    /// A kernel argument cannot be parsed.
    #[error("the argument `{text}` {reason}")]
    Argument {
        /// The argument.
        text: String,
        /// A predicate about it.
        reason: String,
    },
    /// The number of arguments is wrong.
    #[error("the kernel takes {expected} arguments, but {given} were given")]
    ArgumentCount {
        /// Arguments that the kernel declares.
        expected: usize,
        /// Arguments that were given.
        given: usize,
        /// The declared arguments as text.
        list: String,
    },
    /// An argument does not fit the kernel's parameter.
    #[error("argument {index} ({parameter}) cannot be `{text}`: {reason}")]
    ArgumentKind {
        /// Position from 1.
        index: usize,
        /// The kernel's parameter as text.
        parameter: String,
        /// The argument.
        text: String,
        /// Why it does not fit.
        reason: String,
    },
    /// The kernel requires another workgroup size.
    #[error("the kernel requires workgroups of {required} work-items, not {given}")]
    WorkgroupSize {
        /// The size that the code object requires.
        required: String,
        /// The given size.
        given: String,
    },
    /// The workgroup is larger than the kernel supports.
    #[error("the kernel was compiled for workgroups of at most {max} work-items, not {given}")]
    WorkgroupTooLarge {
        /// Maximum number of work-items.
        max: u64,
        /// The given number.
        given: u64,
    },
    /// This number of bytes cannot be allocated.
    #[error("cannot allocate {0} bytes of memory")]
    Memory(u64),
    /// `--check` names a check that does not exist.
    #[error("{0}")]
    Check(#[from] roci_emu::UnknownCheck),
    /// The emulator failed, or the kernel faulted.
    #[error(transparent)]
    Emulator(#[from] roci_emu::Error),
    /// The kernel exceeded its time limit.
    #[error("the kernel did not end within {seconds} s")]
    Timeout {
        /// The time limit.
        seconds: f64,
    },
    /// The run was interrupted.
    #[error("stopped by Ctrl-C")]
    Interrupted,
    /// The trace cannot be written.
    #[error("cannot write the output: {0}")]
    Output(std::io::Error),
    /// The libraries are in none of the searched folders.
    #[error(
        "the emulated HSA runtime is not installed: no `libhsa_runtime64.so` and `libroci_emu_preload.so` in {}",
        list(folders)
    )]
    NoLibraries {
        /// The searched folders.
        folders: Vec<PathBuf>,
    },
    /// The libraries cannot be written.
    #[error("cannot install the libraries for other programs in `{}`: {source}", path.display())]
    Install {
        /// The folder.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
}

impl Error {
    /// The fault, if a wave faulted.
    pub fn fault(&self) -> Option<&roci_emu::FaultReport> {
        match self {
            Self::Emulator(roci_emu::Error::Dispatch(DispatchError::Fault(report))) => Some(report),
            _ => None,
        }
    }
}

/// The forms of `--arg`, for hints.
const FORMS: &str = "arguments are in:FILE.npy, out:FILE.npy:DTYPE:COUNT, inout:IN.npy:OUT.npy, u32:5, f32:2.5 etc., u32:5,f32:1 for a structure, lds:BYTES";

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::UnknownGpu(_) => {
                let chips: Vec<_> = roci_emu::Chip::ALL.iter().map(ToString::to_string).collect();
                format!("the emulated GPUs are {}", chips.join(", "))
            }
            Self::NoObject { targets, .. } if targets.is_empty() => {
                "build code for it with `clang -target amdgcn-amd-amdhsa -mcpu=…`".into()
            }
            Self::NoObject { targets, .. } => format!("it has code for {}", targets.join(", ")),
            Self::NoKernel { known, .. } if known.is_empty() => "it has no kernels".into(),
            Self::NoKernel { known, .. } => format!("kernels are: {}", known.join(", ")),
            Self::Npy { .. } => "write it with `numpy.save`: little-endian numbers in C order".into(),
            Self::Argument { .. } => FORMS.into(),
            Self::ArgumentCount { list, .. } => format!("the arguments are, in order: {list}"),
            Self::ArgumentKind { .. } => FORMS.into(),
            Self::WorkgroupSize { required, .. } => format!("use `--block {required}`"),
            Self::WorkgroupTooLarge { max, .. } => {
                format!(
                    "use at most `--block {max}`, or compile it for more (`amdgpu_flat_work_group_size`, `__launch_bounds__`)"
                )
            }
            Self::Memory(_) => "use smaller arrays".into(),
            Self::Check(_) => "separate the checks with commas: `waits,uninit,races`".into(),
            Self::Timeout { .. } => {
                "allow more with `--timeout SECONDS`, or see where it is with `roci emu trace`".into()
            }
            Self::Interrupted => "nothing was written".into(),
            Self::NoLibraries { .. } => {
                "copy both libraries to the folder of `roci`; in a clone of its repository, `cargo build --release` puts them \
                 into `target/release`"
                    .into()
            }
            Self::Install { .. } => {
                "set XDG_CACHE_HOME to a folder that only you may write, without spaces or colons".into()
            }
            Self::Read { source, .. } if source.kind() == std::io::ErrorKind::FileTooLarge => {
                "name a file on a disk, not a pipe or a device".into()
            }
            Self::Write { .. } => "name a folder that you may write to".into(),
            Self::Output(_) => "check whether the disk is full or standard output is closed".into(),
            Self::Emulator(error) => return emulator_hint(error),
            Self::Read { .. } | Self::File { .. } | Self::Object { .. } => return None,
        })
    }
}

fn emulator_hint(error: &roci_emu::Error) -> Option<String> {
    Some(match error {
        roci_emu::Error::Dispatch(DispatchError::Fault(report)) => fault_hint(&report.fault),
        roci_emu::Error::Launch(_) => "change `--block` or `--lds`".into(),
        roci_emu::Error::WrongChip { .. } => "choose another `--gpu`, or build the code for this one".into(),
        _ => return None,
    })
}

/// The remedy for a fault.
fn fault_hint(fault: &Fault) -> String {
    match fault {
        Fault::IllegalInstruction => {
            "the chip lacks it: build the code for this chip, or choose another `--gpu`".into()
        }
        Fault::Unimplemented => "report it with the instruction: the emulator should support it".into(),
        Fault::Memory { write: true, .. } => {
            "look for an index beyond `out:` and `inout:` arrays; `in:` arrays are read-only".into()
        }
        Fault::Memory { .. } => "look for an index beyond an array, or for arguments in the wrong order".into(),
        Fault::Misaligned { .. } => "atomic operations need addresses that are multiples of their size".into(),
        Fault::Scratch { .. } => "the kernel uses more private memory than its descriptor says".into(),
        Fault::RegisterBeyondAllocation { .. } => "the kernel's descriptor names too few registers".into(),
        Fault::ScalarRegisterBeyondLast { .. } => "`m0` holds a wrong index: look at it with `roci emu trace`".into(),
        Fault::OutsideCode { .. } => "a jump or a return address is wrong: look at it with `roci emu trace`".into(),
        Fault::Trap { .. } => "the kernel trapped: look for an assertion or `__builtin_trap` in its source".into(),
        Fault::Check(_) => {
            "on a real GPU, the results of this kernel would depend on timing or on old memory contents".into()
        }
    }
}
