//! What can be wrong with a code object. Names that come from a file are shown escaped: they may hold anything.

/// Why bytes are no code object that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is no ELF file, or one whose tables point outside it.
    #[error("the ELF file is damaged: {0}")]
    Elf(String),
    /// It is an ELF file for another machine.
    #[error("this is an ELF file for machine {0}, not for AMD GPUs")]
    Machine(u16),
    /// It is AMD GPU code for another runtime than HSA, such as Mesa's or PAL's.
    #[error("the code is not for the HSA runtime but for {0}")]
    Abi(&'static str),
    /// Its version is older than 3 or newer than 6.
    #[error("code object version {0} is not supported, only 3 to 6 are")]
    Version(u32),
    /// It is an object file that a linker has still to work on.
    #[error("this is a relocatable object, not a linked code object: link it with `ld.lld -shared`")]
    NotLinked,
    /// The number of its processor is not known.
    #[error("the code is for an unknown processor (EF_AMDGPU_MACH 0x{0:02x})")]
    Processor(u8),
    /// Its metadata cannot be read.
    #[error("the metadata is damaged: {0}")]
    Metadata(String),
    /// A kernel has no usable descriptor.
    #[error("kernel `{}` {reason}", kernel.escape_debug())]
    Kernel {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        reason: &'static str,
    },
}

/// Why a code object cannot be laid out in memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Its segments span more memory than any real code object does.
    #[error("the code object wants 0x{0:x} bytes of memory, more than the 0x{max:x} that are allowed", max = crate::image::MAX_IMAGE)]
    TooLarge(u64),
    /// A segment overlaps another one.
    #[error("the segment at 0x{0:x} overlaps another one")]
    Overlap(u64),
    /// A relocation of a kind that a loader does not see, or that does not exist.
    #[error("the relocation at 0x{address:x} has kind {kind}, which a loader cannot apply")]
    Relocation {
        /// Where.
        address: u64,
        /// Its number.
        kind: u32,
    },
    /// A relocation outside the segments.
    #[error("the relocation at 0x{0:x} lies outside the segments")]
    Outside(u64),
    /// A symbol that nobody defines.
    #[error("the code needs the symbol `{}`, which nothing defines", .0.escape_debug())]
    Undefined(String),
}
