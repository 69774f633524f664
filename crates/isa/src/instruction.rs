//! A decoded instruction.

use crate::Operand;

/// One instruction (a VOPD pair is one).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// What it does: see [`Op`](crate::Op). For a VOPD pair, the operation of its X half.
    pub op: crate::Op,
    /// Bytes it takes, with its literal or its word for DPP or SDWA: 4, 8 or 12.
    pub size: u8,
    /// Its operands.
    pub fields: Fields,
    /// The number of its row in the tables; of a VOPD pair, of its X half.
    pub(crate) row: u16,
}

/// The operands, by kind of instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fields {
    /// SOP1, SOP2, SOPC, SOPK, SOPP. The register of `s_cmpk_*`, `s_setreg_b32` and `s_waitcnt_vscnt` and its kin is the
    /// first source.
    Scalar {
        /// What is written, if not `None`.
        dst: Operand,
        /// What is read, in the order of the text, the literal of `s_fmaak` and its kin among it.
        src: [Operand; 3],
        /// The 16-bit immediate of SOPK and SOPP, the message of `s_sendmsg_rtn`; 0 elsewhere.
        simm: u16,
    },
    /// SMEM.
    ScalarMemory {
        /// What is loaded (or, on gfx10, stored or combined); the number that `s_atc_probe` has instead.
        data: Operand,
        /// The base address: a register pair, or the first of four of a buffer descriptor.
        base: Operand,
        /// The signed offset.
        offset: i32,
        /// The offset in a register, or `None`; [`Operand::NULL`] if there is neither this nor an immediate one.
        soffset: Operand,
        /// Cache policy: `glc`.
        glc: bool,
        /// Cache policy: `dlc`.
        dlc: bool,
    },
    /// VOP1, VOP2, VOPC, VOP3, VOP3P.
    Vector(Valu),
    /// VOPD: both halves read before either writes.
    Dual {
        /// The first half.
        x: VopdHalf,
        /// The second half.
        y: VopdHalf,
    },
    /// DS.
    Lds {
        /// What is loaded or returned, if not `None`.
        dst: Operand,
        /// The address.
        addr: Operand,
        /// The data.
        data: [Operand; 2],
        /// The two offset bytes as encoded: one 16-bit offset, or two of a two-address instruction (first in the low byte).
        offset: u16,
        /// It means the global data share.
        gds: bool,
    },
    /// FLAT, GLOBAL and SCRATCH.
    Flat {
        /// Which memory.
        segment: Segment,
        /// What is loaded or returned, if not `None`.
        dst: Operand,
        /// The address in vector registers (a pair, or one 32-bit offset when there is a scalar base), or `None`.
        addr: Operand,
        /// What is stored or combined, or `None`.
        data: Operand,
        /// The scalar base or offset, or `None` for `off`.
        saddr: Operand,
        /// The signed offset.
        offset: i32,
        /// Cache policy, and for atomics: the old value is returned.
        glc: bool,
        /// Cache policy.
        slc: bool,
        /// Cache policy.
        dlc: bool,
        /// Loads into LDS (gfx10).
        lds: bool,
    },
    /// MUBUF.
    Buffer {
        /// What is loaded, stored or combined; `None` if it goes to LDS. With `tfe`, one more register is written.
        data: Operand,
        /// The address in vector registers, or `None` for `off`.
        vaddr: Operand,
        /// The first of the four registers of the buffer descriptor.
        resource: Operand,
        /// The scalar offset.
        soffset: Operand,
        /// The unsigned 12-bit offset.
        offset: u16,
        /// The vector address holds an offset.
        offen: bool,
        /// The vector address holds an index.
        idxen: bool,
        /// Cache policy, and for atomics: the old value is returned.
        glc: bool,
        /// Cache policy.
        slc: bool,
        /// Cache policy.
        dlc: bool,
        /// Reports what is not resident in one more register.
        tfe: bool,
        /// Loads into LDS (gfx10).
        lds: bool,
    },
}

/// A vector ALU instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Valu {
    /// How it is encoded, for the text: the name's suffix depends on it.
    pub encoding: Encoding,
    /// What is written: vector registers, or a scalar register of `v_readlane_b32`, or the mask of a comparison (explicitly
    /// `vcc` or `exec` where the encoding implies it). LLVM accepts constants as masks too; they make no sense.
    pub dst: Operand,
    /// A second result, if any: the carry or flag mask (explicitly `vcc` where the encoding implies it).
    pub sdst: Operand,
    /// What is read, in the order of the text. The mask that a select or carry-in reads is explicit too, and the literal of
    /// `v_fmamk_f32` and its kin. The accumulator of `v_fmac` and its kin is not listed: it is `dst`.
    pub src: [Operand; 3],
    /// Bit i: source i is negated (VOP3P: in the low half; of `v_dot4_i32_iu8` and its kin: it is signed).
    pub neg: u8,
    /// Bit i: the absolute value of source i is taken (VOP3P: source i is negated in the high half, except in mixed
    /// operations, where it is the absolute value).
    pub abs: u8,
    /// Bits 0 to 2: source i is (VOP3P: for the low half) read from the upper 16 bits; bit 3: the destination is the upper
    /// half. A [`VgprHalf`](Operand::VgprHalf) says its half itself, and its bit here is the same. Of
    /// `v_permlane16_b32` and its kin: bit 0 reads lanes that are switched off, bit 1 reads zero where there is no lane.
    pub op_sel: u8,
    /// VOP3P, bit i: source i is for the high half read from the upper 16 bits; in mixed operations: it is f16.
    pub op_sel_hi: u8,
    /// Output modifier: 0 none, 1 times two, 2 times four, 3 by two.
    pub omod: u8,
    /// The result is clamped.
    pub clamp: bool,
    /// Where lanes get source 0 from, or which part of registers are used.
    pub lanes: LaneControl,
}

/// How a vector ALU instruction is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// The 32-bit VOP1, VOP2, VOPC (with or without DPP, SDWA).
    Short,
    /// The 64-bit VOP3 (with or without DPP).
    Vop3,
    /// VOP3P.
    Vop3p,
}

/// Data parallel primitives and sub-dword addressing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneControl {
    /// Neither.
    None,
    /// DPP16.
    Dpp16(Dpp16),
    /// DPP8: the lane of its group of eight that each lane reads, three bits each; and "fetch inactive".
    Dpp8 {
        /// The selectors, lane 0 in the lowest bits.
        lanes: u32,
        /// Read lanes that are switched off too.
        fetch_inactive: bool,
    },
    /// SDWA (gfx10).
    Sdwa(Sdwa),
}

/// DPP16 as encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dpp16 {
    /// The 9-bit control.
    pub control: u16,
    /// Rows that are written.
    pub row_mask: u8,
    /// Banks that are written.
    pub bank_mask: u8,
    /// Lanes without a source read zero.
    pub bound_control: bool,
    /// Read lanes that are switched off too.
    pub fetch_inactive: bool,
}

/// SDWA as encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sdwa {
    /// The part of the destination that is written.
    pub dst: SdwaPart,
    /// What becomes of the rest: 0 zero, 1 sign-extended, 2 kept.
    pub dst_unused: u8,
    /// The parts of the sources that are read.
    pub src: [SdwaPart; 2],
    /// The parts of the sources are sign-extended.
    pub sext: [bool; 2],
}

/// A part of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SdwaPart {
    /// The byte of this number.
    Byte(u8),
    /// The 16-bit word of this number.
    Word(u8),
    /// All of it.
    Dword,
}

/// Half of a VOPD pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VopdHalf {
    /// The operation: the same as of the single instruction.
    pub op: crate::Op,
    /// The vector register written.
    pub dst: Operand,
    /// What is read; the literal of `fmaak` and `fmamk` is explicit, and `vcc` of `cndmask`.
    pub src: [Operand; 3],
}

/// The memory a FLAT instruction addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// Whatever the address lies in.
    Flat,
    /// Global memory.
    Global,
    /// The lane's private memory.
    Scratch,
}
