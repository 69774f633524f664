//! `lm_mix_streams`: several residual streams, token by token.

use std::ops::Range;
use std::sync::Arc;

use super::ReferenceKernel;
use super::{AtomicWords, Reference, WorkSize, floats};
use crate::KernelFactory;
use roci_families::LmMixStreams;
use roci_simd::Level;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] =
    &[("lm_mix_streams", |level| Arc::new(ReferenceKernel::<MixStreams>::new(level)))];

/// Maximum number of streams, and rows of coefficients per stream.
const MOST: usize = LmMixStreams::MOST as usize;

pub(crate) struct MixStreams;

impl Reference for MixStreams {
    type Params = LmMixStreams;
    const INPUTS: usize = 3;
    const OUTPUTS: usize = 1;

    fn work_size(p: &LmMixStreams) -> Result<WorkSize, String> {
        if p.streams == 0 || p.streams > LmMixStreams::MOST || p.active_stream >= p.streams {
            return Err(format!("stream {} of {}; there are 1 to {MOST}", p.active_stream, p.streams));
        }
        Ok(WorkSize { units: p.tokens.into(), cost: 32 * u64::from(p.streams) * u64::from(p.columns) })
    }

    fn compute(_: Level, p: &LmMixStreams, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let [streams, active, columns] = [p.streams, p.active_stream, p.columns].map(|count| count as usize);
        let value = |at: usize| floats(inputs[1], at, 1).first().copied().unwrap_or(0.0);
        for token in units {
            let scores = floats(inputs[0], token * p.scores_stride as usize, streams);
            let weights: Vec<f32> = scores.iter().map(|score| (score * p.scale).tanh()).collect();
            let factor = |row: usize| weights.iter().enumerate().map(|(k, w)| value(MOST * row + k) * w).sum::<f32>();
            let at = |stream: usize, c: usize| stream * p.plane as usize + token * p.stride as usize + c;
            let x = |stream: usize, c: usize| outputs[0].get(at(stream, c));
            if p.correct == 0 {
                let factors: Vec<f32> =
                    (0..streams).flat_map(|i| (0..streams).map(move |j| MOST * i + j)).map(factor).collect();
                for c in 0..columns {
                    let old: Vec<f32> = (0..streams).map(|stream| x(stream, c)).collect();
                    for (stream, factors) in factors.chunks(streams).enumerate() {
                        let sum: f32 = factors.iter().zip(&old).map(|(factor, x)| factor * x).sum();
                        outputs[0].set(at(stream, c), old[stream] + sum);
                    }
                }
                continue;
            }
            let factors: Vec<f32> = (0..streams).map(|stream| factor(stream) + 1.0).collect();
            let state = floats(inputs[2], token * p.stride as usize, columns);
            for (c, state) in state.iter().enumerate() {
                let change = state - x(active, c);
                for (stream, factor) in factors.iter().enumerate() {
                    outputs[0].set(at(stream, c), x(stream, c) + factor * change);
                }
                outputs[0].set(at(streams, c), x(active, c) * value(MOST * MOST + c));
            }
        }
    }
}
