//! Multiple residual streams, and low-rank branches parallel to the mixer.

use super::Reference;
use super::ops::magnitude;
use crate::architecture::blocks::{Linear, LowRankBranch, StreamMixing};

impl Reference {
    /// The initial residual streams: the embedding and projections of it.
    pub(super) fn start_streams(&self, embedding: Vec<f32>) -> Vec<Vec<f32>> {
        let projections = self.model.streams.iter().flat_map(|streams| &streams.starts);
        let target = magnitude(&embedding);
        let others: Vec<_> = projections.map(|linear| self.with_magnitude(linear, &embedding, target)).collect();
        std::iter::once(embedding).chain(others).collect()
    }

    /// The mean of the first stream and projections of the others.
    pub(super) fn end_streams(&self, mut streams: Vec<Vec<f32>>) -> Vec<f32> {
        let Some(block) = &self.model.streams else { return streams.swap_remove(0) };
        let target = magnitude(&streams[block.active]);
        let (first, others) = streams.split_at_mut(1);
        for (linear, other) in block.ends.iter().zip(others) {
            let projected = self.with_magnitude(linear, other, target);
            first[0].iter_mut().zip(projected).for_each(|(sum, value)| *sum += value);
        }
        let count = streams.len() as f32;
        streams[0].iter().map(|sum| sum / count).collect()
    }

    fn with_magnitude(&self, linear: &Linear, input: &[f32], target: f32) -> Vec<f32> {
        let mut projected = self.weights.apply(linear, input);
        let factor = target / magnitude(&projected);
        projected.iter_mut().for_each(|value| *value *= factor);
        projected
    }

    /// The router's outputs, one per stream, from -1 to 1; the mixing coefficients are linear in
    /// them.
    fn stream_weights(&self, block: &StreamMixing, active: &[f32]) -> Vec<f32> {
        let mut input = self.weights.norm(&block.router_norm, active);
        let length = input.len() as f32;
        input.iter_mut().for_each(|value| *value /= length);
        self.weights.apply(&block.router, &input).into_iter().map(f32::tanh).collect()
    }

    /// Predicts each stream from all of them.
    pub(super) fn predict(&self, block: &StreamMixing, streams: &[Vec<f32>], active: usize) -> Vec<Vec<f32>> {
        let factors = self.weights.apply(&block.predict, &self.stream_weights(block, &streams[active]));
        let predicted = streams.iter().zip(factors.chunks(streams.len())).map(|(stream, factors)| {
            let value = |at: usize| {
                let sum = streams.iter().zip(factors).map(|(other, factor)| f64::from(other[at]) * f64::from(*factor));
                (f64::from(stream[at]) + sum.sum::<f64>()) as f32
            };
            (0..stream.len()).map(value).collect()
        });
        predicted.collect()
    }

    /// Corrects all predictions by the difference between the active stream and its prediction.
    pub(super) fn correct(&self, block: &StreamMixing, predicted: &mut [Vec<f32>], active: usize, state: &[f32]) {
        let difference: Vec<f32> = state.iter().zip(&predicted[active]).map(|(state, old)| state - old).collect();
        let factors = self.weights.apply(&block.correct, &self.stream_weights(block, state));
        for (stream, factor) in predicted.iter_mut().zip(factors) {
            stream.iter_mut().zip(&difference).for_each(|(value, change)| *value += (factor + 1.0) * change);
        }
    }

    /// The output of the low-rank branch for the normalized input of the mixer.
    pub(super) fn low_rank(&self, block: &LowRankBranch, input: &[f32]) -> Vec<f32> {
        let output = self.weights.apply(&block.up, &self.weights.apply(&block.down, input));
        let mut output = self.weights.norm(&block.post_norm, &output);
        output.iter_mut().zip(input).for_each(|(output, input)| *output += input);
        output
    }
}
