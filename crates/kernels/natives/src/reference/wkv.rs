//! `lm_wkv`: the recurrence of RWKV, token by token.

use std::ops::Range;

use super::ReferenceKernel;
use super::delta_rule::dot;
use super::short_conv::Sequence;
use super::{AtomicWords, Reference, WorkSize, floats};
use crate::KernelFactory;
use crate::fast_math;
use roci_families::LmWkv;
use roci_simd::{Level, Simd, Task};
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] =
    &[("lm_wkv", |level| Arc::new(ReferenceKernel::<Wkv>::new(level)))];

pub(crate) struct Wkv;

impl Reference for Wkv {
    type Params = LmWkv;
    const INPUTS: usize = 3;
    const OUTPUTS: usize = 2;

    fn work_size(p: &LmWkv) -> Result<WorkSize, String> {
        let offsets = [p.keys_offset, p.values_offset, p.decays_offset, p.rates_offset, p.mix_offset];
        let aligned = [p.length, p.x_stride].iter().chain(&offsets).all(|count| count.is_multiple_of(4));
        if !aligned || p.length > LmWkv::LONGEST {
            return Err(format!("heads of {} elements in rows of {}", p.length, p.x_stride));
        }
        if p.key_heads == 0 || !p.heads.is_multiple_of(p.key_heads) {
            return Err(format!("{} heads with {} heads of keys", p.heads, p.key_heads));
        }
        let units = u64::from(p.sequences) * u64::from(p.heads);
        Ok(WorkSize { units, cost: 16 * u64::from(p.length) * u64::from(p.length) })
    }

    fn compute(level: Level, p: &LmWkv, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let [heads, key_heads, length] = [p.heads, p.key_heads, p.length].map(|count| count as usize);
        let (states, y) = (outputs[0], outputs[1]);
        let (all, size) = (heads * length, length * length);
        let mut matrix = vec![0.0; size];
        let mut vectors = Vectors::new(length);
        let mut line = vec![0.0; length];
        for unit in units {
            let sequence = Sequence::at(inputs[0], p.first as usize + 4 * (unit / heads));
            let head = unit % heads;
            let state = |slot: usize| (slot * heads + head) * size..;
            match sequence.read {
                Some(slot) => matrix.iter_mut().zip(state(slot)).for_each(|(value, at)| *value = states.get(at)),
                None => matrix.fill(0.0),
            }
            let [own, shared] = [head, head / (heads / key_heads)].map(|head| head * length);
            for token in sequence.tokens {
                let x = |offset: u32, column: usize| {
                    floats(inputs[1], token * p.x_stride as usize + offset as usize + column, length)
                };
                let value = x(p.values_offset, shared);
                let (mix, first) = match p.mix_offset {
                    0 => (&[][..], &[][..]),
                    offset => (x(offset, own), x(offset, own + all)),
                };
                let weights = |row: usize| floats(inputs[2], row * all + own, length);
                vectors.value.clear();
                vectors.value.extend_from_slice(value);
                for ((value, mix), first) in vectors.value.iter_mut().zip(mix).zip(first) {
                    *value += (first - *value) * sigmoid(*mix);
                }
                vectors.key.clear();
                vectors.key.extend_from_slice(x(p.keys_offset, shared));
                let (receptance, scores) = (x(0, own), x(p.decays_offset, own));
                let own_share = match p.kind {
                    LmWkv::WKV7 => {
                        vectors.wkv7(p, x(p.rates_offset, own), scores, [weights(0), weights(1)]);
                        share(receptance, &vectors.key, Some(weights(2)))
                    }
                    kind => {
                        vectors.decay.iter_mut().zip(scores).for_each(|(to, score)| *to = (-score.exp()).exp());
                        if kind == LmWkv::WKV6 {
                            share(receptance, &vectors.key, Some(weights(0)))
                        } else {
                            vectors.key.iter_mut().zip(&vectors.decay).for_each(|(key, decay)| *key -= *key * decay);
                            0.0
                        }
                    }
                };
                let to = token * p.y_stride as usize + own;
                let before = (p.kind == LmWkv::WKV6).then_some(own_share);
                level.run(Token { matrix: &mut matrix, vectors: &vectors, receptance, before, y: &mut line });
                line.iter().zip(to..).for_each(|(value, at)| y.set(at, value * p.scale));
                if p.kind == LmWkv::WKV7 {
                    vectors.value.iter().zip(to + all..).for_each(|(value, at)| y.set(at, own_share * value));
                }
            }
            matrix.iter().zip(state(sequence.write)).for_each(|(value, at)| states.set(at, *value));
        }
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// The dot product of receptance and key, weighted by a factor per element.
fn share(receptance: &[f32], key: &[f32], weights: Option<&[f32]>) -> f32 {
    let weight = |at: usize| weights.and_then(|weights| weights.get(at)).copied().unwrap_or(1.0);
    receptance.iter().zip(key).enumerate().map(|(at, (r, key))| r * weight(at) * key).sum()
}

/// The vectors of a head for a token.
struct Vectors {
    value: Vec<f32>,
    key: Vec<f32>,
    decay: Vec<f32>,
    /// Normalized. Zero without removal, as is `removed`.
    removal_key: Vec<f32>,
    removed: Vec<f32>,
}

impl Vectors {
    fn new(length: usize) -> Self {
        let zeros = || vec![0.0; length];
        Self { value: zeros(), key: zeros(), decay: zeros(), removal_key: zeros(), removed: zeros() }
    }

    /// Computes all vectors but the value. `key` has the projected key.
    fn wkv7(&mut self, p: &LmWkv, rates: &[f32], scores: &[f32], [scales, shares]: [&[f32]; 2]) {
        let keys = self.key.iter().zip(scales);
        self.removal_key.iter_mut().zip(keys).for_each(|(to, (key, scale))| *to = key * scale);
        let squares: f64 = self.removal_key.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        let norm = (squares.sqrt() as f32).max(p.epsilon);
        self.removal_key.iter_mut().for_each(|x| *x /= norm);
        for ((((key, rate), share), removed), removal) in
            self.key.iter_mut().zip(rates).zip(shares).zip(&mut self.removed).zip(&self.removal_key)
        {
            let rate = sigmoid(*rate);
            *removed = removal * rate;
            *key += (rate - 1.0) * *key * share;
        }
        self.decay.iter_mut().zip(scores).for_each(|(to, score)| *to = fast_math::exp(p.decay * sigmoid(*score)));
    }
}

/// Updates the state of a head with a token, and reads the token's output from it.
struct Token<'a> {
    /// A row per element of the value.
    matrix: &'a mut [f32],
    vectors: &'a Vectors,
    receptance: &'a [f32],
    /// If the state is read before the update: the factor of the value in the output.
    before: Option<f32>,
    y: &'a mut [f32],
}

impl Task for Token<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Vectors { value, key, decay, removal_key, removed } = self.vectors;
        let rows = self.matrix.chunks_mut(key.len().max(1));
        for ((row, value), y) in rows.zip(value).zip(self.y) {
            if let Some(share) = self.before {
                *y = dot(row, self.receptance) + share * value;
            }
            let recalled = dot(row, removal_key);
            for (((weight, decay), removed), key) in row.iter_mut().zip(decay).zip(removed).zip(key) {
                *weight = decay * *weight - recalled * removed + value * key;
            }
            if self.before.is_none() {
                *y = dot(row, self.receptance);
            }
        }
    }
}
