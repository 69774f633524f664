//! Records one step of a model on one device: from token embeddings to hidden states or logits.
//!
//! [`StepRecorder::record`] records the whole step. `attention.rs`, `delta_net.rs` and
//! `feed_forward.rs` record the blocks of a layer, and `linear.rs` their matrix products. Every kernel goes through
//! [`StepRecorder::dispatch`]. [`StepState`] tracks work that is deferred to later commands.

mod attention;
mod delta_net;
mod feed_forward;
mod linear;
mod state;

use roci_hal::{Binding, Buffer, BufferRange, CommandBuffer, Device, Recorder};
use roci_kernels::params::{LmEmbed, LmLinear, LmRmsNorm, Params};

pub(crate) use self::attention::block_tokens;
use self::linear::LinearInput;
use self::state::StepState;
use crate::features::Features;
use crate::kernel_cache::KernelCache;
use crate::kernel_id::KernelId;
use crate::layer::{DeviceEmbedding, DeviceHead, DeviceLayer, DeviceLinear, DeviceMixer, DeviceNorm};
use crate::options::CacheType;
use crate::scratch::{RowBuffer, Scratch};
use crate::shape::StepShape;
use crate::{Error, SMALL_BATCH};

/// Records one step.
pub(crate) struct StepRecorder<'a> {
    kernels: &'a mut KernelCache,
    scratch: &'a Scratch,
    commands: Recorder,
    shape: StepShape,
    cache: CacheType,
    features: Features,
    state: StepState,
    /// Projection of the uploaded rows to the residual stream, in prediction heads.
    input: Option<&'a DeviceLinear>,
}

impl<'a> StepRecorder<'a> {
    pub(crate) fn new(
        device: &Device,
        kernels: &'a mut KernelCache,
        scratch: &'a Scratch,
        shape: StepShape,
        cache: CacheType,
        features: Features,
    ) -> Self {
        Self {
            kernels,
            scratch,
            commands: device.record(),
            shape,
            cache,
            features,
            state: StepState::default(),
            input: None,
        }
    }

    /// The step of a prediction head with this projection.
    pub(crate) fn with_input(self, input: Option<&'a DeviceLinear>) -> Self {
        Self { input, ..self }
    }

    /// Records the step: upload of the inputs, embeddings, layers, and the output to `output`.
    pub(crate) fn record(
        mut self,
        layers: &[DeviceLayer],
        head: Option<&DeviceHead>,
        staging: &Buffer,
        output: &Buffer,
    ) -> Result<CommandBuffer, Error> {
        let (shape, scratch) = (self.shape, self.scratch);
        let input_bytes = 4 * shape.input_words as u64;
        self.commands.copy(staging.range(0, input_bytes)?, scratch.inputs.range(0, input_bytes)?)?;
        if let Some(embedding) = head.and_then(|head| head.embedding(shape.tokens)) {
            self.barrier();
            self.embed(&embedding)?;
        } else if let Some(input) = self.input.filter(|_| shape.tokens > 0) {
            let bytes = scratch.qkv.bytes(shape.tokens);
            let uploaded = staging.range(scratch.staged_residual_offset, bytes)?;
            self.commands.copy(uploaded, scratch.qkv.range.range(0, bytes)?)?;
            self.barrier();
            self.linear(input, &LinearInput::f32(&scratch.qkv), shape.tokens, &scratch.residual, 0)?;
            self.state.input_changed();
        } else if shape.tokens > 0 {
            let bytes = scratch.residual.bytes(shape.tokens);
            let uploaded = staging.range(scratch.staged_residual_offset, bytes)?;
            self.commands.copy(uploaded, scratch.residual.range.range(0, bytes)?)?;
        }
        self.barrier();
        for layer in layers {
            match &layer.mixer {
                DeviceMixer::Attention(block) => self.attention(block)?,
                DeviceMixer::DeltaNet(block) => self.delta_net(block)?,
            }
            self.feed_forward(&layer.feed_forward)?;
        }
        self.flush_partial_sums()?;
        match head {
            None => self.read_back(&scratch.residual, shape.tokens, output)?,
            Some(head) if shape.output_rows > 0 => self.head(head, output)?,
            Some(_) => {}
        }
        Ok(self.commands.finish()?)
    }

    fn embed(&mut self, embedding: &DeviceEmbedding<'_>) -> Result<(), Error> {
        let scratch = self.scratch;
        let constants = LmEmbed {
            tokens: self.shape.tokens as u32,
            columns: embedding.columns as u32,
            rows: embedding.rows as u32,
            first: self.shape.token_ids_offset() as u32,
            y_stride: scratch.residual.stride as u32,
            factor: embedding.scale,
        };
        let bindings = [&scratch.inputs, embedding.codes, embedding.scales, &scratch.residual.range];
        self.dispatch(embedding.kernel, constants.grid(), &bindings, &constants)
    }

    /// The final norm, and the logits if they are requested.
    fn head(&mut self, head: &DeviceHead, output: &Buffer) -> Result<(), Error> {
        let StepShape { output_rows: rows, logits, .. } = self.shape;
        let scratch = self.scratch;
        if self.shape.tokens == 1 && logits && !self.features.native_kernels {
            // The product with a single token applies the norm itself.
            let input = LinearInput { norm: Some(&head.norm), ..LinearInput::f32(&scratch.residual) };
            self.linear(&head.output, &input, 1, &scratch.logits, 0)?;
            self.barrier();
            return self.read_back(&scratch.logits, 1, output);
        }
        let norm = LmRmsNorm {
            rows: rows as u32,
            columns: scratch.embedding as u32,
            x_stride: scratch.residual.stride as u32,
            y_stride: scratch.output_hidden.stride as u32,
            epsilon: head.norm.epsilon,
            flags: LmRmsNorm::GATHER_ROWS,
            first: self.shape.output_rows_offset() as u32,
        };
        let bindings = [&scratch.residual.range, &head.norm.weight, &scratch.inputs, &scratch.output_hidden.range];
        self.dispatch(KernelId::RMS_NORM, norm.grid(), &bindings, &norm)?;
        self.state.input_changed();
        self.barrier();
        if !logits {
            return self.read_back(&scratch.output_hidden, rows, output);
        }
        self.linear(&head.output, &LinearInput::f32(&scratch.output_hidden), rows, &scratch.logits, 0)?;
        self.barrier();
        self.read_back(&scratch.logits, rows, output)
    }

    fn read_back(&mut self, from: &RowBuffer, rows: usize, output: &Buffer) -> Result<(), Error> {
        let bytes = from.bytes(rows);
        self.commands.copy(from.range.range(0, bytes)?, output.range(0, bytes)?)?;
        Ok(())
    }

    /// Records the RMS norm of rows of the embedding length.
    fn norm(&mut self, norm: &DeviceNorm, x: &RowBuffer, y: &RowBuffer, flags: u32) -> Result<(), Error> {
        self.flush_partial_sums()?;
        let constants = LmRmsNorm {
            rows: self.shape.tokens as u32,
            columns: self.scratch.embedding as u32,
            x_stride: x.stride as u32,
            y_stride: y.stride as u32,
            epsilon: norm.epsilon,
            flags,
            first: 0,
        };
        let bindings = [&x.range, &norm.weight, &self.scratch.inputs, &y.range];
        self.dispatch(KernelId::RMS_NORM, constants.grid(), &bindings, &constants)?;
        self.state.input_changed();
        self.barrier();
        Ok(())
    }

    /// The residual stream, normalized if there is a norm, as input of `consumers`. Products with a single token apply
    /// the norm themselves, those on matrix units get 16-bit floats.
    fn normed_residual<'n>(
        &mut self,
        norm: Option<&'n DeviceNorm>,
        consumers: &[DeviceLinear],
    ) -> Result<LinearInput<'n>, Error>
    where
        'a: 'n,
    {
        let scratch = self.scratch;
        let Some(norm) = norm else {
            self.flush_partial_sums()?;
            return Ok(LinearInput::f32(&scratch.residual));
        };
        if self.shape.tokens == 1 && !self.features.native_kernels {
            return Ok(LinearInput { norm: Some(norm), ..LinearInput::f32(&scratch.residual) });
        }
        let coopmat = consumers.iter().all(|linear| self.runs_on_coopmat(&linear.matrix, self.shape.tokens));
        if coopmat && scratch.embedding.is_multiple_of(4) {
            self.add_rms_norm(norm)?;
        } else {
            self.norm(norm, &scratch.residual, &scratch.normed, 0)?;
        }
        Ok(LinearInput::f32(&scratch.normed))
    }

    /// Adds the output of a block to the residual stream, normalized first if the model has a post
    /// norm.
    fn add_to_residual(
        &mut self,
        linear: &DeviceLinear,
        input: &LinearInput<'_>,
        post_norm: Option<&DeviceNorm>,
    ) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        match post_norm {
            None => self.linear(linear, input, tokens, &scratch.residual, LmLinear::ADD)?,
            Some(norm) => {
                self.linear(linear, input, tokens, &scratch.normed, 0)?;
                self.barrier();
                self.norm(norm, &scratch.normed, &scratch.residual, LmRmsNorm::ADD)?;
            }
        }
        self.barrier();
        Ok(())
    }

    fn barrier(&mut self) {
        self.commands.barrier();
    }

    /// Records a kernel. [`KernelCache::dispatch`] loads it.
    fn dispatch<P: Params>(
        &mut self,
        kernel: KernelId,
        grid: [u32; 3],
        bindings: &[&BufferRange],
        constants: &P,
    ) -> Result<(), Error> {
        let bindings: Vec<Binding> = bindings.iter().map(|range| Binding::from((*range).clone())).collect();
        // Steps with a single token have few shapes, each of which is replayed for many tokens.
        let specialize = self.shape.tokens == 1;
        let constants = bytemuck::bytes_of(constants);
        self.kernels.dispatch(&mut self.commands, kernel, grid, &bindings, constants, specialize)
    }

    /// Whether the step has more tokens than usual in decode: weights are read in tiles, and
    /// attention runs over blocks of tokens.
    fn is_large_batch(&self) -> bool {
        self.shape.tokens > SMALL_BATCH
    }
}
