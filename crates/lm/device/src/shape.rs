//! The shape of a step, which identifies its recording, and the layout of its inputs.

/// The shape of a step. Steps of one shape share a recording; everything else about them is data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct StepShape {
    /// Tokens; 0 for a step that computes only outputs of the previous one.
    pub(crate) tokens: usize,
    /// Blocks of attention.
    pub(crate) blocks: usize,
    /// Maximum number of tokens per block.
    pub(crate) block_tokens: usize,
    /// Sequences with recurrent states; 0 if the model has none.
    pub(crate) sequences: usize,
    /// Rows of the residual stream whose output is requested, on the device with the output matrix.
    pub(crate) output_rows: usize,
    /// Whether logits are requested rather than hidden states.
    pub(crate) logits: bool,
    /// 32-bit words of inputs.
    pub(crate) input_words: usize,
    /// Splits of the longest sequence's KV cache. With few tokens they occupy more of the device.
    pub(crate) kv_splits: usize,
    /// Whether each sequence has exactly one token, as in the decode phase.
    pub(crate) one_token_per_sequence: bool,
    /// Whether the host writes the embeddings, because some are rows of images.
    pub(crate) host_embeddings: bool,
    /// Rotated pairs of a head if tokens have three rotary positions; otherwise 0.
    pub(crate) rope_pairs: usize,
    /// Whether tokens see others than those before them.
    pub(crate) visible_ends: bool,
}

/// Word offsets of the inputs: positions, the tokens' page table offsets, blocks, sequences, output
/// rows, token ids, rotary positions, visible ends, page tables.
impl StepShape {
    /// Offset of the blocks: first token and count of each.
    pub(crate) fn blocks_offset(&self) -> usize {
        2 * self.tokens
    }

    /// Offset of the sequences: first token, number of tokens, slot to read and slot to write of
    /// each.
    pub(crate) fn sequences_offset(&self) -> usize {
        2 * self.tokens + 2 * self.blocks
    }

    /// Offset of the rows whose output is requested.
    pub(crate) fn output_rows_offset(&self) -> usize {
        self.sequences_offset() + 4 * self.sequences
    }

    /// Offset of the token ids.
    pub(crate) fn token_ids_offset(&self) -> usize {
        self.output_rows_offset() + self.output_rows
    }

    /// Offset of the rotary positions: the section of each pair, then the positions of all tokens
    /// in each of three sections.
    pub(crate) fn rope_positions_offset(&self) -> usize {
        self.token_ids_offset() + self.tokens
    }

    /// Offset of the last positions that tokens see.
    pub(crate) fn visible_ends_offset(&self) -> usize {
        let positions = if self.rope_pairs > 0 { self.rope_pairs + 3 * self.tokens } else { 0 };
        self.rope_positions_offset() + positions
    }

    /// Offset of the page tables.
    pub(crate) fn page_tables_offset(&self) -> usize {
        self.visible_ends_offset() + if self.visible_ends { self.tokens } else { 0 }
    }
}
