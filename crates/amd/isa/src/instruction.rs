//! Decoded instructions.

use crate::Operand;

/// One instruction, or a VOPD pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Operation; see [`Op`](crate::Op). For a VOPD pair, that of the X half.
    pub op: crate::Op,
    /// Size in bytes, including a literal, DPP or SDWA word: 4, 8 or 12.
    pub size: u8,
    /// Its operands.
    pub fields: Fields,
    /// Index of its table row; for a VOPD pair, that of the X half.
    pub(crate) row: u16,
}

/// Operands and modifiers, by instruction format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fields {
    /// SOP1, SOP2, SOPC, SOPK, SOPP. The register operand of `s_cmpk_*`, `s_setreg_b32`,
    /// `s_waitcnt_vscnt` and similar instructions is the first source.
    Scalar {
        /// Destination, or `None`.
        dst: Operand,
        /// Sources in text order, including the literal of `s_fmaak` and similar instructions.
        src: [Operand; 3],
        /// 16-bit immediate of SOPK and SOPP, or the message of `s_sendmsg_rtn`; otherwise 0.
        simm: u16,
    },
    /// SMEM.
    ScalarMemory {
        /// Destination of a load, or the data of a store or atomic (gfx10). For `s_atc_probe`, its
        /// immediate.
        data: Operand,
        /// Base address: an SGPR pair, or the first of four SGPRs with a buffer descriptor.
        base: Operand,
        /// Signed byte offset.
        offset: i32,
        /// Offset SGPR, or `None`. [`Operand::NULL`] if there is neither an SGPR nor an immediate
        /// offset.
        soffset: Operand,
        /// Cache policy bit GLC.
        glc: bool,
        /// Cache policy bit DLC.
        dlc: bool,
    },
    /// VOP1, VOP2, VOPC, VOP3, VOP3P.
    Vector(Valu),
    /// VOPD. Both halves read their sources before either writes.
    Dual {
        /// Half X, the first in assembly.
        x: VopdHalf,
        /// Half Y, after the `::`.
        y: VopdHalf,
    },
    /// DS.
    Lds {
        /// Destination, or `None`.
        dst: Operand,
        /// Address VGPR.
        addr: Operand,
        /// VGPRs with data; the second only for instructions with two.
        data: [Operand; 2],
        /// Encoded offset bytes: one 16-bit offset, or two 8-bit offsets (`offset0` in the low
        /// byte).
        offset: u16,
        /// Accesses the global data share instead of LDS.
        gds: bool,
    },
    /// FLAT, GLOBAL and SCRATCH.
    Flat {
        /// Memory segment.
        segment: Segment,
        /// Destination, or `None`.
        dst: Operand,
        /// Address VGPR: a pair, a 32-bit offset if there is a scalar base, or `None`.
        addr: Operand,
        /// Data of a store or atomic, or `None`.
        data: Operand,
        /// Scalar base or offset, or `None` for `off`.
        saddr: Operand,
        /// Signed byte offset.
        offset: i32,
        /// Cache policy bit GLC. For atomics: return the old value.
        glc: bool,
        /// Cache policy bit SLC.
        slc: bool,
        /// Cache policy bit DLC.
        dlc: bool,
        /// Load into LDS (gfx10).
        lds: bool,
    },
    /// MUBUF.
    Buffer {
        /// Data register; `None` for a load into LDS. With `tfe`, one more register is written.
        data: Operand,
        /// Address VGPR, or `None` for `off`.
        vaddr: Operand,
        /// First of four SGPRs with the buffer descriptor.
        resource: Operand,
        /// Scalar byte offset.
        soffset: Operand,
        /// Unsigned 12-bit byte offset.
        offset: u16,
        /// The address VGPR has an offset.
        offen: bool,
        /// The address VGPR has an index.
        idxen: bool,
        /// Cache policy bit GLC. For atomics: return the old value.
        glc: bool,
        /// Cache policy bit SLC.
        slc: bool,
        /// Cache policy bit DLC.
        dlc: bool,
        /// TFE: write the status of non-resident pages to one more register.
        tfe: bool,
        /// Load into LDS (gfx10).
        lds: bool,
    },
}

/// A vector ALU instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Valu {
    /// Encoding, which determines the suffix of the mnemonic.
    pub encoding: Encoding,
    /// Destination: a VGPR, the SGPR of `v_readlane_b32`, or the mask of a comparison. An implied
    /// `vcc` or `exec` is explicit here. LLVM also accepts constants as masks, which is
    /// meaningless.
    pub dst: Operand,
    /// Second destination, if any: the carry or flag mask. An implied `vcc` is explicit here.
    pub sdst: Operand,
    /// Sources in text order. The mask of a select or carry-in and the literal of `v_fmamk_f32` and
    /// similar instructions are explicit here. The accumulator of `v_fmac` and similar instructions
    /// is not: it is `dst`.
    pub src: [Operand; 3],
    /// Bit i negates source i (VOP3P: its low half). For `v_dot4_i32_iu8` and similar instructions:
    /// source i is signed.
    pub neg: u8,
    /// Bit i takes the absolute value of source i (VOP3P: negates its high half; mixed-precision
    /// operations: absolute value).
    pub abs: u8,
    /// Bits 0 to 2: source i is read from the upper 16 bits (VOP3P: for the low half of the
    /// result). Bit 3: the destination is the upper half. For a [`VgprHalf`](Operand::VgprHalf) the
    /// bit repeats its `high`. For `v_permlane16_b32` and similar instructions, bit 0 is
    /// `fetch_inactive` and bit 1 `bound_ctrl`.
    pub op_sel: u8,
    /// VOP3P, bit i: source i is read from the upper 16 bits for the high half of the result.
    /// Mixed-precision operations: source i is f16.
    pub op_sel_hi: u8,
    /// Output modifier: 0 none, 1 times two, 2 times four, 3 divided by two.
    pub omod: u8,
    /// Clamp the result.
    pub clamp: bool,
    /// DPP or SDWA control.
    pub lanes: LaneControl,
}

/// Encoding of a vector ALU instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// 32-bit VOP1, VOP2 or VOPC, optionally with DPP or SDWA.
    Short,
    /// 64-bit VOP3, optionally with DPP.
    Vop3,
    /// VOP3P.
    Vop3p,
}

/// DPP (data-parallel primitives) or SDWA (sub-dword addressing) control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneControl {
    /// Neither.
    None,
    /// DPP16: lanes read other lanes by a pattern.
    Dpp16(Dpp16),
    /// DPP8: each lane reads a lane of its group of eight.
    Dpp8 {
        /// Lane selectors, three bits each, lane 0 in the lowest bits.
        lanes: u32,
        /// Also read inactive lanes (`fi`).
        fetch_inactive: bool,
    },
    /// SDWA (gfx10).
    Sdwa(Sdwa),
}

/// DPP16 fields as encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dpp16 {
    /// 9-bit `dpp_ctrl`.
    pub control: u16,
    /// Rows that are written, one bit each.
    pub row_mask: u8,
    /// Banks that are written, one bit each.
    pub bank_mask: u8,
    /// Lanes without a source lane read zero (`bound_ctrl`).
    pub bound_control: bool,
    /// Also read inactive lanes (`fi`).
    pub fetch_inactive: bool,
}

/// SDWA fields as encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sdwa {
    /// Part of the destination that is written.
    pub dst: SdwaPart,
    /// Rest of the destination: 0 zero, 1 sign-extended, 2 preserved.
    pub dst_unused: u8,
    /// Parts of the sources that are read.
    pub src: [SdwaPart; 2],
    /// Sign-extend the selected part of each source.
    pub sext: [bool; 2],
}

/// A part of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SdwaPart {
    /// Byte 0 to 3.
    Byte(u8),
    /// 16-bit word 0 or 1.
    Word(u8),
    /// All 32 bits.
    Dword,
}

/// One half of a VOPD pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VopdHalf {
    /// Operation, the same as that of the single instruction.
    pub op: crate::Op,
    /// Destination VGPR.
    pub dst: Operand,
    /// Sources. The literal of `fmaak` and `fmamk` and the `vcc` of `cndmask` are explicit.
    pub src: [Operand; 3],
}

/// Memory segment of a FLAT instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// Chosen by the address at run time.
    Flat,
    /// Global memory.
    Global,
    /// Scratch, private to each lane.
    Scratch,
}
