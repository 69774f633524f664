//! What keeps a kernel from being run, or ends it.

use std::path::PathBuf;

use roci_codeobj::FileError;
use roci_emu::{DispatchError, Fault};
use roci_hal::Hint;

use crate::exit::ExitStatus;
use crate::npy::NpyError;

/// Folders as a list for a message.
fn list(folders: &[PathBuf]) -> String {
    let quoted: Vec<_> = folders.iter().map(|folder| format!("`{}`", folder.display())).collect();
    quoted.join(", ")
}

/// An error of `roci emu`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EmuError {
    #[error("the GPU `{0}` is not emulated")]
    UnknownGpu(String),
    #[error("cannot read `{}`: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("cannot write `{}`: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("`{}`: {source}", path.display())]
    File { path: PathBuf, source: FileError },
    #[error("`{}` has no code that runs on {gpu}", path.display())]
    NoObject { path: PathBuf, gpu: String, targets: Vec<String> },
    #[error("`{}`: {source}", path.display())]
    Object { path: PathBuf, source: roci_codeobj::Error },
    #[error("`{}` has no kernel `{name}`", path.display())]
    NoKernel { path: PathBuf, name: String, known: Vec<String> },
    #[error("`{}`: {source}", path.display())]
    Npy { path: PathBuf, source: NpyError },
    #[error("the argument `{text}` {reason}")]
    Argument { text: String, reason: String },
    #[error("the kernel takes {wanted} arguments, {given} are given")]
    ArgumentCount { wanted: usize, given: usize, list: String },
    #[error("argument {index} ({what}) cannot be `{text}`: {reason}")]
    ArgumentKind { index: usize, what: String, text: String, reason: String },
    #[error("the kernel works with blocks of {wanted} only, not of {given}")]
    BlockSize { wanted: String, given: String },
    #[error("the kernel was compiled for blocks of {most} work-items at most, not of {given}")]
    BlockTooLarge { most: u64, given: u64 },
    #[error("{0} bytes do not fit into memory")]
    Memory(u64),
    #[error("{0}")]
    Check(#[from] roci_emu::UnknownCheck),
    #[error(transparent)]
    Emulator(roci_emu::Error),
    #[error("the kernel did not end within {seconds} s")]
    Timeout { seconds: f64 },
    #[error("stopped by Ctrl-C")]
    Interrupted,
    #[error(
        "the emulated HSA runtime is not installed: no `libhsa_runtime64.so` and `libroci_emu_preload.so` in {}",
        list(folders)
    )]
    NoLibraries { folders: Vec<PathBuf> },
    #[error("cannot put the libraries for other programs into `{}`: {source}", path.display())]
    Install { path: PathBuf, source: std::io::Error },
    #[error("cannot start `{program}`: {source}")]
    NotStarted { program: String, source: std::io::Error },
}

impl From<roci_emu::Error> for EmuError {
    fn from(error: roci_emu::Error) -> Self {
        Self::Emulator(error)
    }
}

impl EmuError {
    /// The fault, if a wave faulted.
    pub(super) fn fault(&self) -> Option<&roci_emu::FaultReport> {
        match self {
            Self::Emulator(roci_emu::Error::Dispatch(DispatchError::Fault(report))) => Some(report),
            _ => None,
        }
    }

    /// How the command ends.
    pub(crate) fn status(&self) -> ExitStatus {
        match self {
            Self::UnknownGpu(_) => ExitStatus::NoDevice,
            Self::Timeout { .. } => ExitStatus::DeviceFailed,
            Self::Interrupted => ExitStatus::Interrupted,
            Self::NotStarted { .. } => ExitStatus::NotStarted,
            Self::Emulator(roci_emu::Error::Dispatch(_)) => ExitStatus::DeviceFailed,
            _ => ExitStatus::Error,
        }
    }
}

/// The forms of `--arg`, for hints.
const FORMS: &str = "arguments are in:FILE.npy, out:FILE.npy:DTYPE:COUNT, inout:IN.npy:OUT.npy, u32:5, f32:2.5 and so on, u32:5,f32:1 for a structure, lds:BYTES";

impl Hint for EmuError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::UnknownGpu(_) => {
                let chips: Vec<_> = roci_emu::Chip::ALL.iter().map(ToString::to_string).collect();
                format!("emulated are {}", chips.join(", "))
            }
            Self::NoObject { targets, .. } if targets.is_empty() => {
                "build code for it with `clang -target amdgcn-amd-amdhsa -mcpu=…`".into()
            }
            Self::NoObject { targets, .. } => format!("it has code for {}", targets.join(", ")),
            Self::NoKernel { known, .. } if known.is_empty() => "it has no kernels".into(),
            Self::NoKernel { known, .. } => format!("kernels are: {}", known.join(", ")),
            Self::Npy { .. } => "write it with `numpy.save`: little-endian numbers in C order".into(),
            Self::Argument { .. } => FORMS.into(),
            Self::ArgumentCount { list, .. } => format!("they are, in this order: {list}"),
            Self::ArgumentKind { .. } => FORMS.into(),
            Self::BlockSize { wanted, .. } => format!("use `--block {wanted}`"),
            Self::BlockTooLarge { most, .. } => {
                format!(
                    "use at most `--block {most}`, or compile it for more (`amdgpu_flat_work_group_size`, `__launch_bounds__`)"
                )
            }
            Self::Memory(_) => "give smaller counts".into(),
            Self::Check(_) => "name them with commas between: `waits,uninit,races`".into(),
            Self::Timeout { .. } => {
                "allow more with `--timeout SECONDS`, or see where it is with `roci emu trace`".into()
            }
            Self::Interrupted => "nothing was written".into(),
            Self::NoLibraries { .. } => {
                "copy both libraries beside `roci`; `cargo build --release` puts them into `target/release`".into()
            }
            Self::Install { .. } => {
                "set XDG_CACHE_HOME to a folder that only you may write, without spaces or colons".into()
            }
            Self::NotStarted { .. } => "name a program of PATH, or the path of one, behind `--`".into(),
            Self::Read { source, .. } if source.kind() == std::io::ErrorKind::FileTooLarge => {
                "name a file on a disk, not a pipe or a device".into()
            }
            Self::Write { .. } => "name a folder that you may write to".into(),
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

/// What to do about a fault.
fn fault_hint(fault: &Fault) -> String {
    match fault {
        Fault::IllegalInstruction => {
            "the chip lacks it: build the code for this chip, or choose another `--gpu`".into()
        }
        Fault::Unimplemented => "report it with the instruction: the emulator should know it".into(),
        Fault::Memory { write: true, .. } => {
            "look for an index beyond `out:` and `inout:` arrays; `in:` arrays may not be written".into()
        }
        Fault::Memory { .. } => "look for an index beyond an array, or for arguments in the wrong order".into(),
        Fault::Misaligned { .. } => "atomic operations need addresses that are multiples of their size".into(),
        Fault::Scratch { .. } => "the kernel uses more private memory than its descriptor says".into(),
        Fault::RegisterBeyondAllocation { .. } => "the kernel's descriptor names too few registers".into(),
        Fault::ScalarRegisterBeyondLast { .. } => "`m0` holds a wrong index: look at it with `roci emu trace`".into(),
        Fault::OutsideCode { .. } => "a jump or a return address is wrong: look at it with `roci emu trace`".into(),
        Fault::Trap { .. } => "the kernel gave up: look for an assertion or `__builtin_trap` in its source".into(),
        Fault::Check(_) => "the results of this kernel would depend on luck on a real GPU".into(),
    }
}
