//! Shadow propagation through vector and cross-lane instructions.

use roci_isa::{Fields, LaneControl, Operand};

use super::rules::{PropagationRule, ShadowedValue, mask};
use super::{WaveShadow, undefined};
use crate::engine::lds::swizzle_source;
use crate::engine::slow::{lane_source, put, selected};
use crate::engine::{Machine, lanes_of};
use crate::lanes::find;
use crate::observe::ObservedInstruction;
use crate::program::MicroOp;
use crate::program::micro_op::{CrossLaneKind, CrossLaneOp, LdsOp, LdsOpKind, NO_MASK, RowSpace, VectorSources};
use crate::program::slow::{ResultPlacement, SlowFunction, SourcePart};
use crate::row::{LANES, OperandKind};
use crate::wave::scalar::{M0, SINK};

/// Undefined bits by lane, for results of up to 64 bits.
type LaneBits = [u64; LANES];

/// A vector computation, from any kind of micro-op.
struct Computation<'a> {
    rule: PropagationRule,
    sources: &'a VectorSources,
    kinds: [OperandKind; 3],
    parts: [SourcePart; 3],
    lanes: LaneControl,
    result: OperandKind,
    placement: ResultPlacement,
    dst: u16,
    /// Mask register read, or [`NO_MASK`].
    mask: u8,
    /// Mask register written, if any. A comparison has no other destination.
    dst_mask: Option<u8>,
    compare: Compare,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Compare {
    No,
    Any,
    /// Only integer comparisons for equality.
    Equality,
}

impl WaveShadow {
    /// Propagates through a vector computation.
    pub(super) fn vector(
        &mut self,
        machine: &Machine<'_>,
        uop: &MicroOp,
        decoded: &ObservedInstruction,
    ) -> Result<(), String> {
        let name = decoded.instruction.op.name();
        if name.starts_with("v_wmma") {
            let uops = if let MicroOp::Halves(uops) = uop { &uops[0] } else { uop };
            if let MicroOp::Map(uop) = uops {
                self.matrix(machine, &uop.sources, uop.dst, uop.results, name);
            }
            return Ok(());
        }
        match uop {
            // Both halves of a pair read before either writes.
            MicroOp::Dual(pair) => {
                let before = self.rows.clone();
                let mut results = Vec::new();
                for uop in pair.iter() {
                    self.rows.clone_from(&before);
                    self.vector(machine, uop, decoded)?;
                    if let Some(computation) = computation(uop, decoded) {
                        let rows = (0..machine.wave.halves).map(|half| *self.row(half, usize::from(computation.dst)));
                        results.push((usize::from(computation.dst), rows.collect::<Vec<_>>()));
                    }
                }
                for (register, rows) in results {
                    for (half, row) in rows.into_iter().enumerate() {
                        *self.row_mut(half, register) = row;
                    }
                }
                Ok(())
            }
            MicroOp::Halves(uops) => self.vector(machine, &uops[0], decoded),
            uop => match computation(uop, decoded) {
                Some(computation) => self.compute(machine, &computation),
                None => Ok(()),
            },
        }
    }

    fn compute(&mut self, machine: &Machine<'_>, computation: &Computation<'_>) -> Result<(), String> {
        let mut masks = [0u32; 2];
        for half in 0..machine.wave.halves {
            let exec = machine.wave.exec(half);
            if exec == 0 {
                continue;
            }
            let mut sources = [[ShadowedValue::default(); LANES]; 3];
            for (index, source) in sources.iter_mut().enumerate() {
                self.operand(machine, computation, half, index, source);
            }
            let mut write = exec;
            if matches!(computation.lanes, LaneControl::Dpp16(_) | LaneControl::Dpp8 { .. }) {
                let from = sources[0];
                for lane in 0..LANES {
                    let (other, written) = lane_source(&computation.lanes, half, lane, exec);
                    sources[0][lane] = other.map_or(ShadowedValue::default(), |other| from[other]);
                    if !written {
                        write &= !(1 << lane);
                    }
                }
            }
            let mut results: LaneBits = [0; LANES];
            for lane in lanes_of(write) {
                let operands = sources.map(|source| source[lane]);
                let condition = self.condition(machine, computation.mask, half, lane);
                let any = operands.iter().fold(condition.unknown, |any, bits| any | bits.unknown);
                if any == 0 {
                    continue;
                }
                let differ = computation.compare == Compare::Equality && operands[0].surely_differ(operands[1]);
                if computation.dst_mask.is_some() && !differ {
                    masks[half] |= 1 << lane;
                }
                results[lane] = computation.rule.apply(operands, condition, width(computation.result));
            }
            if computation.compare == Compare::No {
                self.write(half, computation, write, &results);
            }
        }
        match computation.dst_mask {
            Some(register) if register < SINK => {
                let unknown = u64::from(masks[0]) | u64::from(masks[1]) << 32;
                self.set_scalar(machine, register, unknown, machine.wave.halves)
            }
            _ => Ok(()),
        }
    }

    fn write(&mut self, half: usize, computation: &Computation<'_>, write: u32, results: &LaneBits) {
        for word in 0..computation.result.rows() {
            let row = self.row_mut(half, usize::from(computation.dst) + word);
            for lane in lanes_of(write) {
                let new = (results[lane] >> (32 * word)) as u32;
                row[lane] = put(computation.placement, row[lane], new);
            }
        }
    }

    /// The mask bit that a lane reads.
    fn condition(&self, machine: &Machine<'_>, register: u8, half: usize, lane: usize) -> ShadowedValue {
        if register == NO_MASK {
            return ShadowedValue::default();
        }
        let number = usize::from(register) + half;
        let bit = |word: u32| u64::from(word >> lane & 1);
        ShadowedValue { value: bit(machine.wave.scalars[number]), unknown: bit(self.scalars[number]) }
    }

    /// A source operand: its values and undefined bits.
    fn operand(
        &self,
        machine: &Machine<'_>,
        computation: &Computation<'_>,
        half: usize,
        index: usize,
        result: &mut [ShadowedValue; LANES],
    ) {
        let (kind, part) = (computation.kinds[index], computation.parts[index]);
        if kind == OperandKind::None {
            return;
        }
        for word in 0..kind.rows().clamp(1, 2) {
            let unknown = self.source_row(computation.sources, half, index, word);
            let values = machine.source_values(computation.sources, half, index, word);
            for lane in 0..LANES {
                let (mut value, mut bits) = (values[lane], unknown[lane]);
                if word == 0 {
                    value = selected(value, part);
                    bits = match part {
                        // The source is converted, so any undefined bit of the half counts.
                        SourcePart::MixedHalf { high } => bits >> if high { 16 } else { 0 } & 0xffff,
                        part => selected(bits, part),
                    };
                }
                let narrow = mask(width(kind)) >> (32 * word);
                result[lane].value |= (u64::from(value) & narrow) << (32 * word);
                result[lane].unknown |= (u64::from(bits) & narrow) << (32 * word);
            }
        }
    }

    fn source_row(&self, sources: &VectorSources, half: usize, index: usize, word: usize) -> [u32; LANES] {
        match sources.spaces[index] {
            RowSpace::Registers => *self.row(half, usize::from(sources.rows[index]) + word),
            RowSpace::Splats => [self.scalar_word(sources.scalars[index], word); LANES],
            RowSpace::Constants => [0; LANES],
        }
    }

    /// Propagates through a matrix product: an undefined bit of a factor may reach every element of
    /// the result.
    fn matrix(&mut self, machine: &Machine<'_>, sources: &VectorSources, dst: u16, results: u8, name: &str) {
        let rows = if name.ends_with("iu8") {
            4
        } else if name.ends_with("iu4") {
            2
        } else {
            8
        };
        let factors_defined = (0..machine.wave.halves).all(|half| {
            (0..2).all(|index| {
                (0..rows).all(|word| self.source_row(sources, half, index, word).iter().all(|bits| *bits == 0))
            })
        });
        for half in 0..machine.wave.halves {
            for word in 0..usize::from(results) {
                let sum = self.source_row(sources, half, 2, word);
                *self.row_mut(half, usize::from(dst) + word) = if factors_defined { sum } else { [!0; LANES] };
            }
        }
    }

    /// Propagates through a cross-lane instruction.
    pub(super) fn cross_lane(&mut self, machine: &Machine<'_>, uop: &CrossLaneOp) -> Result<(), String> {
        let halves = machine.wave.halves;
        let select = |shadow: &Self, which: usize| shadow.source(machine, uop.select[which], false);
        let dst = usize::from(uop.dst);
        match uop.kind {
            CrossLaneKind::ReadFirst | CrossLaneKind::Read => {
                let exec = machine.wave.exec64();
                let chosen = select(self, 1);
                let lane = match uop.kind {
                    CrossLaneKind::ReadFirst if exec == 0 => 0,
                    CrossLaneKind::ReadFirst => exec.trailing_zeros() as usize,
                    _ if chosen.unknown != 0 => return Err(undefined("which lane is read")),
                    _ => chosen.value as u32 as usize % (LANES * halves),
                };
                let unknown = self.source_row(&uop.sources, lane / LANES, 0, 0)[lane % LANES];
                self.set_scalar(machine, uop.dst as u8, u64::from(unknown), 1)
            }
            CrossLaneKind::Write => {
                let (value, chosen) = (select(self, 0), select(self, 1));
                if chosen.unknown != 0 {
                    return Err(undefined("which lane is written"));
                }
                let lane = chosen.value as u32 as usize % (LANES * halves);
                self.row_mut(lane / LANES, dst)[lane % LANES] = value.unknown as u32;
                Ok(())
            }
            CrossLaneKind::Permute16 | CrossLaneKind::PermuteX16 => {
                let (low, high) = (select(self, 0), select(self, 1));
                let chosen = u64::from(low.value as u32) | high.value << 32;
                let unknown = low.unknown | high.unknown;
                let across = if uop.kind == CrossLaneKind::PermuteX16 { 16 } else { 0 };
                for half in 0..halves {
                    let exec = machine.wave.exec(half);
                    let from = self.source_row(&uop.sources, half, 0, 0);
                    for lane in lanes_of(exec) {
                        let source = (lane & 16 ^ across) | (chosen >> (4 * (lane & 15)) & 15) as usize;
                        let row = self.row_mut(half, dst);
                        if unknown != 0 {
                            row[lane] = !0;
                        } else if uop.options & 1 != 0 || exec >> source & 1 == 1 {
                            row[lane] = from[source];
                        } else if uop.options & 2 != 0 {
                            row[lane] = 0;
                        }
                    }
                }
                Ok(())
            }
            CrossLaneKind::Permute64 => {
                let rows: Vec<_> = (0..halves).map(|half| self.source_row(&uop.sources, half, 0, 0)).collect();
                for half in 0..halves {
                    let from = rows[halves - 1 - half];
                    for lane in lanes_of(machine.wave.exec(half)) {
                        self.row_mut(half, dst)[lane] = from[lane];
                    }
                }
                Ok(())
            }
            CrossLaneKind::Swap | CrossLaneKind::SwapRel => {
                let [other, dst] = self.relative(machine, uop)?;
                for half in 0..halves {
                    let (from, to) = (*self.row(half, other), *self.row(half, dst));
                    for lane in lanes_of(machine.wave.exec(half)) {
                        self.row_mut(half, other)[lane] = to[lane];
                        self.row_mut(half, dst)[lane] = from[lane];
                    }
                }
                Ok(())
            }
            CrossLaneKind::MovRelSource
            | CrossLaneKind::MovRelDestination
            | CrossLaneKind::MovRelBoth
            | CrossLaneKind::MovRelTwo => {
                let [source, dst] = self.relative(machine, uop)?;
                for half in 0..halves {
                    let from = match uop.kind {
                        CrossLaneKind::MovRelDestination => self.source_row(&uop.sources, half, 0, 0),
                        _ => *self.row(half, source),
                    };
                    for lane in lanes_of(machine.wave.exec(half)) {
                        self.row_mut(half, dst)[lane] = from[lane];
                    }
                }
                Ok(())
            }
        }
    }

    /// Registers read and written after adding `m0`. Those out of range fault in the engine.
    fn relative(&self, machine: &Machine<'_>, uop: &CrossLaneOp) -> Result<[usize; 2], String> {
        let offsets = uop.kind.offsets(machine.wave.scalars[usize::from(M0)]);
        if uop.kind != CrossLaneKind::Swap && self.scalars[usize::from(M0)] != 0 {
            return Err(undefined("which register is accessed (m0)"));
        }
        let last = self.registers - 1;
        let places = [usize::from(uop.sources.rows[0]) + offsets[0], usize::from(uop.dst) + offsets[1]];
        Ok(places.map(|register| register.min(last)))
    }

    /// Propagates through a DS lane permutation.
    pub(super) fn exchange(&mut self, machine: &Machine<'_>, uop: &LdsOp) -> Result<(), String> {
        for half in 0..machine.wave.halves {
            let exec = machine.wave.exec(half);
            let addresses = machine.wave.row(half, usize::from(uop.addr)).array();
            let unknown = *self.row(half, usize::from(uop.addr));
            let target = |lane: usize| addresses[lane].wrapping_add(uop.offsets[0]) as usize / 4 % LANES;
            let mut results = [0; LANES];
            let from = match uop.kind {
                LdsOpKind::Swizzle(_) => unknown,
                _ => {
                    if let Some(lane) = lanes_of(exec).find(|&lane| unknown[lane] != 0) {
                        return Err(undefined(&format!("which lane is selected (v{} of lane {lane})", uop.addr)));
                    }
                    *self.row(half, usize::from(uop.data[0]))
                }
            };
            for lane in lanes_of(exec) {
                match uop.kind {
                    LdsOpKind::Permute => results[target(lane)] = from[lane],
                    LdsOpKind::BackPermute if exec >> target(lane) & 1 == 1 => results[lane] = from[target(lane)],
                    LdsOpKind::Swizzle(pattern) if exec >> swizzle_source(pattern, lane) & 1 == 1 => {
                        results[lane] = from[swizzle_source(pattern, lane)];
                    }
                    _ => {}
                }
            }
            for lane in lanes_of(exec) {
                self.row_mut(half, usize::from(uop.dst))[lane] = results[lane];
            }
        }
        Ok(())
    }
}

/// Width of an operand in bits.
fn width(kind: OperandKind) -> u32 {
    match kind {
        OperandKind::B16 | OperandKind::F16 | OperandKind::Bf16 => 16,
        OperandKind::B64 | OperandKind::F64 => 64,
        _ if kind.rows() > 1 => 64,
        _ => 32,
    }
}

/// The computation of a micro-op, if it is one.
fn computation<'a>(uop: &'a MicroOp, decoded: &ObservedInstruction) -> Option<Computation<'a>> {
    let dst_of = |operand: Operand| match operand {
        Operand::Vgpr(register) | Operand::VgprHalf { index: register, .. } => Some(u16::from(register)),
        _ => None,
    };
    let dst = match uop {
        MicroOp::Map(uop) => Some(uop.dst),
        MicroOp::Mask(uop) => Some(uop.dst),
        MicroOp::Slow(uop) => Some(uop.dst),
        _ => None,
    };
    let mut clamp = false;
    let name = match decoded.instruction.fields {
        // The half of the pair that writes this register.
        Fields::Dual { x, y } => if dst_of(x.dst) == dst { x.op } else { y.op }.name(),
        Fields::Vector(valu) => {
            clamp = valu.clamp;
            decoded.instruction.op.name()
        }
        _ => return None,
    };
    let op = find(name);
    let kinds = op.map_or([OperandKind::B32; 3], |op| op.sources);
    let result = op.map_or(OperandKind::B32, |op| op.result);
    let rule = if clamp { PropagationRule::Any } else { PropagationRule::of(name) };
    let plain = |sources: &'a VectorSources, dst, mask, dst_mask, compare| Computation {
        rule,
        sources,
        kinds,
        parts: [SourcePart::Whole; 3],
        lanes: LaneControl::None,
        result,
        placement: ResultPlacement::Whole,
        dst,
        mask,
        dst_mask,
        compare,
    };
    let equality = ["v_cmp_eq_", "v_cmp_ne_", "v_cmpx_eq_", "v_cmpx_ne_"].iter().any(|start| name.starts_with(start));
    let integer = !name.contains("_f16") && !name.contains("_f32") && !name.contains("_f64");
    let compare = if equality && integer { Compare::Equality } else { Compare::Any };
    Some(match uop {
        MicroOp::Map(uop) => plain(&uop.sources, uop.dst, NO_MASK, None, Compare::No),
        MicroOp::Mask(uop) => plain(&uop.sources, uop.dst, uop.mask, Some(uop.dst_mask), Compare::No),
        MicroOp::Compare(uop) => plain(&uop.sources, 0, NO_MASK, Some(uop.dst), compare),
        MicroOp::Slow(uop) => Computation {
            parts: uop.preparations.map(|preparation| preparation.part),
            lanes: uop.lanes,
            result: uop.result,
            placement: uop.placement,
            ..match uop.function {
                SlowFunction::Map(_) => plain(&uop.sources, uop.dst, NO_MASK, None, Compare::No),
                SlowFunction::Mask(_) => plain(&uop.sources, uop.dst, uop.mask, Some(uop.dst_mask), Compare::No),
                SlowFunction::Compare(_) => plain(&uop.sources, 0, NO_MASK, Some(uop.dst as u8), compare),
            }
        },
        _ => return None,
    })
}
