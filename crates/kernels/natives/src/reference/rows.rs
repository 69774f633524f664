//! `lm_rms_norm`, `lm_layer_norm`, `lm_gated_rms_norm`, `lm_l2_norm`, `lm_glu`, `lm_sigmoid_gate`,
//! `lm_moe_top_k`, `lm_moe_combine`, `lm_add_rms_norm`: one row at a time. Also `lm_cast_f16`,
//! `lm_quantize_i8` and `lm_moe_group`.

use std::ops::Range;

use half::f16;

use super::ReferenceKernel;
use super::{AtomicWords, Reference, WorkSize, floats, word};
use crate::KernelFactory;
use roci_families::{
    LmAddRmsNorm, LmCastF16, LmGatedRmsNorm, LmGlu, LmL2Norm, LmLayerNorm, LmMoeCombine, LmMoeGroup, LmMoeTopK,
    LmQuantizeI8, LmRmsNorm, LmSigmoidGate,
};
use roci_simd::{Level, Simd, Task};
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("lm_cast_f16", |level| Arc::new(ReferenceKernel::<CastF16>::new(level))),
    ("lm_quantize_i8", |level| Arc::new(ReferenceKernel::<QuantizeI8>::new(level))),
    ("lm_add_rms_norm", |level| Arc::new(ReferenceKernel::<AddRmsNorm>::new(level))),
    ("lm_rms_norm", |level| Arc::new(ReferenceKernel::<RmsNorm>::new(level))),
    ("lm_layer_norm", |level| Arc::new(ReferenceKernel::<LayerNorm>::new(level))),
    ("lm_gated_rms_norm", |level| Arc::new(ReferenceKernel::<GatedRmsNorm>::new(level))),
    ("lm_l2_norm", |level| Arc::new(ReferenceKernel::<L2Norm>::new(level))),
    ("lm_glu", |level| Arc::new(ReferenceKernel::<Glu>::new(level))),
    ("lm_sigmoid_gate", |level| Arc::new(ReferenceKernel::<SigmoidGate>::new(level))),
    ("lm_moe_top_k", |level| Arc::new(ReferenceKernel::<MoeTopK>::new(level))),
    ("lm_moe_group", |level| Arc::new(ReferenceKernel::<MoeGroup>::new(level))),
    ("lm_moe_combine", |level| Arc::new(ReferenceKernel::<MoeCombine>::new(level))),
];

/// RMS norm of rows.
pub(crate) struct RmsNorm;
/// Layer norm of rows.
pub(crate) struct LayerNorm;
/// RMS norm or layer norm of heads, times a gate.
pub(crate) struct GatedRmsNorm;
/// Rows scaled to the L2 norm of others.
pub(crate) struct L2Norm;
/// The activation of the first half of a row, times the second half.
pub(crate) struct Glu;

/// Columns of a unit of [`Glu`].
const GLU_BLOCK: usize = 512;

/// Rows times the sigmoid of their gates.
pub(crate) struct SigmoidGate;
/// Selects the experts of each token.
pub(crate) struct MoeTopK;
/// Groups pairs of a token and an expert by expert.
pub(crate) struct MoeGroup;
/// Adds the outputs of experts, multiplied by their weights.
pub(crate) struct MoeCombine;
/// Converts f32 to f16.
pub(crate) struct CastF16;
/// Quantizes rows to int8.
pub(crate) struct QuantizeI8;
/// Adds partial sums, then normalizes to f16.
pub(crate) struct AddRmsNorm;

impl Reference for CastF16 {
    type Params = LmCastF16;
    const INPUTS: usize = 1;
    const OUTPUTS: usize = 1;

    fn work_size(p: &LmCastF16) -> Result<WorkSize, String> {
        Ok(WorkSize { units: p.words.into(), cost: 12 })
    }

    fn compute(_: Level, _: &LmCastF16, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let pairs = floats(inputs[0], 2 * units.start, 2 * units.len());
        for (at, pair) in units.zip(pairs.as_chunks::<2>().0) {
            outputs[0].set_word(at, pack_f16(*pair));
        }
    }
}

impl Reference for QuantizeI8 {
    type Params = LmQuantizeI8;
    const INPUTS: usize = 2;
    const OUTPUTS: usize = 1;

    fn work_size(p: &LmQuantizeI8) -> Result<WorkSize, String> {
        if !p.columns.is_multiple_of(32) || !p.x_stride.is_multiple_of(4) {
            return Err(format!("{} columns with a stride of {} are not whole groups", p.columns, p.x_stride));
        }
        Ok(WorkSize { units: p.tokens.into(), cost: 6 * u64::from(p.columns) })
    }

    fn compute(_: Level, p: &LmQuantizeI8, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let columns = p.columns as usize;
        for token in units {
            let row = floats(inputs[0], token * p.x_stride as usize, columns);
            let (weights, factor) = match p.model_columns {
                0 => (None, 1.0),
                count => {
                    let mean = row.iter().map(|value| value * value).sum::<f32>() / count as f32;
                    (Some(floats(inputs[1], 0, columns)), 1.0 / (mean + p.epsilon).sqrt())
                }
            };
            for (group, values) in row.as_chunks::<32>().0.iter().enumerate() {
                let mut values = *values;
                if let Some(weights) = weights {
                    values.iter_mut().zip(&weights[32 * group..]).for_each(|(value, weight)| *value *= weight);
                }
                let to = (token * (columns / 32) + group) * LmQuantizeI8::GROUP_WORDS as usize;
                let top = values.iter().fold(0f32, |top, value| top.max(value.abs()));
                let (scale, inverse) = (top / 127.0 * factor, if top > 0.0 { 127.0 / top } else { 0.0 });
                let codes = values.map(|value| (value * inverse).round_ties_even() as i8);
                for (at, four) in codes.as_chunks::<4>().0.iter().enumerate() {
                    outputs[0].set_word(to + at, u32::from_le_bytes(four.map(i8::cast_unsigned)));
                }
                let sum = |half: &[i8]| scale * half.iter().map(|code| i32::from(*code)).sum::<i32>() as f32;
                outputs[0].set(to + 8, scale);
                outputs[0].set(to + 9, sum(&codes[..16]));
                outputs[0].set(to + 10, sum(&codes[16..]));
                outputs[0].set_word(to + 11, 0);
            }
        }
    }
}

/// Two values as f16 in a word, clamped to the f16 range.
pub(super) fn pack_f16(pair: [f32; 2]) -> u32 {
    let [low, high] = pair.map(|value| f16::from_f32(value.clamp(-65504.0, 65504.0)).to_bits());
    u32::from(low) | u32::from(high) << 16
}

impl Reference for AddRmsNorm {
    type Params = LmAddRmsNorm;
    const INPUTS: usize = 2;
    const OUTPUTS: usize = 2;

    fn work_size(p: &LmAddRmsNorm) -> Result<WorkSize, String> {
        if [p.columns, p.x_stride, p.part_stride].iter().any(|count| !count.is_multiple_of(4)) {
            return Err(format!(
                "{} columns with a stride of {}, partial sums with a stride of {}: not multiples of 4",
                p.columns, p.x_stride, p.part_stride
            ));
        }
        Ok(WorkSize { units: p.rows.into(), cost: (8 + 4 * u64::from(p.used)) * u64::from(p.columns) })
    }

    fn compute(level: Level, p: &LmAddRmsNorm, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let (columns, used) = (p.columns as usize, p.used as usize);
        let weight = floats(inputs[1], 0, columns);
        for row in units {
            let from = row * p.x_stride as usize;
            let mut line: Vec<f32> = (0..columns).map(|c| outputs[0].get(from + c)).collect();
            for part in row * used..(row + 1) * used {
                let part = floats(inputs[0], part * p.part_stride as usize, columns);
                line.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
            }
            if used > 0 {
                line.iter().enumerate().for_each(|(c, value)| outputs[0].set(from + c, *value));
            }
            let scale = scale(level, &line, p.epsilon);
            let mut normed = line.iter().zip(weight).map(|(value, weight)| value * scale * weight);
            for word in 0..columns / 2 {
                let pair = [normed.next().unwrap_or(0.0), normed.next().unwrap_or(0.0)];
                outputs[1].set_word(from / 2 + word, pack_f16(pair));
            }
        }
    }
}

impl Reference for RmsNorm {
    type Params = LmRmsNorm;
    const INPUTS: usize = 3;
    const OUTPUTS: usize = 1;

    fn work_size(p: &LmRmsNorm) -> Result<WorkSize, String> {
        Ok(WorkSize { units: p.rows.into(), cost: 8 * u64::from(p.columns) })
    }

    fn compute(level: Level, p: &LmRmsNorm, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        for row in units {
            let source =
                if p.flags & LmRmsNorm::GATHER_ROWS == 0 { row } else { word(inputs[2], p.first as usize + row) };
            let columns = p.columns as usize;
            let x = floats(inputs[0], source * p.x_stride as usize, columns);
            let weight = floats(inputs[1], 0, columns);
            let scale = scale(level, x, p.epsilon);
            let to = row * p.y_stride as usize + p.y_offset as usize;
            for (c, (x, weight)) in x.iter().zip(weight).enumerate() {
                let before = if p.flags & LmRmsNorm::ADD == 0 { 0.0 } else { outputs[0].get(to + c) };
                outputs[0].set(to + c, (x * scale * weight + before) * p.factor);
            }
        }
    }
}

impl Reference for LayerNorm {
    type Params = LmLayerNorm;
    const INPUTS: usize = 3;
    const OUTPUTS: usize = 1;

    fn work_size(p: &LmLayerNorm) -> Result<WorkSize, String> {
        Ok(WorkSize { units: p.rows.into(), cost: 8 * u64::from(p.columns) })
    }

    fn compute(level: Level, p: &LmLayerNorm, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let columns = p.columns as usize;
        let mut centered = vec![0.0; columns];
        for row in units {
            let source =
                if p.flags & LmLayerNorm::GATHER_ROWS == 0 { row } else { word(inputs[2], p.first as usize + row) };
            let x: Vec<f32> = if p.flags & LmLayerNorm::IN_PLACE == 0 {
                floats(inputs[0], source * p.x_stride as usize + p.offset as usize, columns).to_vec()
            } else {
                let from = source * p.y_stride as usize + p.offset as usize;
                (from..from + columns).map(|at| outputs[0].get(at)).collect()
            };
            let sum: f64 = x.iter().map(|x| f64::from(*x)).sum();
            let mean = if p.flags & LmLayerNorm::RMS == 0 { (sum / columns.max(1) as f64) as f32 } else { 0.0 };
            centered.clear();
            centered.extend(x.iter().map(|x| x - mean));
            if p.flags & LmLayerNorm::SPARSE != 0 {
                let deviation = (level.run(Squares(&centered)) / (columns as f64 - 1.0).max(1.0)).sqrt();
                let bound = (f64::from(p.epsilon) * deviation) as f32;
                let to = row * p.y_stride as usize + p.offset as usize;
                (to..).zip(&centered).for_each(|(to, x)| outputs[0].set(to, (x - bound).max(0.0)));
                continue;
            }
            let scale = scale(level, &centered, p.epsilon);
            let weight = floats(inputs[1], 0, columns);
            let bias = if p.flags & LmLayerNorm::BIAS == 0 { &[] } else { floats(inputs[1], columns, columns) };
            for (c, (x, weight)) in centered.iter().zip(weight).enumerate() {
                let to = row * p.y_stride as usize + p.offset as usize + c;
                let before = if p.flags & LmLayerNorm::ADD == 0 { 0.0 } else { outputs[0].get(to) };
                outputs[0].set(to, x * scale * weight + bias.get(c).copied().unwrap_or(0.0) + before);
            }
        }
    }
}

impl Reference for GatedRmsNorm {
    type Params = LmGatedRmsNorm;
    const INPUTS: usize = 3;
    const OUTPUTS: usize = 1;

    fn work_size(p: &LmGatedRmsNorm) -> Result<WorkSize, String> {
        Ok(WorkSize { units: p.tokens.into(), cost: 32 * u64::from(p.heads) * u64::from(p.length) })
    }

    fn compute(level: Level, p: &LmGatedRmsNorm, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let [length, gates_offset] = [p.length, p.gates_offset].map(|count| count as usize);
        let is = |flag: u32| p.flags & flag != 0;
        let all = p.heads as usize * length;
        let (mut line, mut factors) = (Vec::with_capacity(length), Vec::with_capacity(length));
        for token in units {
            for column in (0..p.heads as usize).map(|head| head * length) {
                let x = floats(inputs[0], token * p.x_stride as usize + column, length);
                let gate = floats(inputs[1], token * p.gates_stride as usize + gates_offset + column, length);
                factors.clear();
                factors.extend_from_slice(gate);
                if is(LmGatedRmsNorm::UNGATED) {
                    factors.fill(1.0);
                } else if !is(LmGatedRmsNorm::LINEAR) {
                    let activation = if is(LmGatedRmsNorm::SIGMOID) { LmGlu::SIGMOID } else { LmGlu::SILU };
                    level.run(ActivationTask { y: &mut factors, activation });
                }
                line.clear();
                line.extend_from_slice(x);
                if is(LmGatedRmsNorm::GATE_FIRST) {
                    line.iter_mut().zip(&factors).for_each(|(y, factor)| *y *= factor);
                }
                if !is(LmGatedRmsNorm::UNNORMED) {
                    if is(LmGatedRmsNorm::CENTERED) {
                        let sum: f64 = line.iter().map(|x| f64::from(*x)).sum();
                        let mean = (sum / length.max(1) as f64) as f32;
                        line.iter_mut().for_each(|x| *x -= mean);
                    }
                    let scale = scale(level, &line, p.epsilon);
                    let each_head = is(LmGatedRmsNorm::EACH_HEAD);
                    let start = if each_head { column } else { 0 };
                    let weight = floats(inputs[2], start, length);
                    line.iter_mut().zip(weight).for_each(|(y, weight)| *y *= scale * weight);
                    if is(LmGatedRmsNorm::BIAS) {
                        let weights = if each_head { all } else { length };
                        let bias = floats(inputs[2], weights + start, length);
                        line.iter_mut().zip(bias).for_each(|(y, bias)| *y += bias);
                    }
                }
                if is(LmGatedRmsNorm::ADDEND) {
                    let addend = floats(inputs[0], token * p.x_stride as usize + all + column, length);
                    line.iter_mut().zip(addend).for_each(|(y, addend)| *y += addend);
                }
                if !is(LmGatedRmsNorm::GATE_FIRST) {
                    line.iter_mut().zip(&factors).for_each(|(y, factor)| *y *= factor);
                }
                let to = token * p.y_stride as usize + column;
                line.iter().zip(to..).for_each(|(value, at)| outputs[0].set(at, *value));
            }
        }
    }
}

impl Reference for L2Norm {
    type Params = LmL2Norm;
    const INPUTS: usize = 2;
    const OUTPUTS: usize = 1;

    fn work_size(p: &LmL2Norm) -> Result<WorkSize, String> {
        Ok(WorkSize { units: p.rows.into(), cost: 8 * u64::from(p.columns) })
    }

    fn compute(level: Level, p: &LmL2Norm, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        for row in units {
            let x = floats(inputs[0], row * p.x_stride as usize, p.columns as usize);
            let goal = floats(inputs[1], row * p.goal_stride as usize, p.columns as usize);
            let norm = level.run(Squares(x)).sqrt().max(f64::from(p.epsilon));
            let scale = (level.run(Squares(goal)).sqrt() / norm) as f32;
            for (to, x) in (row * p.y_stride as usize..).zip(x) {
                let before = if p.add == 0 { 0.0 } else { outputs[0].get(to) };
                outputs[0].set(to, x * scale + before);
            }
        }
    }
}

/// The reciprocal of the root mean square.
pub(super) fn scale(level: Level, x: &[f32], epsilon: f32) -> f32 {
    let squares = level.run(Squares(x));
    (1.0 / (squares / x.len().max(1) as f64 + f64::from(epsilon)).sqrt()) as f32
}

struct Squares<'a>(&'a [f32]);

impl Task for Squares<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> f64 {
        let mut lanes = [0f64; 16];
        for chunk in self.0.chunks(16) {
            for (lane, x) in lanes.iter_mut().zip(chunk) {
                *lane += f64::from(*x) * f64::from(*x);
            }
        }
        lanes.iter().sum()
    }
}

impl Reference for Glu {
    type Params = LmGlu;
    const INPUTS: usize = 1;
    const OUTPUTS: usize = 1;

    fn work_size(p: &LmGlu) -> Result<WorkSize, String> {
        // The activation of a value costs as much as 64 bytes of memory traffic.
        let units = u64::from(p.tokens) * (p.width as usize).div_ceil(GLU_BLOCK) as u64;
        Ok(WorkSize { units, cost: 64 * GLU_BLOCK.min(p.width as usize) as u64 })
    }

    fn compute(level: Level, p: &LmGlu, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let width = p.width as usize;
        let blocks = width.div_ceil(GLU_BLOCK);
        let mut line = [0.0; GLU_BLOCK];
        for unit in units {
            let (token, first) = (unit / blocks, unit % blocks * GLU_BLOCK);
            let columns = first..(first + GLU_BLOCK).min(width);
            let row = floats(inputs[0], token * p.x_stride as usize, if p.gated == 0 { width } else { 2 * width });
            let Some((gate, up)) = row.split_at_checked(width) else { return };
            let line = &mut line[..columns.len()];
            line.copy_from_slice(&gate[columns.clone()]);
            level.run(ActivationTask { y: line, activation: p.activation });
            if p.gated != 0 {
                let add_one = p.activation == LmGlu::SWIGLU_OAI;
                let factor = |up: &f32| if add_one { up.clamp(-7.0, 7.0) + 1.0 } else { *up };
                line.iter_mut().zip(&up[columns]).for_each(|(y, up)| *y *= factor(up));
            }
            for (c, value) in line.iter().enumerate() {
                outputs[0].set(token * p.y_stride as usize + first + c, *value);
            }
        }
    }
}

struct ActivationTask<'a> {
    y: &'a mut [f32],
    activation: u32,
}

impl Task for ActivationTask<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        match self.activation {
            LmGlu::GELU => swish(self.y, |x| (x, 1.595_769 * (x + 0.044_715 * x * x * x))),
            LmGlu::RELU_SQUARED => self.y.iter_mut().for_each(|y| *y = y.max(0.0) * y.max(0.0)),
            LmGlu::SWIGLU_OAI => swish(self.y, |x| (x.min(7.0), 1.702 * x.min(7.0))),
            LmGlu::SIGMOID => swish(self.y, |x| (1.0, x)),
            LmGlu::TANH => self.y.iter_mut().for_each(|y| *y = y.tanh()),
            _ => swish(self.y, |x| (x, x)),
        }
    }
}

impl Reference for SigmoidGate {
    type Params = LmSigmoidGate;
    const INPUTS: usize = 2;
    const OUTPUTS: usize = 1;

    fn work_size(p: &LmSigmoidGate) -> Result<WorkSize, String> {
        Ok(WorkSize { units: p.tokens.into(), cost: 32 * u64::from(p.columns) })
    }

    fn compute(_: Level, p: &LmSigmoidGate, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let columns = p.columns as usize;
        let one_per_row = p.flags & LmSigmoidGate::ONE_PER_ROW != 0;
        for token in units {
            let x = floats(inputs[0], token * p.x_stride as usize, columns);
            let first = token * p.gates_stride as usize + p.gates_offset as usize;
            let gates = floats(inputs[1], first, if one_per_row { 1 } else { columns });
            let to = token * p.y_stride as usize;
            for (c, x) in x.iter().enumerate() {
                let gate = gates.get(if one_per_row { 0 } else { c }).copied().unwrap_or(0.0);
                let before = if p.flags & LmSigmoidGate::ADD == 0 { 0.0 } else { outputs[0].get(to + c) };
                outputs[0].set(to + c, (x / (1.0 + (-gate).exp()) + before) * p.factor);
            }
        }
    }
}

/// `x / (1 + exp(-z))` of each value, where `of` computes `x` and `z` from it.
#[inline(always)]
fn swish(values: &mut [f32], of: impl Fn(f32) -> (f32, f32)) {
    for value in values {
        let (x, z) = of(*value);
        // Uses the exponential of a non-positive number, which vectorizes.
        let small = crate::fast_math::exp(-z.abs());
        let share = if z < 0.0 { small } else { 1.0 } / (1.0 + small);
        *value = x * share;
    }
}

impl Reference for MoeTopK {
    type Params = LmMoeTopK;
    const INPUTS: usize = 2;
    const OUTPUTS: usize = 2;

    fn work_size(p: &LmMoeTopK) -> Result<WorkSize, String> {
        if p.used > p.experts || p.experts > LmMoeTopK::MAX_EXPERTS {
            return Err(format!("{} of {} experts; the maximum is {}", p.used, p.experts, LmMoeTopK::MAX_EXPERTS));
        }
        Ok(WorkSize { units: p.tokens.into(), cost: 8 * u64::from(p.experts) })
    }

    fn compute(_: Level, p: &LmMoeTopK, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        for token in units {
            let scores = floats(inputs[0], token * p.stride as usize, p.experts as usize);
            let top = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let total: f32 = scores.iter().map(|score| (score - top).exp()).sum();
            let is_sigmoid = p.flags & LmMoeTopK::SIGMOID != 0;
            let weight =
                |score: &f32| if is_sigmoid { 1.0 / (1.0 + (-score).exp()) } else { (score - top).exp() / total };
            let weights: Vec<f32> = scores.iter().map(weight).collect();
            let bias = if p.flags & LmMoeTopK::BIAS == 0 { &[] } else { floats(inputs[1], 0, scores.len()) };
            let rank = |expert: usize| weights[expert] + bias.get(expert).copied().unwrap_or(0.0);
            let mut order: Vec<usize> = (0..scores.len()).collect();
            if p.groups != 0 {
                let size = scores.len() / p.groups as usize;
                let score = |group: usize| {
                    let mut ranks: Vec<f32> = (group * size..(group + 1) * size).map(rank).collect();
                    ranks.sort_by(|a, b| b.total_cmp(a));
                    ranks.iter().take(2).sum::<f32>()
                };
                let mut groups: Vec<usize> = (0..p.groups as usize).collect();
                groups.sort_by(|&a, &b| score(b).total_cmp(&score(a)));
                groups.truncate(p.groups_used as usize);
                order.retain(|expert| groups.contains(&(expert / size)));
            }
            order.sort_by(|&a, &b| rank(b).total_cmp(&rank(a)));
            order.truncate(p.used as usize);
            let sum: f32 = order.iter().map(|&expert| weights[expert]).sum();
            let sum = if p.flags & LmMoeTopK::NORMALIZED == 0 { 1.0 } else { sum.max(LmMoeTopK::LOWEST_SUM) };
            for (slot, &expert) in order.iter().enumerate() {
                let at = token * p.used as usize + slot;
                outputs[0].set_word(at, expert as u32);
                let scale = if p.flags & LmMoeTopK::SCALES == 0 {
                    1.0
                } else {
                    floats(inputs[1], p.experts as usize + expert, 1)[0]
                };
                outputs[1].set(at, weights[expert] / sum * p.scale * scale);
            }
        }
    }
}

impl Reference for MoeGroup {
    type Params = LmMoeGroup;
    const INPUTS: usize = 1;
    const OUTPUTS: usize = 1;

    fn work_size(p: &LmMoeGroup) -> Result<WorkSize, String> {
        if p.tile == 0 {
            return Err("tiles without pairs".to_owned());
        }
        Ok(WorkSize { units: p.experts.into(), cost: 4 * u64::from(p.pairs) })
    }

    fn compute(_: Level, p: &LmMoeGroup, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        for expert in units {
            let (first, words) = p.tiles_of(expert as u32, inputs[0]);
            for (at, word) in words.into_iter().enumerate() {
                outputs[0].set_word(first * (p.tile as usize + 1) + at, word);
            }
        }
    }
}

impl Reference for MoeCombine {
    type Params = LmMoeCombine;
    const INPUTS: usize = 2;
    const OUTPUTS: usize = 1;

    fn work_size(p: &LmMoeCombine) -> Result<WorkSize, String> {
        Ok(WorkSize { units: p.tokens.into(), cost: 4 * u64::from(p.columns) * u64::from(p.used) })
    }

    fn compute(_: Level, p: &LmMoeCombine, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let columns = p.columns as usize;
        let mut line = vec![0.0; columns];
        for token in units {
            line.fill(0.0);
            for pair in token * p.used as usize..(token + 1) * p.used as usize {
                let share = inputs[1].get(pair).map_or(0.0, |word| f32::from_bits(*word));
                let x = floats(inputs[0], pair / p.sharing.max(1) as usize * p.x_stride as usize, columns);
                line.iter_mut().zip(x).for_each(|(sum, x)| *sum += share * x);
            }
            for (c, sum) in line.iter().enumerate() {
                let at = token * p.y_stride as usize + c;
                let before = if p.add == 0 { 0.0 } else { outputs[0].get(at) };
                outputs[0].set(at, sum + before);
            }
        }
    }
}
