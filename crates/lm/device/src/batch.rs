//! A batch: the tokens of one step, and the inputs that the kernels read.

use roci_engine::{Chunk, Output, OutputKind, StateSlots};
use roci_kernels::params::NO_STATE;
use roci_lm::architecture::Model;

use crate::SMALL_BATCH;
use crate::shape::StepShape;

/// A row of the residual stream whose output is requested.
#[derive(Clone, Copy)]
pub(crate) struct OutputRow {
    /// Index of the token in the batch.
    pub(crate) token: u32,
    /// Index of the chunk.
    pub(crate) chunk: usize,
}

/// The tokens of one step.
pub(crate) struct Batch<'a> {
    chunks: &'a [Chunk<'a>],
    /// Maximum number of tokens per block of attention.
    block_tokens: usize,
    /// First token and count of each block of attention.
    blocks: Vec<(usize, usize)>,
    /// Requested rows, in the order of the chunks.
    pub(crate) output_rows: Vec<OutputRow>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(chunks: &'a [Chunk<'a>], block_tokens: usize) -> Self {
        let tokens: usize = chunks.iter().map(|chunk| chunk.tokens.len()).sum();
        // A small batch has a block per token, so that all small batches of a size share one
        // recording.
        let block_tokens = if tokens <= SMALL_BATCH { 1 } else { block_tokens };
        let mut batch = Self { chunks, block_tokens, blocks: Vec::new(), output_rows: Vec::new() };
        let mut first = 0;
        for (index, chunk) in chunks.iter().enumerate() {
            let count = chunk.tokens.len();
            let row = |token: usize| OutputRow { token: token as u32, chunk: index };
            let starts = (0..count).step_by(block_tokens);
            batch.blocks.extend(starts.map(|start| (first + start, block_tokens.min(count - start))));
            match chunk.output {
                OutputKind::None => {}
                OutputKind::LastLogits => batch.output_rows.push(row(first + count - 1)),
                OutputKind::AllLogits | OutputKind::HiddenStates => {
                    batch.output_rows.extend((first..first + count).map(row));
                }
            }
            first += count;
        }
        batch
    }

    /// All rows, in the order of the chunks.
    pub(crate) fn all_rows(&self) -> Vec<OutputRow> {
        let chunks = self.chunks.iter().enumerate();
        let chunks = chunks.flat_map(|(chunk, tokens)| std::iter::repeat_n(chunk, tokens.tokens.len()));
        (0..).zip(chunks).map(|(token, chunk)| OutputRow { token, chunk }).collect()
    }

    /// The shape and the inputs of the step, with these output rows.
    pub(crate) fn inputs(&self, kv_splits: usize, rows: &[OutputRow], logits: bool) -> (StepShape, Vec<u32>) {
        let shape = StepShape {
            tokens: self.chunks.iter().map(|chunk| chunk.tokens.len()).sum(),
            blocks: self.blocks.len(),
            block_tokens: self.block_tokens,
            sequences: self.chunks.iter().filter(|chunk| chunk.state.is_some()).count(),
            output_rows: rows.len(),
            logits,
            input_words: 0,
            kv_splits,
            one_token_per_sequence: self.chunks.iter().all(|chunk| chunk.tokens.len() == 1),
        };
        let mut words = vec![0; shape.page_tables_offset()];
        let (mut token, mut sequence) = (0, shape.sequences_offset());
        for chunk in self.chunks {
            if let Some(StateSlots { read, write }) = chunk.state {
                let count = chunk.tokens.len() as u32;
                let described = [token as u32, count, read.unwrap_or(NO_STATE), write];
                words[sequence..sequence + 4].copy_from_slice(&described);
                sequence += 4;
            }
            let page_table = words.len() as u32;
            for (index, &id) in chunk.tokens.iter().enumerate() {
                words[token] = (chunk.start + index) as u32;
                words[shape.tokens + token] = page_table;
                words[shape.token_ids_offset() + token] = id;
                token += 1;
            }
            words.extend_from_slice(chunk.pages);
        }
        for (index, (first, count)) in self.blocks.iter().enumerate() {
            words[shape.blocks_offset() + 2 * index] = *first as u32;
            words[shape.blocks_offset() + 2 * index + 1] = *count as u32;
        }
        let row_words = &mut words[shape.output_rows_offset()..shape.token_ids_offset()];
        row_words.iter_mut().zip(rows).for_each(|(word, row)| *word = row.token);
        // Rounded up, so that a growing sequence does not need a recording per page.
        words.resize(words.len().next_power_of_two().max(64), 0);
        (StepShape { input_words: words.len(), ..shape }, words)
    }
}

/// Collects the outputs of the chunks of a batch.
pub(crate) struct OutputCollector<'a> {
    outputs: Vec<Output>,
    chunks: &'a [Chunk<'a>],
    vocabulary: usize,
    embedding: usize,
    logit_scale: f32,
    logit_cap: Option<f32>,
}

impl<'a> OutputCollector<'a> {
    pub(crate) fn new(chunks: &'a [Chunk<'a>], model: &Model) -> Self {
        Self {
            outputs: vec![Output::default(); chunks.len()],
            chunks,
            vocabulary: model.config.vocabulary,
            embedding: model.config.embedding,
            logit_scale: model.logit_scale,
            logit_cap: model.logit_cap,
        }
    }

    /// Copies rows of logits or of hidden states from the read-back buffer, for the chunks that
    /// request that kind.
    pub(crate) fn add(&mut self, logits: bool, values: &[f32], stride: usize, rows: &[OutputRow]) {
        for (values, row) in values.chunks_exact(stride).zip(rows) {
            if logits == (self.chunks[row.chunk].output == OutputKind::HiddenStates) {
                continue;
            }
            let mut values = values[..if logits { self.vocabulary } else { self.embedding }].to_vec();
            if logits && self.logit_scale != 1.0 {
                values.iter_mut().for_each(|value| *value *= self.logit_scale);
            }
            if let Some(cap) = self.logit_cap.filter(|_| logits) {
                values.iter_mut().for_each(|value| *value = cap * (*value / cap).tanh());
            }
            self.outputs[row.chunk].rows.push(values);
        }
    }

    pub(crate) fn finish(self) -> Vec<Output> {
        self.outputs
    }
}
