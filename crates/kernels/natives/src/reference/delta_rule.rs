//! `lm_delta_rule`: the gated delta rule, token by token.

use std::ops::Range;

use super::ReferenceKernel;
use super::short_conv::Sequence;
use super::{AtomicWords, Reference, WorkSize, floats};
use crate::KernelFactory;
use roci_families::LmDeltaRule;
use roci_simd::{Level, Simd, Task};
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] =
    &[("lm_delta_rule", |level| Arc::new(ReferenceKernel::<DeltaRule>::new(level)))];

pub(crate) struct DeltaRule;

impl Reference for DeltaRule {
    type Params = LmDeltaRule;
    const INPUTS: usize = 4;
    const OUTPUTS: usize = 2;

    fn work_size(p: &LmDeltaRule) -> Result<WorkSize, String> {
        let aligned = p.length.is_multiple_of(4) && p.x_stride.is_multiple_of(4);
        if !aligned || p.length > LmDeltaRule::LONGEST {
            return Err(format!("heads of {} elements in rows of {}", p.length, p.x_stride));
        }
        if p.key_heads == 0 || !p.heads.is_multiple_of(p.key_heads) {
            return Err(format!("{} value heads of {} key heads", p.heads, p.key_heads));
        }
        let units = u64::from(p.sequences) * u64::from(p.heads);
        Ok(WorkSize { units, cost: 16 * u64::from(p.length) * u64::from(p.length) })
    }

    fn compute(level: Level, p: &LmDeltaRule, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let [heads, key_heads, length] = [p.heads, p.key_heads, p.length].map(|count| count as usize);
        let (states, y) = (outputs[0], outputs[1]);
        let size = length * length;
        let mut matrix = vec![0.0; size];
        let mut line = vec![0.0; length];
        for unit in units {
            let sequence = Sequence::at(inputs[0], p.first as usize + 4 * (unit / heads));
            let head = unit % heads;
            let key_head = if p.tiled != 0 { head % key_heads } else { head / (heads / key_heads) };
            let state = |slot: usize| (slot * heads + head) * size..;
            match sequence.read {
                Some(slot) => matrix.iter_mut().zip(state(slot)).for_each(|(value, at)| *value = states.get(at)),
                None => matrix.fill(0.0),
            }
            for token in sequence.tokens {
                let vector = |head: usize| floats(inputs[1], token * p.x_stride as usize + head * length, length);
                let score = |offset: u32| {
                    let at = token * p.scores_stride as usize + offset as usize + head;
                    floats(inputs[2], at, 1).first().copied().unwrap_or(0.0)
                };
                let decays = |at: usize| floats(inputs[3], at, 1).first().copied().unwrap_or(0.0);
                level.run(Token {
                    matrix: &mut matrix,
                    query: &normalized(vector(key_head), p.epsilon),
                    key: &normalized(vector(key_heads + key_head), p.epsilon),
                    value: vector(2 * key_heads + head),
                    decay: (decays(heads + head) * softplus(score(p.decays_offset) + decays(head))).exp(),
                    rate: 1.0 / (1.0 + (-score(p.rates_offset)).exp()),
                    y: &mut line,
                });
                let to = token * p.y_stride as usize + head * length;
                line.iter().zip(to..).for_each(|(value, at)| y.set(at, value * p.scale));
            }
            matrix.iter().zip(state(sequence.write)).for_each(|(value, at)| states.set(at, *value));
        }
    }
}

/// A vector divided by the root of the sum of its squares and `epsilon`.
fn normalized(vector: &[f32], epsilon: f32) -> Vec<f32> {
    let squares: f64 = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    let scale = (1.0 / (squares + f64::from(epsilon)).sqrt()) as f32;
    vector.iter().map(|x| x * scale).collect()
}

/// `ln(1 + exp(x))`.
pub(super) fn softplus(x: f32) -> f32 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// The update of a head's state by a token, and its output.
struct Token<'a> {
    /// A row per element of the value.
    matrix: &'a mut [f32],
    query: &'a [f32],
    key: &'a [f32],
    value: &'a [f32],
    decay: f32,
    rate: f32,
    y: &'a mut [f32],
}

impl Task for Token<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let rows = self.matrix.chunks_mut(self.key.len().max(1));
        for ((row, value), y) in rows.zip(self.value).zip(self.y) {
            let change = self.rate * (value - self.decay * dot(row, self.key));
            for (weight, key) in row.iter_mut().zip(self.key) {
                *weight = self.decay * *weight + change * key;
            }
            *y = dot(row, self.query);
        }
    }
}

/// A product in 16 partial sums, which vectorizes.
#[inline(always)]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 16];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}
