//! The interface between the engine and a model on its device.

use std::sync::Arc;

use roci_base::Hint;
use roci_lm::architecture::Pooling;
use roci_lm::architecture::blocks::PooledTokens;
use roci_lm::reference::PooledHead;

use crate::{AdapterSetting, Images};

/// Limits of a loaded model.
// Not `#[non_exhaustive]`: implementations of `Forward` in other crates build it, and each has to
// state every limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Context length in tokens: the longest sequence.
    pub context: usize,
    /// Tokens per KV page.
    pub page_size: usize,
    /// KV pages, shared by all sequences.
    pub pages: usize,
    /// Maximum number of tokens of one call, over all chunks.
    pub max_batch_tokens: usize,
    /// Maximum number of chunks of one call.
    pub max_chunks: usize,
    /// Vocabulary size, which is the length of the logits.
    pub vocabulary: usize,
    /// Length of a hidden state.
    pub embedding: usize,
    /// How hidden states are pooled into the embedding of a sequence.
    pub pooling: Pooling,
    /// The tokens whose hidden states are pooled for an embedding or, with [`Pooling::Rank`], for a
    /// score; `None` if the model computes neither.
    pub pooled: Option<PooledTokens>,
    /// Length of the result of the layers after pooling, if the model has such layers.
    pub outputs: Option<usize>,
    /// Whether tokens attend only to earlier ones. A chunk of a non-causal model must be a whole
    /// sequence, and the model cannot generate text.
    pub causal: bool,
    /// Slots of recurrent state, of one sequence each; 0 if the model has no such layers.
    pub state_slots: usize,
}

/// What a chunk returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// Nothing; used for all but the last chunk of a prompt.
    None,
    /// Logits after the last token.
    LastLogits,
    /// Logits after each token.
    AllLogits,
    /// The hidden state of each token after the final norm.
    HiddenStates,
}

/// Slots of the recurrent state of a sequence.
///
/// A chunk reads its slot before it writes one, so that both may be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateSlots {
    /// Holds the state before the first token of the chunk; `None` at the start of a sequence.
    pub read: Option<u32>,
    /// Receives the state after the last token of the chunk.
    pub write: u32,
}

impl StateSlots {
    /// The slots of a chunk at this position of the only sequence of a model; `None` if the model
    /// has no recurrent layers.
    pub fn of_only_sequence(limits: &Limits, start: usize) -> Option<Self> {
        (limits.state_slots > 0).then_some(Self { read: (start > 0).then_some(0), write: 0 })
    }
}

/// Consecutive tokens of one sequence.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// Token ids; never empty.
    pub tokens: &'a [u32],
    /// Position of the first token in its sequence.
    pub start: usize,
    /// The sequence's page table, from its first token on. It covers all tokens of the chunk:
    /// position `p` is slot `p % page_size` of `pages[p / page_size]`. No chunk writes a page that
    /// another chunk of the call uses.
    pub pages: &'a [u32],
    /// Slots of its recurrent state, for models with such layers. No chunk writes a slot that
    /// another chunk of the call names.
    pub state: Option<StateSlots>,
    /// What the chunk returns.
    pub output: OutputKind,
}

/// Output of a chunk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Rows of logits or hidden states, as many as the chunk's [`OutputKind`] asks for.
    pub rows: Vec<Vec<f32>>,
}

/// Hidden states of the tokens of a chunk, after the final norm.
pub type States = Vec<Vec<f32>>;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ForwardError {
    /// What happened, in one line.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Whether the device is lost. Every later call fails then.
    pub lost: bool,
}

impl Hint for ForwardError {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

/// A model on its device. `DeviceModel` of `roci-lm-device` implements it;
/// [`ReferenceForward`](crate::ReferenceForward) evaluates on the host, for tests.
pub trait Forward: Send {
    /// Limits of the loaded model.
    fn limits(&self) -> &Limits;

    /// Shares the images of prompts with the model. Token ids from
    /// [`FIRST_IMAGE_TOKEN`](crate::FIRST_IMAGE_TOKEN) on are image rows. A model that does not
    /// implement this method supports no images.
    fn attach_images(&mut self, _images: Arc<Images>) {}

    /// For each chunk of the next call, sets how far the images before it lower its rotary
    /// positions: a token's rotary position is its position in the KV cache minus this number.
    fn set_saved_positions(&mut self, _saved: &[u32]) {}

    /// The LoRA adapters of the model, with their default scales.
    fn adapters(&self) -> Vec<AdapterSetting> {
        Vec::new()
    }

    /// Sets, for each chunk of the next call, the scales of all adapters. Without it, the next call
    /// uses the default scales.
    fn set_adapter_scales(&mut self, _scales: &[Arc<[f32]>]) {}

    /// The layers after pooling, if the model has any.
    fn head(&self) -> Option<Arc<PooledHead>> {
        None
    }

    /// Evaluates chunks of different sequences and returns one output per chunk, in order.
    ///
    /// # Errors
    /// If the device fails. KV entries and written states of the chunks are undefined then; other
    /// pages and slots are unchanged unless the device is lost.
    fn evaluate(&mut self, chunks: &[Chunk<'_>]) -> Result<Vec<Output>, ForwardError>;

    /// [`evaluate`](Self::evaluate) that also returns the hidden states of all tokens of each chunk
    /// after the final norm. `before` is the input of a prediction head: for each token of all
    /// chunks, the hidden state of the previous token.
    ///
    /// # Errors
    /// Those of [`evaluate`](Self::evaluate), and if the device does not support this.
    fn evaluate_with_states(
        &mut self,
        chunks: &[Chunk<'_>],
        before: Option<&[Vec<f32>]>,
    ) -> Result<Vec<(Output, States)>, ForwardError> {
        let _ = (chunks, before);
        Err(ForwardError {
            message: "the device returns no hidden states next to logits".to_owned(),
            hint: Some("use another method of speculation (`--speculate ngram`)".to_owned()),
            lost: false,
        })
    }

    /// Returns outputs that the caller has read, so that later calls can reuse their memory. Logit
    /// rows are so long that allocating many of them takes longer than copying them.
    fn recycle(&mut self, outputs: Vec<Output>) {
        drop(outputs);
    }
}
