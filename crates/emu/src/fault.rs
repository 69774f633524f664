//! What ends a kernel before its end.

use std::fmt;

/// What a wave did that no wave may do, or that ends the kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The bytes are no instruction of the chip.
    #[error("illegal instruction")]
    IllegalInstruction,
    /// The instruction is one of the chip's, but the emulator lacks it.
    #[error("the emulator does not implement this instruction")]
    Unimplemented,
    /// The instruction names a vector register beyond those that the kernel asked for.
    #[error("vector register v{register} is beyond the {allocated} that the kernel asked for")]
    RegisterBeyondAllocation {
        /// The register.
        register: u32,
        /// How many the kernel has.
        allocated: u32,
    },
    /// The instruction means, by an index in `m0`, a scalar register that there is not.
    #[error("scalar register s{register} is beyond the last, s{last}")]
    ScalarRegisterBeyondLast {
        /// The register.
        register: u32,
        /// The last one.
        last: u32,
    },
    /// The program counter left the code.
    #[error("the program counter {address:#x} is outside the loaded code")]
    OutsideCode {
        /// Where it went.
        address: u64,
    },
    /// An address outside every allocation, or a write to memory that is read only.
    #[error("memory fault: {} of {size} bytes at {address:#x} by lane {lane}", if *write { "write" } else { "read" })]
    Memory {
        /// The first byte.
        address: u64,
        /// Bytes accessed.
        size: u32,
        /// Whether it was a write.
        write: bool,
        /// The lane.
        lane: u32,
    },
    /// An atomic operation on an address that is not a multiple of its size.
    #[error("misaligned atomic operation of {size} bytes at {address:#x} by lane {lane}")]
    Misaligned {
        /// The address.
        address: u64,
        /// Bytes accessed.
        size: u32,
        /// The lane.
        lane: u32,
    },
    /// A lane's private memory is smaller than the offset it used.
    #[error("private memory: offset {offset:#x} of lane {lane} is beyond its {allocated} bytes")]
    Scratch {
        /// The offset.
        offset: u64,
        /// The lane.
        lane: u32,
        /// Bytes of private memory of a lane.
        allocated: u32,
    },
    /// The kernel stopped itself: `s_trap`.
    #[error("the kernel stopped itself with s_trap {id}")]
    Trap {
        /// The trap's number; 2 is `abort`.
        id: u8,
    },
    /// A check of `ROCI_EMU_CHECK` found something.
    #[error("{0}")]
    Check(String),
}

/// A fault and where it happened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FaultReport {
    /// What happened.
    pub fault: Fault,
    /// The kernel.
    pub kernel: String,
    /// The workgroup.
    pub workgroup: [u32; 3],
    /// The wave's number in the workgroup.
    pub wave: u32,
    /// The program counter.
    pub pc: u64,
    /// Its distance from the kernel's entry, if it lies behind it.
    pub offset: Option<u64>,
    /// The instruction there.
    pub instruction: String,
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.workgroup;
        write!(f, "{} in kernel {}, workgroup ({x}, {y}, {z}), wave {}, at ", self.fault, self.kernel, self.wave)?;
        write!(f, "{:#x}", self.pc)?;
        if let Some(offset) = self.offset {
            write!(f, " (entry + {offset:#x})")?;
        }
        write!(f, ": {}", self.instruction)
    }
}
