//! Layers with their weights on a device, and the builder that uploads them.

use std::collections::BTreeMap;
use std::sync::Arc;

use roci_hal::{BufferDesc, BufferRange};
use roci_kernels::params::{LmAttention, LmGlu, LmLinear, LmMoeTopK, LmRopeKvStore};
use roci_lm::architecture::blocks::{
    Activation, Attention, ExpertScores, FeedForward, FeedForwardKind, Gated, HeadNorms, Layer, Linear, Norm, NormKind,
    NormSpan, Rope, RopeStyle, Routing, Vector,
};

use crate::kernel_id::KernelId;
use crate::options::CacheType;
use crate::weights::{DeviceMatrix, MatrixRows, Storage, WeightLoader};
use crate::{Error, Options, SMALL_BATCH};

/// Weights of a norm.
#[derive(Clone)]
pub(crate) struct DeviceNorm {
    pub(crate) kind: NormKind,
    /// Of a layer norm with biases, these are behind the weights.
    pub(crate) weight: BufferRange,
    pub(crate) biased: bool,
    pub(crate) epsilon: f32,
}

impl DeviceNorm {
    /// Whether it is an RMS norm without biases, which other kernels can include.
    pub(crate) fn is_plain_rms(&self) -> bool {
        self.kind == NormKind::Rms && !self.biased
    }
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

/// An attention block.
#[derive(Clone)]
pub(crate) struct DeviceAttention {
    pub(crate) norm: Option<DeviceNorm>,
    /// Query, key and value projections: one product if their types are the same.
    pub(crate) qkv: Vec<DeviceLinear>,
    /// Constants of the rotary embedding, without those of a step.
    pub(crate) heads: LmRopeKvStore,
    /// Norms of queries and keys of all heads of a token.
    pub(crate) row_norms: Option<[DeviceNorm; 2]>,
    /// Weights of the norms of query and key heads, then attention sinks.
    pub(crate) head_norms: Option<BufferRange>,
    pub(crate) sinks: Option<BufferRange>,
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
    /// Bias of the router for the choice.
    pub(crate) selection_bias: Option<BufferRange>,
    /// Constants of the choice, without those of a step.
    pub(crate) routing: LmMoeTopK,
    /// Gate and up rows, interleaved.
    pub(crate) gate_up: DeviceMatrix,
    pub(crate) gate_up_bias: Option<BufferRange>,
    pub(crate) down: DeviceMatrix,
    pub(crate) down_bias: Option<BufferRange>,
    /// Total number of experts.
    pub(crate) count: usize,
    /// Experts per token.
    pub(crate) used: usize,
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
    pub(crate) activation: DeviceActivation,
    /// Length of the activated vector.
    pub(crate) width: usize,
    /// Whether dense networks have a gate.
    pub(crate) gated: bool,
    pub(crate) post_norm: Option<DeviceNorm>,
}

/// An activation, as flags of the kernels that apply it.
#[derive(Clone, Copy)]
pub(crate) struct DeviceActivation {
    /// Flag of [`LmLinear`]; `None` if products do not apply it.
    pub(crate) linear: Option<u32>,
    /// Activation of [`LmGlu`].
    pub(crate) glu: u32,
}

impl DeviceActivation {
    fn of(activation: Activation) -> Self {
        match activation {
            Activation::Silu => Self { linear: Some(LmLinear::SILU), glu: LmGlu::SILU },
            Activation::Gelu => Self { linear: Some(LmLinear::GELU), glu: LmGlu::GELU },
            Activation::ReluSquared => Self { linear: None, glu: LmGlu::RELU_SQUARED },
            Activation::SwigluOai => Self { linear: Some(LmLinear::SWIGLU_OAI), glu: LmGlu::SWIGLU_OAI },
        }
    }
}

/// A layer with its weights and its KV cache.
#[derive(Clone)]
pub(crate) struct DeviceLayer {
    pub(crate) attention: DeviceAttention,
    pub(crate) feed_forward: DeviceFeedForward,
    /// Whether both blocks read the same residual stream.
    pub(crate) parallel: Option<ParallelNorms>,
}

/// The norms of blocks that read the same residual stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParallelNorms {
    /// One for both.
    Shared,
    /// One each.
    Own,
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
    loader: WeightLoader<'a>,
    options: &'a Options,
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
        let Some(weight) = &norm.weight else {
            return Err(Error::file("norms without weights are not supported"));
        };
        let length = weight.values.len();
        let vectors: Vec<_> = norm.vectors().map(|vector| (Some(vector), length)).collect();
        Ok(DeviceNorm {
            kind: norm.kind,
            weight: self.loader.vectors(&vectors)?,
            biased: norm.bias.is_some(),
            epsilon: norm.epsilon,
        })
    }

    fn optional_norm(&self, norm: Option<&Norm>) -> Result<Option<DeviceNorm>, Error> {
        norm.map(|norm| self.norm(norm)).transpose()
    }

    pub(crate) fn linear(&self, linear: &Linear, offset: usize) -> Result<DeviceLinear, Error> {
        let matrix = self.loader.matrix(&MatrixRows::stacked(vec![&linear.matrix]))?;
        Ok(DeviceLinear { matrix, bias: self.loader.biases(&[linear])?, offset })
    }

    /// Linear layers with a common input and concatenated results: one matrix if all have the same
    /// type.
    fn concatenated(&self, linears: &[&Linear]) -> Result<Vec<DeviceLinear>, Error> {
        let matrices: Vec<_> = linears.iter().map(|linear| &linear.matrix).collect();
        if self.loader.have_same_type(&matrices)? {
            let matrix = self.loader.matrix(&MatrixRows::stacked(matrices))?;
            return Ok(vec![DeviceLinear { matrix, bias: self.loader.biases(linears)?, offset: 0 }]);
        }
        let mut offset = 0;
        let mut products = Vec::new();
        for linear in linears {
            products.push(self.linear(linear, offset)?);
            offset += linear.matrix.outputs();
        }
        Ok(products)
    }

    pub(crate) fn layer(&mut self, layer: &Layer) -> Result<DeviceLayer, Error> {
        let Some(attention) = layer.attention() else {
            return Err(Error::file("recurrent layers are not supported"));
        };
        let parallel = layer.parallel.then_some(match layer.feed_forward.norm == attention.norm {
            true => ParallelNorms::Shared,
            false => ParallelNorms::Own,
        });
        let feed_forward = self.feed_forward(&layer.feed_forward)?;
        Ok(DeviceLayer { attention: self.attention(attention)?, feed_forward, parallel })
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
        let head_norms = block.head_norms.as_ref().filter(|norms| norms.span == NormSpan::Head);
        let row_norms = block.head_norms.as_ref().filter(|norms| norms.span == NormSpan::Row);
        let flags = [
            (block.rope.style == RopeStyle::Interleaved, LmRopeKvStore::INTERLEAVED),
            (head_norms.is_some(), LmRopeKvStore::NORMS),
            (head_norms.is_some_and(|norms| norms.after_rope), LmRopeKvStore::AFTER_ROPE),
            (block.sinks.is_some(), LmRopeKvStore::SINKS),
        ];
        let sinks = block.sinks.as_ref().map(|sinks| self.loader.vectors(&[(Some(sinks), block.heads)]));
        let stride = block.heads * block.key_length + block.kv_heads * (block.key_length + block.value_length);
        let count = |value: usize| value as u32;
        Ok(DeviceAttention {
            norm: self.optional_norm(block.norm.as_ref())?,
            qkv: self.concatenated(&[&block.query, &block.key, &block.value])?,
            heads: LmRopeKvStore {
                used: 0,
                part_stride: 0,
                tokens: 0,
                heads: count(block.heads),
                kv_heads: count(block.kv_heads),
                key_length: count(block.key_length),
                value_length: count(block.value_length),
                pairs: count(block.rope.frequencies.len()),
                flags: flags.iter().filter(|(set, _)| *set).map(|(_, flag)| flag).sum(),
                stride: count(stride),
                page: count(self.options.page_size),
                epsilon: head_norms.map_or(0.0, |norms| norms.query.epsilon),
                temperature_scale: block.temperature.map_or(0.0, |temperature| temperature.scale),
                temperature_interval: block.temperature.map_or(0, |temperature| temperature.interval),
                temperature_offset: block.temperature.map_or(0, |temperature| temperature.offset),
            },
            row_norms: match row_norms {
                Some(norms) => Some([self.norm(&norms.query)?, self.norm(&norms.key)?]),
                None => None,
            },
            head_norms: self.head_norms(block, head_norms)?,
            sinks: sinks.transpose()?,
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
                sinks: u32::from(block.sinks.is_some()),
                ..LmAttention::default()
            },
            keys: self.kv_pages(block.kv_heads, block.key_length)?,
            values: self.kv_pages(block.kv_heads, block.value_length)?,
            output: self.linear(&block.output, 0)?,
            post_norm: self.optional_norm(block.post_norm.as_ref())?,
        })
    }

    /// The weights of the norms of query and key heads, then the attention sinks; `None` if there
    /// are neither.
    fn head_norms(&self, block: &Attention, norms: Option<&HeadNorms>) -> Result<Option<BufferRange>, Error> {
        let norms = norms.into_iter().flat_map(|norms| [&norms.query, &norms.key]);
        let mut floats = Vec::new();
        for norm in norms {
            match &norm.weight {
                Some(weight) => floats.extend(self.loader.host_floats(weight)?),
                None => floats.resize(floats.len() + block.key_length, 1.0),
            }
        }
        if let Some(sinks) = &block.sinks {
            floats.extend(self.loader.host_floats(sinks)?);
        }
        if floats.is_empty() { Ok(None) } else { self.loader.floats(&floats).map(Some) }
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
        let mut is_gated = true;
        let (kind, width) = match &block.kind {
            FeedForwardKind::Dense(gated) => {
                is_gated = gated.up.is_some();
                let gate_up = self.gate_up(gated, block.activation)?;
                (
                    DeviceFeedForwardKind::Dense { gate_up, down: self.linear(&gated.down, 0)? },
                    gated.gate.matrix.outputs(),
                )
            }
            FeedForwardKind::Experts { router, experts, routing } => {
                let Some(first) = experts.first() else {
                    return Err(Error::file("a mixture of experts has no experts"));
                };
                let gated: Vec<&Gated> = experts.iter().collect();
                let router = self.linear(router, 0)?;
                // The CPU's own kernels do not support experts: the WGSL kernels' layout is used.
                let host = std::mem::replace(&mut self.loader.host_kernels, false);
                let matrices = self.expert_gate_up(&gated).and_then(|gate_up| {
                    let downs: Vec<_> = gated.iter().map(|gated| &gated.down.matrix).collect();
                    Ok((gate_up, self.loader.matrix(&MatrixRows::stacked(downs))?))
                });
                self.loader.host_kernels = host;
                let (gate_up, down) = matrices?;
                let bias = routing.bias.as_ref().map(|bias| self.loader.vectors(&[(Some(bias), experts.len())]));
                let experts = DeviceExperts {
                    router,
                    selection_bias: bias.transpose()?,
                    routing: routing_constants(routing, experts.len()),
                    gate_up,
                    gate_up_bias: self.expert_biases(&gated, true)?,
                    down,
                    down_bias: self.expert_biases(&gated, false)?,
                    count: experts.len(),
                    used: routing.used,
                };
                (DeviceFeedForwardKind::Experts(experts), first.gate.matrix.outputs())
            }
        };
        Ok(DeviceFeedForward {
            norm: self.optional_norm(block.norm.as_ref())?,
            kind,
            activation: DeviceActivation::of(block.activation),
            width,
            gated: is_gated,
            post_norm: self.optional_norm(block.post_norm.as_ref())?,
        })
    }

    /// Gate and up projections of a dense block, interleaved if one product can compute both.
    fn gate_up(&self, gated: &Gated, activation: Activation) -> Result<GateUp, Error> {
        let linears: Vec<&Linear> = gated.gate_up().collect();
        let matrices: Vec<_> = linears.iter().map(|linear| &linear.matrix).collect();
        let biased = linears.iter().any(|linear| linear.bias.is_some());
        let plain = gated.up.is_none() || DeviceActivation::of(activation).linear.is_none();
        if self.loader.host_kernels || biased || plain || !self.loader.have_same_type(&matrices)? {
            return Ok(GateUp::Separate(self.concatenated(&linears)?));
        }
        let matrix = self.loader.matrix(&MatrixRows::interleaved(&[gated]))?;
        Ok(GateUp::Interleaved(DeviceLinear { matrix, bias: None, offset: 0 }))
    }

    /// The biases of all experts, in the order of the rows of their matrices.
    fn expert_biases(&self, experts: &[&Gated], gate_up: bool) -> Result<Option<BufferRange>, Error> {
        // The experts' biases are parts of the same tensors.
        let mut tensors: BTreeMap<&str, Vec<f32>> = BTreeMap::new();
        let mut floats = Vec::new();
        for expert in experts {
            let linears: Vec<&Linear> = if gate_up { expert.gate_up().collect() } else { vec![&expert.down] };
            let biases: Vec<&Vector> = linears.iter().filter_map(|linear| linear.bias.as_ref()).collect();
            for bias in &biases {
                if !tensors.contains_key(bias.tensor.as_str()) {
                    tensors.insert(&bias.tensor, self.loader.host_tensor(&bias.tensor)?);
                }
            }
            let rows = biases.first().map_or(0, |bias| bias.values.len());
            for row in 0..rows {
                floats.extend(biases.iter().map(|bias| tensors[bias.tensor.as_str()][bias.values.start + row]));
            }
        }
        if floats.is_empty() { Ok(None) } else { self.loader.floats(&floats).map(Some) }
    }

    /// Gate and up projections of all experts: interleaved, one expert after the other.
    fn expert_gate_up(&self, experts: &[&Gated]) -> Result<DeviceMatrix, Error> {
        let linears = experts.iter().copied().flat_map(Gated::gate_up);
        let matrices: Vec<_> = linears.map(|linear| &linear.matrix).collect();
        if !self.loader.have_same_type(&matrices)? {
            return Err(Error::file("the experts' matrices have different types"));
        }
        self.loader.matrix(&MatrixRows::interleaved(experts))
    }
}

/// The constants of the choice of experts.
fn routing_constants(routing: &Routing, experts: usize) -> LmMoeTopK {
    let flags = [
        (routing.scores == ExpertScores::Sigmoid, LmMoeTopK::SIGMOID),
        (routing.normalized, LmMoeTopK::NORMALIZED),
        (routing.bias.is_some(), LmMoeTopK::BIAS),
    ];
    LmMoeTopK {
        tokens: 0,
        experts: experts as u32,
        used: routing.used as u32,
        stride: 0,
        flags: flags.iter().filter(|(set, _)| *set).map(|(_, flag)| flag).sum(),
        scale: routing.scale,
    }
}
