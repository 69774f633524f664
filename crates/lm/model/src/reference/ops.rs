//! Elementwise functions, softmax and rotary embedding.

use crate::architecture::blocks::{Activation, Rope, RopeStyle};

pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>() as f32
}

/// The L2 norm.
pub(super) fn magnitude(values: &[f32]) -> f32 {
    dot(values, values).sqrt()
}

/// Subtracts from each value the mean plus `cutoff` standard deviations, and sets negative results
/// to zero.
pub(super) fn sparsify(values: &mut [f32], cutoff: f32) {
    let count = values.len() as f64;
    let mean = values.iter().copied().map(f64::from).sum::<f64>() / count;
    let squares = values.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>();
    let bound = mean + f64::from(cutoff) * (squares / (count - 1.0)).sqrt();
    values.iter_mut().for_each(|value| *value = (f64::from(*value) - bound).max(0.0) as f32);
}

pub(super) fn softmax(values: &mut [f32]) {
    let max = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = values.iter().map(|value| f64::from(value - max).exp()).sum();
    values.iter_mut().for_each(|value| *value = (f64::from(*value - max).exp() / sum) as f32);
}

pub(super) fn soft_cap(values: &mut [f32], cap: Option<f32>) {
    if let Some(cap) = cap {
        values.iter_mut().for_each(|value| *value = cap * (*value / cap).tanh());
    }
}

pub(super) fn activate(activation: Activation, x: f32) -> f32 {
    let x = f64::from(x);
    let y = match activation {
        Activation::Silu => swish(x, 1.0),
        Activation::Gelu => {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
            0.5 * x * (1.0 + inner.tanh())
        }
        Activation::ReluSquared => x.max(0.0).powi(2),
        Activation::SwigluOai => swish(x.min(OAI_LIMIT), OAI_SLOPE),
    };
    y as f32
}

/// Limit and slope of gpt-oss' SwiGLU.
const OAI_LIMIT: f64 = 7.0;
const OAI_SLOPE: f64 = 1.702;

/// `x / (1 + exp(-slope * x))`.
fn swish(x: f64, slope: f64) -> f64 {
    x / (1.0 + (-slope * x).exp())
}

/// [`Activation::SwigluOai`] of a gate and an up projection.
pub(super) fn swiglu_oai(gate: f32, up: f32) -> f32 {
    let up = f64::from(up).clamp(-OAI_LIMIT, OAI_LIMIT);
    (swish(f64::from(gate).min(OAI_LIMIT), OAI_SLOPE) * (up + 1.0)) as f32
}

pub(super) fn sigmoid(x: f32) -> f32 {
    (1.0 / (1.0 + (-f64::from(x)).exp())) as f32
}

/// `ln(1 + exp(x))`.
pub(super) fn softplus(x: f32) -> f32 {
    let x = f64::from(x);
    (x.max(0.0) + (-x.abs()).exp().ln_1p()) as f32
}

/// Divides a vector by the root of the sum of its squares and `epsilon`.
pub(super) fn l2_normalize(values: &mut [f32], epsilon: f32) {
    let squares = values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>();
    let scale = 1.0 / (squares + f64::from(epsilon)).sqrt();
    values.iter_mut().for_each(|value| *value = (f64::from(*value) * scale) as f32);
}

/// Applies the rotary embedding of a position to a head.
pub(super) fn rotate(rope: &Rope, head: &mut [f32], position: usize) {
    let pairs = rope.frequencies.len();
    for (pair, frequency) in rope.frequencies.iter().enumerate() {
        let (sine, cosine) = (position as f64 * f64::from(*frequency)).sin_cos();
        let (sine, cosine) = (sine as f32 * rope.magnitude, cosine as f32 * rope.magnitude);
        let (first, second) = match rope.style {
            RopeStyle::Interleaved => (2 * pair, 2 * pair + 1),
            RopeStyle::Neox => (pair, pair + pairs),
        };
        let (a, b) = (head[first], head[second]);
        head[first] = a * cosine - b * sine;
        head[second] = a * sine + b * cosine;
    }
}
