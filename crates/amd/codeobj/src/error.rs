//! Errors in code objects. Names from a file are printed escaped, because they may contain
//! anything.

/// Why bytes are not a usable code object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not an ELF file, or one whose tables point outside it.
    #[error("the ELF file is damaged: {0}")]
    Elf(String),
    /// An ELF file for another machine.
    #[error("this ELF file is for machine {0}, not for AMD GPUs")]
    Machine(u16),
    /// AMD GPU code for a runtime other than HSA, such as Mesa's or PAL's.
    #[error("the code is for {0}, not for the HSA runtime")]
    Abi(&'static str),
    /// A version older than 3 or newer than 6.
    #[error("code object version {0} is not supported; versions 3 to 6 are")]
    Version(u32),
    /// An object file that is not linked yet.
    #[error("this is a relocatable object, not a linked code object: link it with `ld.lld -shared`")]
    NotLinked,
    /// Unknown processor number in the ELF header.
    #[error("the code is for an unknown processor (EF_AMDGPU_MACH 0x{0:02x})")]
    Processor(u8),
    /// Malformed metadata note.
    #[error("the metadata is damaged: {0}")]
    Metadata(String),
    /// A kernel without a usable descriptor.
    #[error("kernel `{}` {reason}", kernel.escape_debug())]
    Kernel {
        /// Kernel name.
        kernel: String,
        /// What is wrong with the descriptor.
        reason: &'static str,
    },
}

/// Why a code object cannot be loaded into memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The segments span more memory than any real code object does.
    #[error("the code object needs 0x{0:x} bytes of memory; the limit is 0x{max:x}", max = crate::memory_image::MAX_IMAGE)]
    TooLarge(u64),
    /// Two segments overlap.
    #[error("the segment at 0x{0:x} overlaps another segment")]
    Overlap(u64),
    /// A relocation type that a loader does not handle, or that does not exist.
    #[error("the relocation at 0x{address:x} has type {kind}, which the loader does not support")]
    Relocation {
        /// Address of the relocation in the code object.
        address: u64,
        /// `R_AMDGPU_*` number.
        kind: u32,
    },
    /// A relocation outside the segments.
    #[error("the relocation at 0x{0:x} is outside all segments")]
    Outside(u64),
    /// An undefined symbol that is not weak.
    #[error("undefined symbol `{}`", .0.escape_debug())]
    Undefined(String),
}
