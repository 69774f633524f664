//! `lm_short_conv`: causal convolution of each channel over the most recent tokens.

use std::ops::Range;

use super::ReferenceKernel;
use super::{AtomicWords, Reference, WorkSize, floats, word};
use crate::KernelFactory;
use roci_families::{LmShortConv, NO_STATE};
use roci_simd::{Level, Simd, Task};
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] =
    &[("lm_short_conv", |level| Arc::new(ReferenceKernel::<ShortConv>::new(level)))];

/// The tokens of a sequence, and the slots of its recurrent state.
pub(super) struct Sequence {
    pub(super) tokens: Range<usize>,
    /// `None` at the start of the sequence.
    pub(super) read: Option<usize>,
    pub(super) write: usize,
}

impl Sequence {
    /// The sequence that four words of `inputs` describe.
    pub(super) fn at(inputs: &[u32], first: usize) -> Self {
        let [token, count, read, write] = [0, 1, 2, 3].map(|at| word(inputs, first + at));
        Self { tokens: token..token + count, read: Some(read).filter(|slot| *slot != NO_STATE as usize), write }
    }
}

pub(crate) struct ShortConv;

/// Channels of a unit of work.
const CHANNELS: usize = 64;

impl Reference for ShortConv {
    type Params = LmShortConv;
    const INPUTS: usize = 3;
    const OUTPUTS: usize = 2;

    fn work_size(p: &LmShortConv) -> Result<WorkSize, String> {
        if p.taps == 0 || (p.flags & LmShortConv::SHIFT != 0 && p.taps != 2) {
            return Err(format!("a convolution of {} taps", p.taps));
        }
        let tokens = u64::from(p.splits) * u64::from(LmShortConv::TOKENS_PER_SPLIT);
        let units = u64::from(p.sequences) * u64::from(p.channels).div_ceil(CHANNELS as u64);
        Ok(WorkSize { units, cost: 4 * CHANNELS as u64 * u64::from(p.taps) * tokens * u64::from(p.copies) })
    }

    fn compute(level: Level, p: &LmShortConv, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let [all, taps, window] = [p.channels, p.taps, p.taps - 1].map(|count| count as usize);
        let (blocks, copies) = (all.div_ceil(CHANNELS), p.copies as usize);
        let (states, y) = (outputs[0], outputs[1]);
        let mut line = [0.0; CHANNELS];
        let is = |flag: u32| p.flags & flag != 0;
        for unit in units {
            let sequence = Sequence::at(inputs[0], p.first as usize + 4 * (unit / blocks));
            let first = unit % blocks * CHANNELS;
            let channels = CHANNELS.min(all - first);
            let line = &mut line[..channels];
            let state = |slot: usize, row: usize| (slot * window + row) * all + first;
            // A copy, because the same slot may be overwritten.
            let mut before = vec![0.0; window * channels];
            for (row, values) in before.chunks_mut(channels).enumerate() {
                let Some(slot) = sequence.read else { break };
                values.iter_mut().zip(state(slot, row)..).for_each(|(value, at)| *value = states.get(at));
            }
            let columns = |token: usize, offset: u32| {
                floats(inputs[1], token * p.x_stride as usize + offset as usize + first, channels)
            };
            let gate = |token: usize| {
                let pairs = columns(token, p.x_offset).iter().zip(columns(token, p.input_gates_offset));
                pairs.map(|(x, gate)| x * gate).collect()
            };
            let gated: Vec<Vec<f32>> = sequence.tokens.clone().filter(|_| is(LmShortConv::GATED)).map(gate).collect();
            let x = |(index, token): (usize, usize)| {
                gated.get(index).map_or_else(|| columns(token, p.x_offset), Vec::as_slice)
            };
            let rows = before.chunks(channels).chain(sequence.tokens.clone().enumerate().map(x));
            let rows: Vec<&[f32]> = rows.collect();
            for copy in 0..copies {
                let row = copy * all + first;
                let weights = floats(inputs[2], row * taps, channels * taps);
                let biases =
                    if is(LmShortConv::BIAS) { floats(inputs[2], copies * all * taps + row, channels) } else { &[] };
                for (rows, token) in rows.windows(taps).zip(sequence.tokens.clone()) {
                    let to = copy * p.plane as usize + token * p.y_stride as usize + first;
                    if is(LmShortConv::SHIFT) {
                        let [before, now] = rows else { continue };
                        for ((before, now), at) in before.iter().zip(*now).zip(to..) {
                            y.set(at, now + (before - now) * y.get(at));
                        }
                        continue;
                    }
                    let gates = if is(LmShortConv::GATED) { columns(token, p.output_gates_offset) } else { &[] };
                    level.run(Convolution { rows, weights, biases, gates, silu: is(LmShortConv::SILU), y: line });
                    line.iter().zip(to..).for_each(|(value, at)| y.set(at, *value));
                }
            }
            if is(LmShortConv::KEEP) {
                continue;
            }
            for (row, values) in rows[sequence.tokens.len()..].iter().enumerate() {
                values.iter().zip(state(sequence.write, row)..).for_each(|(value, at)| states.set(at, *value));
            }
        }
    }
}

struct Convolution<'a> {
    /// A row per tap.
    rows: &'a [&'a [f32]],
    /// A weight per tap of each channel.
    weights: &'a [f32],
    /// A bias per channel; empty for none.
    biases: &'a [f32],
    /// A factor of each result; empty for none.
    gates: &'a [f32],
    silu: bool,
    y: &'a mut [f32],
}

impl Task for Convolution<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        self.y.fill(0.0);
        for (tap, row) in self.rows.iter().enumerate() {
            let weights = self.weights.iter().skip(tap).step_by(self.rows.len());
            for ((y, x), weight) in self.y.iter_mut().zip(*row).zip(weights) {
                *y += weight * x;
            }
        }
        for (y, bias) in self.y.iter_mut().zip(self.biases) {
            *y += bias;
        }
        if self.silu {
            for y in self.y.iter_mut() {
                // Uses the exponential of a non-positive number, which vectorizes.
                let small = crate::fast_math::exp(-y.abs());
                *y *= if *y < 0.0 { small } else { 1.0 } / (1.0 + small);
            }
        }
        for (y, gate) in self.y.iter_mut().zip(self.gates) {
            *y *= gate;
        }
    }
}
