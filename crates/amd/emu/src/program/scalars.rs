//! Lowers scalar instructions and branches.

use roci_isa::{Fields, Instruction, Operand};

use crate::fault::Fault;
use crate::program::ProgramBuilder;
use crate::program::memory::returning;
use crate::program::micro_op::{
    AccessKind, BranchCondition, MicroOp, ScalarAluOp, ScalarMemoryOp, ScalarSource, ScalarWriteOp, SpecialScalarOp,
};
use crate::program::semantics::ControlOp;
use crate::scalar::{ScalarOp, ScalarSemantics, SpecialKind};
use crate::wave::scalar::SINK;

/// Trap ID of `__builtin_debugtrap`.
const DEBUG_TRAP: u8 = 3;

/// Value of an inline floating-point constant.
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

/// Type of a scalar source. Determines the bits of constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScalarType {
    /// 32-bit integer or f32.
    Word,
    /// f16.
    Half,
    /// 64 bits; literals are zero-extended.
    Pair,
    /// 64 bits; literals are sign-extended.
    SignedPair,
}

impl ScalarType {
    /// Derived from the mnemonic, which ends with the type of the sources.
    fn of(name: &str, wide: bool) -> Self {
        match wide {
            true if name.ends_with("_i64") => Self::SignedPair,
            true => Self::Pair,
            false if name.ends_with("_f16") => Self::Half,
            false => Self::Word,
        }
    }
}

/// A 32-bit scalar source.
pub(super) fn word(operand: Operand) -> ScalarSource {
    source(operand, ScalarType::Word)
}

fn source(operand: Operand, width: ScalarType) -> ScalarSource {
    match operand {
        Operand::Scalar(124) | Operand::None => ScalarSource::Constant(0),
        Operand::Scalar(register) => ScalarSource::Register(register),
        Operand::Integer(value) => ScalarSource::Constant(i32::from(value)),
        Operand::Float(code) => match width {
            ScalarType::Word => ScalarSource::Constant((inline_float(code) as f32).to_bits().cast_signed()),
            ScalarType::Half => ScalarSource::Low(u32::from(half::f16::from_f64(inline_float(code)).to_bits())),
            ScalarType::Pair | ScalarType::SignedPair => {
                ScalarSource::High((inline_float(code).to_bits() >> 32) as u32)
            }
        },
        Operand::Literal(value) if width == ScalarType::Pair => ScalarSource::Low(value),
        Operand::Literal(value) => ScalarSource::Constant(value.cast_signed()),
        Operand::Special(code) => ScalarSource::Special(code),
        Operand::Vgpr(_) | Operand::VgprHalf { .. } => ScalarSource::Constant(0),
    }
}

/// Register of a scalar destination.
pub(super) fn destination(operand: Operand) -> u8 {
    match operand {
        Operand::Scalar(124) => SINK,
        Operand::Scalar(register) => register,
        _ => SINK,
    }
}

impl ProgramBuilder {
    pub(super) fn control(&mut self, instruction: &Instruction, control: ControlOp) -> Result<(), Fault> {
        let simm = match instruction.fields {
            Fields::Scalar { simm, .. } => simm,
            // `v_illegal` is a vector instruction.
            _ => 0,
        };
        let next = self.program.code.base + u64::from(self.current.offset) + u64::from(instruction.size);
        let target = next.wrapping_add_signed(4 * i64::from(simm.cast_signed()));
        let uop = match control {
            ControlOp::End => MicroOp::End,
            ControlOp::Illegal => return Err(Fault::IllegalInstruction),
            ControlOp::Barrier => MicroOp::Barrier,
            ControlOp::Jump => {
                self.branches.push((self.program.uops.len(), target));
                MicroOp::Jump(0)
            }
            ControlOp::Branch(BranchCondition::Never) => MicroOp::Nop,
            ControlOp::Branch(condition) => {
                self.branches.push((self.program.uops.len(), target));
                MicroOp::Branch(condition, 0)
            }
            // A breakpoint. Without a debugger the trap handler continues.
            ControlOp::Trap if simm as u8 == DEBUG_TRAP => MicroOp::Nop,
            ControlOp::Trap => MicroOp::Trap(simm as u8),
            ControlOp::Yield => MicroOp::Yield,
            // Clearing the halt bit has no effect; setting it stops the wave for good, like a trap.
            ControlOp::Halt if simm & 1 == 0 => MicroOp::Nop,
            ControlOp::Halt => MicroOp::Trap(2),
        };
        self.push(uop);
        Ok(())
    }

    pub(super) fn scalar(&mut self, instruction: &Instruction, semantics: ScalarSemantics) -> Result<(), Fault> {
        let (dst, src, simm) = match instruction.fields {
            Fields::Scalar { dst, src, simm } => (dst, src, simm),
            // `s_memtime` is encoded as a load.
            Fields::ScalarMemory { data, .. } => (data, [Operand::None; 3], 0),
            _ => return Err(Fault::Unimplemented),
        };
        let immediate = Operand::Literal(i32::from(simm.cast_signed()).cast_unsigned());
        let name = instruction.op.name();
        match semantics {
            ScalarSemantics::Op(op) => {
                let sources = match name {
                    "s_movk_i32" => [immediate, Operand::None],
                    name if name.starts_with("s_cmpk_") => [src[0], immediate],
                    _ => [src[0], src[1]],
                };
                self.push(MicroOp::Scalar(computation(op, dst, sources, name)));
            }
            ScalarSemantics::Special(kind) => {
                let first = match kind {
                    SpecialKind::Accumulate(_) => immediate,
                    SpecialKind::MoveIf { .. } if name == "s_cmovk_i32" => immediate,
                    _ => src[0],
                };
                let wide = match kind {
                    SpecialKind::SaveExec { wide, .. }
                    | SpecialKind::WriteExec { wide, .. }
                    | SpecialKind::MoveIf { wide, .. }
                    | SpecialKind::MoveRelative { wide, .. } => wide,
                    SpecialKind::SetPc | SpecialKind::SwapPc => true,
                    _ => false,
                };
                self.push(MicroOp::Special(SpecialScalarOp {
                    kind,
                    dst: destination(dst),
                    source: source(first, ScalarType::of(name, wide)),
                    others: match kind {
                        SpecialKind::FusedAccumulate(_) => {
                            [src[1], dst].map(|operand| source(operand, ScalarType::of(name, false)))
                        }
                        _ => [src[1], src[2]].map(|operand| source(operand, ScalarType::of(name, false))),
                    },
                    simm,
                }));
            }
        }
        Ok(())
    }

    pub(super) fn scalar_load(&mut self, instruction: &Instruction, dwords: u8, buffer: bool) -> Result<(), Fault> {
        let (uop, _) = memory_operands(instruction, dwords, buffer)?;
        self.push(MicroOp::ScalarMemory(uop));
        Ok(())
    }

    pub(super) fn scalar_write(
        &mut self,
        instruction: &Instruction,
        access: AccessKind,
        buffer: bool,
    ) -> Result<(), Fault> {
        let (operands, glc) = memory_operands(instruction, 0, buffer)?;
        self.push(MicroOp::ScalarWrite(ScalarWriteOp { access: returning(access, glc), operands }));
        Ok(())
    }
}

/// Memory operands of a scalar memory instruction, and its `glc` bit.
fn memory_operands(instruction: &Instruction, dwords: u8, buffer: bool) -> Result<(ScalarMemoryOp, bool), Fault> {
    let Fields::ScalarMemory { data, base, offset, soffset, glc, .. } = instruction.fields else {
        return Err(Fault::Unimplemented);
    };
    let Operand::Scalar(base) = base else { return Err(Fault::Unimplemented) };
    let uop = ScalarMemoryOp { dst: destination(data), base, dwords, buffer, offset, soffset: word(soffset) };
    Ok((uop, glc))
}

fn computation(op: ScalarOp, dst: Operand, src: [Operand; 2], name: &str) -> ScalarAluOp {
    let sources = [0, 1].map(|index| source(src[index], ScalarType::of(name, op.wide >> index & 1 == 1)));
    ScalarAluOp { function: op.function, sources, wide: op.wide, dst: destination(dst), results: op.results }
}
