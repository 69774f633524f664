//! Several residual streams, and branches beside attention.

use roci_kernels::params::{LmL2Norm, LmMixStreams, LmMoeCombine, LmRmsNorm, Params as _};

use super::StepRecorder;
use super::linear::LinearInput;
use crate::Error;
use crate::kernel_id::KernelId;
use crate::layer::DeviceLinear;
use crate::per_layer::{DevicePerLayer, LayerInputs};
use crate::scratch::RowBuffer;
use crate::streams::{DeviceLowRank, DeviceStreamMixing, DeviceStreams};

/// Minimum norm of a projection between streams.
const EPSILON: f32 = 1e-20;

impl StepRecorder<'_> {
    /// Computes all streams from the embeddings in the residual stream.
    pub(super) fn start_streams(&mut self, streams: &DeviceStreams) -> Result<(), Error> {
        let residual = &self.scratch.residual;
        self.copy_rows(residual, &streams.planes[0])?;
        self.state.input_changed();
        for (linear, plane) in streams.starts.iter().zip(&streams.planes[1..]) {
            self.project_stream(linear, residual, residual, (plane, false))?;
        }
        Ok(())
    }

    /// Writes the sum of all streams, projected back, to the residual stream. The final norm
    /// divides it by their number.
    pub(super) fn end_streams(&mut self, streams: &DeviceStreams) -> Result<(), Error> {
        let residual = &self.scratch.residual;
        self.copy_rows(&streams.planes[0], residual)?;
        self.barrier();
        for (linear, plane) in streams.ends.iter().zip(&streams.planes[1..]) {
            self.state.input_changed();
            self.project_stream(linear, plane, &streams.planes[streams.active], (residual, true))?;
        }
        self.state.input_changed();
        Ok(())
    }

    /// A projection, with the magnitude of the rows of `goal`.
    fn project_stream(
        &mut self,
        linear: &DeviceLinear,
        input: &RowBuffer,
        goal: &RowBuffer,
        (y, add): (&RowBuffer, bool),
    ) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        self.linear(linear, &LinearInput::f32(input), tokens, &scratch.normed, 0)?;
        self.barrier();
        let norm = LmL2Norm {
            rows: tokens as u32,
            columns: scratch.embedding as u32,
            x_stride: scratch.normed.stride as u32,
            goal_stride: goal.stride as u32,
            y_stride: y.stride as u32,
            epsilon: EPSILON,
            add: u32::from(add),
        };
        let bindings = [&scratch.normed.range, &goal.range, &y.range];
        self.dispatch(KernelId::L2_NORM, norm.grid(), &bindings, &norm)?;
        self.barrier();
        Ok(())
    }

    /// Predicts all streams, and copies the active one to the residual stream.
    pub(super) fn predict_streams(&mut self, block: &DeviceStreamMixing, streams: &DeviceStreams) -> Result<(), Error> {
        let active = &streams.planes[streams.active];
        self.stream_scores(block, active, streams)?;
        self.mix(block, streams, false)?;
        self.copy_rows(active, &self.scratch.residual)?;
        self.barrier();
        self.state.input_changed();
        Ok(())
    }

    /// Corrects all streams by the residual stream.
    pub(super) fn correct_streams(&mut self, block: &DeviceStreamMixing, streams: &DeviceStreams) -> Result<(), Error> {
        self.stream_scores(block, &self.scratch.residual, streams)?;
        self.mix(block, streams, true)?;
        self.state.input_changed();
        Ok(())
    }

    /// The scores that the coefficients of a token depend on, from its row of the active stream.
    fn stream_scores(
        &mut self,
        block: &DeviceStreamMixing,
        active: &RowBuffer,
        streams: &DeviceStreams,
    ) -> Result<(), Error> {
        let normed = &self.scratch.normed;
        self.norm(&block.router_norm, active, normed, 0)?;
        self.linear(&block.router, &LinearInput::f32(normed), self.shape.tokens, &streams.scores, 0)?;
        self.barrier();
        Ok(())
    }

    fn mix(&mut self, block: &DeviceStreamMixing, streams: &DeviceStreams, correct: bool) -> Result<(), Error> {
        let residual = &self.scratch.residual;
        let constants = LmMixStreams {
            tokens: self.shape.tokens as u32,
            active_stream: streams.active as u32,
            stride: residual.stride as u32,
            plane: streams.plane() as u32,
            scores_stride: streams.scores.stride as u32,
            correct: u32::from(correct),
            ..block.mix
        };
        let coefficients = if correct { &block.correct } else { &block.predict };
        let bindings = [&streams.scores.range, coefficients, &residual.range, &streams.all];
        self.dispatch(KernelId::MIX_STREAMS, constants.grid(), &bindings, &constants)?;
        self.barrier();
        Ok(())
    }

    /// Adds what a layer computes from its input and the scaled active stream to all streams but the
    /// first.
    pub(super) fn per_layer_streams(
        &mut self,
        block: &DevicePerLayer,
        inputs: &LayerInputs,
        streams: &DeviceStreams,
    ) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        self.per_layer_input(block, inputs, &streams.planes[streams.count()])?;
        self.linear(&block.projection, &LinearInput::f32(&inputs.activated), tokens, &scratch.normed, 0)?;
        self.barrier();
        for plane in &streams.planes[1..streams.count()] {
            self.norm_rows(&block.post_norm, &scratch.normed, plane, tokens, LmRmsNorm::ADD)?;
        }
        self.barrier();
        Ok(())
    }

    /// A branch beside attention, whose normalized input is `input`. Attention has added its output
    /// to the residual stream.
    pub(super) fn low_rank(&mut self, block: &DeviceLowRank, input: &RowBuffer) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        self.flush_partial_sums()?;
        self.state.input_changed();
        self.linear(&block.down, &LinearInput::f32(input), tokens, &scratch.low_rank, 0)?;
        self.barrier();
        self.state.input_changed();
        self.linear(&block.up, &LinearInput::f32(&scratch.low_rank), tokens, &scratch.normed, 0)?;
        let residual = &scratch.residual;
        let sum = LmMoeCombine {
            tokens: tokens as u32,
            columns: scratch.embedding as u32,
            used: 1,
            x_stride: input.stride as u32,
            y_stride: residual.stride as u32,
            add: 1,
            sharing: 1,
        };
        let bindings = [&input.range, &scratch.ones, &residual.range];
        self.dispatch(KernelId::MOE_COMBINE, sum.grid(), &bindings, &sum)?;
        self.barrier();
        self.norm(&block.post_norm, &scratch.normed, residual, LmRmsNorm::ADD)
    }

    /// Copies the rows of all tokens.
    fn copy_rows(&mut self, from: &RowBuffer, to: &RowBuffer) -> Result<(), Error> {
        let bytes = from.bytes(self.shape.tokens);
        self.commands.copy(from.range.range(0, bytes)?, to.range.range(0, bytes)?)?;
        Ok(())
    }
}
