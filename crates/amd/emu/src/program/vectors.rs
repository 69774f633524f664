//! Lowers vector computations to the fast or the general micro-op.

use roci_isa::{Encoding, Fields, Instruction, LaneControl, Operand, Valu, VopdHalf, WaveSize};

use crate::fault::Fault;
use crate::lanes::{LaneFunction, LaneOp};
use crate::program::ProgramBuilder;
use crate::program::micro_op::{
    CompareOp, CrossLaneKind, CrossLaneOp, MapOp, MaskOp, MicroOp, NO_MASK, RowSpace, ScalarSource, VectorSources,
};
use crate::program::modifiers::{placement, preparations, reject};
use crate::program::scalars::{self, inline_float};
use crate::program::semantics::{self, InstructionClass, LaneSemantics, Semantics};
use crate::program::slow::{ResultPlacement, SlowFunction, SlowOp, SourcePart, SourcePreparation};
use crate::program::variants;
use crate::row::OperandKind;
use crate::wave::scalar::{ONES, SINK, VCC};

impl ProgramBuilder {
    pub(super) fn vector(&mut self, instruction: &Instruction, semantics: &LaneSemantics) -> Result<(), Fault> {
        match &instruction.fields {
            Fields::Vector(valu) => {
                let [low, high] = self.lane_ops(semantics, valu)?;
                let mut uop = self.computation(semantics.name, &low, valu)?;
                if semantics.op.is_none() && self.program.target.wave == WaveSize::Wave64 {
                    let other = self.computation(semantics.name, &high, valu)?;
                    if uop.result_row().is_none() {
                        return Err(Fault::Unimplemented);
                    }
                    uop = MicroOp::Halves(Box::new([uop, other]));
                }
                self.push(uop);
                Ok(())
            }
            Fields::Dual { x, y } => self.dual(x, y),
            _ => Err(Fault::Unimplemented),
        }
    }

    /// Lane functions of an instruction for both halves of a wave64.
    fn lane_ops(&self, semantics: &LaneSemantics, valu: &Valu) -> Result<[LaneOp; 2], Fault> {
        if let Some(op) = semantics.op {
            return Ok([op; 2]);
        }
        variants::find_variant(semantics.name, &self.program.target, valu).ok_or(Fault::Unimplemented)
    }

    /// A VOPD pair; each half reads before the other writes.
    fn dual(&mut self, x: &VopdHalf, y: &VopdHalf) -> Result<(), Fault> {
        let first = self.half(x)?;
        let second = self.half(y)?;
        let reads = |half: &VopdHalf, register: Operand| {
            half.src.contains(&register) || (half.dst == register && accumulates(half))
        };
        let count = |builder: &mut Self, uop: MicroOp, instructions: u8| {
            builder.current.instructions = instructions;
            builder.push(uop);
        };
        match (reads(y, x.dst), reads(x, y.dst)) {
            (false, _) => {
                count(self, first, 1);
                count(self, second, 0);
            }
            (true, false) => {
                count(self, second, 1);
                count(self, first, 0);
            }
            (true, true) if first.result_row().is_none() || second.result_row().is_none() => {
                return Err(Fault::Unimplemented);
            }
            (true, true) => {
                count(self, MicroOp::Dual(Box::new([first, second])), 1);
                // The pair counts as two computations.
                count(self, MicroOp::Nop, 0);
            }
        }
        Ok(())
    }

    fn half(&mut self, half: &VopdHalf) -> Result<MicroOp, Fault> {
        let Semantics::Lanes(semantics) = semantics::of(half.op) else { return Err(Fault::Unimplemented) };
        let valu = Valu {
            encoding: Encoding::Short,
            dst: half.dst,
            sdst: Operand::None,
            src: half.src,
            neg: 0,
            abs: 0,
            op_sel: 0,
            op_sel_hi: 0,
            omod: 0,
            clamp: false,
            lanes: LaneControl::None,
        };
        let [op, _] = self.lane_ops(semantics, &valu)?;
        self.computation(semantics.name, &op, &valu)
    }

    fn computation(&mut self, name: &str, op: &LaneOp, valu: &Valu) -> Result<MicroOp, Fault> {
        reject(op, valu)?;
        let (operands, mask) = self.operands(name, op, valu)?;
        let preparations = preparations(name, op, valu, &operands)?;
        let kinds = [0, 1, 2].map(|index| source_kind(op.sources[index], preparations[index].part));
        let sources = self.sources(&operands, &kinds, name)?;
        let placement = placement(op, valu, name);
        let function = if valu.clamp { op.saturating.unwrap_or(op.function) } else { op.function };
        let special_mode = op.special_mode.unwrap_or(function);
        let modes = if op.special_mode.is_none() { 0 } else { modes(op) };
        let plain = preparations.iter().all(SourcePreparation::is_nothing)
            && placement == ResultPlacement::Whole
            && valu.lanes == LaneControl::None
            && valu.omod == 0
            && (!valu.clamp || op.saturating.is_some());
        let dst = match (function, valu.dst) {
            (LaneFunction::Compare(_), operand) => u16::from(scalars::destination(operand)),
            (_, Operand::Vgpr(register) | Operand::VgprHalf { index: register, .. }) => {
                self.register(register, op.result.rows())?
            }
            _ => return Err(Fault::Unimplemented),
        };
        let dst_mask = if valu.sdst == Operand::None { SINK } else { scalars::destination(valu.sdst) };
        let results = op.result.rows() as u8;
        let level = self.level;
        let slow = |function: LaneFunction| match function {
            LaneFunction::Map(function) => SlowFunction::Map(function.at(level)),
            LaneFunction::Compare(function) => SlowFunction::Compare(function.at(level)),
            LaneFunction::Mask(function) => SlowFunction::Mask(function.at(level)),
        };
        if !plain {
            return Ok(MicroOp::Slow(Box::new(SlowOp {
                function: slow(function),
                special_mode: slow(special_mode),
                modes,
                sources,
                preparations,
                lanes: valu.lanes,
                dst,
                result: op.result,
                placement,
                omod: valu.omod,
                clamp: valu.clamp && op.saturating.is_none(),
                mask,
                dst_mask,
            })));
        }
        Ok(match (function, special_mode) {
            (LaneFunction::Map(function), LaneFunction::Map(special_mode)) => MicroOp::Map(MapOp {
                function: function.at(level),
                special_mode: special_mode.at(level),
                sources,
                dst,
                results,
                modes,
            }),
            (LaneFunction::Compare(function), LaneFunction::Compare(special_mode)) => MicroOp::Compare(CompareOp {
                function: function.at(level),
                special_mode: special_mode.at(level),
                sources,
                dst: dst as u8,
                modes,
            }),
            (LaneFunction::Mask(function), LaneFunction::Mask(special_mode)) => MicroOp::Mask(MaskOp {
                function: function.at(level),
                special_mode: special_mode.at(level),
                sources,
                dst,
                results,
                modes,
                mask,
                dst_mask,
            }),
            _ => return Err(Fault::Unimplemented),
        })
    }

    /// Sources in the order of the lane function, and the mask operand.
    fn operands(&self, name: &str, op: &LaneOp, valu: &Valu) -> Result<([Operand; 3], u8), Fault> {
        let mut operands = valu.src;
        let mut mask = NO_MASK;
        if let LaneFunction::Mask(_) = op.function {
            // The mask follows the function's sources; `v_div_fmas` reads `vcc` implicitly.
            let count = op.sources.iter().filter(|kind| **kind != OperandKind::None).count();
            if name.starts_with("v_div_fmas") {
                mask = VCC;
            } else if let Some(operand) = operands.get_mut(count) {
                mask = match *operand {
                    Operand::Scalar(124) | Operand::Integer(0) | Operand::None => NO_MASK,
                    Operand::Scalar(register) => register,
                    Operand::Integer(-1) => ONES,
                    // Other constants would be masks of a few lanes, which is meaningless.
                    _ => return Err(Fault::Unimplemented),
                };
                *operand = Operand::None;
            }
        }
        if op.accumulates {
            let last = op.sources.iter().rposition(|kind| *kind != OperandKind::None).unwrap_or(2);
            operands[last] = valu.dst;
        }
        Ok((operands, mask))
    }

    /// Resolves sources to rows.
    fn sources(
        &mut self,
        operands: &[Operand; 3],
        kinds: &[OperandKind; 3],
        name: &str,
    ) -> Result<VectorSources, Fault> {
        let mut sources = VectorSources { spaces: [RowSpace::Constants; 3], splats: 0, scalars: [0; 3], rows: [0; 3] };
        for (index, (&operand, &kind)) in operands.iter().zip(kinds).enumerate() {
            if kind == OperandKind::None {
                continue;
            }
            let rows = kind.rows();
            match operand {
                Operand::Vgpr(register) | Operand::VgprHalf { index: register, .. } => {
                    sources.spaces[index] = RowSpace::Registers;
                    sources.rows[index] = self.register(register, rows)?;
                }
                Operand::Scalar(124) | Operand::None => {}
                Operand::Scalar(code) | Operand::Special(code) => {
                    sources.spaces[index] = RowSpace::Splats;
                    sources.rows[index] = 2 * index as u16;
                    sources.scalars[index] = code;
                    sources.splats |= 1 << index;
                    if rows > 1 {
                        sources.splats |= 16 << index;
                    }
                    if rows > 2 {
                        return Err(Fault::Unimplemented);
                    }
                }
                constant => {
                    let (low, high) = constant_bits(constant, kind, name.ends_with("_i64"));
                    sources.rows[index] = self.program.constants.add(low, high, rows.max(1) as u8);
                }
            }
        }
        Ok(sources)
    }

    pub(super) fn cross_lane(&mut self, instruction: &Instruction, kind: CrossLaneKind) -> Result<(), Fault> {
        let Fields::Vector(valu) = &instruction.fields else { return Err(Fault::Unimplemented) };
        // Only `v_movrel*` may have DPP and SDWA here, which no compiler uses.
        if valu.lanes != LaneControl::None || valu.neg | valu.abs | valu.omod != 0 || valu.clamp {
            return Err(Fault::Unimplemented);
        }
        if kind == CrossLaneKind::Permute64 && self.program.target.wave == WaveSize::Wave32 {
            self.push(MicroOp::Nop);
            return Ok(());
        }
        let mut select = [ScalarSource::Constant(0); 2];
        let mut operands = valu.src;
        match kind {
            CrossLaneKind::Read => select[1] = scalars::word(valu.src[1]),
            CrossLaneKind::Write => select = [scalars::word(valu.src[0]), scalars::word(valu.src[1])],
            CrossLaneKind::Permute16 | CrossLaneKind::PermuteX16 => {
                select = [scalars::word(valu.src[1]), scalars::word(valu.src[2])];
            }
            _ => {}
        }
        // The decoder accepts VGPRs as lane selectors.
        if operands[1..].iter().any(|operand| matches!(operand, Operand::Vgpr(_) | Operand::VgprHalf { .. })) {
            return Err(Fault::Unimplemented);
        }
        operands[1] = Operand::None;
        let first = if kind == CrossLaneKind::Write { OperandKind::None } else { OperandKind::B32 };
        let sources = self.sources(&operands, &[first, OperandKind::None, OperandKind::None], "")?;
        let dst = match (kind, valu.dst) {
            (CrossLaneKind::ReadFirst | CrossLaneKind::Read, operand) => u16::from(scalars::destination(operand)),
            (_, Operand::Vgpr(register)) => self.register(register, 1)?,
            (CrossLaneKind::Swap, Operand::VgprHalf { index, .. }) => self.register(index, 1)?,
            _ => return Err(Fault::Unimplemented),
        };
        let options = if kind == CrossLaneKind::Swap { swapped_halves(valu) } else { valu.op_sel };
        self.push(MicroOp::CrossLane(CrossLaneOp { kind, sources, dst, select, options }));
        self.current.class = InstructionClass::Vector;
        Ok(())
    }
}

/// The halves that `v_swap_b16` swaps: bit 2 is set; bit 0 selects the upper half of the
/// destination, bit 1 that of the source. `v_swap_b32` swaps whole registers.
fn swapped_halves(valu: &Valu) -> u8 {
    match (valu.dst, valu.src[0]) {
        (Operand::VgprHalf { high: dst, .. }, Operand::VgprHalf { high: src, .. }) => {
            4 | u8::from(src) << 1 | u8::from(dst)
        }
        _ => 0,
    }
}

fn accumulates(half: &VopdHalf) -> bool {
    match semantics::of(half.op) {
        Semantics::Lanes(LaneSemantics { op: Some(op), .. }) => op.accumulates,
        _ => false,
    }
}

/// Kind of a source before preparation: a mixed-precision f16 half is a plain row.
fn source_kind(kind: OperandKind, part: SourcePart) -> OperandKind {
    if let SourcePart::MixedHalf { .. } = part { OperandKind::F16 } else { kind }
}

fn constant_bits(operand: Operand, kind: OperandKind, signed: bool) -> (u32, u32) {
    match operand {
        Operand::Integer(value) => {
            let bits = i64::from(value).cast_unsigned();
            (bits as u32, (bits >> 32) as u32)
        }
        Operand::Float(code) => {
            let value = inline_float(code);
            match kind {
                OperandKind::F64 | OperandKind::B64 => (value.to_bits() as u32, (value.to_bits() >> 32) as u32),
                OperandKind::F16 | OperandKind::B16 | OperandKind::PackedF16 => {
                    (u32::from(half::f16::from_f64(value).to_bits()), 0)
                }
                OperandKind::Bf16 | OperandKind::PackedBf16 => (u32::from(half::bf16::from_f64(value).to_bits()), 0),
                _ => ((value as f32).to_bits(), 0),
            }
        }
        Operand::Literal(value) => match kind {
            OperandKind::F64 => (0, value),
            OperandKind::B64 if signed && value.cast_signed() < 0 => (value, !0),
            _ => (value, 0),
        },
        _ => (0, 0),
    }
}

/// Floating-point modes that a function depends on: bit 0 f32, bit 1 f16 and f64.
fn modes(op: &LaneOp) -> u8 {
    let of = |kind: OperandKind| match kind {
        OperandKind::F32 => 1,
        OperandKind::F16 | OperandKind::F64 | OperandKind::PackedF16 => 2,
        _ => 0,
    };
    op.sources.iter().fold(of(op.result), |modes, kind| modes | of(*kind))
}
