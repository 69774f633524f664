//! Scratch memory of one device, which all steps share.

use roci_hal::{BufferDesc, BufferRange, Device};
use roci_kernels::native::lm_cpu;
use roci_kernels::params::LmLinear;
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{Attention, DeltaNet, FeedForwardKind, Layer};

use crate::delta_net::projected_columns;
use crate::features::Features;
use crate::pack::GROUP;
use crate::{Error, SMALL_BATCH};

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
    /// Experts per token; 0 for dense models.
    experts_per_token: usize,
    /// Length of a shared expert's activated vector; 0 without one.
    shared: usize,
    /// The longest input of a product.
    columns: usize,
    /// Length of the uploaded rows: embeddings, or what a prediction head projects.
    staged: usize,
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
        let max_delta_net = |of: &dyn Fn(&DeltaNet) -> usize| max(&|layer| layer.delta_net().map_or(0, of));
        let heads = max_delta_net(&|block| block.heads * block.length);
        let attended = max_attention(&|block| block.heads * block.value_length).max(heads);
        let gated = max_attention(&|block| match block.output_gate {
            Some(_) => block.heads * block.value_length,
            None => 0,
        });
        let shared =
            max(&|layer| layer.feed_forward.shared.as_ref().map_or(0, |shared| shared.network.gate.matrix.outputs()));
        let activated = max(&|layer| match &layer.feed_forward.kind {
            FeedForwardKind::Dense(gated) => gated.gate.matrix.outputs(),
            FeedForwardKind::Experts { experts, .. } => experts.first().map_or(0, |gated| gated.gate.matrix.outputs()),
        });
        let gate_up = max(&|layer| match &layer.feed_forward.kind {
            FeedForwardKind::Dense(gated) => 2 * gated.gate.matrix.outputs(),
            FeedForwardKind::Experts { experts, .. } => experts.len(),
        })
        .max(2 * shared);
        let experts_per_token = max(&|layer| match &layer.feed_forward.kind {
            FeedForwardKind::Dense(_) => 0,
            FeedForwardKind::Experts { routing, .. } => routing.experts_per_token,
        });
        let embedding = model.config.embedding;
        // A prediction head projects an embedding and a hidden state, which are uploaded to `qkv`.
        let predicted = if model.prediction_input.is_some() { 2 * embedding } else { 0 };
        let qkv = max_attention(&|block| {
            let gate = block.output_gate.as_ref().map_or(0, |gate| gate.matrix.outputs());
            block.heads * block.key_length + block.kv_heads * (block.key_length + block.value_length) + gate
        })
        .max(max_delta_net(&projected_columns))
        .max(predicted);
        let predicted = if predicted > 0 { qkv } else { 0 };
        Self {
            tokens,
            output_rows,
            input_words,
            kv_splits,
            embedding,
            vocabulary: model.config.vocabulary,
            qkv,
            convolved: max_delta_net(&|block| block.convolution.channels()),
            attended,
            gated: gated.max(heads),
            split: max_attention(&|block| block.heads * (block.value_length + 2)),
            activated,
            gate_up,
            experts_per_token,
            shared,
            columns: embedding.max(attended).max(activated).max(shared).max(predicted),
            staged: embedding.max(predicted),
            features,
        }
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
        self.staged_residual_offset() + 4 * (self.tokens * Self::stride(self.staged)) as u64
    }

    /// Bytes of the buffer for read-backs.
    pub(crate) fn readback(&self) -> u64 {
        let residual = self.tokens * Self::stride(self.embedding);
        4 * residual.max(self.output_rows * Self::stride(self.vocabulary)) as u64
    }

    /// Rows and stride of each row buffer, in the order of [`Scratch`].
    fn floats(&self) -> [(usize, usize); 15] {
        let (tokens, pairs) = (self.tokens, self.tokens * self.experts_per_token.max(1));
        let padded = |rows: usize, length: usize| (rows, Self::stride(length));
        let shared = |length: usize| if self.shared > 0 { padded(tokens, length) } else { (0, GROUP) };
        [
            padded(tokens, self.embedding),
            padded(tokens, self.embedding),
            padded(tokens, self.qkv),
            padded(tokens, self.convolved),
            padded(tokens, self.attended),
            padded(tokens, self.gated),
            padded(pairs, self.activated),
            padded(tokens, self.gate_up),
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
        ]
    }

    fn quantized(&self) -> u64 {
        if self.features.native_kernels {
            lm_cpu::activation_bytes(self.tokens.max(self.output_rows), self.columns) as u64
        } else {
            16
        }
    }

    fn ones(&self) -> u64 {
        match (self.features.coopmat, self.shared > 0) {
            (true, _) => 4 * u64::from(LmLinear::COOPMAT_PARTS) * self.tokens as u64,
            (false, true) => 4 * self.tokens as u64,
            (false, false) => 16,
        }
    }

    fn f16(&self) -> u64 {
        if self.features.coopmat {
            2 * (self.tokens.max(self.output_rows) * Self::stride(self.columns)) as u64
        } else {
            16
        }
    }

    fn attention_splits(&self) -> u64 {
        4 * (SMALL_BATCH.min(self.tokens) * self.kv_splits * self.split) as u64
    }

    /// Bytes of each buffer on the device.
    pub(crate) fn arrays(&self) -> Vec<u64> {
        let floats = self.floats().map(|(rows, stride)| 4 * (rows * stride) as u64);
        let others = [4 * self.input_words as u64, self.quantized(), self.f16(), self.ones(), self.attention_splits()];
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
    /// Queries, keys, values, and what else a mixer projects its input to.
    pub(crate) qkv: RowBuffer,
    /// Queries, keys and values after a convolution.
    pub(crate) convolved: RowBuffer,
    /// Output of attention, or of a recurrence.
    pub(crate) attended: RowBuffer,
    /// The same after an output gate.
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
    /// Results of attention over splits of the KV cache.
    pub(crate) attention_splits: BufferRange,
    /// Input of a product on the CPU, quantized to 8 bits.
    pub(crate) quantized: BufferRange,
    /// Input of a product on matrix units, as 16-bit floats.
    pub(crate) f16: BufferRange,
    /// Experts of each token.
    pub(crate) expert_ids: BufferRange,
    /// Weights of the experts of each token.
    pub(crate) expert_weights: BufferRange,
    /// Bound where a kernel does not read a binding.
    pub(crate) unused: BufferRange,
    /// A weight of one for each partial sum of each token, or for each token.
    pub(crate) ones: BufferRange,
    /// Offset of the residual stream in the staging buffer, in bytes.
    pub(crate) staged_residual_offset: u64,
    /// Embedding length.
    pub(crate) embedding: usize,
}

impl Scratch {
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
            ],
        ) = <[RowBuffer; 15]>::try_from(rows_of)
        else {
            return Err(Error::file("the scratch sizes do not match the scratch buffers"));
        };
        let pairs = 4 * (sizes.tokens * sizes.experts_per_token) as u64;
        let scratch = Self {
            inputs: zeroed(4 * sizes.input_words as u64)?,
            attention_splits: zeroed(sizes.attention_splits())?,
            quantized: zeroed(sizes.quantized())?,
            f16: zeroed(sizes.f16())?,
            expert_ids: zeroed(pairs)?,
            expert_weights: zeroed(pairs)?,
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
            staged_residual_offset: sizes.staged_residual_offset(),
            embedding: sizes.embedding,
        };
        let done = device.semaphore(0);
        device.queue(0)?.submit(&recorder.finish()?, roci_hal::Submit::new().signal(&done, 1).label("scratch"))?;
        done.wait(1, roci_hal::Deadline::default())?;
        let ones = vec![1f32; scratch.ones.length() as usize / 4];
        device.write(scratch.ones.clone(), bytemuck::cast_slice(&ones))?;
        Ok(scratch)
    }
}
