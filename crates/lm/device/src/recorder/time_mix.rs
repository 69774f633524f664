//! Time mixing of RWKV, and token shifts.

use roci_kernels::params::{LmGatedRmsNorm, LmGlu, LmShortConv, LmSigmoidGate, LmWkv, Params as _};

use super::StepRecorder;
use super::linear::LinearInput;
use crate::Error;
use crate::kernel_id::KernelId;
use crate::layer::DeviceLinear;
use crate::norms::DeviceNorm;
use crate::recurrent::DeviceConvolution;
use crate::scratch::RowBuffer;
use crate::time_mix::{DeviceLowRankVector, DeviceTimeMix, LOW_RANK_PLANES, PLANES};

impl StepRecorder<'_> {
    pub(super) fn time_mix(&mut self, block: &DeviceTimeMix) -> Result<(), Error> {
        let (shape, scratch) = (self.shape, self.scratch);
        let [tokens, sequences, first] =
            [shape.tokens, shape.sequences, shape.sequences_offset()].map(|count| count as u32);
        self.norm(&block.norm, &scratch.residual, &scratch.normed, 0)?;
        if block.dynamic_shifts.is_empty() {
            self.shift_tokens(&block.shifts, &scratch.normed, 0)?;
        } else {
            self.dynamic_shifts(block)?;
        }
        self.shifted_projections(block)?;

        let projected = &scratch.qkv;
        let wkv = LmWkv {
            sequences,
            first,
            x_stride: projected.stride as u32,
            y_stride: scratch.attended.stride as u32,
            ..block.wkv
        };
        let attended = &scratch.attended.range;
        let bindings = [&scratch.inputs, &projected.range, &block.vectors, &block.states, attended];
        self.dispatch(KernelId::WKV, wkv.grid(), &bindings, &wkv)?;
        self.barrier();

        let norm = LmGatedRmsNorm {
            tokens,
            x_stride: scratch.attended.stride as u32,
            gates_stride: projected.stride as u32,
            y_stride: scratch.gated.stride as u32,
            ..block.output_norm
        };
        let weight = block.output_norm_weight.as_ref().unwrap_or(&scratch.unused);
        let bindings = [attended, &projected.range, weight, &scratch.gated.range];
        self.dispatch(KernelId::GATED_RMS_NORM, norm.grid(), &bindings, &norm)?;
        self.barrier();
        self.state.input_changed();
        self.add_to_residual(&block.output, &LinearInput::f32(&scratch.gated), None)
    }

    /// The projections of all shifted inputs to `Scratch::qkv`.
    fn shifted_projections(&mut self, block: &DeviceTimeMix) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        for (index, projections) in block.projections.iter().enumerate() {
            // Files without gates may still have the token-shift factors of gate inputs.
            if projections.linear.is_none() && projections.low_rank.is_none() {
                continue;
            }
            let rows = scratch.convolved.plane(index, PLANES)?;
            self.next_input();
            let input = LinearInput::f32(&rows);
            if let Some(linear) = &projections.linear {
                self.linear(linear, &input, tokens, &scratch.qkv, 0)?;
            }
            if let Some(vector) = &projections.low_rank {
                self.linear(&vector.down, &input, tokens, &scratch.low_rank.plane(index, LOW_RANK_PLANES)?, 0)?;
            }
        }
        self.barrier();
        let vectors = block.projections.iter().enumerate();
        let vectors = vectors.filter_map(|(index, one)| Some((index, one.low_rank.as_ref()?)));
        let vectors: Vec<(usize, &DeviceLowRankVector)> = vectors.collect();
        let inputs = self.activated_planes(&vectors)?;
        for ((_, vector), rows) in vectors.iter().zip(&inputs) {
            self.next_input();
            self.linear(&vector.up, &LinearInput::f32(rows), tokens, &scratch.qkv, 0)?;
        }
        self.barrier();
        Ok(())
    }

    /// The low-rank planes after their activations.
    fn activated_planes(&mut self, vectors: &[(usize, &DeviceLowRankVector)]) -> Result<Vec<RowBuffer>, Error> {
        let planes = &self.scratch.low_rank;
        let mut inputs = Vec::with_capacity(vectors.len());
        for (index, vector) in vectors {
            let rows = planes.plane(*index, LOW_RANK_PLANES)?;
            let Some(activation) = vector.activation else {
                inputs.push(rows);
                continue;
            };
            let activated = planes.plane(PLANES + index, LOW_RANK_PLANES)?;
            let glu = LmGlu {
                tokens: self.shape.tokens as u32,
                x_stride: rows.stride as u32,
                y_stride: activated.stride as u32,
                ..activation
            };
            self.dispatch(KernelId::GLU, glu.grid(), &[&rows.range, &activated.range], &glu)?;
            inputs.push(activated);
        }
        self.barrier();
        Ok(inputs)
    }

    /// The token shifts of RWKV 6: their factors depend on a first shifted input.
    fn dynamic_shifts(&mut self, block: &DeviceTimeMix) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        self.shift_tokens(&block.shifts, &scratch.normed, PLANES - 1)?;
        self.state.input_changed();
        let first = scratch.convolved.plane(PLANES - 1, PLANES)?;
        let vectors: Vec<(usize, &DeviceLowRankVector)> = block.dynamic_shifts.iter().enumerate().collect();
        for (index, vector) in &vectors {
            let to = scratch.low_rank.plane(*index, LOW_RANK_PLANES)?;
            self.linear(&vector.down, &LinearInput::f32(&first), tokens, &to, 0)?;
            // Products of several tokens share memory for partial sums.
            self.barrier_between_products();
        }
        self.barrier();
        let inputs = self.activated_planes(&vectors)?;
        for ((index, vector), rows) in vectors.iter().zip(&inputs) {
            self.next_input();
            let to = scratch.convolved.plane(*index, PLANES)?;
            self.linear(&vector.up, &LinearInput::f32(rows), tokens, &to, 0)?;
        }
        self.barrier();
        let shifts = DeviceConvolution {
            constants: LmShortConv {
                flags: LmShortConv::SHIFT,
                copies: block.dynamic_shifts.len() as u32,
                ..block.shifts.constants
            },
            ..block.shifts.clone()
        };
        self.shift_tokens(&shifts, &scratch.normed, 0)
    }

    /// Prepares products with another input. Steps of several tokens and the CPU may convert it
    /// into scratch memory that earlier products read.
    fn next_input(&mut self) {
        self.barrier_between_products();
        self.state.input_changed();
    }

    fn barrier_between_products(&mut self) {
        if self.shape.tokens > 1 || self.features.native_kernels {
            self.barrier();
        }
    }

    /// The normalized residual stream after a token shift.
    pub(super) fn shifted_residual(
        &mut self,
        norm: &DeviceNorm,
        shift: &DeviceConvolution,
    ) -> Result<RowBuffer, Error> {
        self.norm(norm, &self.scratch.residual, &self.scratch.normed, 0)?;
        self.shift_tokens(shift, &self.scratch.normed, 0)?;
        self.state.input_changed();
        self.scratch.convolved.plane(0, PLANES)
    }

    /// Adds the output of a network, multiplied by its gate, to the residual stream. The gate reads
    /// the second plane of shifted inputs.
    pub(super) fn add_gated(
        &mut self,
        down: &DeviceLinear,
        activated: &LinearInput<'_>,
        (gate, factor): &(DeviceLinear, f32),
    ) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        self.linear(down, activated, tokens, &scratch.normed, 0)?;
        self.next_input();
        self.linear(gate, &LinearInput::f32(&scratch.convolved.plane(1, PLANES)?), tokens, &scratch.gated, 0)?;
        self.barrier();
        let (x, gates, y) = (&scratch.normed, &scratch.gated, &scratch.residual);
        let constants = LmSigmoidGate {
            tokens: tokens as u32,
            columns: scratch.embedding as u32,
            x_stride: x.stride as u32,
            gates_stride: gates.stride as u32,
            gates_offset: 0,
            y_stride: y.stride as u32,
            flags: LmSigmoidGate::ADD,
            factor: *factor,
        };
        let bindings = [&x.range, &gates.range, &y.range];
        self.dispatch(KernelId::SIGMOID_GATE, constants.grid(), &bindings, &constants)?;
        self.barrier();
        self.state.input_changed();
        Ok(())
    }

    /// Token shifts of rows, to the planes of `Scratch::convolved` from this one on.
    fn shift_tokens(&mut self, block: &DeviceConvolution, rows: &RowBuffer, plane: usize) -> Result<(), Error> {
        let (shape, scratch) = (self.shape, self.scratch);
        let y = match plane {
            0 => scratch.convolved.clone(),
            _ => scratch.convolved.plane(plane, PLANES)?,
        };
        let [tokens, sequences, first] =
            [shape.tokens, shape.sequences, shape.sequences_offset()].map(|count| count as u32);
        let constants = LmShortConv {
            sequences,
            first,
            x_stride: rows.stride as u32,
            y_stride: y.stride as u32,
            splits: LmShortConv::splits(tokens, sequences),
            plane: (scratch.convolved.plane(0, PLANES)?.range.length() / 4) as u32,
            ..block.constants
        };
        let bindings = [&scratch.inputs, &rows.range, &block.weights, &block.windows, &y.range];
        self.dispatch(KernelId::SHORT_CONVOLUTION, constants.grid(), &bindings, &constants)?;
        self.barrier();
        Ok(())
    }
}
