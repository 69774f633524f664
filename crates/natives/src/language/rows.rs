//! `lm_norm`, `lm_gate`, `lm_route`, `lm_mix`: a row at a time; `lm_half`.

use std::ops::Range;

use half::f16;

use super::{Cells, Plan, Work, floats, word};
use crate::params::{LmGate, LmHalf, LmMix, LmNorm, LmRoute, LmSumNorm};
use crate::simd::{Level, Simd, Task};

/// Rows by the root of their mean square.
pub(crate) struct Norm;
/// The first half of a row through a function, times the second.
pub(crate) struct Gate;
/// Each token's experts.
pub(crate) struct Route;
/// What they gave, by their shares.
pub(crate) struct Mix;
/// Numbers as 16-bit floats.
pub(crate) struct Half;
/// Sums of parts, normed, as 16-bit floats.
pub(crate) struct SumNorm;

impl Work for Half {
    type Params = LmHalf;
    const INPUTS: usize = 1;
    const OUTPUTS: usize = 1;

    fn plan(p: &LmHalf) -> Result<Plan, String> {
        Ok(Plan { units: p.words.into(), cost: 12 })
    }

    fn compute(_: Level, _: &LmHalf, inputs: &[&[u32]], outputs: &[Cells<'_>], units: Range<usize>) {
        let pairs = floats(inputs[0], 2 * units.start, 2 * units.len());
        for (at, pair) in units.zip(pairs.as_chunks::<2>().0) {
            outputs[0].set_word(at, halves(*pair));
        }
    }
}

/// Two numbers as 16-bit floats in a word; what is too large for them becomes the largest of them.
pub(super) fn halves(pair: [f32; 2]) -> u32 {
    let [low, high] = pair.map(|value| f16::from_f32(value.clamp(-65504.0, 65504.0)).to_bits());
    u32::from(low) | u32::from(high) << 16
}

impl Work for SumNorm {
    type Params = LmSumNorm;
    const INPUTS: usize = 2;
    const OUTPUTS: usize = 2;

    fn plan(p: &LmSumNorm) -> Result<Plan, String> {
        if [p.columns, p.x_stride, p.part_stride].iter().any(|count| !count.is_multiple_of(4)) {
            return Err(format!(
                "{} columns {} apart, parts {} apart: no whole fours",
                p.columns, p.x_stride, p.part_stride
            ));
        }
        Ok(Plan { units: p.rows.into(), cost: (8 + 4 * u64::from(p.used)) * u64::from(p.columns) })
    }

    fn compute(level: Level, p: &LmSumNorm, inputs: &[&[u32]], outputs: &[Cells<'_>], units: Range<usize>) {
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
                outputs[1].set_word(from / 2 + word, halves(pair));
            }
        }
    }
}

impl Work for Norm {
    type Params = LmNorm;
    const INPUTS: usize = 3;
    const OUTPUTS: usize = 1;

    fn plan(p: &LmNorm) -> Result<Plan, String> {
        Ok(Plan { units: p.rows.into(), cost: 8 * u64::from(p.columns) })
    }

    fn compute(level: Level, p: &LmNorm, inputs: &[&[u32]], outputs: &[Cells<'_>], units: Range<usize>) {
        for row in units {
            let source = if p.flags & LmNorm::CHOSEN == 0 { row } else { word(inputs[2], p.first as usize + row) };
            let columns = p.columns as usize;
            let x = floats(inputs[0], source * p.x_stride as usize, columns);
            let weight = floats(inputs[1], 0, columns);
            let scale = scale(level, x, p.epsilon);
            let to = row * p.y_stride as usize;
            for (c, (x, weight)) in x.iter().zip(weight).enumerate() {
                let before = if p.flags & LmNorm::ADD == 0 { 0.0 } else { outputs[0].get(to + c) };
                outputs[0].set(to + c, x * scale * weight + before);
            }
        }
    }
}

/// One by the root of the mean square of some numbers.
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

impl Work for Gate {
    type Params = LmGate;
    const INPUTS: usize = 1;
    const OUTPUTS: usize = 1;

    fn plan(p: &LmGate) -> Result<Plan, String> {
        Ok(Plan { units: p.tokens.into(), cost: 32 * u64::from(p.width) })
    }

    fn compute(level: Level, p: &LmGate, inputs: &[&[u32]], outputs: &[Cells<'_>], units: Range<usize>) {
        let width = p.width as usize;
        let mut line = vec![0.0; width];
        for token in units {
            let row = floats(inputs[0], token * p.x_stride as usize, 2 * width);
            let Some((gate, up)) = row.split_at_checked(width) else { return };
            level.run(Gated { gate, up, gelu: p.gelu != 0, y: &mut line });
            for (c, value) in line.iter().enumerate() {
                outputs[0].set(token * p.y_stride as usize + c, *value);
            }
        }
    }
}

struct Gated<'a> {
    gate: &'a [f32],
    up: &'a [f32],
    gelu: bool,
    y: &'a mut [f32],
}

impl Task for Gated<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        for ((y, gate), up) in self.y.iter_mut().zip(self.gate).zip(self.up) {
            let z = if self.gelu { 1.595_769 * (gate + 0.044_715 * gate * gate * gate) } else { *gate };
            // By the exponential of what is not positive, which vectorises.
            let small = crate::single::exp(-z.abs());
            let share = if z < 0.0 { small } else { 1.0 } / (1.0 + small);
            *y = gate * share * up;
        }
    }
}

impl Work for Route {
    type Params = LmRoute;
    const INPUTS: usize = 1;
    const OUTPUTS: usize = 2;

    fn plan(p: &LmRoute) -> Result<Plan, String> {
        if p.used > p.experts || p.experts > LmRoute::MOST {
            return Err(format!("takes {} of {} experts; at most {} are there", p.used, p.experts, LmRoute::MOST));
        }
        Ok(Plan { units: p.tokens.into(), cost: 8 * u64::from(p.experts) })
    }

    fn compute(_: Level, p: &LmRoute, inputs: &[&[u32]], outputs: &[Cells<'_>], units: Range<usize>) {
        for token in units {
            let scores = floats(inputs[0], token * p.stride as usize, p.experts as usize);
            let mut order: Vec<usize> = (0..scores.len()).collect();
            order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
            order.truncate(p.used as usize);
            let Some(&best) = order.first() else { continue };
            let weight = |expert: usize| (scores[expert] - scores[best]).exp();
            let total: f32 = order.iter().map(|&expert| weight(expert)).sum();
            for (slot, &expert) in order.iter().enumerate() {
                let at = token * p.used as usize + slot;
                outputs[0].set_word(at, expert as u32);
                outputs[1].set(at, weight(expert) / total);
            }
        }
    }
}

impl Work for Mix {
    type Params = LmMix;
    const INPUTS: usize = 2;
    const OUTPUTS: usize = 1;

    fn plan(p: &LmMix) -> Result<Plan, String> {
        Ok(Plan { units: p.tokens.into(), cost: 4 * u64::from(p.columns) * u64::from(p.used) })
    }

    fn compute(_: Level, p: &LmMix, inputs: &[&[u32]], outputs: &[Cells<'_>], units: Range<usize>) {
        let columns = p.columns as usize;
        let mut line = vec![0.0; columns];
        for token in units {
            line.fill(0.0);
            for pair in token * p.used as usize..(token + 1) * p.used as usize {
                let share = inputs[1].get(pair).map_or(0.0, |word| f32::from_bits(*word));
                let x = floats(inputs[0], pair * p.x_stride as usize, columns);
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
