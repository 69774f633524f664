//! What a device does for an engine.

use roci_hal::Hint;
use roci_llm::architecture::Pooling;

/// What a model on its device can take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest text, in tokens.
    pub context: usize,
    /// How many tokens a page of keys and values holds.
    pub page: usize,
    /// How many pages there are, for all texts together.
    pub pages: usize,
    /// The most tokens of one call, over all chunks.
    pub batch: usize,
    /// The most chunks of one call.
    pub chunks: usize,
    /// How many tokens the model knows: the length of the logits.
    pub vocabulary: usize,
    /// The length of a hidden state.
    pub embedding: usize,
    /// Which hidden states make up a text's embedding.
    pub pooling: Pooling,
}

/// What a chunk shall give back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Nothing: more of the prompt follows.
    Nothing,
    /// The logits of the token after the last.
    Last,
    /// The logits after each token.
    Each,
    /// What the last norm makes of each token, before it is made into logits.
    Hidden,
}

/// Tokens of one text that follow each other.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// The tokens; never empty.
    pub tokens: &'a [u32],
    /// The position of the first: how many tokens of the text went before.
    pub start: usize,
    /// The text's pages, from its first token on; they have room for all tokens of the chunk. Position `p` lies in `pages[p / page]` at
    /// `p % page`. A page that two chunks of a call name is written by neither.
    pub pages: &'a [u32],
    /// What comes back.
    pub wanted: Wanted,
}

/// What came of a chunk: rows of logits or hidden states, as many as were wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// The rows.
    pub rows: Vec<Vec<f32>>,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ForwardError {
    /// What happened, in one line.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Whether the device is of no more use.
    pub lost: bool,
}

impl Hint for ForwardError {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

/// A model on its device.
pub trait Forward: Send {
    /// What it can take.
    fn limits(&self) -> &Limits;

    /// Reads chunks of different texts, and gives an output for each, in their order.
    ///
    /// # Errors
    /// If the device failed. Keys and values of the chunks are unspecified then, those of other pages are as they were unless the device is
    /// lost.
    fn evaluate(&mut self, chunks: &[Chunk<'_>]) -> Result<Vec<Output>, ForwardError>;
}
