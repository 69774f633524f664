//! Shadows of vector computations and of what moves between lanes.

use roci_isa::{Fields, LaneControl, Operand};

use super::rules::{Bits, Rule, mask};
use super::{Shadow, undefined};
use crate::engine::lds::swizzle_source;
use crate::engine::slow::{lane_source, put, selected};
use crate::engine::{Machine, lanes_of};
use crate::lanes::find;
use crate::observe::Decoded;
use crate::program::Step;
use crate::program::slow::{Part, Placement, SlowFunction};
use crate::program::step::{CrossLane, CrossLaneStep, Lds, LdsStep, NO_MASK, Sources, Space};
use crate::row::{Kind, LANES};
use crate::wave::scalar::{M0, SINK};

/// Undefined bits by lane, of results of up to 64 bits.
type Wide = [u64; LANES];

/// A vector computation, whatever step it became.
struct Computation<'a> {
    rule: Rule,
    sources: &'a Sources,
    kinds: [Kind; 3],
    parts: [Part; 3],
    lanes: LaneControl,
    result: Kind,
    placement: Placement,
    dst: u16,
    /// The mask read, or [`NO_MASK`].
    mask: u8,
    /// Where a mask goes, should there be one; a comparison has nothing else.
    dst_mask: Option<u8>,
    compare: Compare,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Compare {
    No,
    Any,
    /// For equality, of integers.
    Equality,
}

impl Shadow {
    /// A computation on vectors.
    pub(super) fn vector(&mut self, machine: &Machine<'_>, step: &Step, decoded: &Decoded) -> Result<(), String> {
        let name = decoded.instruction.op.name();
        if name.starts_with("v_wmma") {
            let steps = if let Step::Halves(steps) = step { &steps[0] } else { step };
            if let Step::Map(step) = steps {
                self.matrix(machine, &step.sources, step.dst, step.results, name);
            }
            return Ok(());
        }
        match step {
            // Each half of a pair reads before the other writes.
            Step::Dual(pair) => {
                let before = self.rows.clone();
                let mut results = Vec::new();
                for step in pair.iter() {
                    self.rows.clone_from(&before);
                    self.vector(machine, step, decoded)?;
                    if let Some(computation) = computation(step, decoded) {
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
            Step::Halves(steps) => self.vector(machine, &steps[0], decoded),
            step => match computation(step, decoded) {
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
            let mut sources = [[Bits::default(); LANES]; 3];
            for (index, source) in sources.iter_mut().enumerate() {
                self.operand(machine, computation, half, index, source);
            }
            let mut write = exec;
            if matches!(computation.lanes, LaneControl::Dpp16(_) | LaneControl::Dpp8 { .. }) {
                let from = sources[0];
                for lane in 0..LANES {
                    let (other, written) = lane_source(&computation.lanes, half, lane, exec);
                    sources[0][lane] = other.map_or(Bits::default(), |other| from[other]);
                    if !written {
                        write &= !(1 << lane);
                    }
                }
            }
            let mut results: Wide = [0; LANES];
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

    fn write(&mut self, half: usize, computation: &Computation<'_>, write: u32, results: &Wide) {
        for word in 0..computation.result.rows() {
            let row = self.row_mut(half, usize::from(computation.dst) + word);
            for lane in lanes_of(write) {
                let new = (results[lane] >> (32 * word)) as u32;
                row[lane] = put(computation.placement, row[lane], new);
            }
        }
    }

    /// The bit of a mask that a lane reads.
    fn condition(&self, machine: &Machine<'_>, register: u8, half: usize, lane: usize) -> Bits {
        if register == NO_MASK {
            return Bits::default();
        }
        let number = usize::from(register) + half;
        let bit = |word: u32| u64::from(word >> lane & 1);
        Bits { value: bit(machine.wave.scalars[number]), unknown: bit(self.scalars[number]) }
    }

    /// The values of a source and what is undefined of them.
    fn operand(
        &self,
        machine: &Machine<'_>,
        computation: &Computation<'_>,
        half: usize,
        index: usize,
        result: &mut [Bits; LANES],
    ) {
        let (kind, part) = (computation.kinds[index], computation.parts[index]);
        if kind == Kind::None {
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
                        // Converted: any undefined bit of the half counts.
                        Part::MixedHalf { high } => bits >> if high { 16 } else { 0 } & 0xffff,
                        part => selected(bits, part),
                    };
                }
                let narrow = mask(width(kind)) >> (32 * word);
                result[lane].value |= (u64::from(value) & narrow) << (32 * word);
                result[lane].unknown |= (u64::from(bits) & narrow) << (32 * word);
            }
        }
    }

    /// The shadow of a row of a source.
    fn source_row(&self, sources: &Sources, half: usize, index: usize, word: usize) -> [u32; LANES] {
        match sources.spaces[index] {
            Space::Registers => *self.row(half, usize::from(sources.rows[index]) + word),
            Space::Splats => [self.scalar_word(sources.scalars[index], word); LANES],
            Space::Constants => [0; LANES],
        }
    }

    /// A matrix product: what is undefined in a factor may be everywhere in the result.
    fn matrix(&mut self, machine: &Machine<'_>, sources: &Sources, dst: u16, results: u8, name: &str) {
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

    /// Data moved between lanes.
    pub(super) fn cross_lane(&mut self, machine: &Machine<'_>, step: &CrossLaneStep) -> Result<(), String> {
        let halves = machine.wave.halves;
        let select = |shadow: &Self, which: usize| shadow.source(machine, step.select[which], false);
        let dst = usize::from(step.dst);
        match step.kind {
            CrossLane::ReadFirst | CrossLane::Read => {
                let exec = machine.wave.exec64();
                let chosen = select(self, 1);
                let lane = match step.kind {
                    CrossLane::ReadFirst if exec == 0 => 0,
                    CrossLane::ReadFirst => exec.trailing_zeros() as usize,
                    _ if chosen.unknown != 0 => return Err(undefined("which lane is read")),
                    _ => chosen.value as u32 as usize % (LANES * halves),
                };
                let unknown = self.source_row(&step.sources, lane / LANES, 0, 0)[lane % LANES];
                self.set_scalar(machine, step.dst as u8, u64::from(unknown), 1)
            }
            CrossLane::Write => {
                let (value, chosen) = (select(self, 0), select(self, 1));
                if chosen.unknown != 0 {
                    return Err(undefined("which lane is written"));
                }
                let lane = chosen.value as u32 as usize % (LANES * halves);
                self.row_mut(lane / LANES, dst)[lane % LANES] = value.unknown as u32;
                Ok(())
            }
            CrossLane::Permute16 | CrossLane::PermuteX16 => {
                let (low, high) = (select(self, 0), select(self, 1));
                let chosen = u64::from(low.value as u32) | high.value << 32;
                let unknown = low.unknown | high.unknown;
                let across = if step.kind == CrossLane::PermuteX16 { 16 } else { 0 };
                for half in 0..halves {
                    let exec = machine.wave.exec(half);
                    let from = self.source_row(&step.sources, half, 0, 0);
                    for lane in lanes_of(exec) {
                        let source = (lane & 16 ^ across) | (chosen >> (4 * (lane & 15)) & 15) as usize;
                        let row = self.row_mut(half, dst);
                        if unknown != 0 {
                            row[lane] = !0;
                        } else if step.options & 1 != 0 || exec >> source & 1 == 1 {
                            row[lane] = from[source];
                        } else if step.options & 2 != 0 {
                            row[lane] = 0;
                        }
                    }
                }
                Ok(())
            }
            CrossLane::Permute64 => {
                let rows: Vec<_> = (0..halves).map(|half| self.source_row(&step.sources, half, 0, 0)).collect();
                for half in 0..halves {
                    let from = rows[halves - 1 - half];
                    for lane in lanes_of(machine.wave.exec(half)) {
                        self.row_mut(half, dst)[lane] = from[lane];
                    }
                }
                Ok(())
            }
            CrossLane::Swap | CrossLane::SwapRel => {
                let [other, dst] = self.relative(machine, step)?;
                for half in 0..halves {
                    let (from, to) = (*self.row(half, other), *self.row(half, dst));
                    for lane in lanes_of(machine.wave.exec(half)) {
                        self.row_mut(half, other)[lane] = to[lane];
                        self.row_mut(half, dst)[lane] = from[lane];
                    }
                }
                Ok(())
            }
            CrossLane::MovRelSource | CrossLane::MovRelDestination | CrossLane::MovRelBoth | CrossLane::MovRelTwo => {
                let [source, dst] = self.relative(machine, step)?;
                for half in 0..halves {
                    let from = match step.kind {
                        CrossLane::MovRelDestination => self.source_row(&step.sources, half, 0, 0),
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

    /// The registers that are read and written, moved by `m0`; the engine itself faults at those that are not there.
    fn relative(&self, machine: &Machine<'_>, step: &CrossLaneStep) -> Result<[usize; 2], String> {
        let offsets = step.kind.offsets(machine.wave.scalars[usize::from(M0)]);
        if step.kind != CrossLane::Swap && self.scalars[usize::from(M0)] != 0 {
            return Err(undefined("which register is meant (m0)"));
        }
        let last = self.registers - 1;
        let places = [usize::from(step.sources.rows[0]) + offsets[0], usize::from(step.dst) + offsets[1]];
        Ok(places.map(|register| register.min(last)))
    }

    /// Lanes moved through the crossbar of LDS.
    pub(super) fn exchange(&mut self, machine: &Machine<'_>, step: &LdsStep) -> Result<(), String> {
        for half in 0..machine.wave.halves {
            let exec = machine.wave.exec(half);
            let addresses = machine.wave.row(half, usize::from(step.addr)).array();
            let unknown = *self.row(half, usize::from(step.addr));
            let target = |lane: usize| addresses[lane].wrapping_add(step.offsets[0]) as usize / 4 % LANES;
            let mut results = [0; LANES];
            let from = match step.kind {
                Lds::Swizzle(_) => unknown,
                _ => {
                    if let Some(lane) = lanes_of(exec).find(|&lane| unknown[lane] != 0) {
                        return Err(undefined(&format!("which lane is meant (v{} of lane {lane})", step.addr)));
                    }
                    *self.row(half, usize::from(step.data[0]))
                }
            };
            for lane in lanes_of(exec) {
                match step.kind {
                    Lds::Permute => results[target(lane)] = from[lane],
                    Lds::BackPermute if exec >> target(lane) & 1 == 1 => results[lane] = from[target(lane)],
                    Lds::Swizzle(pattern) if exec >> swizzle_source(pattern, lane) & 1 == 1 => {
                        results[lane] = from[swizzle_source(pattern, lane)];
                    }
                    _ => {}
                }
            }
            for lane in lanes_of(exec) {
                self.row_mut(half, usize::from(step.dst))[lane] = results[lane];
            }
        }
        Ok(())
    }
}

/// Bits of an operand of a kind.
fn width(kind: Kind) -> u32 {
    match kind {
        Kind::B16 | Kind::F16 | Kind::Bf16 => 16,
        Kind::B64 | Kind::F64 => 64,
        _ if kind.rows() > 1 => 64,
        _ => 32,
    }
}

/// What a step computes; `None` if it is no computation.
fn computation<'a>(step: &'a Step, decoded: &Decoded) -> Option<Computation<'a>> {
    let dst_of = |operand: Operand| match operand {
        Operand::Vgpr(register) | Operand::VgprHalf { index: register, .. } => Some(u16::from(register)),
        _ => None,
    };
    let dst = match step {
        Step::Map(step) => Some(step.dst),
        Step::Mask(step) => Some(step.dst),
        Step::Slow(step) => Some(step.dst),
        _ => None,
    };
    let mut clamp = false;
    let name = match decoded.instruction.fields {
        // Of a pair, the half that writes there.
        Fields::Dual { x, y } => if dst_of(x.dst) == dst { x.op } else { y.op }.name(),
        Fields::Vector(valu) => {
            clamp = valu.clamp;
            decoded.instruction.op.name()
        }
        _ => return None,
    };
    let op = find(name);
    let kinds = op.map_or([Kind::B32; 3], |op| op.sources);
    let result = op.map_or(Kind::B32, |op| op.result);
    let rule = if clamp { Rule::Any } else { Rule::of(name) };
    let plain = |sources: &'a Sources, dst, mask, dst_mask, compare| Computation {
        rule,
        sources,
        kinds,
        parts: [Part::Whole; 3],
        lanes: LaneControl::None,
        result,
        placement: Placement::Whole,
        dst,
        mask,
        dst_mask,
        compare,
    };
    let equality = ["v_cmp_eq_", "v_cmp_ne_", "v_cmpx_eq_", "v_cmpx_ne_"].iter().any(|start| name.starts_with(start));
    let integer = !name.contains("_f16") && !name.contains("_f32") && !name.contains("_f64");
    let compare = if equality && integer { Compare::Equality } else { Compare::Any };
    Some(match step {
        Step::Map(step) => plain(&step.sources, step.dst, NO_MASK, None, Compare::No),
        Step::Mask(step) => plain(&step.sources, step.dst, step.mask, Some(step.dst_mask), Compare::No),
        Step::Compare(step) => plain(&step.sources, 0, NO_MASK, Some(step.dst), compare),
        Step::Slow(step) => Computation {
            parts: step.preparations.map(|preparation| preparation.part),
            lanes: step.lanes,
            result: step.result,
            placement: step.placement,
            ..match step.function {
                SlowFunction::Map(_) => plain(&step.sources, step.dst, NO_MASK, None, Compare::No),
                SlowFunction::Mask(_) => plain(&step.sources, step.dst, step.mask, Some(step.dst_mask), Compare::No),
                SlowFunction::Compare(_) => plain(&step.sources, 0, NO_MASK, Some(step.dst as u8), compare),
            }
        },
        _ => return None,
    })
}
