//! A model on its devices: a batch, and one step per stage.

use std::sync::Arc;

use roci_engine::{
    AdapterSetting, Chunk, Forward, ForwardError, Images, Limits, Output, OutputKind, StateSlots, States,
};
use roci_gguf::Gguf;
use roci_hal::{Device, DeviceInfo, Profile};
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::Layer;
use roci_lm::reference::PooledHead;

use crate::adapters::{self, BatchAdapters, EmbeddingAdapters, ModelAdapter};
use crate::batch::{Batch, OutputCollector, OutputRow};
use crate::embedding::{HostInput, Placed, embed};
use crate::error::forward_error;
use crate::features::Features;
use crate::images::{BatchImages, rope_sections};
use crate::limits::{batch_splits, decodes_by_subgroups, max_batch_tokens, max_output_rows, max_splits, scratch_sizes};
use crate::memory::{Estimate, estimate};
use crate::prediction::PredictionNorms;
use crate::recorder::block_tokens;
use crate::shape::StepShape;
use crate::stage::{Stage, StageConfig};
use crate::weights::Progress;
use crate::{Error, Options, SMALL_BATCH};

/// KV cache entries per split of attention.
pub(crate) const TOKENS_PER_SPLIT: usize = 128;
/// The same with kernels that use subgroups: two of their steps.
const TOKENS_PER_SUBGROUP_SPLIT: usize = 64;

/// A model on its devices; implements [`Forward`] for an engine.
pub struct DeviceModel {
    file: Arc<Gguf>,
    model: Model,
    limits: Limits,
    stages: Vec<Stage>,
    /// Tokens per block of attention in large batches.
    block_tokens: usize,
    max_splits: usize,
    /// Minimum number of keys per split of a longer context than [`TOKENS_PER_SPLIT`].
    tokens_per_split: usize,
    estimate: Estimate,
    /// Norms of the input; only in prediction heads.
    norms: Option<PredictionNorms>,
    /// Images of prompts, once an engine has attached them.
    images: Option<Arc<Images>>,
    /// For each chunk of the next call, how far the images before it lower its rotary positions.
    saved_positions: Vec<u32>,
    /// The index of the rotary position of each pair of a head; only for M-RoPE.
    rope_sections: Option<Vec<u32>>,
    /// Logit rows that the caller has returned for reuse.
    spare_rows: Vec<Vec<f32>>,
    input: HostInput,
    /// The layers after pooling, which the host computes.
    head: Option<Arc<PooledHead>>,
    adapters: Vec<ModelAdapter>,
    embedding_adapters: EmbeddingAdapters,
    /// For each chunk of the next call, the scales of all adapters; empty for the defaults.
    adapter_scales: Vec<Vec<f32>>,
}

impl std::fmt::Debug for DeviceModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceModel")
            .field("limits", &self.limits)
            .field("estimate", &self.estimate)
            .finish_non_exhaustive()
    }
}

impl DeviceModel {
    /// Loads a model: the first device takes as many layers as fit, the next ones the rest. A CPU
    /// device among them also computes the experts of the first [`Options::cpu_expert_layers`]
    /// layers.
    /// `progress` gets the uploaded bytes and their total.
    ///
    /// # Errors
    /// If the model does not fit, uses something that is not supported, or a device fails.
    pub fn load(
        file: Arc<Gguf>,
        model: Model,
        devices: &[Device],
        options: &Options,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Self, Error> {
        let infos: Vec<&DeviceInfo> = devices.iter().map(Device::info).collect();
        let estimate = estimate(&file, &model, &infos, options)?;
        let used: Vec<(&Device, _)> =
            devices.iter().zip(&estimate.shares).filter(|(_, share)| !share.layers.is_empty()).collect();
        let tokens = used.iter().map(|(device, _)| max_batch_tokens(&model, options, device.info())).min().unwrap_or(1);
        let options = Options { max_batch_tokens: Some(tokens), ..options.clone() };
        let pages = options.cache_tokens.unwrap_or(model.context as usize).div_ceil(options.page_size).max(1);
        let names = model.tensors();
        // The table of per-layer embeddings stays in the file.
        let table = model.per_layer.as_ref().map(|block| block.embedding.tensor.as_str());
        let loaded = names.iter().filter(|name| Some(**name) != table);
        let total = loaded.filter_map(|name| file.tensor(name)).map(|tensor| tensor.info().byte_len()).sum();
        let progress = Progress::new(total, progress);
        let cpu = devices.iter().find(|device| roci_kernels::runs_native_kernels(device.info()));
        let mut stages = Vec::new();
        for (device, share) in used {
            let config = StageConfig {
                file: &file,
                model: &model,
                layers: share.layers.clone(),
                options: &options,
                pages,
                sizes: scratch_sizes(&model, &options, device.info()),
                from_file: estimate.exceeds_memory,
                host: cpu.filter(|_| !roci_kernels::runs_native_kernels(device.info())),
            };
            stages.push(Stage::new(device, &config, &progress)?);
        }
        let used = stages.iter().flat_map(|stage| &stage.adapted).cloned().collect();
        adapters::check_used(&options, &used, &model.embedding.tensor)?;
        let embedding_adapters = EmbeddingAdapters::new(&model, &options.adapters)?;
        let limits = Limits {
            context: model.context as usize,
            page_size: options.page_size,
            pages,
            max_batch_tokens: tokens,
            max_chunks: options.max_chunks.min(tokens),
            vocabulary: model.config.vocabulary,
            embedding: model.config.embedding,
            pooling: model.config.pooling,
            pooled: model.pooled.as_ref().map(|pooled| pooled.tokens),
            outputs: model.pooled.as_ref().map(|pooled| pooled.outputs(model.config.embedding)),
            causal: model.is_causal(),
            state_slots: if model.is_recurrent() { options.state_slots } else { 0 },
        };
        let group_size =
            model.layers.iter().filter_map(Layer::attention).map(|block| block.heads / block.kv_heads.max(1));
        let coopmat = devices.iter().any(|device| Features::of(device.info(), &options).coopmat);
        let block_tokens = block_tokens(group_size.max().unwrap_or(1), coopmat);
        let max_splits = devices.iter().map(|device| max_splits(&model, &options, device.info())).min().unwrap_or(1);
        let by_subgroups = devices.iter().all(|device| decodes_by_subgroups(&model, &options, device.info()));
        let tokens_per_split = if by_subgroups { TOKENS_PER_SUBGROUP_SPLIT } else { TOKENS_PER_SPLIT };
        let norms = model.prediction_input.as_ref().map(|input| PredictionNorms::new(&file, input)).transpose()?;
        let rope_sections = rope_sections(&file, &model)?;
        let input = HostInput::new(&file, &model)?;
        let head = PooledHead::new(&file, &model).map_err(|error| Error::file(error.to_string()))?.map(Arc::new);
        Ok(Self {
            file,
            model,
            limits,
            stages,
            block_tokens,
            max_splits,
            tokens_per_split,
            estimate,
            images: None,
            saved_positions: Vec::new(),
            rope_sections,
            spare_rows: Vec::new(),
            input,
            head,
            norms,
            adapters: options.adapters,
            embedding_adapters,
            adapter_scales: Vec::new(),
        })
    }

    /// Memory and layers of each device.
    pub fn estimate(&self) -> &Estimate {
        &self.estimate
    }

    /// Records the execution times of commands in `profile` from now on, on devices that support
    /// it.
    pub fn profile(&mut self, profile: &Profile) {
        for stage in self.stages.iter_mut().filter(|stage| stage.device.supports_profiling()) {
            stage.profile = Some(profile.clone());
        }
    }

    /// Loads the kernels of the usual batch sizes: a single token, a small batch and a full batch.
    /// Otherwise each is loaded, and on most devices compiled, when a step first needs it.
    /// `progress` gets the number of loaded kernels and their total.
    ///
    /// # Errors
    /// If a kernel cannot be loaded, or is not compiled in time.
    pub fn load_kernels(&mut self, progress: &dyn Fn(usize, usize)) -> Result<(), Error> {
        let Self { stages, limits, block_tokens, adapters, .. } = self;
        let shape = |tokens: usize, logits: bool| {
            let block_tokens = if tokens <= SMALL_BATCH { 1 } else { *block_tokens };
            let shape = StepShape {
                tokens,
                blocks: tokens.div_ceil(block_tokens),
                block_tokens,
                sequences: usize::from(limits.state_slots > 0),
                output_rows: usize::from(logits),
                logits,
                input_words: 0,
                kv_splits: 1,
                one_token_per_sequence: tokens == 1,
                non_causal: !limits.causal,
                host_embeddings: false,
                rope_pairs: 0,
                deepstack_layers: 0,
                adapters: adapters.len(),
            };
            StepShape { input_words: shape.page_tables_offset(), ..shape }
        };
        let max = limits.max_batch_tokens;
        let mut batch_sizes = [1, SMALL_BATCH, max].map(|tokens| tokens.min(max)).to_vec();
        batch_sizes.dedup();
        let last = stages.len().saturating_sub(1);
        let mut missing = Vec::new();
        for (index, stage) in stages.iter_mut().enumerate() {
            let outputs = index == last;
            let shape =
                |tokens| StepShape { output_rows: usize::from(outputs), ..shape(tokens, outputs && limits.causal) };
            let shapes: Vec<StepShape> = batch_sizes.iter().map(|&tokens| shape(tokens)).collect();
            missing.push(stage.missing_kernels(&shapes)?);
        }
        let total = missing.iter().map(Vec::len).sum();
        let mut done = 0;
        progress(done, total);
        for (stage, missing) in stages.iter_mut().zip(&missing) {
            for kernel in missing {
                stage.load_kernel(kernel)?;
                done += 1;
                progress(done, total);
            }
        }
        Ok(())
    }

    /// Whether tokens have three rotary positions (M-RoPE), which images with grid positions need.
    pub fn has_grid_positions(&self) -> bool {
        self.rope_sections.is_some()
    }

    /// The description of the model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Evaluates the chunks in one step per stage, each by [`Stage::run`]. `before` is the input of
    /// a prediction head. Hidden states of all tokens go to `states`.
    fn evaluate_chunks(
        &mut self,
        chunks: &[Chunk<'_>],
        before: Option<&[Vec<f32>]>,
        states: Option<&mut Vec<States>>,
    ) -> Result<Vec<Output>, Error> {
        let saved = std::mem::take(&mut self.saved_positions);
        let images = BatchImages::find(chunks, self.images.as_deref(), &saved, &self.model.config)?;
        if images.rope.is_some() && self.rope_sections.is_none() {
            return Err(Error::file("the image needs M-RoPE, which the model does not have"));
        }
        let tokens: Vec<u32> = chunks.iter().flat_map(|chunk| chunk.tokens).copied().collect();
        let tokens = images.text_tokens(tokens);
        let max_tokens = self.limits.max_batch_tokens;
        if tokens.is_empty() || tokens.len() > max_tokens {
            return Err(Error::file(format!("a batch of {} tokens; it must have 1 to {max_tokens}", tokens.len())));
        }
        if let Some(token) = tokens.iter().find(|token| **token as usize >= self.model.embedding.outputs()) {
            return Err(Error::file(format!("token {token} is not in the vocabulary")));
        }
        chunks.iter().try_for_each(|chunk| self.check_state(chunk))?;
        chunks.iter().try_for_each(|chunk| self.check_whole(chunk))?;
        let positions = chunks.iter().flat_map(|chunk| chunk.start..chunk.start + chunk.tokens.len());
        let placed: Vec<Placed> = tokens.iter().copied().zip(positions).collect();
        let adapters = BatchAdapters::new(chunks, &self.adapters, std::mem::take(&mut self.adapter_scales))?;
        let batch = Batch::new(chunks, self.block_tokens, !self.limits.causal, adapters);
        let logits = chunks.iter().any(|chunk| matches!(chunk.output, OutputKind::LastLogits | OutputKind::AllLogits));
        let hidden = chunks.iter().any(|chunk| chunk.output == OutputKind::HiddenStates);
        let max_rows = max_output_rows(&self.model, max_tokens);
        let mut row_groups = batch.output_rows.chunks(max_rows);
        let first_rows = row_groups.next().unwrap_or(&[]);
        let (shape, inputs) = batch.inputs(
            self.kv_splits(chunks),
            first_rows,
            logits,
            &images,
            self.rope_sections.as_deref().unwrap_or_default(),
        );
        let Self { file, model, stages, spare_rows, input, norms, embedding_adapters, .. } = self;
        let norms = norms.as_ref();
        let mut outputs = OutputCollector::new(chunks, model, spare_rows);
        let Some((last, others)) = stages.split_last_mut() else { return Err(Error::file("the model has no layers")) };

        // The residual stream from the previous stage. The first stage starts with embeddings.
        let mut residual: Option<Vec<f32>> = None;
        let fill = |residual: Option<Vec<f32>>, stride: usize, staged: &mut [f32]| match residual {
            Some(residual) => {
                staged.copy_from_slice(&residual);
                Ok(())
            }
            None => match norms {
                None => {
                    embed(file, model, input, &placed, stride, staged)?;
                    if batch.adapters.count() > 0 {
                        let rows = batch.all_rows();
                        let scales: Vec<&[f32]> = rows.iter().map(|row| batch.adapters.scales(row.chunk)).collect();
                        embedding_adapters.add(&placed, &scales, model.embedding_scale, stride, staged)?;
                    }
                    images.write_rows(0, stride, staged)
                }
                Some(norms) => norms.fill((file, model, input), &placed, before.unwrap_or_default(), stride, staged),
            },
        };
        for stage in others {
            // The layout of the inputs depends on the number of output rows.
            let shape = StepShape { logits: false, ..shape };
            stage.fill_deepstack_rows(&images, shape)?;
            let (stride, previous) = (stage.input_stride(), residual.take());
            residual = Some(stage.run(shape, &inputs, |staged| fill(previous, stride, staged), <[f32]>::to_vec)?);
        }
        last.fill_layer_inputs(file, model, &placed)?;
        last.fill_deepstack_rows(&images, shape)?;
        let (stride, output_stride) = (last.input_stride(), last.output_stride(logits));
        let collect = |rows: &[f32]| outputs.add(logits, rows, output_stride, first_rows);
        last.run(shape, &inputs, |staged| fill(residual, stride, staged), collect)?;

        // Further output rows, and hidden states next to logits, from the residual stream that the
        // step left in scratch memory.
        let mut more: Vec<(bool, &[OutputRow])> = row_groups.map(|rows| (logits, rows)).collect();
        if hidden && logits {
            more.extend(batch.output_rows.chunks(max_rows).map(|rows| (false, rows)));
        }
        for (logits, rows) in more {
            let (shape, inputs) = batch.rows_only(rows, logits);
            let stride = last.output_stride(logits);
            last.run(shape, &inputs, |_| Ok(()), |values| outputs.add(logits, values, stride, rows))?;
        }
        if let Some(states) = states {
            states.resize_with(chunks.len(), Vec::new);
            let (stride, length) = (last.output_stride(false), model.config.embedding);
            for rows in batch.all_rows().chunks(max_rows) {
                let (shape, inputs) = batch.rows_only(rows, false);
                let mut add = |values: &[f32]| {
                    let rows = values.chunks_exact(stride).zip(rows);
                    rows.for_each(|(values, row)| states[row.chunk].push(values[..length].to_vec()));
                };
                last.run(shape, &inputs, |_| Ok(()), &mut add)?;
            }
        }
        Ok(outputs.finish())
    }

    /// Checks that a chunk of a non-causal model is a whole sequence and requests only hidden
    /// states.
    fn check_whole(&self, chunk: &Chunk<'_>) -> Result<(), Error> {
        let has_logits = matches!(chunk.output, OutputKind::LastLogits | OutputKind::AllLogits);
        if self.limits.causal || (chunk.start == 0 && !has_logits) {
            return Ok(());
        }
        Err(Error::file("the model is not causal: each call must have a whole sequence and return hidden states"))
    }

    /// Checks that a chunk names valid state slots if the model has recurrent states, and none
    /// otherwise.
    fn check_state(&self, chunk: &Chunk<'_>) -> Result<(), Error> {
        let slots = self.limits.state_slots;
        match chunk.state {
            None if slots == 0 => Ok(()),
            Some(StateSlots { read, write }) if read.into_iter().chain([write]).all(|slot| (slot as usize) < slots) => {
                Ok(())
            }
            state => Err(Error::file(format!("a chunk with the recurrent state {state:?}; there are {slots} slots"))),
        }
    }

    fn failure(&self, error: &Error) -> ForwardError {
        let lost = self.stages.iter().any(|stage| stage.device.loss().is_some());
        forward_error(error, lost)
    }

    /// Splits of attention for the longest sequence: a power of two, so that a recording serves
    /// many tokens.
    fn kv_splits(&self, chunks: &[Chunk<'_>]) -> usize {
        let longest = chunks.iter().map(|chunk| chunk.start + chunk.tokens.len()).max().unwrap_or(1);
        let tokens = chunks.iter().map(|chunk| chunk.tokens.len()).sum();
        if longest <= TOKENS_PER_SPLIT {
            return 1;
        }
        longest.div_ceil(self.tokens_per_split).next_power_of_two().min(batch_splits(self.max_splits, tokens))
    }
}

impl Forward for DeviceModel {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn attach_images(&mut self, images: Arc<Images>) {
        self.images = Some(images);
    }

    fn set_saved_positions(&mut self, saved: &[u32]) {
        self.saved_positions = saved.to_vec();
    }

    fn adapters(&self) -> Vec<AdapterSetting> {
        let settings = self.adapters.iter().map(|one| AdapterSetting { name: one.name.clone(), scale: one.scale });
        settings.collect()
    }

    fn set_adapter_scales(&mut self, scales: &[Arc<[f32]>]) {
        self.adapter_scales = scales.iter().map(|scales| scales.to_vec()).collect();
    }

    fn head(&self) -> Option<Arc<PooledHead>> {
        self.head.clone()
    }

    fn evaluate(&mut self, chunks: &[Chunk<'_>]) -> Result<Vec<Output>, ForwardError> {
        self.evaluate_chunks(chunks, None, None).map_err(|error| self.failure(&error))
    }

    fn evaluate_with_states(
        &mut self,
        chunks: &[Chunk<'_>],
        before: Option<&[Vec<f32>]>,
    ) -> Result<Vec<(Output, States)>, ForwardError> {
        let mut states = Vec::new();
        let outputs = self.evaluate_chunks(chunks, before, Some(&mut states));
        let outputs = outputs.map_err(|error| self.failure(&error))?;
        Ok(outputs.into_iter().zip(states).collect())
    }

    fn recycle(&mut self, outputs: Vec<Output>) {
        let rows = outputs.into_iter().flat_map(|output| output.rows);
        let logits = rows.filter(|row| row.capacity() >= self.limits.vocabulary);
        let room = max_output_rows(&self.model, self.limits.max_batch_tokens).saturating_sub(self.spare_rows.len());
        self.spare_rows.extend(logits.take(room));
    }
}
