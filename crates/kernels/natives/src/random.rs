//! `random`: words from a counter and a key, by Philox 4x32-10.

use super::math;
use super::per_element::{Footprint, Layout, PerElement};
use crate::KernelFactory;
use crate::per_element::PerElementKernel;
use roci_families::{self, RandomForm};
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[("random", |_| Arc::new(PerElementKernel::<Random>::new()))];

/// Elements `4 j` to `4 j + 3` are computed from counter + j and the key.
pub(super) struct Random;

/// The step of a 24-bit fraction, 2^-24.
const STEP: f32 = 1.0 / 16_777_216.0;

/// Philox: ten rounds of multiply, mix and key increment.
fn philox(mut v: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let first = u64::from(v[0]) * 0xd251_1f53;
        let second = u64::from(v[2]) * 0xcd9e_8d57;
        let high = |product: u64| (product >> 32) as u32;
        v = [high(second) ^ v[1] ^ key[0], second as u32, high(first) ^ v[3] ^ key[1], first as u32];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    v
}

/// Two normally distributed values, of mean 0 and standard deviation 1, from two words
/// (Box-Muller).
fn normals(p: u32, q: u32) -> [u32; 2] {
    // From the smallest fraction to 1, so that the logarithm is finite.
    let radius = (-2.0 * math::log(((p >> 8) + 1) as f32 * STEP)).sqrt();
    let angle = std::f32::consts::TAU * ((q >> 8) as f32 * STEP);
    [math::cos(angle), math::sin(angle)].map(|value| (radius * value).to_bits())
}

/// The four elements of a counter.
fn block(p: &roci_families::Random, index: usize) -> [u32; 4] {
    let [low, high] = p.counter.map(u64::from);
    let counter = (low | high << 32).wrapping_add(index as u64);
    let words = philox([counter as u32, (counter >> 32) as u32, 0, 0], p.key);
    if p.form == RandomForm::Uniform as u32 {
        words.map(|word| ((word >> 8) as f32 * STEP).to_bits())
    } else if p.form == RandomForm::Normal as u32 {
        let [[a, b], [c, d]] = [normals(words[0], words[1]), normals(words[2], words[3])];
        [a, b, c, d]
    } else {
        words
    }
}

impl PerElement for Random {
    type Params = roci_families::Random;
    const INPUTS: &'static [&'static str] = &[];

    fn footprint(p: &roci_families::Random) -> Result<Footprint, String> {
        if !RandomForm::ALL.iter().any(|&form| form as u32 == p.form) {
            return Err(format!("unknown form {} of random values", p.form));
        }
        Ok(Footprint { inputs: Vec::new(), output: Layout::dense(p.count), cost: 32 })
    }

    fn compute(p: &roci_families::Random, _: &[&[u32]], first: usize, output: &mut [u32]) {
        let lead = (first.next_multiple_of(4) - first).min(output.len());
        let (partial, whole) = output.split_at_mut(lead);
        if !partial.is_empty() {
            partial.copy_from_slice(&block(p, first / 4)[first % 4..][..lead]);
        }
        for (index, words) in (first.div_ceil(4)..).zip(whole.chunks_mut(4)) {
            words.copy_from_slice(&block(p, index)[..words.len()]);
        }
    }
}
