//! Which registers an instruction reads and writes, the unnamed ones included.

use crate::rows::{Code, ROWS, Row, Spec, flag, special};
use crate::{Fields, Instruction, LaneControl, Op, Operand, Segment, Valu, WaveSize};

/// One access of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The first register.
    pub register: Register,
    /// How many registers of 32 bits, from that one on.
    pub words: u8,
    /// Which part of the one register, where that is less than all.
    pub part: Part,
    /// It is written; otherwise read.
    pub write: bool,
}

/// A register of a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Register {
    /// A vector register.
    Vector(u8),
    /// A scalar register, numbered as in [`Operand::Scalar`]: `vcc`, `m0` and `exec` are among them.
    Scalar(u8),
    /// The scalar condition code.
    Scc,
}

/// A part of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// All of it.
    Whole,
    /// The lower 16 bits.
    Low,
    /// The upper 16 bits.
    High,
}

impl Instruction {
    /// Everything it reads and writes, reads first. Registers that are addressed by `m0` are not known and not listed.
    pub fn accesses(&self, wave: WaveSize) -> Vec<Access> {
        let row = &ROWS[usize::from(self.row)];
        let mut list = List { wave, all: Vec::with_capacity(8) };
        list.implied(row.reads, false);
        list.implied(row.writes, true);
        match self.fields {
            Fields::Scalar { dst, src, .. } => {
                list.destination(dst, row.dst[0]);
                list.sources(&src, row);
            }
            Fields::ScalarMemory { data, base, soffset, glc, .. } => {
                list.data(data, row, glc, 0);
                list.add(base, row.src[0].code, false);
                list.add(soffset, Code::R32, false);
            }
            Fields::Vector(ref valu) => list.vector(self.op, row, valu),
            Fields::Dual { x, y } => {
                for half in [x, y] {
                    list.add(half.dst, Code::V32, true);
                    for source in half.src {
                        list.add(source, if source == Operand::VCC { Code::Mask } else { Code::B32 }, false);
                    }
                    if matches!(half.op, Op::VFmacF32 | Op::VDot2accF32F16 | Op::VDot2accF32Bf16) {
                        list.add(half.dst, Code::V32, false);
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
                list.add(addr, if wide { Code::V64 } else { Code::V32 }, false);
                list.add(data, row.src[0].code, false);
                list.add(saddr, if segment == Segment::Global { Code::R64 } else { Code::R32 }, false);
                list.exec();
                if lds {
                    list.add(Operand::M0, Code::R32, false);
                }
            }
            Fields::Buffer { data, vaddr, resource, soffset, offen, idxen, glc, tfe, lds, .. } => {
                list.data(data, row, glc, u8::from(tfe));
                list.add(vaddr, if offen && idxen { Code::V64 } else { Code::V32 }, false);
                list.add(resource, Code::R128, false);
                list.add(soffset, Code::B32, false);
                list.exec();
                if lds {
                    list.add(Operand::M0, Code::R32, false);
                }
            }
        }
        list.all.sort_by_key(|access| access.write);
        list.all
    }
}

struct List {
    wave: WaveSize,
    all: Vec<Access>,
}

impl List {
    fn push(&mut self, register: Register, words: u8, part: Part, write: bool) {
        let access = Access { register, words, part, write };
        if !self.all.contains(&access) {
            self.all.push(access);
        }
    }

    fn mask_words(&self) -> u8 {
        (Code::Mask.bits(self.wave) / 32) as u8
    }

    fn exec(&mut self) {
        self.push(Register::Scalar(126), self.mask_words(), Part::Whole, false);
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
                self.push(register, words, Part::Whole, write);
            }
        }
    }

    /// An operand as wide as `code` says; constants and the register that forgets are no accesses.
    fn add(&mut self, operand: Operand, code: Code, write: bool) {
        let words = code.bits(self.wave).div_ceil(32).max(1) as u8;
        match operand {
            Operand::Vgpr(number) => self.push(Register::Vector(number), words, Part::Whole, write),
            Operand::VgprHalf { index, high } => {
                self.push(Register::Vector(index), 1, if high { Part::High } else { Part::Low }, write);
            }
            Operand::Scalar(124) => {}
            Operand::Scalar(number) => self.push(Register::Scalar(number), words, Part::Whole, write),
            Operand::Special(251) => self.implied(special::VCC, false),
            Operand::Special(252) => self.implied(special::EXEC, false),
            Operand::Special(253) => self.implied(special::SCC, false),
            Operand::Special(254) => self.implied(special::M0, false),
            Operand::None | Operand::Integer(_) | Operand::Float(_) | Operand::Literal(_) | Operand::Special(_) => {}
        }
    }

    fn destination(&mut self, operand: Operand, spec: Spec) {
        self.add(operand, spec.code, true);
        if spec.both {
            self.add(operand, spec.code, false);
        }
    }

    fn sources(&mut self, sources: &[Operand; 3], row: &Row) {
        for (source, spec) in sources.iter().zip(row.src) {
            self.add(*source, spec.code, false);
            if spec.both {
                self.add(*source, spec.code, true);
            }
        }
    }

    /// The data of SMEM and MUBUF, with `more` words of status behind what is loaded.
    fn data(&mut self, data: Operand, row: &Row, returns: bool, more: u8) {
        let code = row.dst[0].code;
        let words = code.bits(self.wave).div_ceil(32) as u8;
        let (atomic, store) = (row.flags & flag::ATOMIC != 0, row.flags & flag::STORE != 0);
        let register = match data {
            Operand::Vgpr(number) => Register::Vector(number),
            Operand::Scalar(number) if number != 124 => Register::Scalar(number),
            _ => return,
        };
        if atomic || store || row.dst[0].both {
            self.push(register, words, Part::Whole, false);
        }
        if atomic && returns {
            // Compare-and-swap takes two values and gives back one.
            let pair = row.op.name().contains("cmpswap");
            self.push(register, if pair { words / 2 } else { words }, Part::Whole, true);
        } else if !atomic && !store {
            self.push(register, words + more, Part::Whole, true);
        }
    }

    fn vector(&mut self, op: Op, row: &Row, valu: &Valu) {
        self.destination(valu.dst, row.dst[0]);
        self.add(valu.sdst, Code::Mask, true);
        self.sources(&valu.src, row);
        if let LaneControl::Sdwa(sdwa) = valu.lanes
            && sdwa.dst_unused == 2
        {
            self.add(valu.dst, row.dst[0].code, false);
        }
        if !matches!(op, Op::VReadlaneB32 | Op::VWritelaneB32 | Op::VNop) {
            self.exec();
        }
    }
}
