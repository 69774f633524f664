//! Faults: why a kernel was aborted.

use std::fmt;

/// An invalid action of a wave that aborts the kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The bytes are not an instruction of the chip.
    #[error("illegal instruction")]
    IllegalInstruction,
    /// The chip has the instruction, but the emulator does not implement it.
    #[error("the emulator does not implement this instruction")]
    Unimplemented,
    /// A VGPR beyond the kernel's allocation.
    #[error("register v{register} is out of range: the kernel has {allocated} VGPRs")]
    RegisterBeyondAllocation {
        /// Number of the register.
        register: u32,
        /// Number of VGPRs allocated.
        allocated: u32,
    },
    /// A relative access through `m0` beyond the last SGPR.
    #[error("register s{register} is out of range: the last SGPR is s{last}")]
    ScalarRegisterBeyondLast {
        /// Number of the register.
        register: u32,
        /// Number of the last SGPR.
        last: u32,
    },
    /// The program counter left the loaded code.
    #[error("the program counter {address:#x} is outside the loaded code")]
    OutsideCode {
        /// The program counter.
        address: u64,
    },
    /// An access outside all allocations, or a write to read-only memory.
    #[error("memory fault: {} of {size} bytes at {address:#x} by lane {lane}", if *write { "write" } else { "read" })]
    Memory {
        /// Address of the first byte.
        address: u64,
        /// Size of the access in bytes.
        size: u32,
        /// Whether it was a write.
        write: bool,
        /// Lane that made the access.
        lane: u32,
    },
    /// A misaligned atomic operation.
    #[error("misaligned atomic operation of {size} bytes at {address:#x} by lane {lane}")]
    Misaligned {
        /// Address of the operand.
        address: u64,
        /// Size of the operand in bytes.
        size: u32,
        /// Lane that made the access.
        lane: u32,
    },
    /// An access beyond a lane's private memory.
    #[error("private memory fault: offset {offset:#x} of lane {lane} is beyond its {allocated} bytes")]
    Scratch {
        /// Offset in the lane's private memory, in bytes.
        offset: u64,
        /// Lane that made the access.
        lane: u32,
        /// Private memory of a lane in bytes.
        allocated: u32,
    },
    /// The kernel executed `s_trap`.
    #[error("the kernel aborted with s_trap {id}")]
    Trap {
        /// Trap ID; 2 is `abort`.
        id: u8,
    },
    /// A finding of an `ROCI_EMU_CHECK` check.
    #[error("{0}")]
    Check(String),
}

/// A fault with its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct FaultReport {
    /// What the wave did; the other fields say where.
    pub fault: Fault,
    /// Name of the kernel.
    pub kernel: String,
    /// Workgroup ID.
    pub workgroup: [u32; 3],
    /// Index of the wave in its workgroup.
    pub wave: u32,
    /// Program counter.
    pub pc: u64,
    /// Offset from the kernel's entry point; `None` for code before it.
    pub offset: Option<u64>,
    /// Text of the instruction.
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
