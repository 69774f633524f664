//! Layers with their weights on a device, and the builder that uploads them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use roci_hal::{BufferDesc, BufferRange};
use roci_kernels::params::{LmAttention, LmGlu, LmLinear, LmRopeKvStore};
use roci_lm::architecture::blocks::{
    Activation, Attention, FeedForward, FeedForwardKind, GatedFeedForward, Layer, Linear, Mixer, Norm, Rope, RopeStyle,
    SharedExpert,
};

use crate::adapters::DeviceAdapters;
use crate::delta_net::DeviceDeltaNet;
use crate::experts::DeviceExperts;
use crate::kernel_id::KernelId;
use crate::latent::DeviceLatent;
use crate::norms::DeviceNorm;
use crate::options::CacheType;
use crate::per_layer::DevicePerLayer;
use crate::recurrent::{DeviceConvolution, DeviceGatedConvolution, DeviceStateSpace};
use crate::selective_scan::DeviceSelectiveScan;
use crate::streams::{DeviceLowRank, DeviceStreamMixing};
use crate::time_mix::DeviceTimeMix;
use crate::weights::{DeviceMatrix, FileSegments, MatrixRows, Storage, WeightLoader};
use crate::{Error, Options, SMALL_BATCH};

/// A matrix with an optional bias, whose results are columns of a row of the output.
#[derive(Clone)]
pub(crate) struct DeviceLinear {
    pub(crate) matrix: DeviceMatrix,
    pub(crate) bias: Option<BufferRange>,
    /// Column of the first result.
    pub(crate) offset: usize,
    /// What adapters add to the results.
    pub(crate) adapters: Option<Arc<DeviceAdapters>>,
}

/// Gate and up projections of a feed-forward block.
#[derive(Clone)]
pub(crate) enum GateUp {
    /// Gate and up rows interleaved in one matrix: the product applies the activation itself.
    Interleaved(DeviceLinear),
    /// Separate products. The results of the up projection follow those of the gate.
    Separate(Vec<DeviceLinear>),
    /// One product: the network has no gate.
    Plain(DeviceLinear),
}

impl GateUp {
    pub(crate) fn products(&self) -> &[DeviceLinear] {
        match self {
            Self::Interleaved(product) | Self::Plain(product) => std::slice::from_ref(product),
            Self::Separate(products) => products,
        }
    }
}

/// An attention block.
#[derive(Clone)]
pub(crate) struct DeviceAttention {
    pub(crate) norm: Option<DeviceNorm>,
    /// Query, key and value projections, and that of the output gate: one product if their types
    /// are the same. With a latent, those to the rotated part of keys and to the latent.
    pub(crate) qkv: Vec<DeviceLinear>,
    /// Column of the first head's output gate.
    pub(crate) output_gate: Option<usize>,
    /// Constants of the rotary embedding, without those of a step.
    pub(crate) heads: LmRopeKvStore,
    /// Norms of queries and of keys, if a norm spans all heads of a token.
    pub(crate) row_norms: Option<[DeviceNorm; 2]>,
    /// Weights of the norms of query heads, then of key heads, then attention sinks.
    pub(crate) head_norms: Option<BufferRange>,
    pub(crate) sinks: Option<BufferRange>,
    pub(crate) rotations: BufferRange,
    /// Constants of attention, without those of a step.
    pub(crate) attention: LmAttention,
    /// Whether image rows may attend to later rows of their image.
    pub(crate) bidirectional_images: bool,
    /// KV pages of this layer.
    pub(crate) keys: BufferRange,
    pub(crate) values: BufferRange,
    pub(crate) output: DeviceLinear,
    pub(crate) post_norm: Option<DeviceNorm>,
    /// Multi-head latent attention. The values are in the pages of the keys.
    pub(crate) latent: Option<Box<DeviceLatent>>,
}

/// An expert that all tokens use.
#[derive(Clone)]
pub(crate) struct DeviceSharedExpert {
    pub(crate) gate_up: GateUp,
    pub(crate) down: DeviceLinear,
    /// Norm of the residual stream as the input; if `None`, the input is that of the block.
    pub(crate) norm: Option<DeviceNorm>,
    pub(crate) post_norm: Option<DeviceNorm>,
    /// Projection to the gate of the output.
    pub(crate) gate: Option<DeviceLinear>,
    /// Length of the activated vector.
    pub(crate) width: usize,
}

/// The matrices of a feed-forward block.
#[derive(Clone)]
pub(crate) enum DeviceFeedForwardKind {
    Dense { gate_up: GateUp, down: DeviceLinear },
    Experts(DeviceExperts),
}

/// A feed-forward block.
#[derive(Clone)]
pub(crate) struct DeviceFeedForward {
    pub(crate) norm: Option<DeviceNorm>,
    /// Token shift of the normalized input.
    pub(crate) token_shift: Option<DeviceConvolution>,
    /// Projection to the gate of the output, and the factor of the residual stream after it. Only
    /// with a token shift.
    pub(crate) output_gate: Option<(DeviceLinear, f32)>,
    pub(crate) kind: DeviceFeedForwardKind,
    pub(crate) activation: DeviceActivation,
    /// Standard deviations above the mean from which on gates are activated.
    pub(crate) sparsity: Option<f32>,
    /// Length of the activated vector.
    pub(crate) width: usize,
    /// Only with experts.
    pub(crate) shared: Option<DeviceSharedExpert>,
    /// Norm of the experts' sum, before the output of the shared expert is added.
    pub(crate) experts_norm: Option<DeviceNorm>,
    pub(crate) post_norm: Option<DeviceNorm>,
}

/// An activation, in the encodings of the kernels that apply it.
#[derive(Clone, Copy)]
pub(crate) struct DeviceActivation {
    /// Flag of [`LmLinear`]; `None` if products cannot apply it.
    pub(crate) linear: Option<u32>,
    /// The corresponding constant of [`LmGlu`].
    pub(crate) glu: u32,
}

impl DeviceActivation {
    pub(crate) fn of(activation: Activation) -> Self {
        match activation {
            Activation::Silu => Self { linear: Some(LmLinear::SILU), glu: LmGlu::SILU },
            Activation::Gelu => Self { linear: Some(LmLinear::GELU), glu: LmGlu::GELU },
            Activation::ReluSquared => Self { linear: None, glu: LmGlu::RELU_SQUARED },
            Activation::SwigluOai => Self { linear: Some(LmLinear::SWIGLU_OAI), glu: LmGlu::SWIGLU_OAI },
        }
    }
}

/// A part of a layer that mixes tokens.
#[derive(Clone)]
pub(crate) enum DeviceMixer {
    Attention(DeviceAttention),
    DeltaNet(DeviceDeltaNet),
    GatedConvolution(DeviceGatedConvolution),
    StateSpace(DeviceStateSpace),
    SelectiveScan(DeviceSelectiveScan),
    TimeMix(Box<DeviceTimeMix>),
}

/// A layer with its weights, and its KV cache or recurrent states.
#[derive(Clone)]
pub(crate) struct DeviceLayer {
    /// All mixers read the same residual stream.
    pub(crate) mixers: Vec<DeviceMixer>,
    pub(crate) feed_forward: Option<DeviceFeedForward>,
    /// Set if mixer and feed-forward read the same residual stream.
    pub(crate) parallel: Option<ParallelNorms>,
    /// Norms of the residual stream after the mixer and after feed-forward.
    pub(crate) stream_norms: [Option<DeviceNorm>; 2],
    /// Per-layer embeddings: the input that only this layer reads.
    pub(crate) per_layer: Option<DevicePerLayer>,
    /// Branch beside attention.
    pub(crate) low_rank: Option<DeviceLowRank>,
    /// How the layer reads and writes several residual streams.
    pub(crate) streams: Option<DeviceStreamMixing>,
    /// Matrices that every token reads from the file, because the model exceeds the memory.
    pub(crate) in_file: Vec<BufferRange>,
}

/// Norms of a mixer and a feed-forward block that read the same residual stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParallelNorms {
    /// One norm for both.
    Shared,
    /// Each block has its own norm.
    Own,
}

/// The final norm and the output matrix.
#[derive(Clone)]
pub(crate) struct DeviceHead {
    pub(crate) norm: DeviceNorm,
    /// `None` for models without logits.
    pub(crate) output: Option<DeviceLinear>,
    /// See [`DeviceLayer::in_file`].
    pub(crate) in_file: Vec<BufferRange>,
    /// Scale of the embeddings, if the output matrix is also the embedding matrix and the first
    /// layer is on this device.
    pub(crate) tied_embedding_scale: Option<f32>,
}

/// The embedding matrix of a device that looks embeddings up itself.
pub(crate) struct DeviceEmbedding<'a> {
    pub(crate) kernel: KernelId,
    pub(crate) codes: &'a BufferRange,
    pub(crate) scales: &'a BufferRange,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) scale: f32,
}

impl DeviceHead {
    /// The embedding matrix, if the device looks up the embeddings of this number of tokens. For a
    /// small batch an upload is faster.
    pub(crate) fn embedding(&self, tokens: usize) -> Option<DeviceEmbedding<'_>> {
        let scale = self.tied_embedding_scale.filter(|_| tokens > SMALL_BATCH)?;
        let matrix = &self.output.as_ref()?.matrix;
        let [shard] = &matrix.shards[..] else { return None };
        let Storage::Planar { codes, scales, format } = &shard.storage else { return None };
        let kernel = KernelId::embed(*format)?;
        Some(DeviceEmbedding { kernel, codes, scales, rows: shard.rows, columns: matrix.columns, scale })
    }
}

/// Uploads the layers of one device.
pub(crate) struct LayerBuilder<'a> {
    pub(crate) loader: WeightLoader<'a>,
    /// The CPU, if it computes the experts of some layers.
    pub(crate) host: Option<WeightLoader<'a>>,
    /// Whether `host` computes the experts of the current layer.
    pub(crate) experts_on_host: bool,
    pub(crate) options: &'a Options,
    /// Context length in tokens.
    context: usize,
    /// KV pages.
    pages: usize,
    /// Rotation tables uploaded so far.
    rotations: Vec<(Arc<Rope>, BufferRange)>,
    /// KV pages of the layers that are already uploaded.
    caches: Vec<Option<[BufferRange; 2]>>,
    /// Tensors so far that adapters change.
    pub(crate) adapted: RefCell<BTreeSet<String>>,
}

impl<'a> LayerBuilder<'a> {
    pub(crate) fn new(loader: WeightLoader<'a>, options: &'a Options, context: usize, pages: usize) -> Self {
        Self {
            loader,
            host: None,
            experts_on_host: false,
            options,
            context,
            pages,
            rotations: Vec::new(),
            caches: Vec::new(),
            adapted: RefCell::default(),
        }
    }

    /// Waits until all uploads are complete. Returns the tensors that adapters change.
    pub(crate) fn finish(self) -> Result<BTreeSet<String>, Error> {
        self.host.iter().try_for_each(WeightLoader::finish)?;
        self.loader.finish()?;
        Ok(self.adapted.into_inner())
    }

    pub(crate) fn linear(&self, linear: &Linear, offset: usize) -> Result<DeviceLinear, Error> {
        self.linear_of(linear, self.loader.matrix(&MatrixRows::stacked(vec![&linear.matrix]))?, offset)
    }

    /// A linear layer whose F32 weights are not rounded, because small differences of its results
    /// matter.
    pub(crate) fn exact_linear(&self, linear: &Linear, offset: usize) -> Result<DeviceLinear, Error> {
        self.linear_of(linear, self.loader.exact_matrix(&MatrixRows::stacked(vec![&linear.matrix]))?, offset)
    }

    fn linear_of(&self, linear: &Linear, matrix: DeviceMatrix, offset: usize) -> Result<DeviceLinear, Error> {
        let adapters = self.adapters(&[linear], offset)?;
        Ok(DeviceLinear { matrix, bias: self.loader.biases(&[linear])?, offset, adapters })
    }

    /// Linear layers with a common input and concatenated results. Consecutive ones of the same type
    /// become one matrix.
    pub(crate) fn concatenated(&self, linears: &[&Linear]) -> Result<Vec<DeviceLinear>, Error> {
        self.concatenated_with(linears, |rows| self.loader.matrix(rows))
    }

    /// [`concatenated`](Self::concatenated) for inputs of a recurrence, which adds up their errors:
    /// F32 weights are not rounded.
    pub(crate) fn exact_concatenated(&self, linears: &[&Linear]) -> Result<Vec<DeviceLinear>, Error> {
        self.concatenated_with(linears, |rows| self.loader.exact_matrix(rows))
    }

    fn concatenated_with(
        &self,
        linears: &[&Linear],
        load: impl Fn(&MatrixRows<'_>) -> Result<DeviceMatrix, Error>,
    ) -> Result<Vec<DeviceLinear>, Error> {
        let mut products = Vec::new();
        let (mut rest, mut offset) = (linears, 0);
        while !rest.is_empty() {
            let (linears, others) = rest.split_at(self.same_type(rest)?);
            let matrices: Vec<_> = linears.iter().map(|linear| &linear.matrix).collect();
            let outputs: usize = matrices.iter().map(|matrix| matrix.outputs()).sum();
            let matrix = load(&MatrixRows::stacked(matrices))?;
            let adapters = self.adapters(linears, offset)?;
            products.push(DeviceLinear { matrix, bias: self.loader.biases(linears)?, offset, adapters });
            offset += outputs;
            rest = others;
        }
        Ok(products)
    }

    /// Number of leading linear layers that can become one matrix.
    fn same_type(&self, linears: &[&Linear]) -> Result<usize, Error> {
        // Only this many can stay in the file.
        let max = if self.loader.native_kernels { FileSegments::MAX } else { linears.len() };
        let matrices: Vec<_> = linears.iter().map(|linear| &linear.matrix).take(max).collect();
        let mut count = 1;
        while count < matrices.len() && self.loader.have_same_type(&matrices[..=count])? {
            count += 1;
        }
        Ok(count)
    }

    pub(crate) fn layer(&mut self, layer: &Layer) -> Result<DeviceLayer, Error> {
        let mixers = layer.mixers.iter().map(|mixer| self.mixer(mixer)).collect::<Result<Vec<_>, _>>()?;
        self.caches.push(mixers.iter().find_map(|mixer| match mixer {
            DeviceMixer::Attention(block) => Some([block.keys.clone(), block.values.clone()]),
            _ => None,
        }));
        let mut feed_forward = layer.feed_forward.as_ref().map(|block| self.feed_forward(block)).transpose()?;
        let mixer_norm = layer.attention().and_then(|block| block.norm.as_ref());
        let norm = layer.feed_forward.as_ref().and_then(|block| block.norm.as_ref());
        let parallel = layer.parallel.then_some(match norm == mixer_norm {
            true => ParallelNorms::Shared,
            false => ParallelNorms::Own,
        });
        let norms = [&layer.stream_norms.mixer, &layer.stream_norms.feed_forward];
        let length = |norm: &Norm| norm.weight.as_ref().map_or(0, |weight| weight.values.len());
        let [after_mixer, after_feed_forward] =
            norms.map(|norm| norm.as_ref().map(|norm| self.norm(norm, length(norm))).transpose());
        let stream_norms = [after_mixer?, after_feed_forward?];
        let index = self.caches.len() - 1;
        let mut per_layer = layer.per_layer.as_ref().map(|block| self.per_layer(block, index)).transpose()?;
        if let Some(scale) = &layer.output_scale {
            // The last norm of the layer adds its result to the residual stream and can scale the
            // sum.
            let last_of_block = feed_forward.as_mut().and_then(|block| block.post_norm.as_mut());
            let last = per_layer.as_mut().map(|block| &mut block.post_norm).or(last_of_block);
            let last = last.filter(|norm| norm.is_plain_rms());
            let last = last.ok_or_else(|| Error::file("a layer with a scale has no RMS norm at its end"))?;
            last.factor = self.loader.host_floats(scale)?.first().copied().unwrap_or(1.0);
        }
        let low_rank = layer.low_rank.as_ref().map(|block| self.low_rank(block)).transpose()?;
        let streams = layer.streams.as_ref().map(|block| self.stream_mixing(block)).transpose()?;
        let in_file = self.loader.take_in_file();
        Ok(DeviceLayer { mixers, feed_forward, parallel, stream_norms, per_layer, low_rank, streams, in_file })
    }

    fn mixer(&mut self, mixer: &Mixer) -> Result<DeviceMixer, Error> {
        Ok(match mixer {
            Mixer::Attention(block) => DeviceMixer::Attention(self.attention(block)?),
            Mixer::DeltaNet(block) => DeviceMixer::DeltaNet(self.delta_net(block, self.states(mixer)?)?),
            Mixer::GatedConvolution(block) => {
                DeviceMixer::GatedConvolution(self.gated_convolution(block, self.states(mixer)?)?)
            }
            Mixer::StateSpace(block) => DeviceMixer::StateSpace(self.state_space(block, self.states(mixer)?)?),
            Mixer::DynamicTimeMix(block) => {
                DeviceMixer::TimeMix(Box::new(self.dynamic_time_mix(block, self.states(mixer)?)?))
            }
            Mixer::TimeMix(block) => {
                let states = self.states(mixer)?;
                DeviceMixer::TimeMix(Box::new(self.time_mix(block, self.caches.is_empty(), states)?))
            }
            Mixer::SelectiveScan(block) => DeviceMixer::SelectiveScan(self.selective_scan(block, self.states(mixer)?)?),
        })
    }

    fn attention(&mut self, block: &Attention) -> Result<DeviceAttention, Error> {
        let step = match self.options.cache {
            CacheType::F16 => 4,
            CacheType::Q8 => 32,
        };
        let max = [LmRopeKvStore::LONGEST, LmAttention::LONGEST_VALUE].map(|length| length as usize);
        for (length, max) in [block.key_length, block.value_length].into_iter().zip(max) {
            if !length.is_multiple_of(step) || length > max {
                let cache = self.options.cache;
                return Err(Error::File {
                    message: format!(
                        "head size {length} is not supported by the {cache} KV cache, which takes multiples of {step} up to {max}"
                    ),
                    hint: (step != 4).then(|| "use an f16 KV cache (`--cache-type f16`)".to_owned()),
                });
            }
        }
        let sinks = block.sinks.as_ref().map(|sinks| self.loader.host_floats(sinks)).transpose()?;
        let head_norms = self.head_norms(block, sinks.as_deref())?;
        let interleaved = if block.rope.style == RopeStyle::Interleaved { LmRopeKvStore::INTERLEAVED } else { 0 };
        let embedding = block.output.matrix.outputs();
        // Heads whose keys and values the block computes.
        let stored_heads = if block.kv_layer.is_some() { 0 } else { block.kv_heads };
        let stride = block.heads * block.key_length + stored_heads * (block.key_length + block.value_length);
        let count = |value: usize| value as u32;
        let projections: Vec<&Linear> = match block.latent {
            None => block.inputs().collect(),
            Some(_) => vec![&block.key, &block.value],
        };
        let values = match (block.kv_layer, &block.value_norm) {
            (Some(_), _) => LmRopeKvStore::SHARED,
            (None, Some(_)) => LmRopeKvStore::VALUE_NORMS,
            (None, None) => 0,
        };
        let [keys, value_pages] = match block.kv_layer {
            None if block.latent.is_some() => {
                let keys = self.kv_pages(block.kv_heads, block.key_length)?;
                [keys.clone(), keys]
            }
            None => {
                [self.kv_pages(block.kv_heads, block.key_length)?, self.kv_pages(block.kv_heads, block.value_length)?]
            }
            Some(layer) => self.caches.get(layer).cloned().flatten().ok_or_else(|| {
                Error::file(format!("the keys and values of layer {layer} are not on the same device"))
            })?,
        };
        Ok(DeviceAttention {
            norm: self.optional_norm(block.norm.as_ref(), embedding)?,
            qkv: self.concatenated(&projections)?,
            output_gate: block.output_gate.as_ref().map(|_| stride),
            heads: LmRopeKvStore {
                used: 0,
                part_stride: 0,
                tokens: 0,
                heads: count(block.heads),
                kv_heads: count(stored_heads),
                key_length: count(block.key_length),
                value_length: count(block.value_length),
                pairs: count(block.rope.frequencies.len()),
                flags: interleaved | head_norms.flags | values,
                stride: count(stride),
                page: count(self.options.page_size),
                epsilon: head_norms.epsilon,
                temperature_scale: block.temperature.map_or(0.0, |temperature| temperature.scale),
                temperature_interval: block.temperature.map_or(0, |temperature| temperature.interval),
                temperature_offset: block.temperature.map_or(0, |temperature| temperature.offset),
            },
            row_norms: self.row_norms(block)?,
            head_norms: head_norms.weights,
            sinks: sinks.map(|sinks| self.loader.padded_floats(sinks)).transpose()?,
            rotations: self.rotations(&block.rope)?,
            attention: LmAttention {
                heads: count(block.heads),
                kv_heads: count(block.kv_heads),
                key_length: count(block.key_length),
                value_length: count(block.value_length),
                q_stride: count(stride),
                page: count(self.options.page_size),
                splits: 1,
                scale: block.scale,
                soft_cap: block.soft_cap.unwrap_or(0.0),
                // Non-causal: half of the window before the token and half after it.
                window: block.window.map_or(0, |window| if block.causal { window } else { window / 2 + 1 }),
                after: block.window.filter(|_| !block.causal).map_or(0, |window| window / 2),
                alibi_heads: if block.alibi.is_some() { 1 << block.heads.max(1).ilog2() } else { 0 },
                alibi: block.alibi.unwrap_or(0.0) / (1u32 << block.heads.max(1).ilog2()) as f32,
                sinks: u32::from(block.sinks.is_some()),
                chunk: block.chunk.unwrap_or(0),
                values_in_keys: u32::from(block.latent.is_some()),
                ..LmAttention::default()
            },
            bidirectional_images: block.bidirectional_images,
            keys,
            values: value_pages,
            output: self.linear(&block.output, 0)?,
            post_norm: self.optional_norm(block.post_norm.as_ref(), embedding)?,
            latent: block.latent.as_ref().map(|latent| self.latent(block, latent)).transpose()?.map(Box::new),
        })
    }

    fn kv_pages(&self, heads: usize, length: usize) -> Result<BufferRange, Error> {
        let bytes = self.options.cache.bytes(length) * heads as u64 * (self.options.page_size * self.pages) as u64;
        let buffer = self.loader.device.allocate(BufferDesc::device(bytes.next_multiple_of(16)).label("KV cache"))?;
        Ok(buffer.whole())
    }

    /// The table of cosines and sines of each dimension pair at each position.
    fn rotations(&mut self, rope: &Arc<Rope>) -> Result<BufferRange, Error> {
        if let Some((_, range)) = self.rotations.iter().find(|(uploaded, _)| uploaded == rope) {
            return Ok(range.clone());
        }
        let mut table = Vec::with_capacity(self.context * rope.frequencies.len() * 2);
        for position in 0..self.context {
            for frequency in &rope.frequencies {
                let (sine, cosine) = (position as f64 * f64::from(*frequency)).sin_cos();
                table.extend([cosine as f32 * rope.magnitude, sine as f32 * rope.magnitude]);
            }
        }
        if table.is_empty() {
            // Kernels may read an element even if there are no pairs.
            table.extend([1.0, 0.0]);
        }
        let range = self.loader.floats(&table)?;
        self.rotations.push((Arc::clone(rope), range.clone()));
        Ok(range)
    }

    fn feed_forward(&mut self, block: &FeedForward) -> Result<DeviceFeedForward, Error> {
        let activation = DeviceActivation::of(block.activation);
        let (kind, width) = match &block.kind {
            FeedForwardKind::Dense(gated) => {
                let gate_up = self.gate_up(gated, activation, block.sparsity.is_some())?;
                (
                    DeviceFeedForwardKind::Dense { gate_up, down: self.linear(&gated.down, 0)? },
                    gated.gate.matrix.outputs(),
                )
            }
            FeedForwardKind::Experts { router, experts, routing } => {
                let Some(first) = experts.first() else {
                    return Err(Error::file("a mixture of experts has no experts"));
                };
                let experts = self.experts(router, experts, routing)?;
                (DeviceFeedForwardKind::Experts(experts), first.gate.matrix.outputs())
            }
        };
        let embedding = match &block.kind {
            FeedForwardKind::Dense(gated) => gated.down.matrix.outputs(),
            FeedForwardKind::Experts { router, .. } => router.matrix.columns,
        };
        if block.shared.is_some() && matches!(kind, DeviceFeedForwardKind::Dense { .. }) {
            return Err(Error::file("a shared expert beside a dense network is not supported"));
        }
        Ok(DeviceFeedForward {
            norm: self.optional_norm(block.norm.as_ref(), embedding)?,
            token_shift: match &block.token_shift {
                Some(shift) => Some(self.channel_shift(shift, block.output_gate.as_ref())?),
                None => None,
            },
            output_gate: match &block.output_gate {
                Some(gate) => Some((self.linear(&gate.projection, 0)?, gate.factor)),
                None => None,
            },
            kind,
            shared: block.shared.as_ref().map(|shared| self.shared_expert(shared, activation)).transpose()?,
            activation,
            sparsity: block.sparsity,
            width,
            experts_norm: self.optional_norm(block.experts_norm.as_ref(), embedding)?,
            post_norm: self.optional_norm(block.post_norm.as_ref(), embedding)?,
        })
    }

    fn shared_expert(&self, block: &SharedExpert, activation: DeviceActivation) -> Result<DeviceSharedExpert, Error> {
        Ok(DeviceSharedExpert {
            gate_up: self.gate_up(&block.network, activation, false)?,
            down: self.linear(&block.network.down, 0)?,
            norm: self.optional_norm(block.norm.as_ref(), block.network.gate.matrix.columns)?,
            post_norm: self.optional_norm(block.post_norm.as_ref(), block.network.down.matrix.outputs())?,
            gate: block.gate.as_ref().map(|gate| self.linear(gate, 0)).transpose()?,
            width: block.network.gate.matrix.outputs(),
        })
    }

    /// Gate and up projections of a dense block, interleaved if one product can compute both.
    fn gate_up(&self, gated: &GatedFeedForward, activation: DeviceActivation, sparse: bool) -> Result<GateUp, Error> {
        if gated.up.is_none() {
            return self.linear(&gated.gate, 0).map(GateUp::Plain);
        }
        let linears: Vec<&Linear> = gated.gate_up().collect();
        let matrices: Vec<_> = linears.iter().map(|linear| &linear.matrix).collect();
        let biased = linears.iter().any(|linear| linear.bias.is_some());
        // What adapters add comes before the activation.
        let adapted = self.options.adapters.iter().any(|one| one.changes(&linears));
        let separate = self.loader.native_kernels || biased || sparse || adapted || activation.linear.is_none();
        if separate || !self.loader.have_same_type(&matrices)? {
            return Ok(GateUp::Separate(self.concatenated(&linears)?));
        }
        let matrix = self.loader.matrix(&MatrixRows::interleaved(&[gated]))?;
        Ok(GateUp::Interleaved(DeviceLinear { matrix, bias: None, offset: 0, adapters: None }))
    }
}
