//! Scalar instructions and branches.

use roci_isa::{Fields, Instruction, Operand};

use crate::fault::Fault;
use crate::program::Builder;
use crate::program::meaning::Control;
use crate::program::memory::returning;
use crate::program::step::{
    Access, Condition, ScalarMemoryStep, ScalarSource, ScalarStep, ScalarWriteStep, SpecialStep, Step,
};
use crate::scalar::{ScalarMeaning, ScalarOp, Special};
use crate::wave::scalar::SINK;

/// The trap of `__builtin_debugtrap`.
const DEBUG_TRAP: u8 = 3;

/// Inline floating-point constants by their encoding.
pub(super) fn inline_float(code: u8) -> f64 {
    match code {
        240 => 0.5,
        241 => -0.5,
        242 => 1.0,
        243 => -1.0,
        244 => 2.0,
        245 => -2.0,
        246 => 4.0,
        247 => -4.0,
        _ => std::f64::consts::FRAC_1_PI / 2.0,
    }
}

/// What an instruction takes a scalar source for; constants mean different bits to each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// A register, as an integer or f32.
    Word,
    /// A register, as f16.
    Half,
    /// A pair; a literal is extended with zeros.
    Pair,
    /// A pair; a literal is extended with its sign.
    SignedPair,
}

impl Width {
    /// As the name of an instruction tells: it ends with the type of its sources.
    fn of(name: &str, wide: bool) -> Self {
        match wide {
            true if name.ends_with("_i64") => Self::SignedPair,
            true => Self::Pair,
            false if name.ends_with("_f16") => Self::Half,
            false => Self::Word,
        }
    }
}

/// A scalar source of one register.
pub(super) fn word(operand: Operand) -> ScalarSource {
    source(operand, Width::Word)
}

/// A scalar source.
fn source(operand: Operand, width: Width) -> ScalarSource {
    match operand {
        Operand::Scalar(124) | Operand::None => ScalarSource::Constant(0),
        Operand::Scalar(register) => ScalarSource::Register(register),
        Operand::Integer(value) => ScalarSource::Constant(i32::from(value)),
        Operand::Float(code) => match width {
            Width::Word => ScalarSource::Constant((inline_float(code) as f32).to_bits().cast_signed()),
            Width::Half => ScalarSource::Low(u32::from(half::f16::from_f64(inline_float(code)).to_bits())),
            Width::Pair | Width::SignedPair => ScalarSource::High((inline_float(code).to_bits() >> 32) as u32),
        },
        Operand::Literal(value) if width == Width::Pair => ScalarSource::Low(value),
        Operand::Literal(value) => ScalarSource::Constant(value.cast_signed()),
        Operand::Special(code) => ScalarSource::Special(code),
        Operand::Vgpr(_) | Operand::VgprHalf { .. } => ScalarSource::Constant(0),
    }
}

/// The register of a scalar destination.
pub(super) fn destination(operand: Operand) -> u8 {
    match operand {
        Operand::Scalar(124) => SINK,
        Operand::Scalar(register) => register,
        _ => SINK,
    }
}

impl Builder {
    pub(super) fn control(&mut self, instruction: &Instruction, control: Control) -> Result<(), Fault> {
        let simm = match instruction.fields {
            Fields::Scalar { simm, .. } => simm,
            // `v_illegal` is a vector instruction.
            _ => 0,
        };
        let next = self.program.code.base + u64::from(self.current.offset) + u64::from(instruction.size);
        let target = next.wrapping_add_signed(4 * i64::from(simm.cast_signed()));
        let step = match control {
            Control::End => Step::End,
            Control::Illegal => return Err(Fault::IllegalInstruction),
            Control::Barrier => Step::Barrier,
            Control::Jump => {
                self.branches.push((self.program.steps.len(), target));
                Step::Jump(0)
            }
            Control::Branch(Condition::Never) => Step::Nop,
            Control::Branch(condition) => {
                self.branches.push((self.program.steps.len(), target));
                Step::Branch(condition, 0)
            }
            // A breakpoint: without a debugger the trap handler goes on.
            Control::Trap if simm as u8 == DEBUG_TRAP => Step::Nop,
            Control::Trap => Step::Trap(simm as u8),
            Control::Yield => Step::Yield,
            // Clearing the halt bit does nothing; setting it stops the wave for good, as after a trap.
            Control::Halt if simm & 1 == 0 => Step::Nop,
            Control::Halt => Step::Trap(2),
        };
        self.push(step);
        Ok(())
    }

    pub(super) fn scalar(&mut self, instruction: &Instruction, meaning: ScalarMeaning) -> Result<(), Fault> {
        let (dst, src, simm) = match instruction.fields {
            Fields::Scalar { dst, src, simm } => (dst, src, simm),
            // `s_memtime` is encoded as a load.
            Fields::ScalarMemory { data, .. } => (data, [Operand::None; 3], 0),
            _ => return Err(Fault::Unimplemented),
        };
        let immediate = Operand::Literal(i32::from(simm.cast_signed()).cast_unsigned());
        let name = instruction.op.name();
        match meaning {
            ScalarMeaning::Op(op) => {
                let sources = match name {
                    "s_movk_i32" => [immediate, Operand::None],
                    name if name.starts_with("s_cmpk_") => [src[0], immediate],
                    _ => [src[0], src[1]],
                };
                self.push(Step::Scalar(computation(op, dst, sources, name)));
            }
            ScalarMeaning::Special(kind) => {
                let first = match kind {
                    Special::Accumulate(_) => immediate,
                    Special::MoveIf { .. } if name == "s_cmovk_i32" => immediate,
                    _ => src[0],
                };
                let wide = match kind {
                    Special::SaveExec { wide, .. }
                    | Special::WriteExec { wide, .. }
                    | Special::MoveIf { wide, .. }
                    | Special::MoveRelative { wide, .. } => wide,
                    Special::SetPc | Special::SwapPc => true,
                    _ => false,
                };
                self.push(Step::Special(SpecialStep {
                    kind,
                    dst: destination(dst),
                    source: source(first, Width::of(name, wide)),
                    others: match kind {
                        Special::FusedAccumulate(_) => {
                            [src[1], dst].map(|operand| source(operand, Width::of(name, false)))
                        }
                        _ => [src[1], src[2]].map(|operand| source(operand, Width::of(name, false))),
                    },
                    simm,
                }));
            }
        }
        Ok(())
    }

    pub(super) fn scalar_load(&mut self, instruction: &Instruction, dwords: u8, buffer: bool) -> Result<(), Fault> {
        let (step, _) = scalar_place(instruction, dwords, buffer)?;
        self.push(Step::ScalarMemory(step));
        Ok(())
    }

    pub(super) fn scalar_write(
        &mut self,
        instruction: &Instruction,
        access: Access,
        buffer: bool,
    ) -> Result<(), Fault> {
        let (place, glc) = scalar_place(instruction, 0, buffer)?;
        self.push(Step::ScalarWrite(ScalarWriteStep { access: returning(access, glc), place }));
        Ok(())
    }
}

/// What a scalar memory instruction accesses, and its `glc` bit.
fn scalar_place(instruction: &Instruction, dwords: u8, buffer: bool) -> Result<(ScalarMemoryStep, bool), Fault> {
    let Fields::ScalarMemory { data, base, offset, soffset, glc, .. } = instruction.fields else {
        return Err(Fault::Unimplemented);
    };
    let Operand::Scalar(base) = base else { return Err(Fault::Unimplemented) };
    let step = ScalarMemoryStep { dst: destination(data), base, dwords, buffer, offset, soffset: word(soffset) };
    Ok((step, glc))
}

fn computation(op: ScalarOp, dst: Operand, src: [Operand; 2], name: &str) -> ScalarStep {
    let sources = [0, 1].map(|index| source(src[index], Width::of(name, op.wide >> index & 1 == 1)));
    ScalarStep { function: op.function, sources, wide: op.wide, dst: destination(dst), results: op.results }
}
