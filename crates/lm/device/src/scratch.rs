//! Scratch memory of one device, which all steps share.

use roci_hal::{BufferDesc, BufferRange, Device, DeviceInfo};
use roci_kernels::native::lm_cpu;
use roci_kernels::params::{LmLinear, LmQuantizeI8};
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{
    Attention, FeedForward, FeedForwardKind, GatedFeedForward, Latent, Layer, Routing,
};

use crate::bindings::max_binding;
use crate::features::Features;
use crate::limits::{MAX_ALIGNMENT, batch_splits};
use crate::pack::GROUP;
use crate::recorder::{ExpertTile, PACKED_DOT_TOKENS};
use crate::recurrent::RecurrentColumns;
use crate::{Error, SMALL_BATCH};

/// Maximum size of a buffer with rows for each pair of a token and an expert: a binding size that
/// every device supports. More pairs are computed in parts.
const MAX_PAIR_BYTES: u64 = 128 << 20;
/// Maximum number of such pairs: the maximum number of workgroups in one dimension of a grid.
const MAX_PAIRS: usize = u16::MAX as usize;

/// A buffer of rows of floats.
#[derive(Clone)]
pub(crate) struct RowBuffer {
    pub(crate) range: BufferRange,
    /// Floats between rows: a multiple of [`GROUP`]. The padding is zero.
    pub(crate) stride: usize,
}

impl RowBuffer {
    /// Bytes of this number of rows.
    pub(crate) fn bytes(&self, rows: usize) -> u64 {
        4 * (rows * self.stride) as u64
    }

    /// The rows from `row` on.
    pub(crate) fn starting_at(&self, row: usize) -> Result<Self, Error> {
        let skipped = self.bytes(row);
        Ok(Self { range: self.range.range(skipped, self.range.length() - skipped)?, stride: self.stride })
    }

    /// Plane `index` of `planes`.
    pub(crate) fn plane(&self, index: usize, planes: usize) -> Result<Self, Error> {
        let bytes = self.range.length() / planes as u64;
        Ok(Self { range: self.range.range(index as u64 * bytes, bytes)?, stride: self.stride })
    }
}

/// Sizes that determine the scratch memory.
#[derive(Clone, Debug)]
pub(crate) struct ScratchSizes {
    /// Maximum number of tokens per step.
    pub(crate) tokens: usize,
    /// Maximum number of output rows per step.
    pub(crate) output_rows: usize,
    /// 32-bit words of inputs.
    pub(crate) input_words: usize,
    /// Maximum number of splits of attention.
    pub(crate) kv_splits: usize,
    embedding: usize,
    vocabulary: usize,
    qkv: usize,
    convolved: usize,
    attended: usize,
    gated: usize,
    /// Floats of one split of attention of a token.
    split: usize,
    activated: usize,
    gate_up: usize,
    /// Heads with projections from and to a latent, and the longest of these.
    latent_heads: usize,
    latent_columns: usize,
    /// Experts per token; 0 for dense models.
    experts_per_token: usize,
    /// Experts of a layer.
    experts: usize,
    /// Maximum number of tokens whose experts are computed together.
    expert_tokens: usize,
    /// Length of a shared expert's activated vector; 0 without one.
    shared: usize,
    /// Whether a layer has parallel blocks, or a router or shared expert with its own norm.
    parallel: bool,
    /// Length of the vector between projections of low rank; 0 without them.
    low_rank: usize,
    /// Number of planes of these vectors and of convolved rows.
    planes: usize,
    /// Whether a layer has experts without a gate.
    ungated_experts: bool,
    /// Whether the inputs of experts are weighted.
    weighted_input: bool,
    /// The longest input of a product.
    columns: usize,
    /// Length of the uploaded rows: embeddings, or the input of a prediction head.
    staged: usize,
    /// Rows of a token that the host uploads besides, one for each of the first layers.
    deepstack_layers: usize,
    /// Maximum length of a row between the two products of adapters.
    adapters: usize,
    features: Features,
}

impl ScratchSizes {
    pub(crate) fn new(
        model: &Model,
        tokens: usize,
        output_rows: usize,
        input_words: usize,
        kv_splits: usize,
        features: Features,
    ) -> Self {
        let max = |of: &dyn Fn(&Layer) -> usize| model.layers.iter().map(of).max().unwrap_or(0);
        let max_attention = |of: &dyn Fn(&Attention) -> usize| max(&|layer| layer.attention().map_or(0, of));
        let max_recurrent = |of: &dyn Fn(RecurrentColumns) -> usize| {
            max(&|layer| layer.mixers.iter().map(|mixer| of(RecurrentColumns::of(mixer))).max().unwrap_or(0))
        };
        let max_feed_forward =
            |of: &dyn Fn(&FeedForward) -> usize| max(&|layer| layer.feed_forward.as_ref().map_or(0, of));
        let values = max_recurrent(&|columns| columns.values);
        let convolved = max_recurrent(&|columns| columns.convolved);
        let attended = max_attention(&|block| block.heads * block.value_length).max(values);
        let gated = max_attention(&|block| match block.output_gate {
            Some(_) => block.heads * block.value_length,
            None => 0,
        });
        let shared =
            max_feed_forward(&|block| block.shared.as_ref().map_or(0, |shared| shared.network.gate.matrix.outputs()));
        let activated = max_feed_forward(&|block| match &block.kind {
            FeedForwardKind::Dense(gated) => gated.gate.matrix.outputs(),
            FeedForwardKind::Experts { experts, .. } => experts.first().map_or(0, |gated| gated.gate.matrix.outputs()),
        });
        let gate_up = max_feed_forward(&|block| match &block.kind {
            FeedForwardKind::Dense(gated) => 2 * gated.gate.matrix.outputs(),
            FeedForwardKind::Experts { experts, .. } => {
                // CPU-only kernels write the gate and up projections of experts side by side; other
                // kernels only write here the up projections of experts without a gate.
                let each = |expert: &GatedFeedForward| match expert.up {
                    Some(_) if features.native_kernels => 2 * expert.gate.matrix.outputs(),
                    Some(_) => 0,
                    None => expert.gate.matrix.outputs(),
                };
                experts.len().max(experts.first().map_or(0, each))
            }
        })
        .max(2 * shared);
        let experts_per_token = max_feed_forward(&|block| match &block.kind {
            FeedForwardKind::Dense(_) => 0,
            FeedForwardKind::Experts { routing, .. } => routing.experts_per_token,
        });
        let experts = max_feed_forward(&|block| match &block.kind {
            FeedForwardKind::Dense(_) => 0,
            FeedForwardKind::Experts { experts, .. } => experts.len(),
        });
        let any_experts = |is: &dyn Fn(&GatedFeedForward, &Routing) -> bool| {
            let blocks = model.layers.iter().filter_map(|layer| layer.feed_forward.as_ref());
            blocks.into_iter().any(|block| match &block.kind {
                FeedForwardKind::Dense(_) => false,
                FeedForwardKind::Experts { experts, routing, .. } => experts.iter().any(|expert| is(expert, routing)),
            })
        };
        let embedding = model.config.embedding;
        // A prediction head projects an embedding and a hidden state, which are uploaded to `qkv`.
        let predicted = if model.prediction_input.is_some() { 2 * embedding } else { 0 };
        let qkv = max_attention(&|block| {
            let gate = block.output_gate.as_ref().map_or(0, |gate| gate.matrix.outputs());
            let query = if block.latent.is_some() { 0 } else { block.heads * block.key_length };
            query + block.kv_heads * (block.key_length + block.value_length) + gate
        })
        .max(max_recurrent(&|columns| columns.projected))
        .max(predicted);
        let predicted = if predicted > 0 { qkv } else { 0 };
        let max_latent = |of: &dyn Fn(&Attention, &Latent) -> usize| {
            max_attention(&|block| block.latent.as_ref().map_or(0, |latent| of(block, latent)))
        };
        let latent_heads = max_latent(&|block, _| block.heads);
        // Queries with a latent, then the outputs of heads.
        let projected = max_latent(&|block, latent| block.heads * latent.query_length.max(latent.output_length));
        // The shorter vector that queries are computed from.
        let query =
            max_latent(&|_, latent| latent.low_rank.as_ref().map_or(0, |query| query.projection.matrix.outputs()));
        let absorbed = max_latent(&|block, _| block.heads * block.key_length).max(query);
        let branch = max(&|layer| layer.low_rank.as_ref().map_or(0, |block| block.down.matrix.outputs()));
        let low_rank = max_recurrent(&|columns| columns.low_rank).max(branch);
        let gated = gated.max(projected);
        let convolved = convolved.max(absorbed);
        Self {
            tokens,
            output_rows,
            input_words,
            kv_splits,
            embedding,
            vocabulary: if model.is_causal() { model.config.vocabulary } else { 0 },
            qkv,
            convolved,
            attended,
            gated: gated.max(values),
            split: max_attention(&|block| block.heads * (block.value_length + 2)),
            activated,
            gate_up,
            latent_heads,
            latent_columns: max_latent(&|block, latent| block.value_length.max(latent.query_length)),
            experts_per_token,
            experts,
            expert_tokens: tokens,
            shared,
            parallel: model.layers.iter().any(|layer| {
                layer.parallel || layer.low_rank.is_some() || layer.feed_forward.as_ref().is_some_and(has_own_inputs)
            }),
            low_rank,
            planes: max_recurrent(&|columns| columns.planes).max(1),
            weighted_input: any_experts(&|_, routing| routing.weighted_input),
            ungated_experts: any_experts(&|expert, _| expert.up.is_none()),
            columns: embedding
                .max(attended)
                .max(activated)
                .max(shared)
                .max(low_rank)
                .max(model.config.per_layer_length.unwrap_or(0))
                .max(predicted)
                .max(max_latent(&|block, latent| block.heads * latent.output_length))
                .max(query),
            staged: embedding.max(predicted),
            deepstack_layers: model.config.deepstack_layers,
            adapters: 0,
            features,
        }
    }

    /// With rows of this length between the two products of adapters.
    pub(crate) fn with_adapters(self, width: usize) -> Self {
        Self { adapters: width, ..self }
    }

    /// Limits the pairs of tokens and experts that are computed together, so that their rows fit
    /// one binding and do not grow with the number of tokens.
    pub(crate) fn with_parts(self, info: &DeviceInfo) -> Self {
        // As in `floats`: other models have no row of `gate_up` per pair.
        let gate_up = if self.features.native_kernels || self.ungated_experts { self.gate_up } else { 0 };
        let columns = Self::stride(self.embedding.max(self.activated).max(gate_up));
        let bytes = 4 * (self.experts_per_token * columns) as u64;
        let most = (max_binding(info).min(MAX_PAIR_BYTES) / bytes.max(1)) as usize;
        let most = most.min(MAX_PAIRS / self.experts_per_token.max(1));
        // The rows and experts of each part begin at an aligned offset.
        let step = (info.binding_alignment / 4).max(1) as usize;
        Self { expert_tokens: self.tokens.min((most / step * step).max(step)), ..self }
    }

    /// Maximum number of pairs of a token and an expert that are computed together.
    fn expert_pairs(&self) -> usize {
        self.expert_tokens * self.experts_per_token
    }

    fn stride(length: usize) -> usize {
        length.next_multiple_of(GROUP)
    }

    /// Offset of the residual stream in the staging buffer, in bytes.
    fn staged_residual_offset(&self) -> u64 {
        (4 * self.input_words as u64).next_multiple_of(256)
    }

    /// Bytes of the staging buffer for inputs.
    pub(crate) fn staging(&self) -> u64 {
        let deepstack = self.deepstack_layers * Self::stride(self.embedding);
        self.staged_residual_offset() + 4 * (self.tokens * (Self::stride(self.staged) + deepstack)) as u64
    }

    /// Bytes of the buffer for read-backs.
    pub(crate) fn readback(&self) -> u64 {
        let residual = self.tokens * Self::stride(self.embedding);
        let outputs = self.output_rows * Self::stride(self.vocabulary.max(self.embedding));
        4 * residual.max(outputs) as u64
    }

    /// Rows and stride of each row buffer, in the order of [`Scratch`].
    fn floats(&self) -> [(usize, usize); 17] {
        // Outputs of dense layers and inputs of the CPU's experts have a row per token.
        let (tokens, pairs) = (self.tokens, self.expert_pairs().max(self.tokens));
        let padded = |rows: usize, length: usize| (rows, Self::stride(length));
        let shared = |length: usize| if self.shared > 0 { padded(tokens, length) } else { (0, GROUP) };
        [
            padded(tokens, self.embedding),
            padded(tokens, self.embedding),
            padded(tokens, self.qkv),
            padded(self.plane_rows(), self.convolved),
            padded(tokens, self.attended),
            padded(tokens, self.gated),
            padded(pairs, self.activated),
            padded(if self.features.native_kernels || self.ungated_experts { pairs } else { tokens }, self.gate_up),
            if self.experts_per_token > 0 { padded(pairs, self.embedding) } else { (0, GROUP) },
            shared(self.shared),
            shared(self.embedding),
            shared(1),
            padded(self.output_rows, self.embedding),
            padded(self.output_rows, self.vocabulary),
            if self.features.coopmat {
                padded(tokens, LmLinear::COOPMAT_PARTS as usize * Self::stride(self.embedding))
            } else {
                (0, GROUP)
            },
            if self.parallel { padded(tokens, self.embedding) } else { (0, GROUP) },
            if self.low_rank > 0 { padded(self.low_rank_rows(), self.low_rank) } else { (0, GROUP) },
        ]
    }

    /// Rows of all low-rank planes. With time mixing, each input has two of them.
    fn low_rank_rows(&self) -> usize {
        if self.planes == 1 { self.tokens } else { 2 * self.plane_rows() }
    }

    /// Rows of all planes of inputs. Each plane is aligned, so that it can be a binding.
    fn plane_rows(&self) -> usize {
        if self.planes == 1 { self.tokens } else { self.planes * self.tokens.next_multiple_of(MAX_ALIGNMENT / GROUP) }
    }

    fn quantized(&self) -> u64 {
        if self.features.native_kernels {
            let rows = lm_cpu::activation_bytes(self.tokens.max(self.output_rows), self.columns);
            let pairs = self.expert_pairs();
            let heads = lm_cpu::activation_bytes(self.head_pairs(), self.latent_columns);
            rows.max(lm_cpu::activation_bytes(pairs, self.activated.max(self.embedding))).max(heads) as u64
        } else if self.features.packed_dot {
            let dense = PACKED_DOT_TOKENS.min(self.tokens) * Self::stride(self.columns);
            // Experts take more tokens, if each has few.
            let inputs = if self.experts > 0 { self.tokens * Self::stride(self.embedding) } else { 0 };
            let pairs = self.expert_pairs().min((PACKED_DOT_TOKENS + 1) * self.experts);
            let heads = self.head_pairs().min((PACKED_DOT_TOKENS + 1) * self.latent_heads);
            let heads = heads * Self::stride(self.latent_columns);
            let groups = dense.max(inputs).max(pairs * self.pair_columns()).max(heads) / GROUP;
            4 * groups as u64 * u64::from(LmQuantizeI8::GROUP_WORDS)
        } else {
            16
        }
    }

    /// Columns of the inputs of experts that each pair of a token and an expert has for itself.
    fn pair_columns(&self) -> usize {
        Self::stride(if self.weighted_input { self.activated.max(self.embedding) } else { self.activated })
    }

    /// Number of pairs of a token and a head with a latent.
    fn head_pairs(&self) -> usize {
        self.tokens * self.latent_heads
    }

    /// Bytes of the tiles of pairs of a token and an expert, and of a token and a head.
    fn tiles(&self) -> [u64; 2] {
        let all = [(self.expert_pairs(), self.experts), (self.head_pairs(), self.latent_heads)];
        all.map(|(pairs, matrices)| match self.features.native_kernels {
            true => 16,
            false => 4 * ExpertTile::max_words(pairs, matrices) as u64,
        })
    }

    fn ones(&self) -> u64 {
        let per_token = [
            if self.features.coopmat { LmLinear::COOPMAT_PARTS as usize } else { 0 },
            // Outputs of a shared expert, and of experts that the CPU computes; inputs of branches beside
            // attention; features of images.
            usize::from(
                self.shared > 0 || self.experts_per_token > 0 || self.low_rank > 0 || self.deepstack_layers > 0,
            ),
            if self.weighted_input { self.experts_per_token } else { 0 },
        ];
        4 * (per_token.into_iter().max().unwrap_or(0) * self.tokens).max(4) as u64
    }

    fn f16(&self) -> u64 {
        if self.features.coopmat {
            let rows = self.tokens.max(self.output_rows) * Self::stride(self.columns);
            let heads = self.head_pairs() * self.latent_columns;
            2 * rows.max(self.expert_pairs() * self.pair_columns()).max(heads) as u64
        } else {
            16
        }
    }

    fn adapters(&self) -> u64 {
        4 * (self.tokens.max(self.output_rows) * self.adapters) as u64
    }

    fn attention_splits(&self) -> u64 {
        let most = SMALL_BATCH.min(self.tokens);
        let splits = [1, most].map(|tokens| tokens * batch_splits(self.kv_splits, tokens));
        4 * (splits[0].max(splits[1]) * self.split) as u64
    }

    fn head_ids(&self) -> u64 {
        4 * self.head_pairs() as u64
    }

    /// Bytes of each buffer on the device.
    pub(crate) fn arrays(&self) -> Vec<u64> {
        let floats = self.floats().map(|(rows, stride)| 4 * (rows * stride) as u64);
        let adapters = self.adapters();
        let [expert_tiles, head_tiles] = self.tiles();
        let others = [
            4 * self.input_words as u64,
            self.quantized(),
            self.f16(),
            self.ones(),
            self.attention_splits(),
            expert_tiles,
            head_tiles,
            adapters,
            adapters,
            self.head_ids(),
        ];
        floats.into_iter().chain(others).collect()
    }

    /// Bytes of all buffers on the device.
    pub(crate) fn bytes(&self) -> u64 {
        self.arrays().iter().sum()
    }
}

/// Scratch memory of one device.
pub(crate) struct Scratch {
    /// Inputs of a step, in the layout of [`StepShape`](crate::shape::StepShape).
    pub(crate) inputs: BufferRange,
    /// The residual stream.
    pub(crate) residual: RowBuffer,
    /// The normalized residual stream; also the output of a block before its post norm.
    pub(crate) normed: RowBuffer,
    /// Queries, keys and values, or the projected inputs of another mixer.
    pub(crate) qkv: RowBuffer,
    /// Queries, keys and values after a convolution; with a latent, absorbed queries; with time
    /// mixing, planes of shifted inputs.
    pub(crate) convolved: RowBuffer,
    /// Output of attention, or of a recurrence.
    pub(crate) attended: RowBuffer,
    /// `attended` after an output gate. With a latent, the projected queries, then the outputs of
    /// heads.
    pub(crate) gated: RowBuffer,
    /// Input of the down projection.
    pub(crate) activated: RowBuffer,
    /// Gate and up projections side by side, or the router's scores.
    pub(crate) gate_up: RowBuffer,
    /// Outputs of experts, a row per pair of token and expert.
    pub(crate) expert_outputs: RowBuffer,
    /// Input of the shared expert's down projection.
    pub(crate) shared_activated: RowBuffer,
    /// Output of the shared expert.
    pub(crate) shared_output: RowBuffer,
    /// Gate of the shared expert, one value per row.
    pub(crate) shared_gates: RowBuffer,
    /// Output rows after the final norm.
    pub(crate) output_hidden: RowBuffer,
    /// Logits of the output rows.
    pub(crate) logits: RowBuffer,
    /// Partial sums of products on matrix units.
    pub(crate) partial_sums: RowBuffer,
    /// The normalized input of a feed-forward block that is parallel to attention, or of a router
    /// or shared expert with its own norm.
    pub(crate) parallel: RowBuffer,
    /// Results of low-rank down projections; with time mixing, planes of them.
    pub(crate) low_rank: RowBuffer,
    /// Results of attention over splits of the KV cache.
    pub(crate) attention_splits: BufferRange,
    /// Input of a product on the CPU, quantized to 8 bits.
    pub(crate) quantized: BufferRange,
    /// Input of a product on matrix units, as 16-bit floats.
    pub(crate) f16: BufferRange,
    /// Experts of each token.
    pub(crate) expert_ids: BufferRange,
    /// Pairs of a token and an expert in tiles, by expert.
    pub(crate) expert_tiles: BufferRange,
    /// Pairs of a token and a head in tiles, by head.
    pub(crate) head_tiles: BufferRange,
    /// Weights of the experts of each token.
    pub(crate) expert_weights: BufferRange,
    /// Maximum number of tokens whose experts are computed together.
    pub(crate) expert_tokens: usize,
    /// Products with the matrices A of adapters, and the same times the scales of the adapters.
    pub(crate) adapters: [BufferRange; 2],
    /// The head of each pair of a token and a head, in models with latents.
    pub(crate) head_ids: BufferRange,
    /// Bound where a kernel does not read a binding.
    pub(crate) unused: BufferRange,
    /// The weight 1 for each partial sum, or each expert, of each token.
    pub(crate) ones: BufferRange,
    /// Offset of the residual stream in the staging buffer, in bytes.
    pub(crate) staged_residual_offset: u64,
    /// Embedding length.
    pub(crate) embedding: usize,
}

impl Scratch {
    /// Start and length in the staging buffer of the rows that are added after a layer, in bytes. They
    /// follow the residual stream.
    pub(crate) fn staged_deepstack_rows(&self, layer: usize, tokens: usize) -> (u64, u64) {
        let bytes = self.residual.bytes(tokens);
        (self.staged_residual_offset + (1 + layer as u64) * bytes, bytes)
    }

    pub(crate) fn new(device: &Device, sizes: &ScratchSizes) -> Result<Self, Error> {
        let mut recorder = device.record();
        let mut zeroed = |bytes: u64| -> Result<BufferRange, Error> {
            let size = bytes.max(16).next_multiple_of(16);
            let range = device.allocate(BufferDesc::device(size).label("scratch"))?.whole();
            recorder.fill(&range, 0)?;
            Ok(range)
        };
        let mut rows_of = Vec::new();
        for (rows, stride) in sizes.floats() {
            rows_of.push(RowBuffer { range: zeroed(4 * (rows * stride) as u64)?, stride });
        }
        let Ok(
            [
                residual,
                normed,
                qkv,
                convolved,
                attended,
                gated,
                activated,
                gate_up,
                expert_outputs,
                shared_activated,
                shared_output,
                shared_gates,
                output_hidden,
                logits,
                partial_sums,
                parallel,
                low_rank,
            ],
        ) = <[RowBuffer; 17]>::try_from(rows_of)
        else {
            return Err(Error::file("the scratch sizes do not match the scratch buffers"));
        };
        let pairs = 4 * (sizes.tokens * sizes.experts_per_token) as u64;
        let [expert_tiles, head_tiles] = sizes.tiles();
        let scratch = Self {
            inputs: zeroed(4 * sizes.input_words as u64)?,
            attention_splits: zeroed(sizes.attention_splits())?,
            quantized: zeroed(sizes.quantized())?,
            f16: zeroed(sizes.f16())?,
            expert_ids: zeroed(pairs)?,
            expert_tiles: zeroed(expert_tiles)?,
            head_tiles: zeroed(head_tiles)?,
            expert_weights: zeroed(pairs)?,
            expert_tokens: sizes.expert_tokens,
            adapters: [zeroed(sizes.adapters())?, zeroed(sizes.adapters())?],
            head_ids: zeroed(sizes.head_ids())?,
            unused: zeroed(16)?,
            ones: zeroed(sizes.ones())?,
            residual,
            normed,
            qkv,
            convolved,
            attended,
            gated,
            activated,
            gate_up,
            expert_outputs,
            shared_activated,
            shared_output,
            shared_gates,
            output_hidden,
            logits,
            partial_sums,
            parallel,
            low_rank,
            staged_residual_offset: sizes.staged_residual_offset(),
            embedding: sizes.embedding,
        };
        let done = device.semaphore(0);
        device.queue(0)?.submit(&recorder.finish()?, roci_hal::Submit::new().signal(&done, 1).label("scratch"))?;
        done.wait(1, roci_hal::Deadline::default())?;
        let ones = vec![1f32; scratch.ones.length() as usize / 4];
        device.write(scratch.ones.clone(), bytemuck::cast_slice(&ones))?;
        if sizes.latent_heads > 0 {
            let heads = sizes.latent_heads as u32;
            let ids: Vec<u32> = (0..sizes.tokens as u32).flat_map(|_| 0..heads).collect();
            device.write(scratch.head_ids.range(0, sizes.head_ids())?, bytemuck::cast_slice(&ids))?;
        }
        Ok(scratch)
    }
}

/// Whether the router or the shared expert has its own norm.
fn has_own_inputs(block: &FeedForward) -> bool {
    let router = match &block.kind {
        FeedForwardKind::Dense(_) => false,
        FeedForwardKind::Experts { routing, .. } => routing.norm.is_some(),
    };
    router || block.shared.as_ref().is_some_and(|shared| shared.norm.is_some() || shared.post_norm.is_some())
}
