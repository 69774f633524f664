//! The rows of the tables: what an opcode is called, which operands it has, which bits of it mean something.

use crate::{Chip, Family, Op};

/// One line of a table; `tables/README.md` says what its columns mean.
pub(crate) struct Row {
    /// The number in the opcode field.
    pub(crate) opcode: u16,
    /// What it does.
    pub(crate) op: Op,
    /// LLVM's name for it on this family, without suffix.
    pub(crate) name: &'static str,
    /// Bit `Chip as u8`: the chip has it.
    pub(crate) chips: u8,
    /// What is written; the data of SMEM and MUBUF also when it is stored.
    pub(crate) dst: [Spec; 2],
    /// What is read; of SMEM the base and whether there is an offset, of DS address and data, of FLAT the data.
    pub(crate) src: [Spec; 3],
    /// What the 16-bit immediate of SOPK and SOPP is.
    pub(crate) imm: Imm,
    /// VOP3 and VOP3P: what each modifier bit is.
    pub(crate) mods: &'static str,
    /// VOP1, VOP2, VOPC: what the modifiers of each source are under DPP.
    pub(crate) dpp16: &'static str,
    /// VOP1, VOP2, VOPC: what the modifiers of each source are under SDWA.
    pub(crate) sdwa: &'static str,
    /// See [`flag`].
    pub(crate) flags: u16,
    /// Implicit reads, see [`special`].
    pub(crate) reads: u8,
    /// Implicit writes, see [`special`].
    pub(crate) writes: u8,
}

/// An operand's place.
#[derive(Clone, Copy)]
pub(crate) struct Spec {
    /// What may stand there.
    pub(crate) code: Code,
    /// A destination that is read too, or a source that is written too.
    pub(crate) both: bool,
}

/// What may stand at an operand's place: the codes of `tables/README.md`, those in upper case being `Only…` here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
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
        .map(move |(place, row)| (first.wrapping_add(place as u16), row))
        .take_while(move |(_, row)| u32::from(row.opcode) == opcode)
        .filter(move |(_, row)| row.chips & chip != 0)
}
