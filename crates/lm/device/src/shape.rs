//! The shape of a step, which identifies its recording, and the layout of its inputs.

use crate::limits::MAX_ALIGNMENT;

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
    /// Whether some tokens attend to later ones: non-causal models, or image rows.
    pub(crate) non_causal: bool,
    /// Whether the host writes the embeddings, because some are image embeddings.
    pub(crate) host_embeddings: bool,
    /// Rotated pairs of a head if tokens have three rotary positions; otherwise 0.
    pub(crate) rope_pairs: usize,
    /// How many of the first layers are followed by an addition of rows that the host writes:
    /// features of images.
    pub(crate) deepstack_layers: usize,
    /// Adapters of the model, if any of them has a scale other than zero; otherwise 0.
    pub(crate) adapters: usize,
}

/// Word offsets of the inputs: positions, the tokens' page table offsets, blocks, sequences, output
/// rows, token ids, rotary positions, attention inputs of non-causal chunks, page tables.
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

    fn rope_positions_end(&self) -> usize {
        let positions = if self.rope_pairs > 0 { self.rope_pairs + 3 * self.tokens } else { 0 };
        self.rope_positions_offset() + positions
    }

    /// Offset of the scales of adapters. Each token has a scale for each adapter, or with
    /// `at_outputs` each output row.
    pub(crate) fn adapters_offset(&self, at_outputs: bool) -> usize {
        let start = self.rope_positions_end().next_multiple_of(MAX_ALIGNMENT);
        if at_outputs { start + (self.tokens * self.adapters).next_multiple_of(MAX_ALIGNMENT) } else { start }
    }

    fn adapters_end(&self) -> usize {
        match self.adapters {
            0 => self.rope_positions_end(),
            count => self.adapters_offset(true) + self.output_rows * count,
        }
    }

    /// Offset of the inputs of the attention kernels: a copy of the words at the start, except that
    /// the first words are the last position that each token attends to. For non-causal chunks
    /// these differ from the positions, which then follow at
    /// [`own_positions`](Self::own_positions).
    pub(crate) fn attention_offset(&self) -> usize {
        if self.non_causal { self.adapters_end().next_multiple_of(MAX_ALIGNMENT) } else { 0 }
    }

    /// Offset of the tokens' positions in the attention inputs.
    pub(crate) fn own_positions(&self) -> usize {
        if self.non_causal { 2 * self.tokens + 2 * self.blocks } else { 0 }
    }

    /// Offset of the page tables.
    pub(crate) fn page_tables_offset(&self) -> usize {
        match self.non_causal {
            true => self.attention_offset() + self.own_positions() + self.tokens,
            false => self.adapters_end(),
        }
    }
}
