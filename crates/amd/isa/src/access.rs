//! Registers that an instruction reads and writes, including the implicit ones.

use crate::rows::{OperandSpec, OperandType, ROWS, Row, flag, special};
use crate::{Fields, Instruction, LaneControl, Op, Operand, Segment, Valu, WaveSize};

/// A register access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Access {
    /// The first register.
    pub register: Register,
    /// Number of consecutive 32-bit registers.
    pub words: u8,
    /// Part of the register that is accessed; `Whole` for more than one register.
    pub part: RegisterPart,
    /// Whether the instruction writes the register; otherwise it reads it.
    pub write: bool,
}

/// A register of a wavefront.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Register {
    /// A VGPR.
    Vector(u8),
    /// An SGPR, numbered as in [`Operand::Scalar`], which includes `vcc`, `m0` and `exec`.
    Scalar(u8),
    /// The scalar condition code (SCC).
    Scc,
}

/// Bits of a register that an instruction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterPart {
    /// All 32 bits.
    Whole,
    /// The lower 16 bits.
    Low,
    /// The upper 16 bits.
    High,
}

impl Instruction {
    /// All register reads and writes, reads first. Registers addressed through `m0` are not
    /// included.
    pub fn accesses(&self, wave: WaveSize) -> Vec<Access> {
        let row = &ROWS[usize::from(self.row)];
        let mut list = AccessList { wave, all: Vec::with_capacity(8) };
        list.implied(row.reads, false);
        list.implied(row.writes, true);
        match self.fields {
            Fields::Scalar { dst, src, .. } => {
                list.destination(dst, row.dst[0]);
                list.sources(&src, row);
            }
            Fields::ScalarMemory { data, base, soffset, glc, .. } => {
                list.data(data, row, glc, 0);
                list.add(base, row.src[0].operand_type, false);
                list.add(soffset, OperandType::R32, false);
            }
            Fields::Vector(ref valu) => list.vector(self.op, row, valu),
            Fields::Dual { x, y } => {
                for half in [x, y] {
                    list.add(half.dst, OperandType::V32, true);
                    for source in half.src {
                        list.add(
                            source,
                            if source == Operand::VCC { OperandType::Mask } else { OperandType::B32 },
                            false,
                        );
                    }
                    if matches!(half.op, Op::VFmacF32 | Op::VDot2accF32F16 | Op::VDot2accF32Bf16) {
                        list.add(half.dst, OperandType::V32, false);
                    }
                }
                list.exec();
            }
            Fields::Lds { dst, addr, data, .. } => {
                list.destination(dst, row.dst[0]);
                list.sources(&[addr, data[0], data[1]], row);
                list.exec();
            }
            Fields::Flat { segment, dst, addr, data, saddr, lds, .. } => {
                list.destination(dst, row.dst[0]);
                let wide = segment == Segment::Flat || segment == Segment::Global && saddr == Operand::None;
                list.add(addr, if wide { OperandType::V64 } else { OperandType::V32 }, false);
                list.add(data, row.src[0].operand_type, false);
                list.add(saddr, if segment == Segment::Global { OperandType::R64 } else { OperandType::R32 }, false);
                list.exec();
                if lds {
                    list.add(Operand::M0, OperandType::R32, false);
                }
            }
            Fields::Buffer { data, vaddr, resource, soffset, offen, idxen, glc, tfe, lds, .. } => {
                list.data(data, row, glc, u8::from(tfe));
                list.add(vaddr, if offen && idxen { OperandType::V64 } else { OperandType::V32 }, false);
                list.add(resource, OperandType::R128, false);
                list.add(soffset, OperandType::B32, false);
                list.exec();
                if lds {
                    list.add(Operand::M0, OperandType::R32, false);
                }
            }
        }
        list.all.sort_by_key(|access| access.write);
        list.all
    }
}

struct AccessList {
    wave: WaveSize,
    all: Vec<Access>,
}

impl AccessList {
    fn push(&mut self, register: Register, words: u8, part: RegisterPart, write: bool) {
        let access = Access { register, words, part, write };
        if !self.all.contains(&access) {
            self.all.push(access);
        }
    }

    fn mask_words(&self) -> u8 {
        (OperandType::Mask.bits(self.wave) / 32) as u8
    }

    fn exec(&mut self) {
        self.push(Register::Scalar(126), self.mask_words(), RegisterPart::Whole, false);
    }

    fn implied(&mut self, what: u8, write: bool) {
        let words = self.mask_words();
        for (bit, register, words) in [
            (special::SCC, Register::Scc, 1),
            (special::VCC, Register::Scalar(106), words),
            (special::EXEC, Register::Scalar(126), words),
            (special::M0, Register::Scalar(125), 1),
        ] {
            if what & bit != 0 {
                self.push(register, words, RegisterPart::Whole, write);
            }
        }
    }

    /// Adds an operand of the type's width. Constants and the null register are not accesses.
    fn add(&mut self, operand: Operand, operand_type: OperandType, write: bool) {
        let words = operand_type.bits(self.wave).div_ceil(32).max(1) as u8;
        match operand {
            Operand::Vgpr(number) => self.push(Register::Vector(number), words, RegisterPart::Whole, write),
            Operand::VgprHalf { index, high } => {
                self.push(Register::Vector(index), 1, if high { RegisterPart::High } else { RegisterPart::Low }, write);
            }
            Operand::Scalar(124) => {}
            Operand::Scalar(number) => self.push(Register::Scalar(number), words, RegisterPart::Whole, write),
            Operand::Special(251) => self.implied(special::VCC, false),
            Operand::Special(252) => self.implied(special::EXEC, false),
            Operand::Special(253) => self.implied(special::SCC, false),
            Operand::Special(254) => self.implied(special::M0, false),
            Operand::None | Operand::Integer(_) | Operand::Float(_) | Operand::Literal(_) | Operand::Special(_) => {}
        }
    }

    fn destination(&mut self, operand: Operand, spec: OperandSpec) {
        self.add(operand, spec.operand_type, true);
        if spec.both {
            self.add(operand, spec.operand_type, false);
        }
    }

    fn sources(&mut self, sources: &[Operand; 3], row: &Row) {
        for (source, spec) in sources.iter().zip(row.src) {
            self.add(*source, spec.operand_type, false);
            if spec.both {
                self.add(*source, spec.operand_type, true);
            }
        }
    }

    /// Data of SMEM and MUBUF; a load also writes `more` words of status after its data.
    fn data(&mut self, data: Operand, row: &Row, returns: bool, more: u8) {
        let operand_type = row.dst[0].operand_type;
        let words = operand_type.bits(self.wave).div_ceil(32) as u8;
        let (atomic, store) = (row.flags & flag::ATOMIC != 0, row.flags & flag::STORE != 0);
        let register = match data {
            Operand::Vgpr(number) => Register::Vector(number),
            Operand::Scalar(number) if number != 124 => Register::Scalar(number),
            _ => return,
        };
        if atomic || store || row.dst[0].both {
            self.push(register, words, RegisterPart::Whole, false);
        }
        if atomic && returns {
            // Compare-and-swap takes two values and returns one.
            let pair = row.op.name().contains("cmpswap");
            self.push(register, if pair { words / 2 } else { words }, RegisterPart::Whole, true);
        } else if !atomic && !store {
            self.push(register, words + more, RegisterPart::Whole, true);
        }
    }

    fn vector(&mut self, op: Op, row: &Row, valu: &Valu) {
        self.destination(valu.dst, row.dst[0]);
        self.add(valu.sdst, OperandType::Mask, true);
        self.sources(&valu.src, row);
        if let LaneControl::Sdwa(sdwa) = valu.lanes
            && sdwa.dst_unused == 2
        {
            self.add(valu.dst, row.dst[0].operand_type, false);
        }
        if !matches!(op, Op::VReadlaneB32 | Op::VWritelaneB32 | Op::VNop) {
            self.exec();
        }
    }
}
