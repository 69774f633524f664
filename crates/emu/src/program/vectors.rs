//! Vector computations: operands, modifiers, and the choice between the fast and the general step.

use roci_isa::{Encoding, Fields, Instruction, LaneControl, Operand, Valu, VopdHalf, WaveSize};

use crate::fault::Fault;
use crate::lanes::{Function, LaneOp};
use crate::program::Builder;
use crate::program::meaning::{self, Class, LaneMeaning, Meaning};
use crate::program::modifiers::{placement, preparations, refuse};
use crate::program::scalars::{self, inline_float};
use crate::program::slow::{Part, Placement, Preparation, SlowFunction, SlowStep};
use crate::program::step::{
    CompareStep, CrossLane, CrossLaneStep, MapStep, MaskStep, NO_MASK, ScalarSource, Sources, Space, Step,
};
use crate::program::variants;
use crate::row::Kind;
use crate::wave::scalar::{ONES, SINK, VCC};

impl Builder {
    pub(super) fn vector(&mut self, instruction: &Instruction, meaning: &LaneMeaning) -> Result<(), Fault> {
        match &instruction.fields {
            Fields::Vector(valu) => {
                let [low, high] = self.lane_ops(meaning, valu)?;
                let mut step = self.computation(meaning.name, &low, valu)?;
                if meaning.op.is_none() && self.program.target.wave == WaveSize::Wave64 {
                    let other = self.computation(meaning.name, &high, valu)?;
                    if step.result_row().is_none() {
                        return Err(Fault::Unimplemented);
                    }
                    step = Step::Halves(Box::new([step, other]));
                }
                self.push(step);
                Ok(())
            }
            Fields::Dual { x, y } => self.dual(x, y),
            _ => Err(Fault::Unimplemented),
        }
    }

    /// The lane functions of an instruction, for both halves of a wave of 64 lanes.
    fn lane_ops(&self, meaning: &LaneMeaning, valu: &Valu) -> Result<[LaneOp; 2], Fault> {
        if let Some(op) = meaning.op {
            return Ok([op; 2]);
        }
        variants::find_variant(meaning.name, &self.program.target, valu).ok_or(Fault::Unimplemented)
    }

    /// Two computations of which each reads before the other writes.
    fn dual(&mut self, x: &VopdHalf, y: &VopdHalf) -> Result<(), Fault> {
        let first = self.half(x)?;
        let second = self.half(y)?;
        let reads = |half: &VopdHalf, register: Operand| {
            half.src.contains(&register) || (half.dst == register && accumulates(half))
        };
        let count = |builder: &mut Self, step: Step, instructions: u8| {
            builder.current.instructions = instructions;
            builder.push(step);
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
                count(self, Step::Dual(Box::new([first, second])), 1);
                // The pair counts as two computations.
                count(self, Step::Nop, 0);
            }
        }
        Ok(())
    }

    fn half(&mut self, half: &VopdHalf) -> Result<Step, Fault> {
        let Meaning::Lanes(meaning) = meaning::of(half.op) else { return Err(Fault::Unimplemented) };
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
        let [op, _] = self.lane_ops(meaning, &valu)?;
        self.computation(meaning.name, &op, &valu)
    }

    fn computation(&mut self, name: &str, op: &LaneOp, valu: &Valu) -> Result<Step, Fault> {
        refuse(op, valu)?;
        let (operands, mask) = self.operands(name, op, valu)?;
        let preparations = preparations(name, op, valu, &operands)?;
        let kinds = [0, 1, 2].map(|index| source_kind(op.sources[index], preparations[index].part));
        let sources = self.sources(&operands, &kinds, name)?;
        let placement = placement(op, valu, name);
        let function = if valu.clamp { op.saturating.unwrap_or(op.function) } else { op.function };
        let moded = op.moded.unwrap_or(function);
        let modes = if op.moded.is_none() { 0 } else { modes(op) };
        let plain = preparations.iter().all(Preparation::is_nothing)
            && placement == Placement::Whole
            && valu.lanes == LaneControl::None
            && valu.omod == 0
            && (!valu.clamp || op.saturating.is_some());
        let dst = match (function, valu.dst) {
            (Function::Compare(_), operand) => u16::from(scalars::destination(operand)),
            (_, Operand::Vgpr(register) | Operand::VgprHalf { index: register, .. }) => {
                self.register(register, op.result.rows())?
            }
            _ => return Err(Fault::Unimplemented),
        };
        let dst_mask = if valu.sdst == Operand::None { SINK } else { scalars::destination(valu.sdst) };
        let results = op.result.rows() as u8;
        let level = self.level;
        let slow = |function: Function| match function {
            Function::Map(function) => SlowFunction::Map(function.at(level)),
            Function::Compare(function) => SlowFunction::Compare(function.at(level)),
            Function::Mask(function) => SlowFunction::Mask(function.at(level)),
        };
        if !plain {
            return Ok(Step::Slow(Box::new(SlowStep {
                function: slow(function),
                moded: slow(moded),
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
        Ok(match (function, moded) {
            (Function::Map(function), Function::Map(moded)) => Step::Map(MapStep {
                function: function.at(level),
                moded: moded.at(level),
                sources,
                dst,
                results,
                modes,
            }),
            (Function::Compare(function), Function::Compare(moded)) => Step::Compare(CompareStep {
                function: function.at(level),
                moded: moded.at(level),
                sources,
                dst: dst as u8,
                modes,
            }),
            (Function::Mask(function), Function::Mask(moded)) => Step::Mask(MaskStep {
                function: function.at(level),
                moded: moded.at(level),
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

    /// The sources in the order of the lane function, and the mask that it reads.
    fn operands(&self, name: &str, op: &LaneOp, valu: &Valu) -> Result<([Operand; 3], u8), Fault> {
        let mut operands = valu.src;
        let mut mask = NO_MASK;
        if let Function::Mask(_) = op.function {
            // The mask is the source behind those of the function; `v_div_fmas` reads `vcc` unnamed.
            let count = op.sources.iter().filter(|kind| **kind != Kind::None).count();
            if name.starts_with("v_div_fmas") {
                mask = VCC;
            } else if let Some(operand) = operands.get_mut(count) {
                mask = match *operand {
                    Operand::Scalar(124) | Operand::Integer(0) | Operand::None => NO_MASK,
                    Operand::Scalar(register) => register,
                    Operand::Integer(-1) => ONES,
                    // Other constants are masks of a few lanes, which make no sense.
                    _ => return Err(Fault::Unimplemented),
                };
                *operand = Operand::None;
            }
        }
        if op.accumulates {
            let last = op.sources.iter().rposition(|kind| *kind != Kind::None).unwrap_or(2);
            operands[last] = valu.dst;
        }
        Ok((operands, mask))
    }

    /// Finds the rows of sources.
    fn sources(&mut self, operands: &[Operand; 3], kinds: &[Kind; 3], name: &str) -> Result<Sources, Fault> {
        let mut sources = Sources { spaces: [Space::Constants; 3], splats: 0, scalars: [0; 3], rows: [0; 3] };
        for (index, (&operand, &kind)) in operands.iter().zip(kinds).enumerate() {
            if kind == Kind::None {
                continue;
            }
            let rows = kind.rows();
            match operand {
                Operand::Vgpr(register) | Operand::VgprHalf { index: register, .. } => {
                    sources.spaces[index] = Space::Registers;
                    sources.rows[index] = self.register(register, rows)?;
                }
                Operand::Scalar(124) | Operand::None => {}
                Operand::Scalar(code) | Operand::Special(code) => {
                    sources.spaces[index] = Space::Splats;
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

    pub(super) fn cross_lane(&mut self, instruction: &Instruction, kind: CrossLane) -> Result<(), Fault> {
        let Fields::Vector(valu) = &instruction.fields else { return Err(Fault::Unimplemented) };
        // Only `v_movrel*` may have DPP and SDWA here, which no compiler uses.
        if valu.lanes != LaneControl::None || valu.neg | valu.abs | valu.omod != 0 || valu.clamp {
            return Err(Fault::Unimplemented);
        }
        if kind == CrossLane::Permute64 && self.program.target.wave == WaveSize::Wave32 {
            self.push(Step::Nop);
            return Ok(());
        }
        let mut select = [ScalarSource::Constant(0); 2];
        let mut operands = valu.src;
        match kind {
            CrossLane::Read => select[1] = scalars::word(valu.src[1]),
            CrossLane::Write => select = [scalars::word(valu.src[0]), scalars::word(valu.src[1])],
            CrossLane::Permute16 | CrossLane::PermuteX16 => {
                select = [scalars::word(valu.src[1]), scalars::word(valu.src[2])];
            }
            _ => {}
        }
        // The decoder lets vector registers pass for lane numbers.
        if operands[1..].iter().any(|operand| matches!(operand, Operand::Vgpr(_) | Operand::VgprHalf { .. })) {
            return Err(Fault::Unimplemented);
        }
        operands[1] = Operand::None;
        let first = if kind == CrossLane::Write { Kind::None } else { Kind::B32 };
        let sources = self.sources(&operands, &[first, Kind::None, Kind::None], "")?;
        let dst = match (kind, valu.dst) {
            (CrossLane::ReadFirst | CrossLane::Read, operand) => u16::from(scalars::destination(operand)),
            (_, Operand::Vgpr(register)) => self.register(register, 1)?,
            (CrossLane::Swap, Operand::VgprHalf { index, .. }) => self.register(index, 1)?,
            _ => return Err(Fault::Unimplemented),
        };
        let options = if kind == CrossLane::Swap { swapped_halves(valu) } else { valu.op_sel };
        self.push(Step::CrossLane(CrossLaneStep { kind, sources, dst, select, options }));
        self.current.class = Class::Vector;
        Ok(())
    }
}

/// Which halves `v_swap_b16` exchanges: bit 2 says that it does, bit 0 is set for the upper half of the destination, bit 1
/// for that of the source. `v_swap_b32` exchanges whole registers.
fn swapped_halves(valu: &Valu) -> u8 {
    match (valu.dst, valu.src[0]) {
        (Operand::VgprHalf { high: dst, .. }, Operand::VgprHalf { high: src, .. }) => {
            4 | u8::from(src) << 1 | u8::from(dst)
        }
        _ => 0,
    }
}

fn accumulates(half: &VopdHalf) -> bool {
    match meaning::of(half.op) {
        Meaning::Lanes(LaneMeaning { op: Some(op), .. }) => op.accumulates,
        _ => false,
    }
}

/// What a source is before it is prepared: a mixed f16 half is one row like any other.
fn source_kind(kind: Kind, part: Part) -> Kind {
    if let Part::MixedHalf { .. } = part { Kind::F16 } else { kind }
}

/// The bits of a constant.
fn constant_bits(operand: Operand, kind: Kind, signed: bool) -> (u32, u32) {
    match operand {
        Operand::Integer(value) => {
            let bits = i64::from(value).cast_unsigned();
            (bits as u32, (bits >> 32) as u32)
        }
        Operand::Float(code) => {
            let value = inline_float(code);
            match kind {
                Kind::F64 | Kind::B64 => (value.to_bits() as u32, (value.to_bits() >> 32) as u32),
                Kind::F16 | Kind::B16 | Kind::PackedF16 => (u32::from(half::f16::from_f64(value).to_bits()), 0),
                Kind::Bf16 | Kind::PackedBf16 => (u32::from(half::bf16::from_f64(value).to_bits()), 0),
                _ => ((value as f32).to_bits(), 0),
            }
        }
        Operand::Literal(value) => match kind {
            Kind::F64 => (0, value),
            Kind::B64 if signed && value.cast_signed() < 0 => (value, !0),
            _ => (value, 0),
        },
        _ => (0, 0),
    }
}

/// Which floating-point modes a function depends on: bit 0 that of f32, bit 1 that of f16 and f64.
fn modes(op: &LaneOp) -> u8 {
    let of = |kind: Kind| match kind {
        Kind::F32 => 1,
        Kind::F16 | Kind::F64 | Kind::PackedF16 => 2,
        _ => 0,
    };
    op.sources.iter().fold(of(op.result), |modes, kind| modes | of(*kind))
}
