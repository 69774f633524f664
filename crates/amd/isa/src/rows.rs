//! Table rows: name, operands and modifiers of each opcode.

use crate::{Chip, Family, Op};

/// One row of a table; `tables/README.md` describes the columns.
pub(crate) struct Row {
    /// Value of the opcode field.
    pub(crate) opcode: u16,
    /// Operation.
    pub(crate) op: Op,
    /// LLVM's mnemonic in this family, without suffix.
    pub(crate) name: &'static str,
    /// Bit `Chip as u8` is set if the chip has the instruction.
    pub(crate) chips: u8,
    /// Destinations; for SMEM and MUBUF the data, also of stores.
    pub(crate) dst: [OperandSpec; 2],
    /// Sources. SMEM: base and optional offset; DS: address and data; FLAT: data.
    pub(crate) src: [OperandSpec; 3],
    /// Kind of the 16-bit immediate of SOPK and SOPP.
    pub(crate) imm: Imm,
    /// VOP3 and VOP3P: one character per modifier bit.
    pub(crate) mods: &'static str,
    /// VOP1, VOP2, VOPC: modifiers of each source with DPP.
    pub(crate) dpp16: &'static str,
    /// VOP1, VOP2, VOPC: modifiers of each source with SDWA.
    pub(crate) sdwa: &'static str,
    /// See [`flag`].
    pub(crate) flags: u16,
    /// Implicit reads, see [`special`].
    pub(crate) reads: u8,
    /// Implicit writes, see [`special`].
    pub(crate) writes: u8,
}

/// Specification of an operand.
#[derive(Clone, Copy)]
pub(crate) struct OperandSpec {
    /// Operands that this position accepts.
    pub(crate) operand_type: OperandType,
    /// A destination that is also read, or a source that is also written.
    pub(crate) both: bool,
}

/// The operands that a position accepts: the types in `tables/README.md`. Those in upper case are
/// named `Only…` here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperandType {
    None,
    V16,
    V32,
    V64,
    V96,
    V128,
    Vacc,
    B32,
    B64,
    F64,
    Pf16,
    Pb16,
    P16,
    F16,
    I16,
    Tf16,
    Ti16,
    Tb16,
    OnlyV16,
    OnlyV32,
    OnlyV64,
    OnlyV128,
    OnlyV256,
    OnlyCacc,
    OnlyL32,
    OnlyS32,
    OnlyW32,
    OnlyD32,
    Mask,
    Vcc,
    Exec,
    R32,
    R64,
    R128,
    R256,
    R512,
    K16,
    K32,
    Msg,
    Imm,
    Off,
}

/// What a 16-bit immediate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Imm {
    None,
    I16,
    Dec,
    Hex,
    Branch,
    Hwreg,
    Version,
    Waitcnt,
    Depctr,
    Delay,
    Msg,
    End,
}

/// Flags of a row.
pub(crate) mod flag {
    pub(crate) const BARE: u16 = 1 << 0;
    pub(crate) const E64: u16 = 1 << 1;
    pub(crate) const DPP16: u16 = 1 << 2;
    pub(crate) const DPP8: u16 = 1 << 3;
    pub(crate) const SDWA: u16 = 1 << 4;
    pub(crate) const STORE: u16 = 1 << 5;
    pub(crate) const ATOMIC: u16 = 1 << 6;
    pub(crate) const LDS: u16 = 1 << 7;
    pub(crate) const TWO: u16 = 1 << 8;
    pub(crate) const SWIZZLE: u16 = 1 << 9;
    pub(crate) const ADDTID: u16 = 1 << 10;
    pub(crate) const MIX: u16 = 1 << 11;
    pub(crate) const GDS: u16 = 1 << 12;
    pub(crate) const NOGDS: u16 = 1 << 13;
}

/// What is read and written without being named.
pub(crate) mod special {
    pub(crate) const SCC: u8 = 1 << 0;
    pub(crate) const VCC: u8 = 1 << 1;
    pub(crate) const EXEC: u8 = 1 << 2;
    pub(crate) const M0: u8 = 1 << 3;
}

/// The formats that have tables, in the order of the build script's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Sop1,
    Sop2,
    Sopc,
    Sopk,
    Sopp,
    Smem,
    Vop1,
    Vop2,
    Vopc,
    Vop3,
    Vop3p,
    VopdX,
    VopdY,
    Ds,
    Flat,
    Scratch,
    Global,
    Mubuf,
}

const NO_ROW: u16 = u16::MAX;

include!(concat!(env!("OUT_DIR"), "/rows.rs"));

/// The rows of an opcode that `chip` has, best first, with their numbers.
pub(crate) fn rows(chip: Chip, format: Format, opcode: u32) -> impl Iterator<Item = (u16, &'static Row)> {
    let family = match chip.family() {
        Family::Gfx10 => 0,
        Family::Gfx11 => 1,
    };
    let first = INDEX[family][format as usize].get(opcode as usize).copied().unwrap_or(NO_ROW);
    let rest = ROWS.get(usize::from(first)..).unwrap_or_default();
    let chip = 1u8 << chip as u8;
    rest.iter()
        .enumerate()
        .map(move |(index, row)| (first.wrapping_add(index as u16), row))
        .take_while(move |(_, row)| u32::from(row.opcode) == opcode)
        .filter(move |(_, row)| row.chips & chip != 0)
}
