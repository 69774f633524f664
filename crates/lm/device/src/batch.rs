//! A batch: the tokens of one step, and the inputs that the kernels read.

use roci_engine::{Chunk, Output, OutputKind, StateSlots};
use roci_kernels::params::NO_STATE;
use roci_lm::architecture::Model;

use crate::SMALL_BATCH;
use crate::adapters::BatchAdapters;
use crate::images::BatchImages;
use crate::shape::StepShape;

/// Minimum number of floats that a thread copies from the read-back buffer: 1 MiB, which takes
/// longer than starting a thread, because the device has just written them.
const MIN_THREAD_FLOATS: usize = 1 << 18;
/// Maximum number of threads that copy.
const MAX_COPY_THREADS: usize = 12;

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
    /// Whether each chunk is a whole sequence of a non-causal model.
    non_causal: bool,
    /// Requested rows, in the order of the chunks.
    pub(crate) output_rows: Vec<OutputRow>,
    pub(crate) adapters: BatchAdapters,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(chunks: &'a [Chunk<'a>], block_tokens: usize, non_causal: bool, adapters: BatchAdapters) -> Self {
        let tokens: usize = chunks.iter().map(|chunk| chunk.tokens.len()).sum();
        // A small batch has a block per token, so that all small batches of a size share one
        // recording.
        let block_tokens = if tokens <= SMALL_BATCH { 1 } else { block_tokens };
        let (blocks, output_rows) = (Vec::new(), Vec::new());
        let mut batch = Self { chunks, block_tokens, blocks, non_causal, output_rows, adapters };
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

    /// A step that computes only these output rows of the previous one, and its inputs.
    pub(crate) fn rows_only(&self, rows: &[OutputRow], logits: bool) -> (StepShape, Vec<u32>) {
        let shape = StepShape {
            block_tokens: 1,
            output_rows: rows.len(),
            logits,
            kv_splits: 1,
            adapters: self.adapters.count(),
            ..StepShape::default()
        };
        let mut words = vec![0; shape.page_tables_offset()];
        words.iter_mut().zip(rows).for_each(|(word, row)| *word = row.token);
        self.adapters.write(rows.iter().map(|row| row.chunk), shape.adapters_offset(true), &mut words);
        (StepShape { input_words: words.len(), ..shape }, words)
    }

    /// The shape and the inputs of the step, with these output rows.
    ///
    /// `sections` has the index of the rotary position of each pair of a head.
    pub(crate) fn inputs(
        &self,
        kv_splits: usize,
        rows: &[OutputRow],
        logits: bool,
        images: &BatchImages,
        sections: &[u32],
    ) -> (StepShape, Vec<u32>) {
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
            non_causal: self.non_causal || images.ends.is_some(),
            host_embeddings: images.has_rows(),
            rope_pairs: if images.rope.is_some() { sections.len() } else { 0 },
            deepstack_layers: images.deepstack_layers,
            adapters: self.adapters.count(),
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
        if let Some(rope) = images.rope.as_ref().filter(|_| !sections.is_empty()) {
            let start = shape.rope_positions_offset();
            words[start..start + sections.len()].copy_from_slice(sections);
            let positions = (0..3).flat_map(|section| rope.iter().map(move |positions| positions[section]));
            words[start + sections.len()..].iter_mut().zip(positions).for_each(|(word, position)| *word = position);
        }
        for (index, (first, count)) in self.blocks.iter().enumerate() {
            words[shape.blocks_offset() + 2 * index] = *first as u32;
            words[shape.blocks_offset() + 2 * index + 1] = *count as u32;
        }
        if shape.non_causal {
            self.fill_attention_inputs(&shape, &mut words, images.ends.as_deref());
        }
        let row_words = &mut words[shape.output_rows_offset()..shape.token_ids_offset()];
        row_words.iter_mut().zip(rows).for_each(|(word, row)| *word = row.token);
        let tokens = self.all_rows();
        self.adapters.write(tokens.iter().map(|row| row.chunk), shape.adapters_offset(false), &mut words);
        self.adapters.write(rows.iter().map(|row| row.chunk), shape.adapters_offset(true), &mut words);
        // Rounded up, so that a growing sequence does not need a recording per page.
        words.resize(words.len().next_power_of_two().max(64), 0);
        (StepShape { input_words: words.len(), ..shape }, words)
    }
}

impl Batch<'_> {
    /// Fills the attention inputs of non-causal chunks. They are a copy of the positions, page
    /// table offsets and blocks at the start, with two differences: a token's position is the last
    /// one that it attends to (`ends`, or the chunk's last token), and page table offsets are
    /// relative to this copy. The tokens' own positions follow.
    fn fill_attention_inputs(&self, shape: &StepShape, words: &mut [u32], ends: Option<&[u32]>) {
        let start = shape.attention_offset();
        let (step, attention) = words.split_at_mut(start);
        let (tokens, blocks) = (shape.tokens, 2 * shape.blocks);
        let mut token = 0;
        for chunk in self.chunks {
            let end = token + chunk.tokens.len();
            attention[token..end].fill((chunk.start + chunk.tokens.len() - 1) as u32);
            token = end;
        }
        if let Some(ends) = ends {
            attention[..tokens].copy_from_slice(ends);
        }
        for (to, from) in attention[tokens..2 * tokens].iter_mut().zip(&step[tokens..]) {
            *to = from - start as u32;
        }
        let from = shape.blocks_offset();
        attention[2 * tokens..2 * tokens + blocks].copy_from_slice(&step[from..from + blocks]);
        let own = shape.own_positions();
        attention[own..own + tokens].copy_from_slice(&step[..tokens]);
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
    /// Rows of earlier outputs, whose memory is reused.
    spare: &'a mut Vec<Vec<f32>>,
}

impl<'a> OutputCollector<'a> {
    pub(crate) fn new(chunks: &'a [Chunk<'a>], model: &Model, spare: &'a mut Vec<Vec<f32>>) -> Self {
        Self {
            outputs: vec![Output::default(); chunks.len()],
            chunks,
            vocabulary: model.config.vocabulary,
            embedding: model.config.embedding,
            logit_scale: model.logit_scale,
            logit_cap: model.logit_cap,
            spare,
        }
    }

    /// Copies rows of logits or of hidden states from the read-back buffer, for the chunks that
    /// request that kind.
    pub(crate) fn add(&mut self, logits: bool, values: &[f32], stride: usize, rows: &[OutputRow]) {
        let length = if logits { self.vocabulary } else { self.embedding };
        let is_requested = |row: &OutputRow| logits != (self.chunks[row.chunk].output == OutputKind::HiddenStates);
        let requested = values.chunks_exact(stride).zip(rows).filter(|(_, row)| is_requested(row));
        let mut copies: Vec<(usize, &[f32], Vec<f32>)> = requested
            .map(|(values, row)| (row.chunk, &values[..length], self.spare.pop().unwrap_or_default()))
            .collect();
        let scale = if logits { self.logit_scale } else { 1.0 };
        let cap = self.logit_cap.filter(|_| logits);
        let copy = |copies: &mut [(usize, &[f32], Vec<f32>)]| {
            for (_, from, to) in copies {
                to.clear();
                match cap {
                    Some(cap) => to.extend(from.iter().map(|value| cap * (value * scale / cap).tanh())),
                    None if scale == 1.0 => to.extend_from_slice(from),
                    None => to.extend(from.iter().map(|value| value * scale)),
                }
            }
        };
        let threads = match (copies.len() * length / MIN_THREAD_FLOATS).min(MAX_COPY_THREADS) {
            0 | 1 => 1,
            most => most.min(std::thread::available_parallelism().map_or(1, usize::from)),
        };
        if threads > 1 {
            let each = copies.len().div_ceil(threads);
            std::thread::scope(|scope| {
                let mut parts = copies.chunks_mut(each);
                let own = parts.next();
                parts.for_each(|part| drop(scope.spawn(move || copy(part))));
                own.map(copy);
            });
        } else {
            copy(&mut copies);
        }
        for (chunk, _, row) in copies {
            self.outputs[chunk].rows.push(row);
        }
    }

    pub(crate) fn finish(self) -> Vec<Output> {
        self.outputs
    }
}
