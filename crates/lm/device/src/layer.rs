//! Layers with their weights on a device, and the builder that uploads them.

use std::sync::Arc;

use roci_hal::{BufferDesc, BufferRange};
use roci_kernels::params::{LmAttention, LmLinear, LmRopeKvStore};
use roci_lm::architecture::blocks::{
    Activation, Attention, FeedForward, FeedForwardKind, GatedFeedForward, Layer, Linear, Mixer, Norm, Rope, RopeStyle,
    SharedExpert, Vector,
};

use crate::delta_net::DeviceDeltaNet;
use crate::kernel_id::KernelId;
use crate::options::CacheType;
use crate::weights::{DeviceMatrix, FileSegments, MatrixRows, Storage, WeightLoader};
use crate::{Error, Options, SMALL_BATCH};

/// Weights of an RMS norm.
#[derive(Clone)]
pub(crate) struct DeviceNorm {
    pub(crate) weight: BufferRange,
    pub(crate) epsilon: f32,
}

/// A matrix with an optional bias, whose results are columns of a row of the output.
#[derive(Clone)]
pub(crate) struct DeviceLinear {
    pub(crate) matrix: DeviceMatrix,
    pub(crate) bias: Option<BufferRange>,
    /// Column of the first result.
    pub(crate) offset: usize,
}

/// Gate and up projections of a feed-forward block.
#[derive(Clone)]
pub(crate) enum GateUp {
    /// Gate and up rows interleaved in one matrix: the product applies the activation itself.
    Interleaved(DeviceLinear),
    /// Separate products. The results of the up projection follow those of the gate.
    Separate(Vec<DeviceLinear>),
}

impl GateUp {
    pub(crate) fn products(&self) -> &[DeviceLinear] {
        match self {
            Self::Interleaved(product) => std::slice::from_ref(product),
            Self::Separate(products) => products,
        }
    }
}

/// An attention block.
#[derive(Clone)]
pub(crate) struct DeviceAttention {
    pub(crate) norm: Option<DeviceNorm>,
    /// Query, key and value projections, and that of the output gate: one product if their types
    /// are the same.
    pub(crate) qkv: Vec<DeviceLinear>,
    /// Column of the first gate of the heads' outputs.
    pub(crate) output_gate: Option<usize>,
    /// Constants of the rotary embedding, without those of a step.
    pub(crate) heads: LmRopeKvStore,
    pub(crate) head_norms: Option<BufferRange>,
    pub(crate) rotations: BufferRange,
    /// Constants of attention, without those of a step.
    pub(crate) attention: LmAttention,
    /// KV pages of this layer.
    pub(crate) keys: BufferRange,
    pub(crate) values: BufferRange,
    pub(crate) output: DeviceLinear,
    pub(crate) post_norm: Option<DeviceNorm>,
}

/// The matrices of a mixture of experts, stacked over all experts.
#[derive(Clone)]
pub(crate) struct DeviceExperts {
    pub(crate) router: DeviceLinear,
    /// Gate and up rows, interleaved.
    pub(crate) gate_up: DeviceMatrix,
    pub(crate) down: DeviceMatrix,
    /// Total number of experts.
    pub(crate) count: usize,
    /// Experts per token.
    pub(crate) experts_per_token: usize,
}

/// An expert for all tokens.
#[derive(Clone)]
pub(crate) struct DeviceSharedExpert {
    pub(crate) gate_up: GateUp,
    pub(crate) down: DeviceLinear,
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
    pub(crate) kind: DeviceFeedForwardKind,
    /// [`LmLinear::SILU`] or [`LmLinear::GELU`].
    pub(crate) activation: u32,
    /// Length of the activated vector.
    pub(crate) width: usize,
    /// Only beside experts.
    pub(crate) shared: Option<DeviceSharedExpert>,
    pub(crate) post_norm: Option<DeviceNorm>,
}

/// The part of a layer that reads earlier tokens.
#[derive(Clone)]
pub(crate) enum DeviceMixer {
    Attention(DeviceAttention),
    DeltaNet(DeviceDeltaNet),
}

/// A layer with its weights, and with its KV cache or its recurrent states.
#[derive(Clone)]
pub(crate) struct DeviceLayer {
    pub(crate) mixer: DeviceMixer,
    pub(crate) feed_forward: DeviceFeedForward,
}

/// The final norm and the output matrix.
#[derive(Clone)]
pub(crate) struct DeviceHead {
    pub(crate) norm: DeviceNorm,
    pub(crate) output: DeviceLinear,
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
        let [shard] = &self.output.matrix.shards[..] else { return None };
        let Storage::Planar { codes, scales, format } = &shard.storage else { return None };
        let kernel = KernelId::embed(*format)?;
        Some(DeviceEmbedding { kernel, codes, scales, rows: shard.rows, columns: self.output.matrix.columns, scale })
    }
}

/// Uploads the layers of one device.
pub(crate) struct LayerBuilder<'a> {
    pub(crate) loader: WeightLoader<'a>,
    pub(crate) options: &'a Options,
    /// Context length in tokens.
    context: usize,
    /// KV pages.
    pages: usize,
    /// Rotation tables uploaded so far.
    rotations: Vec<(Arc<Rope>, BufferRange)>,
}

impl<'a> LayerBuilder<'a> {
    pub(crate) fn new(loader: WeightLoader<'a>, options: &'a Options, context: usize, pages: usize) -> Self {
        Self { loader, options, context, pages, rotations: Vec::new() }
    }

    /// Waits until all uploads are complete.
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.loader.finish()
    }

    pub(crate) fn norm(&self, norm: &Norm) -> Result<DeviceNorm, Error> {
        let weight = rms_weight(norm)?;
        Ok(DeviceNorm { weight: self.loader.vectors(&[(Some(weight), weight.values.len())])?, epsilon: norm.epsilon })
    }

    fn optional_norm(&self, norm: Option<&Norm>) -> Result<Option<DeviceNorm>, Error> {
        norm.map(|norm| self.norm(norm)).transpose()
    }

    pub(crate) fn linear(&self, linear: &Linear, offset: usize) -> Result<DeviceLinear, Error> {
        let matrix = self.loader.matrix(&MatrixRows::stacked(vec![&linear.matrix]))?;
        Ok(DeviceLinear { matrix, bias: self.loader.biases(&[linear])?, offset })
    }

    /// Linear layers with a common input and concatenated results. Consecutive ones of the same type
    /// become one matrix.
    pub(crate) fn concatenated(&self, linears: &[&Linear]) -> Result<Vec<DeviceLinear>, Error> {
        let mut products = Vec::new();
        let (mut rest, mut offset) = (linears, 0);
        while !rest.is_empty() {
            let (linears, others) = rest.split_at(self.same_type(rest)?);
            let matrices: Vec<_> = linears.iter().map(|linear| &linear.matrix).collect();
            let outputs: usize = matrices.iter().map(|matrix| matrix.outputs()).sum();
            let matrix = self.loader.matrix(&MatrixRows::stacked(matrices))?;
            products.push(DeviceLinear { matrix, bias: self.loader.biases(linears)?, offset });
            offset += outputs;
            rest = others;
        }
        Ok(products)
    }

    /// How many linear layers from the first on can become one matrix.
    fn same_type(&self, linears: &[&Linear]) -> Result<usize, Error> {
        // More could not stay in the file.
        let max = if self.loader.native_kernels { FileSegments::MAX } else { linears.len() };
        let matrices: Vec<_> = linears.iter().map(|linear| &linear.matrix).take(max).collect();
        let mut count = 1;
        while count < matrices.len() && self.loader.have_same_type(&matrices[..=count])? {
            count += 1;
        }
        Ok(count)
    }

    pub(crate) fn layer(&mut self, layer: &Layer) -> Result<DeviceLayer, Error> {
        let mixer = match &layer.mixer {
            Mixer::Attention(block) => DeviceMixer::Attention(self.attention(block)?),
            Mixer::DeltaNet(block) => DeviceMixer::DeltaNet(self.delta_net(block)?),
        };
        Ok(DeviceLayer { mixer, feed_forward: self.feed_forward(&layer.feed_forward)? })
    }

    fn attention(&mut self, block: &Attention) -> Result<DeviceAttention, Error> {
        let step = match self.options.cache {
            CacheType::F16 => 4,
            CacheType::Q8 => 32,
        };
        let max = LmRopeKvStore::LONGEST as usize;
        for length in [block.key_length, block.value_length] {
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
        let head_norms = block
            .head_norms
            .as_ref()
            .map(|norms| {
                let length = block.key_length;
                let [query, key] = [rms_weight(&norms.query)?, rms_weight(&norms.key)?];
                self.loader.vectors(&[(Some(query), length), (Some(key), length)])
            })
            .transpose()?;
        let interleaved = if block.rope.style == RopeStyle::Interleaved { LmRopeKvStore::INTERLEAVED } else { 0 };
        let norms = if head_norms.is_some() { LmRopeKvStore::NORMS } else { 0 };
        let stride = block.heads * block.key_length + block.kv_heads * (block.key_length + block.value_length);
        let count = |value: usize| value as u32;
        let projections: Vec<&Linear> =
            [&block.query, &block.key, &block.value].into_iter().chain(&block.output_gate).collect();
        Ok(DeviceAttention {
            norm: self.optional_norm(block.norm.as_ref())?,
            qkv: self.concatenated(&projections)?,
            output_gate: block.output_gate.as_ref().map(|_| stride),
            heads: LmRopeKvStore {
                used: 0,
                part_stride: 0,
                tokens: 0,
                heads: count(block.heads),
                kv_heads: count(block.kv_heads),
                key_length: count(block.key_length),
                value_length: count(block.value_length),
                pairs: count(block.rope.frequencies.len()),
                flags: interleaved | norms,
                stride: count(stride),
                page: count(self.options.page_size),
                epsilon: block.head_norms.as_ref().map_or(0.0, |norms| norms.query.epsilon),
            },
            head_norms,
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
                window: block.window.unwrap_or(0),
                ..LmAttention::default()
            },
            keys: self.kv_pages(block.kv_heads, block.key_length)?,
            values: self.kv_pages(block.kv_heads, block.value_length)?,
            output: self.linear(&block.output, 0)?,
            post_norm: self.optional_norm(block.post_norm.as_ref())?,
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
        let (kind, width) = match &block.kind {
            FeedForwardKind::Dense(gated) => {
                let gate_up = self.gate_up(gated)?;
                (
                    DeviceFeedForwardKind::Dense { gate_up, down: self.linear(&gated.down, 0)? },
                    gated.gate.matrix.outputs(),
                )
            }
            FeedForwardKind::Experts { router, experts, routing } => {
                let Some(first) = experts.first() else {
                    return Err(Error::file("a mixture of experts has no experts"));
                };
                let gated: Vec<&GatedFeedForward> = experts.iter().collect();
                let router = self.linear(router, 0)?;
                // CPU-only kernels do not support experts: the WGSL kernels' layout is used.
                let native_kernels = std::mem::replace(&mut self.loader.native_kernels, false);
                let matrices = self.expert_gate_up(&gated).and_then(|gate_up| {
                    let downs: Vec<_> = gated.iter().map(|gated| &gated.down.matrix).collect();
                    Ok((gate_up, self.loader.matrix(&MatrixRows::stacked(downs))?))
                });
                self.loader.native_kernels = native_kernels;
                let (gate_up, down) = matrices?;
                let experts = DeviceExperts {
                    router,
                    gate_up,
                    down,
                    count: experts.len(),
                    experts_per_token: routing.experts_per_token,
                };
                (DeviceFeedForwardKind::Experts(experts), first.gate.matrix.outputs())
            }
        };
        if block.shared.is_some() && matches!(kind, DeviceFeedForwardKind::Dense { .. }) {
            return Err(Error::file("a shared expert beside a dense network is not supported"));
        }
        Ok(DeviceFeedForward {
            norm: self.optional_norm(block.norm.as_ref())?,
            kind,
            shared: block.shared.as_ref().map(|shared| self.shared_expert(shared)).transpose()?,
            activation: match block.activation {
                Activation::Silu => LmLinear::SILU,
                Activation::Gelu => LmLinear::GELU,
                // `support` refuses the others.
                Activation::ReluSquared | Activation::SwigluOai => {
                    return Err(Error::file("the activation is not supported"));
                }
            },
            width,
            post_norm: self.optional_norm(block.post_norm.as_ref())?,
        })
    }

    fn shared_expert(&self, block: &SharedExpert) -> Result<DeviceSharedExpert, Error> {
        Ok(DeviceSharedExpert {
            gate_up: self.gate_up(&block.network)?,
            down: self.linear(&block.network.down, 0)?,
            gate: block.gate.as_ref().map(|gate| self.linear(gate, 0)).transpose()?,
            width: block.network.gate.matrix.outputs(),
        })
    }

    /// Gate and up projections of a dense block, interleaved if one product can compute both.
    fn gate_up(&self, gated: &GatedFeedForward) -> Result<GateUp, Error> {
        let linears: Vec<&Linear> = gated.gate_up().collect();
        let matrices: Vec<_> = linears.iter().map(|linear| &linear.matrix).collect();
        let biased = linears.iter().any(|linear| linear.bias.is_some());
        if self.loader.native_kernels || biased || !self.loader.have_same_type(&matrices)? {
            return Ok(GateUp::Separate(self.concatenated(&linears)?));
        }
        let matrix = self.loader.matrix(&MatrixRows::interleaved(&[gated]))?;
        Ok(GateUp::Interleaved(DeviceLinear { matrix, bias: None, offset: 0 }))
    }

    /// Gate and up projections of all experts: interleaved, one expert after the other.
    fn expert_gate_up(&self, experts: &[&GatedFeedForward]) -> Result<DeviceMatrix, Error> {
        let linears = experts.iter().copied().flat_map(GatedFeedForward::gate_up);
        let matrices: Vec<_> = linears.map(|linear| &linear.matrix).collect();
        if !self.loader.have_same_type(&matrices)? {
            return Err(Error::file("the experts' matrices have different types"));
        }
        self.loader.matrix(&MatrixRows::interleaved(experts))
    }
}

/// The weights of an RMS norm. `support` refuses other norms.
pub(crate) fn rms_weight(norm: &Norm) -> Result<&Vector, Error> {
    norm.weight.as_ref().ok_or_else(|| Error::file("norms without weights are not supported"))
}
