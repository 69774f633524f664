//! Memory of one device that steps work in.

use roci_hal::{BufferDesc, BufferRange, Device};
use roci_kernels::native::lm;
use roci_kernels::params::LmLinear;
use roci_llm::architecture::Model;
use roci_llm::architecture::blocks::FeedForwardKind;

use crate::Error;
use crate::pack::GROUP;

/// Rows of floats.
#[derive(Clone)]
pub(crate) struct Rows {
    pub(crate) range: BufferRange,
    /// Floats between rows, whole groups; what lies behind a row's numbers is zero.
    pub(crate) stride: usize,
}

impl Rows {
    /// Bytes of so many rows.
    pub(crate) fn bytes(&self, rows: usize) -> u64 {
        4 * (rows * self.stride) as u64
    }
}

/// How large everything is.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    pub(crate) tokens: usize,
    pub(crate) rows: usize,
    pub(crate) words: usize,
    pub(crate) splits: usize,
    embedding: usize,
    vocabulary: usize,
    qkv: usize,
    attended: usize,
    partials: usize,
    inner: usize,
    both: usize,
    /// Experts that a token takes; 0 without.
    used: usize,
    columns: usize,
    host: bool,
    matrix: bool,
}

impl Sizes {
    pub(crate) fn new(
        model: &Model,
        tokens: usize,
        rows: usize,
        words: usize,
        splits: usize,
        (host, matrix): (bool, bool),
    ) -> Self {
        let most = |of: &dyn Fn(&roci_llm::architecture::blocks::Layer) -> usize| {
            model.layers.iter().map(of).max().unwrap_or(0)
        };
        let attended = most(&|layer| layer.attention.heads * layer.attention.value_length);
        let inner = most(&|layer| match &layer.feed_forward.kind {
            FeedForwardKind::Dense(gated) => gated.gate.matrix.outputs(),
            FeedForwardKind::Experts { experts, .. } => experts.first().map_or(0, |gated| gated.gate.matrix.outputs()),
        });
        let both = most(&|layer| match &layer.feed_forward.kind {
            FeedForwardKind::Dense(gated) => 2 * gated.gate.matrix.outputs(),
            FeedForwardKind::Experts { experts, .. } => experts.len(),
        });
        let used = most(&|layer| match &layer.feed_forward.kind {
            FeedForwardKind::Dense(_) => 0,
            FeedForwardKind::Experts { used, .. } => *used,
        });
        let embedding = model.config.embedding;
        Self {
            tokens,
            rows,
            words,
            splits,
            embedding,
            vocabulary: model.config.vocabulary,
            qkv: most(&|layer| {
                let block = &layer.attention;
                block.heads * block.key_length + block.kv_heads * (block.key_length + block.value_length)
            }),
            attended,
            partials: most(&|layer| layer.attention.heads * (layer.attention.value_length + 2)),
            inner,
            both,
            used,
            columns: embedding.max(attended).max(inner),
            host,
            matrix,
        }
    }

    fn stride(length: usize) -> usize {
        length.next_multiple_of(GROUP)
    }

    /// Where the state lies in the buffer by which it is brought.
    fn state_at(&self) -> u64 {
        (4 * self.words as u64).next_multiple_of(256)
    }

    /// Bytes of the buffer by which inputs are brought.
    pub(crate) fn staging(&self) -> u64 {
        self.state_at() + 4 * (self.tokens * Self::stride(self.embedding)) as u64
    }

    /// Bytes of the buffer in which results come back.
    pub(crate) fn answer(&self) -> u64 {
        let state = self.tokens * Self::stride(self.embedding);
        4 * state.max(self.rows * Self::stride(self.vocabulary)) as u64
    }

    /// Floats of each array, in the order of [`Scratch`].
    fn floats(&self) -> [(usize, usize); 10] {
        let (tokens, pairs) = (self.tokens, self.tokens * self.used.max(1));
        let all = |rows: usize, length: usize| (rows, Self::stride(length));
        [
            all(tokens, self.embedding),
            all(tokens, self.embedding),
            all(tokens, self.qkv),
            all(tokens, self.attended),
            all(pairs, self.inner),
            all(tokens, self.both),
            if self.used > 0 { all(pairs, self.embedding) } else { (0, GROUP) },
            all(self.rows, self.embedding),
            all(self.rows, self.vocabulary),
            if self.matrix {
                all(tokens, LmLinear::MATRIX_PARTS as usize * Self::stride(self.embedding))
            } else {
                (0, GROUP)
            },
        ]
    }

    fn quantised(&self) -> u64 {
        if self.host { lm::activation_bytes(self.tokens.max(self.rows), self.columns) as u64 } else { 16 }
    }

    fn ones(&self) -> u64 {
        if self.matrix { 4 * u64::from(LmLinear::MATRIX_PARTS) * self.tokens as u64 } else { 16 }
    }

    fn halves(&self) -> u64 {
        if self.matrix { 2 * (self.tokens.max(self.rows) * Self::stride(self.columns)) as u64 } else { 16 }
    }

    fn partials(&self) -> u64 {
        4 * (crate::FEW_TOKENS.min(self.tokens) * self.splits * self.partials) as u64
    }

    /// Bytes of each array on the device.
    pub(crate) fn arrays(&self) -> Vec<u64> {
        let floats = self.floats().map(|(rows, stride)| 4 * (rows * stride) as u64);
        let others = [4 * self.words as u64, self.quantised(), self.halves(), self.ones(), self.partials()];
        floats.into_iter().chain(others).collect()
    }

    /// Bytes of all on the device.
    pub(crate) fn bytes(&self) -> u64 {
        self.arrays().iter().sum()
    }
}

/// The arrays that steps work in.
#[derive(Clone)]
pub(crate) struct Scratch {
    /// Where tokens stand, and their pages.
    pub(crate) inputs: BufferRange,
    /// What passes from layer to layer.
    pub(crate) state: Rows,
    /// The same, normed; also what a part gives before it is normed and added.
    pub(crate) normed: Rows,
    /// Queries, keys and values.
    pub(crate) qkv: Rows,
    /// What attention gives.
    pub(crate) attended: Rows,
    /// What the down projection reads.
    pub(crate) inner: Rows,
    /// Gates and their partners side by side, or scores of experts.
    pub(crate) both: Rows,
    /// What experts give.
    pub(crate) given: Rows,
    /// The last norm of the wanted rows.
    pub(crate) last: Rows,
    /// Their logits.
    pub(crate) logits: Rows,
    /// Parts of the products of matrix units.
    pub(crate) parts: Rows,
    /// Splits of attention.
    pub(crate) partials: BufferRange,
    /// Activations as whole numbers.
    pub(crate) quantised: BufferRange,
    /// Activations as 16-bit floats.
    pub(crate) halves: BufferRange,
    /// Experts of each token.
    pub(crate) chosen: BufferRange,
    /// Their shares.
    pub(crate) shares: BufferRange,
    /// Bound where a kernel reads nothing.
    pub(crate) nothing: BufferRange,
    /// As many ones as parts have rows.
    pub(crate) ones: BufferRange,
    pub(crate) state_at: u64,
    pub(crate) embedding: usize,
}

impl Scratch {
    pub(crate) fn new(device: &Device, sizes: &Sizes) -> Result<Self, Error> {
        let mut recorder = device.record();
        let mut zeroed = |bytes: u64| -> Result<BufferRange, Error> {
            let size = bytes.max(16).next_multiple_of(16);
            let range = device.allocate(BufferDesc::device(size).label("scratch"))?.whole();
            recorder.fill(&range, 0)?;
            Ok(range)
        };
        let mut arrays = Vec::new();
        for (rows, stride) in sizes.floats() {
            arrays.push(Rows { range: zeroed(4 * (rows * stride) as u64)?, stride });
        }
        let Ok([state, normed, qkv, attended, inner, both, given, last, logits, parts]) =
            <[Rows; 10]>::try_from(arrays)
        else {
            return Err(Error::file("the sizes have other arrays than the scratch"));
        };
        let pairs = 4 * (sizes.tokens * sizes.used) as u64;
        let scratch = Self {
            inputs: zeroed(4 * sizes.words as u64)?,
            partials: zeroed(sizes.partials())?,
            quantised: zeroed(sizes.quantised())?,
            halves: zeroed(sizes.halves())?,
            chosen: zeroed(pairs)?,
            shares: zeroed(pairs)?,
            nothing: zeroed(16)?,
            ones: zeroed(sizes.ones())?,
            state,
            normed,
            qkv,
            attended,
            inner,
            both,
            given,
            last,
            logits,
            parts,
            state_at: sizes.state_at(),
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
