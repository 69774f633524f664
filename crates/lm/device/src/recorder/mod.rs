//! Records one step of a model on one device: from token embeddings to hidden states or logits.
//!
//! [`StepRecorder::record`] records the whole step. `attention.rs`, `delta_net.rs`, `recurrent.rs`,
//! `feed_forward.rs`, `per_layer.rs` and `streams.rs` record the blocks of a layer, and `linear.rs` their matrix
//! products. Every kernel goes through [`StepRecorder::dispatch`]. [`StepState`] tracks work that is
//! deferred to later commands.

mod adapters;
mod attention;
mod deepstack;
mod delta_net;
mod expert_tiles;
mod feed_forward;
mod host_experts;
mod latent;
mod linear;
mod native_experts;
mod per_layer;
mod read_ahead;
mod recurrent;
mod selective_scan;
mod single_token_experts;
mod state;
mod streams;
mod time_mix;

use roci_hal::{Binding, Buffer, BufferRange, CommandBuffer, Device, Recorder};
use roci_kernels::params::{LmEmbed, LmLayerNorm, LmLinear, LmRmsNorm, Params};
use roci_lm::architecture::blocks::NormKind;

pub(crate) use self::attention::block_tokens;
pub(crate) use self::expert_tiles::ExpertTile;
use self::linear::LinearInput;
pub(crate) use self::linear::PACKED_DOT_TOKENS;
use self::state::StepState;
use crate::features::Features;
use crate::host_experts::{HostExperts, HostSegment};
use crate::kernel_cache::KernelCache;
use crate::kernel_id::KernelId;
use crate::layer::{
    DeviceAttention, DeviceEmbedding, DeviceHead, DeviceLayer, DeviceLinear, DeviceMixer, ParallelNorms,
};
use crate::norms::DeviceNorm;
use crate::options::CacheType;
use crate::per_layer::LayerInputs;
use crate::scratch::{RowBuffer, Scratch};
use crate::shape::StepShape;
use crate::streams::DeviceStreams;
use crate::{Error, SMALL_BATCH};

/// Records one step.
pub(crate) struct StepRecorder<'a> {
    device: &'a Device,
    kernels: &'a mut KernelCache,
    /// Computes the experts of some layers.
    host: Option<&'a mut HostExperts>,
    /// The segments of the step that end at these experts.
    segments: Vec<HostSegment>,
    scratch: &'a Scratch,
    commands: Recorder,
    shape: StepShape,
    cache: CacheType,
    features: Features,
    state: StepState,
    /// Projection of the uploaded rows to the residual stream, in prediction heads.
    input: Option<&'a DeviceLinear>,
    /// In models with several residual streams.
    streams: Option<&'a DeviceStreams>,
    /// Index of the first recorded layer in the model.
    first_layer: usize,
    /// Whether the rows of products are output rows, not tokens.
    at_outputs: bool,
}

impl<'a> StepRecorder<'a> {
    pub(crate) fn new(
        device: &'a Device,
        kernels: &'a mut KernelCache,
        scratch: &'a Scratch,
        shape: StepShape,
        cache: CacheType,
        features: Features,
    ) -> Self {
        Self {
            device,
            kernels,
            host: None,
            segments: Vec::new(),
            scratch,
            commands: device.record(),
            shape,
            cache,
            features,
            state: StepState::default(),
            input: None,
            streams: None,
            first_layer: 0,
            at_outputs: false,
        }
    }

    /// Makes this the step of a stage that starts with this layer of the model.
    pub(crate) fn with_first_layer(self, first_layer: usize) -> Self {
        Self { first_layer, ..self }
    }

    /// Makes this the step of a prediction head with this input projection.
    pub(crate) fn with_input(self, input: Option<&'a DeviceLinear>) -> Self {
        Self { input, ..self }
    }

    /// The step of a model with several residual streams.
    pub(crate) fn with_streams(self, streams: Option<&'a DeviceStreams>) -> Self {
        Self { streams, ..self }
    }

    /// Lets the CPU compute the experts of some layers.
    pub(crate) fn with_host(self, host: Option<&'a mut HostExperts>) -> Self {
        Self { host, ..self }
    }

    /// Records the step: upload of the inputs, embeddings, layers, and the output to `output`. At
    /// run time each segment is followed by the experts at its end; the remaining commands follow
    /// the last segment.
    pub(crate) fn record(
        mut self,
        layers: &[DeviceLayer],
        inputs: Option<&LayerInputs>,
        head: Option<&DeviceHead>,
        staging: &Buffer,
        output: &Buffer,
    ) -> Result<(Vec<HostSegment>, CommandBuffer), Error> {
        let (shape, scratch) = (self.shape, self.scratch);
        let input_bytes = 4 * shape.input_words as u64;
        self.commands.copy(staging.range(0, input_bytes)?, scratch.inputs.range(0, input_bytes)?)?;
        if let Some(embedding) = head.filter(|_| !shape.host_embeddings).and_then(|head| head.embedding(shape.tokens)) {
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
        if let Some(inputs) = inputs.filter(|_| shape.tokens > 0) {
            self.layer_inputs(inputs)?;
        }
        let streams = self.streams.filter(|_| shape.tokens > 0);
        if let Some(streams) = streams {
            self.start_streams(streams)?;
        }
        for (index, layer) in (self.first_layer..).zip(layers) {
            self.read_ahead(layers, index - self.first_layer, head)?;
            let mixing = layer.streams.as_ref().zip(streams);
            if let Some((mixing, streams)) = mixing {
                self.predict_streams(mixing, streams)?;
            }
            self.layer(layer)?;
            if let Some((mixing, streams)) = mixing {
                self.correct_streams(mixing, streams)?;
            }
            match (&layer.per_layer, inputs, streams) {
                (Some(block), Some(inputs), None) => self.per_layer(block, inputs)?,
                (Some(block), Some(inputs), Some(streams)) => self.per_layer_streams(block, inputs, streams)?,
                _ => {}
            }
            if index < shape.deepstack_layers {
                self.add_deepstack_rows(index, staging)?;
            }
        }
        self.flush_partial_sums()?;
        if let Some(streams) = streams {
            self.end_streams(streams)?;
        }
        self.read_ahead(layers, layers.len(), head)?;
        match head {
            None => self.read_back(&scratch.residual, shape.tokens, output)?,
            Some(head) if shape.output_rows > 0 => self.head(head, output)?,
            Some(_) => {}
        }
        Ok((self.segments, self.commands.finish()?))
    }

    fn layer(&mut self, layer: &DeviceLayer) -> Result<(), Error> {
        let DeviceLayer { mixers, feed_forward, parallel, stream_norms, low_rank, .. } = layer;
        // Mixers change the residual stream, so the input of a parallel block is saved.
        let norm = feed_forward.as_ref().and_then(|block| block.norm.as_ref());
        let input = match (parallel, norm) {
            (Some(_), Some(norm)) => {
                let parallel = &self.scratch.parallel;
                self.norm(norm, &self.scratch.residual, parallel, 0)?;
                Some(parallel)
            }
            _ => None,
        };
        let beside = match (low_rank, &mixers[..]) {
            (Some(block), [DeviceMixer::Attention(DeviceAttention { norm: Some(norm), .. })]) => {
                let rows = &self.scratch.parallel;
                self.norm(norm, &self.scratch.residual, rows, 0)?;
                Some((block, rows))
            }
            _ => None,
        };
        let shared = input.filter(|_| *parallel == Some(ParallelNorms::Shared));
        self.mixers(mixers, beside.map(|(_, rows)| rows).or(shared))?;
        if input.is_some() {
            self.flush_partial_sums()?;
            self.state.input_changed();
        }
        if let Some((block, rows)) = beside {
            self.low_rank(block, rows)?;
        }
        self.stream_norm(stream_norms[0].as_ref())?;
        if let Some(block) = feed_forward {
            self.feed_forward(block, input)?;
        }
        self.stream_norm(stream_norms[1].as_ref())
    }

    /// Records the mixers of a layer. Each adds its output to the residual stream, so all must read
    /// their input before. `input` is the normalized input of attention, if it is already computed.
    fn mixers(&mut self, mixers: &[DeviceMixer], input: Option<&RowBuffer>) -> Result<(), Error> {
        if let [DeviceMixer::Attention(attention), DeviceMixer::StateSpace(space)] = mixers {
            self.state_space_values(space)?;
            self.attention(attention, input)?;
            return self.state_space_output(space);
        }
        // `support` refuses other combinations.
        mixers.iter().try_for_each(|mixer| match mixer {
            DeviceMixer::Attention(block) => self.attention(block, input),
            DeviceMixer::DeltaNet(block) => self.delta_net(block),
            DeviceMixer::GatedConvolution(block) => self.gated_convolution(block),
            DeviceMixer::StateSpace(block) => self.state_space(block),
            DeviceMixer::SelectiveScan(block) => self.selective_scan(block),
            DeviceMixer::TimeMix(block) => self.time_mix(block),
        })
    }

    /// Normalizes the residual stream in place, if there is a norm.
    fn stream_norm(&mut self, norm: Option<&DeviceNorm>) -> Result<(), Error> {
        let Some(norm) = norm else { return Ok(()) };
        self.flush_partial_sums()?;
        self.norm_in_place(norm, &self.scratch.residual, 0, self.scratch.embedding as u32)?;
        self.state.input_changed();
        self.barrier();
        Ok(())
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
        let matrix = head.output.as_ref().filter(|_| logits);
        self.at_outputs = true;
        let fused = head.norm.is_plain_rms() && !self.features.native_kernels;
        if let Some(matrix) = matrix.filter(|_| self.shape.tokens == 1 && fused) {
            // The product with a single token applies the norm itself.
            let input = LinearInput { norm: Some(&head.norm), ..LinearInput::f32(&scratch.residual) };
            self.linear(matrix, &input, 1, &scratch.logits, 0)?;
            self.barrier();
            return self.read_back(&scratch.logits, 1, output);
        }
        self.norm_rows(&head.norm, &scratch.residual, &scratch.output_hidden, rows, LmRmsNorm::GATHER_ROWS)?;
        self.barrier();
        let Some(matrix) = matrix else { return self.read_back(&scratch.output_hidden, rows, output) };
        self.linear(matrix, &LinearInput::f32(&scratch.output_hidden), rows, &scratch.logits, 0)?;
        self.barrier();
        self.read_back(&scratch.logits, rows, output)
    }

    fn read_back(&mut self, from: &RowBuffer, rows: usize, output: &Buffer) -> Result<(), Error> {
        let bytes = from.bytes(rows);
        self.commands.copy(from.range.range(0, bytes)?, output.range(0, bytes)?)?;
        Ok(())
    }

    /// Records the norm of rows of the embedding length.
    fn norm(&mut self, norm: &DeviceNorm, x: &RowBuffer, y: &RowBuffer, flags: u32) -> Result<(), Error> {
        self.flush_partial_sums()?;
        self.norm_rows(norm, x, y, self.shape.tokens, flags)?;
        self.barrier();
        Ok(())
    }

    /// Records the norm of this number of rows, with the flags of [`LmRmsNorm`]. With `GATHER_ROWS`
    /// they are those whose output is requested.
    fn norm_rows(
        &mut self,
        norm: &DeviceNorm,
        x: &RowBuffer,
        y: &RowBuffer,
        rows: usize,
        flags: u32,
    ) -> Result<(), Error> {
        let (rows, columns) = (rows as u32, self.scratch.embedding as u32);
        let (x_stride, y_stride, epsilon) = (x.stride as u32, y.stride as u32, norm.epsilon);
        let gather = flags & LmRmsNorm::GATHER_ROWS != 0;
        let first = if gather { self.shape.output_rows_offset() as u32 } else { 0 };
        let bindings = [&x.range, &norm.weight, &self.scratch.inputs, &y.range];
        if norm.is_plain_rms() {
            let factor = if flags & LmRmsNorm::ADD == 0 { 1.0 } else { norm.factor };
            let constants = LmRmsNorm { rows, columns, x_stride, y_stride, epsilon, flags, first, y_offset: 0, factor };
            self.dispatch(KernelId::RMS_NORM, constants.grid(), &bindings, &constants)?;
        } else {
            let flags = [
                (gather, LmLayerNorm::GATHER_ROWS),
                (flags & LmRmsNorm::ADD != 0, LmLayerNorm::ADD),
                (norm.biased, LmLayerNorm::BIAS),
                (norm.kind == NormKind::Rms, LmLayerNorm::RMS),
            ];
            let flags = flags.iter().filter(|(set, _)| *set).map(|(_, flag)| flag).sum();
            let constants = LmLayerNorm { rows, columns, x_stride, y_stride, epsilon, flags, first, offset: 0 };
            self.dispatch(KernelId::LAYER_NORM, constants.grid(), &bindings, &constants)?;
        }
        self.state.input_changed();
        Ok(())
    }

    /// The residual stream, normalized if there is a norm, as input of `consumers`. Products with a
    /// single token and packed dot products apply the norm themselves, those on matrix units get
    /// 16-bit floats.
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
        if !norm.is_plain_rms() {
            self.norm(norm, &scratch.residual, &scratch.normed, 0)?;
            return Ok(LinearInput::f32(&scratch.normed));
        }
        if self.shape.tokens == 1 && !self.features.native_kernels {
            return Ok(LinearInput { norm: Some(norm), ..LinearInput::f32(&scratch.residual) });
        }
        // Adapters read the normalized rows themselves.
        let reads_normed = |linear: &DeviceLinear| {
            linear.adapters.is_some() || !self.runs_on_packed_dot(&linear.matrix, self.shape.tokens)
        };
        if !consumers.iter().any(reads_normed) {
            self.flush_partial_sums()?;
            self.state.input_changed();
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

    /// The input of a router or of a shared expert: the residual stream after its own norm, or
    /// `rows`.
    fn own_input<'n>(&mut self, norm: Option<&DeviceNorm>, rows: &'n RowBuffer) -> Result<LinearInput<'n>, Error>
    where
        'a: 'n,
    {
        let scratch = self.scratch;
        let Some(norm) = norm else { return Ok(LinearInput::f32(rows)) };
        self.norm(norm, &scratch.residual, &scratch.parallel, 0)?;
        Ok(LinearInput::f32(&scratch.parallel))
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
