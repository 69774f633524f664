//! A model on its devices.

use std::sync::Arc;

use roci_engine::{Chunk, Forward, ForwardError, Limits, Output, Wanted};
use roci_gguf::Gguf;
use roci_hal::{Device, DeviceInfo, Profile};
use roci_llm::architecture::Model;

use crate::memory::{Estimate, estimate};
use crate::product::{Units, is_played};
use crate::record::{Shape, block_tokens};
use crate::scratch::Sizes;
use crate::stage::{Plan, Stage};
use crate::weights::Progress;
use crate::{Error, FEW_TOKENS, Options};

/// Tokens of one call on devices that compute fast, and on those that a CPU plays.
const BATCH: usize = 512;
const SLOW_BATCH: usize = 64;
/// Rows of which logits are computed at once.
const ROWS: usize = 32;
/// Rows of embeddings that are worth several threads, and how many at most.
const MANY_ROWS: usize = 128;
const MOST_THREADS: usize = 8;
/// Keys that are worth a part of their own.
const KEYS_OF_A_SPLIT: usize = 128;
/// The most parts into which attention is split.
const SPLITS: usize = 16;

/// A model on its devices: what an engine drives.
pub struct DeviceModel {
    file: Arc<Gguf>,
    model: Model,
    limits: Limits,
    stages: Vec<Stage>,
    block: usize,
    most_splits: usize,
    estimate: Estimate,
}

/// Tokens of one call.
fn batch(options: &Options, info: &DeviceInfo) -> usize {
    options.batch.unwrap_or(if is_played(info) { SLOW_BATCH } else { BATCH }).max(1)
}

/// The most words of inputs of a call.
fn words(model: &Model, options: &Options, tokens: usize) -> usize {
    let pages = (model.context as usize).div_ceil(options.page);
    // The power of two that a shape may round up to.
    (5 * tokens + ROWS + options.chunks.min(tokens) * pages).next_power_of_two()
}

/// Into how many parts keys are split at most, for a device to be busy with one token.
fn splits(model: &Model, info: &DeviceInfo) -> usize {
    let units = info.physical.iter().map(|one| one.compute_units as usize).min().unwrap_or(1).max(1);
    let kv_heads = model.config.kv_heads.iter().copied().min().unwrap_or(1).max(1);
    (2 * units).div_ceil(kv_heads).next_power_of_two().clamp(1, SPLITS)
}

/// How large the scratch of a device is.
pub(crate) fn sizes(model: &Model, options: &Options, info: &DeviceInfo) -> Sizes {
    let tokens = batch(options, info);
    let kinds = (roci_kernels::takes_native(info), Units::of(info, options).matrix);
    Sizes::new(model, tokens, ROWS.min(tokens), words(model, options, tokens), splits(model, info), kinds)
}

impl DeviceModel {
    /// Brings a model to devices: the first takes as many layers as fit, the next the rest. `tell` hears how many bytes of how many are there.
    ///
    /// # Errors
    /// If it does not fit, if something in the file cannot be computed, or if a device fails.
    pub fn load(
        file: Arc<Gguf>,
        model: Model,
        devices: &[Device],
        options: &Options,
        tell: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Self, Error> {
        let infos: Vec<&DeviceInfo> = devices.iter().map(Device::info).collect();
        let estimate = estimate(&file, &model, &infos, options)?;
        let used: Vec<(&Device, _)> =
            devices.iter().zip(&estimate.shares).filter(|(_, share)| !share.layers.is_empty()).collect();
        let tokens = used.iter().map(|(device, _)| batch(options, device.info())).min().unwrap_or(1);
        let options = Options { batch: Some(tokens), ..options.clone() };
        let pages = options.kept.unwrap_or(model.context as usize).div_ceil(options.page).max(1);
        let names = model.tensors();
        let total = names.iter().filter_map(|name| file.tensor(name)).map(|tensor| tensor.info().byte_len()).sum();
        let progress = Progress::new(total, tell);
        let mut stages = Vec::new();
        for (device, share) in used {
            let plan = Plan {
                file: &file,
                model: &model,
                layers: share.layers.clone(),
                options: &options,
                pages,
                sizes: sizes(&model, &options, device.info()),
            };
            stages.push(Stage::new(device, &plan, &progress)?);
        }
        let limits = Limits {
            context: model.context as usize,
            page: options.page,
            pages,
            batch: tokens,
            chunks: options.chunks.min(tokens),
            vocabulary: model.config.vocabulary,
            embedding: model.config.embedding,
            pooling: model.config.pooling,
        };
        let shared = model.layers.iter().map(|layer| layer.attention.heads / layer.attention.kv_heads.max(1));
        let matrix = devices.iter().any(|device| Units::of(device.info(), &options).matrix);
        let block = block_tokens(shared.max().unwrap_or(1), matrix);
        let most_splits = devices.iter().map(|device| splits(&model, device.info())).min().unwrap_or(1);
        Ok(Self { file, model, limits, stages, block, most_splits, estimate })
    }

    /// Which device holds what.
    pub fn estimate(&self) -> &Estimate {
        &self.estimate
    }

    /// Tells a profile from now on when commands ran, on devices that can tell.
    pub fn profile(&mut self, profile: &Profile) {
        for stage in self.stages.iter_mut().filter(|stage| stage.device.profiles()) {
            stage.profile = Some(profile.clone());
        }
    }

    /// Loads the kernels that every text needs: those of single tokens, of a few and of a long prompt. Without it each is loaded, and on most
    /// devices compiled, when a step first needs it. `tell` hears how many of how many are there.
    ///
    /// # Errors
    /// If a kernel cannot be had, or is not compiled in time.
    pub fn load_kernels(&mut self, tell: &dyn Fn(usize, usize)) -> Result<(), Error> {
        let Self { stages, limits, block, .. } = self;
        let shape = |tokens: usize, logits: bool| {
            let block = if tokens <= FEW_TOKENS { 1 } else { *block };
            let (blocks, rows) = (tokens.div_ceil(block), usize::from(logits));
            let shape = Shape { tokens, blocks, block, rows, logits, words: 0, splits: 1, alone: tokens == 1 };
            Shape { words: shape.pages_at(), ..shape }
        };
        let mut sizes = [1, FEW_TOKENS, limits.batch].map(|tokens| tokens.min(limits.batch)).to_vec();
        sizes.dedup();
        let last = stages.len().saturating_sub(1);
        let mut missing = Vec::new();
        for (index, stage) in stages.iter_mut().enumerate() {
            let shapes: Vec<Shape> = sizes.iter().map(|&tokens| shape(tokens, index == last)).collect();
            missing.push(stage.missing(&shapes, limits)?);
        }
        let total = missing.iter().map(Vec::len).sum();
        let mut done = 0;
        tell(done, total);
        for (stage, missing) in stages.iter_mut().zip(&missing) {
            for one in missing {
                stage.load(one)?;
                done += 1;
                tell(done, total);
            }
        }
        Ok(())
    }

    /// What it computes.
    pub fn model(&self) -> &Model {
        &self.model
    }

    fn step(&mut self, chunks: &[Chunk<'_>]) -> Result<Vec<Output>, Error> {
        let tokens: Vec<u32> = chunks.iter().flat_map(|chunk| chunk.tokens).copied().collect();
        if tokens.is_empty() || tokens.len() > self.limits.batch {
            return Err(Error::file(format!("{} tokens at once; 1 to {} are taken", tokens.len(), self.limits.batch)));
        }
        if let Some(token) = tokens.iter().find(|token| **token as usize >= self.model.embedding.outputs()) {
            return Err(Error::file(format!("the model has no token {token}")));
        }
        let step = Step::new(chunks, self.block);
        let logits = chunks.iter().any(|chunk| matches!(chunk.wanted, Wanted::Last | Wanted::Each));
        let hidden = chunks.iter().any(|chunk| chunk.wanted == Wanted::Hidden);
        let most = ROWS.min(self.limits.batch);
        let mut parts = step.rows.chunks(most);
        let first = parts.next().unwrap_or(&[]);
        let shape = Shape {
            tokens: tokens.len(),
            blocks: step.blocks.len(),
            block: step.block,
            rows: first.len(),
            logits,
            words: 0,
            splits: self.splits(chunks),
            alone: chunks.iter().all(|chunk| chunk.tokens.len() == 1),
        };
        let (shape, inputs) = step.inputs(shape, first);
        let mut answers = Answers {
            outputs: vec![Output::default(); chunks.len()],
            chunks,
            vocabulary: self.limits.vocabulary,
            embedding: self.limits.embedding,
            cap: self.model.logit_cap,
        };
        let Self { file, model, limits, stages, .. } = self;
        let Some((last, others)) = stages.split_last_mut() else { return Err(Error::file("the model has no layers")) };
        // What the stage before gave. The first has the embeddings.
        let mut state: Option<Vec<f32>> = None;
        let fill = |state: Option<Vec<f32>>, stride: usize, to: &mut [f32]| match state {
            Some(state) => {
                to.copy_from_slice(&state);
                Ok(())
            }
            None => embed(file, model, &tokens, stride, to),
        };
        for stage in others {
            let (shape, stride, before) =
                (Shape { rows: 0, logits: false, ..shape }, stage.state_stride(), state.take());
            state = Some(stage.run(shape, &inputs, limits, |to| fill(before, stride, to), <[f32]>::to_vec)?);
        }
        let (stride, apart) = (last.state_stride(), last.answer_stride(logits));
        let take = |rows: &[f32]| answers.add(logits, rows, apart, first);
        last.run(shape, &inputs, limits, |to| fill(state, stride, to), take)?;
        // What did not fit into one go, and hidden states beside logits: the state is still there.
        let mut more: Vec<(bool, &[Row])> = parts.map(|rows| (logits, rows)).collect();
        if hidden && logits {
            more.extend(step.rows.chunks(most).map(|rows| (false, rows)));
        }
        for (logits, rows) in more {
            let shape = Shape {
                tokens: 0,
                blocks: 0,
                block: 1,
                rows: rows.len(),
                logits,
                words: rows.len(),
                splits: 1,
                alone: false,
            };
            let places: Vec<u32> = rows.iter().map(|row| row.place).collect();
            let apart = last.answer_stride(logits);
            last.run(shape, &places, limits, |_| Ok(()), |answer| answers.add(logits, answer, apart, rows))?;
        }
        Ok(answers.outputs)
    }

    /// Into how many parts keys are split: one for each so many keys, as a power of two, so that one recording serves a while.
    fn splits(&self, chunks: &[Chunk<'_>]) -> usize {
        let longest = chunks.iter().map(|chunk| chunk.start + chunk.tokens.len()).max().unwrap_or(1);
        longest.div_ceil(KEYS_OF_A_SPLIT).next_power_of_two().min(self.most_splits)
    }
}

/// Puts the embeddings of tokens to where the device reads them, a row each; those of a long prompt by several threads.
fn embed(file: &Gguf, model: &Model, tokens: &[u32], stride: usize, to: &mut [f32]) -> Result<(), Error> {
    let threads =
        if tokens.len() < MANY_ROWS { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) };
    let each = tokens.len().div_ceil(threads.min(MOST_THREADS)).max(1);
    if each == tokens.len() {
        return embed_rows(file, model, tokens, stride, to);
    }
    std::thread::scope(|scope| {
        let parts = tokens.chunks(each).zip(to.chunks_mut(each * stride));
        let running: Vec<_> =
            parts.map(|(tokens, to)| scope.spawn(move || embed_rows(file, model, tokens, stride, to))).collect();
        running.into_iter().try_for_each(|one| match one.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

fn embed_rows(file: &Gguf, model: &Model, tokens: &[u32], stride: usize, to: &mut [f32]) -> Result<(), Error> {
    let matrix = &model.embedding;
    let tensor = file.expect_tensor(&matrix.tensor)?;
    let kind = tensor.info().kind();
    let pitch = kind.bytes(matrix.columns as u64).unwrap_or(0) as usize;
    for (row, token) in to.chunks_exact_mut(stride).zip(tokens) {
        let at = (matrix.rows.start + *token as usize) * pitch;
        let bytes = tensor.bytes().get(at..at + pitch).filter(|_| (*token as usize) < matrix.outputs());
        let bytes = bytes.ok_or_else(|| Error::file(format!("the model has no token {token}")))?;
        let (row, behind) = row.split_at_mut(matrix.columns);
        kind.dequantize(bytes, row)?;
        row.iter_mut().for_each(|value| *value *= model.embedding_scale);
        behind.fill(0.0);
    }
    Ok(())
}

/// What comes of chunks, as far as it has come.
struct Answers<'a> {
    outputs: Vec<Output>,
    chunks: &'a [Chunk<'a>],
    vocabulary: usize,
    embedding: usize,
    cap: Option<f32>,
}

impl Answers<'_> {
    /// Takes rows of logits or of hidden states, whichever of them are wanted so, straight from where the device left them.
    fn add(&mut self, logits: bool, values: &[f32], stride: usize, rows: &[Row]) {
        for (values, row) in values.chunks_exact(stride).zip(rows) {
            if logits == (self.chunks[row.chunk].wanted == Wanted::Hidden) {
                continue;
            }
            let values = &values[..if logits { self.vocabulary } else { self.embedding }];
            let values = match self.cap.filter(|_| logits) {
                Some(cap) => values.iter().map(|value| cap * (value / cap).tanh()).collect(),
                None => values.to_vec(),
            };
            self.outputs[row.chunk].rows.push(values);
        }
    }
}

/// A row of which something is wanted.
#[derive(Clone, Copy)]
struct Row {
    /// Which token of the step it is.
    place: u32,
    /// Whose it is.
    chunk: usize,
}

/// What a step needs to know of its tokens.
struct Step<'a> {
    chunks: &'a [Chunk<'a>],
    /// Tokens of a block, at most.
    block: usize,
    /// First token and count.
    blocks: Vec<(usize, usize)>,
    /// The rows of which something is wanted, in the order of the chunks.
    rows: Vec<Row>,
}

impl<'a> Step<'a> {
    fn new(chunks: &'a [Chunk<'a>], block: usize) -> Self {
        let tokens: usize = chunks.iter().map(|chunk| chunk.tokens.len()).sum();
        // Texts that are being written have a block for each token, so that one recording serves all of them.
        let block = if tokens <= FEW_TOKENS { 1 } else { block };
        let mut step = Self { chunks, block, blocks: Vec::new(), rows: Vec::new() };
        let mut first = 0;
        for (index, chunk) in chunks.iter().enumerate() {
            let count = chunk.tokens.len();
            let row = |at: usize| Row { place: at as u32, chunk: index };
            step.blocks.extend((0..count).step_by(block).map(|at| (first + at, block.min(count - at))));
            match chunk.wanted {
                Wanted::Nothing => {}
                Wanted::Last => step.rows.push(row(first + count - 1)),
                Wanted::Each | Wanted::Hidden => step.rows.extend((first..first + count).map(row)),
            }
            first += count;
        }
        step
    }

    /// The words that the kernels read, and the shape with their number.
    fn inputs(&self, shape: Shape, rows: &[Row]) -> (Shape, Vec<u32>) {
        let mut words = vec![0; shape.pages_at()];
        let mut token = 0;
        for chunk in self.chunks {
            let table = words.len() as u32;
            for at in 0..chunk.tokens.len() {
                words[token] = (chunk.start + at) as u32;
                words[shape.tokens + token] = table;
                words[shape.numbers_at() + token] = chunk.tokens[at];
                token += 1;
            }
            words.extend_from_slice(chunk.pages);
        }
        for (index, (first, count)) in self.blocks.iter().enumerate() {
            words[shape.blocks_at() + 2 * index] = *first as u32;
            words[shape.blocks_at() + 2 * index + 1] = *count as u32;
        }
        words[shape.rows_at()..shape.numbers_at()].iter_mut().zip(rows).for_each(|(word, row)| *word = row.place);
        // Rounded up, so that a text that grows does not need a recording for each page.
        words.resize(words.len().next_power_of_two().max(64), 0);
        (Shape { words: words.len(), ..shape }, words)
    }
}

impl Forward for DeviceModel {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn evaluate(&mut self, chunks: &[Chunk<'_>]) -> Result<Vec<Output>, ForwardError> {
        self.step(chunks).map_err(|error| {
            let lost = self.stages.iter().any(|stage| stage.device.loss().is_some());
            crate::error::forward(&error, lost)
        })
    }
}
