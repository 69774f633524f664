//! A stage: consecutive layers of a model on one device, with the recordings of its steps.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use roci_gguf::Gguf;
use roci_hal::{Buffer, BufferDesc, CommandBuffer, Device, Profile, Queue, Semaphore, Submit};
use roci_lm::architecture::Model;

use crate::embedding::Placed;
use crate::features::{Features, is_software};
use crate::half_floats::HalfFloats;
use crate::host_experts::{HostExperts, HostSegment};
use crate::images::BatchImages;
use crate::kernel_cache::{KernelCache, MissingKernel, Specialize};
use crate::layer::{DeviceHead, DeviceLayer, DeviceLinear, LayerBuilder};
use crate::memory::has_experts;
use crate::norms::DeviceNorm;
use crate::options::CacheType;
use crate::per_layer::LayerInputs;
use crate::recorder::StepRecorder;
use crate::scratch::{RowBuffer, Scratch, ScratchSizes};
use crate::shape::StepShape;
use crate::streams::DeviceStreams;
use crate::weights::{Progress, WeightLoader};
use crate::{Error, Options};

/// Maximum number of recordings; the least recently used is dropped first.
const MAX_RECORDINGS: usize = 64;

/// Consecutive layers of a model on one device.
pub(crate) struct Stage {
    pub(crate) device: Device,
    /// Tensors that adapters change.
    pub(crate) adapted: BTreeSet<String>,
    queue: Queue,
    kernels: KernelCache,
    layers: Vec<DeviceLayer>,
    /// Index of the first of them in the model.
    first_layer: usize,
    /// Projection of the input of a prediction head.
    input: Option<DeviceLinear>,
    /// Computes the inputs of layers with per-layer embeddings.
    inputs: Option<LayerInputs>,
    /// In models with several residual streams.
    streams: Option<DeviceStreams>,
    /// On the device with the last layer.
    head: Option<DeviceHead>,
    scratch: Scratch,
    staging: Buffer,
    readback: Buffer,
    /// Computes the experts of some layers on the CPU.
    host: Option<HostExperts>,
    recordings: HashMap<StepShape, RecordedStep>,
    done: Semaphore,
    /// Steps submitted so far, which is the last value that `done` will reach.
    steps: u64,
    /// Whether the device computes on the host's CPU; then waiting must not spin.
    on_host: bool,
    cache: CacheType,
    features: Features,
    pub(crate) profile: Option<Profile>,
}

/// The recorded commands of a step.
struct RecordedStep {
    /// The segments that end at experts computed on the CPU.
    segments: Arc<[HostSegment]>,
    commands: CommandBuffer,
    /// The step that last replayed it.
    last_used: u64,
    /// Duration of that step.
    duration: Option<Duration>,
}

/// Description of a stage to load.
pub(crate) struct StageConfig<'a> {
    pub(crate) file: &'a Gguf,
    pub(crate) model: &'a Model,
    pub(crate) layers: Range<usize>,
    pub(crate) options: &'a Options,
    /// KV pages.
    pub(crate) pages: usize,
    pub(crate) sizes: ScratchSizes,
    /// The CPU, if it computes the experts of the first layers.
    pub(crate) host: Option<&'a Device>,
    /// Whether as many of the CPU's weights as possible stay in the file.
    pub(crate) from_file: bool,
}

impl StageConfig<'_> {
    /// Whether the CPU computes the experts of a layer.
    fn has_host_experts(&self, layer: usize) -> bool {
        self.host.is_some() && layer < self.options.cpu_expert_layers && has_experts(&self.model.layers[layer])
    }
}

impl Stage {
    /// Uploads the weights of the stage and allocates its KV cache and scratch memory.
    pub(crate) fn new(device: &Device, config: &StageConfig<'_>, progress: &Progress<'_>) -> Result<Self, Error> {
        let features = Features::of(device.info(), config.options);
        let loader = WeightLoader::new(config.file, device, features.native_kernels, progress)
            .keep_in_file(config.from_file)
            .with_half_floats(HalfFloats::of(&features, config.options));
        let mut builder = LayerBuilder::new(loader, config.options, config.model.context as usize, config.pages);
        let host = config.host.filter(|_| config.layers.clone().any(|layer| config.has_host_experts(layer)));
        let host_loader = |host| WeightLoader::new(config.file, host, true, progress).keep_in_file(config.from_file);
        builder.host = host.map(host_loader);
        let mut layers = Vec::new();
        for index in config.layers.clone() {
            builder.experts_on_host = config.has_host_experts(index);
            layers.push(builder.layer(&config.model.layers[index])?);
        }
        let tokens = config.sizes.tokens;
        let inputs = config.model.per_layer.as_ref();
        let inputs = inputs.map(|block| LayerInputs::new(&builder, block, device, tokens)).transpose()?;
        let streams = config.model.streams.as_ref();
        let streams = streams.map(|block| DeviceStreams::new(&builder, block, device, tokens)).transpose()?;
        let head = if config.layers.end == config.model.layers.len() {
            // The CPU looks up embeddings in the file. So does the host if the device would round
            // them.
            let tied = config.model.embedding == config.model.output.matrix
                && !builder.loader.rounds(&config.model.output.matrix)?
                && config.model.is_causal()
                && config.model.input.is_empty()
                && config.layers.start == 0
                && config.model.prediction_input.is_none()
                && !features.native_kernels;
            let norm = builder.norm(&config.model.norm, config.model.config.embedding)?;
            // The norm of `x / n` is that of `x` with `n²` times the epsilon.
            let count = streams.as_ref().map_or(1, DeviceStreams::count) as f32;
            Some(DeviceHead {
                norm: DeviceNorm { epsilon: norm.epsilon * count * count, ..norm },
                output: match config.model.is_causal() {
                    true => Some(builder.linear(&config.model.output, 0)?),
                    false => None,
                },
                in_file: builder.loader.take_in_file(),
                tied_embedding_scale: tied.then_some(config.model.embedding_scale),
            })
        } else {
            None
        };
        let input = match &config.model.prediction_input {
            Some(input) if config.layers.start == 0 => Some(builder.linear(&input.projection, 0)?),
            _ => None,
        };
        let adapted = builder.finish()?;
        let specialize = match config.options.specialize {
            Some(true) => Specialize::Required,
            None if !is_software(device.info()) => Specialize::BestEffort,
            _ => Specialize::Never,
        };
        Ok(Self {
            queue: device.queue(0)?,
            kernels: KernelCache::new(device, specialize),
            layers,
            first_layer: config.layers.start,
            input,
            inputs,
            streams,
            head,
            scratch: Scratch::new(device, &config.sizes)?,
            staging: device.allocate(BufferDesc::host(config.sizes.staging()).label("inputs"))?,
            readback: device.allocate(BufferDesc::host(config.sizes.readback()).label("outputs"))?,
            host: host.map(|host| HostExperts::new(host, device, config.model, config.options)).transpose()?,
            recordings: HashMap::new(),
            done: device.semaphore(0),
            steps: 0,
            on_host: features.native_kernels || is_software(device.info()),
            features,
            cache: config.options.cache,
            profile: None,
            adapted,
            device: device.clone(),
        })
    }

    /// Floats between rows of the residual stream, or of the input of a prediction head.
    pub(crate) fn input_stride(&self) -> usize {
        if self.input.is_some() { self.scratch.qkv.stride } else { self.scratch.residual.stride }
    }

    /// Writes the token-dependent parts of the per-layer inputs, for the next [`run`](Self::run).
    pub(crate) fn fill_layer_inputs(&self, file: &Gguf, model: &Model, tokens: &[Placed]) -> Result<(), Error> {
        match (&self.inputs, &model.per_layer) {
            (Some(inputs), Some(block)) => inputs.fill(file, block, tokens),
            _ => Ok(()),
        }
    }

    /// Stages the image features that the next [`run`](Self::run) adds after each of the first layers.
    pub(crate) fn fill_deepstack_rows(&self, images: &BatchImages, shape: StepShape) -> Result<(), Error> {
        let RowBuffer { stride, .. } = self.scratch.residual;
        for layer in self.first_layer..shape.deepstack_layers.min(self.first_layer + self.layers.len()) {
            let (start, bytes) = self.scratch.staged_deepstack_rows(layer, shape.tokens);
            let staged = self.staging.range(start, bytes)?;
            let mut staged = staged.map_write()?;
            let rows = bytemuck::cast_slice_mut(&mut staged);
            rows.fill(0.0);
            images.write_rows(1 + layer, stride, rows)?;
        }
        Ok(())
    }

    /// Runs a step and waits for it. [`StepRecorder::record`] records its commands on first use;
    /// [`Queue::submit`] submits them.
    ///
    /// `fill` writes the residual stream of the tokens, or the input of a prediction head, to the
    /// staging buffer, in rows of [`input_stride`](Self::input_stride) floats. `read` gets the output
    /// of the step in the read-back buffer, in rows of [`output_stride`](Self::output_stride) floats:
    /// the residual stream, or hidden states or logits on the last stage.
    pub(crate) fn run<T>(
        &mut self,
        shape: StepShape,
        inputs: &[u32],
        fill: impl FnOnce(&mut [f32]) -> Result<(), Error>,
        read: impl FnOnce(&[f32]) -> T,
    ) -> Result<T, Error> {
        let words: &[u8] = bytemuck::cast_slice(inputs);
        self.staging.range(0, words.len() as u64)?.map_write()?.copy_from_slice(words);
        if shape.tokens > 0 && (shape.host_embeddings || !self.embeds_on_device(shape.tokens)) {
            let bytes = 4 * (shape.tokens * self.input_stride()) as u64;
            let staged = self.staging.range(self.scratch.staged_residual_offset, bytes)?;
            fill(bytemuck::cast_slice_mut(&mut staged.map_write()?))?;
        }
        let (segments, commands) = self.recording(shape)?;
        let start = Instant::now();
        // The driver limits the time of each command; a step has many of them.
        let deadline = Duration::from_secs(24 * 3600);
        for segment in segments.iter() {
            self.submit(&segment.before)?;
            let reached = self.steps;
            segment.beside.iter().try_for_each(|beside| self.submit(beside))?;
            self.done.wait(reached, deadline)?;
            let Some(host) = &mut self.host else { continue };
            host.run(segment, shape.tokens)?;
        }
        self.submit(&commands)?;
        match self
            .recordings
            .get(&shape)
            .and_then(|recording| recording.duration)
            .filter(|_| !self.on_host && segments.is_empty())
        {
            Some(expected) => {
                self.done.wait_with_estimate(self.steps, expected.saturating_sub(start.elapsed()), deadline)?
            }
            None => self.done.wait(self.steps, deadline)?,
        }
        if let Some(recording) = self.recordings.get_mut(&shape) {
            recording.duration = Some(start.elapsed());
        }
        let rows = if self.head.is_some() { shape.output_rows } else { shape.tokens };
        let floats = rows * self.output_stride(shape.logits);
        let output = self.readback.range(0, 4 * floats as u64)?.map_read()?;
        Ok(read(bytemuck::cast_slice(&output)))
    }

    /// Submits commands that start when all earlier ones are complete.
    fn submit(&mut self, commands: &CommandBuffer) -> Result<(), Error> {
        let submit = Submit::new().wait(&self.done, self.steps).signal(&self.done, self.steps + 1);
        let mut submit = submit.label("language model");
        if let Some(profile) = &self.profile {
            submit = submit.profile(profile);
        }
        self.queue.submit(commands, submit)?;
        self.steps += 1;
        Ok(())
    }

    /// Whether the device looks up the embeddings of this number of tokens itself.
    fn embeds_on_device(&self, tokens: usize) -> bool {
        self.head.as_ref().is_some_and(|head| head.embedding(tokens).is_some())
    }

    /// Floats between rows of the output of [`run`](Self::run).
    pub(crate) fn output_stride(&self, logits: bool) -> usize {
        match (&self.head, logits) {
            (None, _) => self.scratch.residual.stride,
            (Some(_), true) => self.scratch.logits.stride,
            (Some(_), false) => self.scratch.output_hidden.stride,
        }
    }

    /// Kernels that steps of these shapes need and that are not loaded yet, found by a dry run.
    pub(crate) fn missing_kernels(&mut self, shapes: &[StepShape]) -> Result<Vec<MissingKernel>, Error> {
        let Self {
            device,
            kernels,
            layers,
            input,
            inputs,
            streams,
            head,
            host,
            scratch,
            staging,
            readback,
            cache,
            features,
            ..
        } = self;
        kernels.missing(|kernels| {
            for &shape in shapes {
                let recorder = StepRecorder::new(device, kernels, scratch, shape, *cache, *features);
                let recorder =
                    recorder.with_host(host.as_mut()).with_input(input.as_ref()).with_streams(streams.as_ref());
                recorder.record(layers, inputs.as_ref(), head.as_ref(), staging, readback)?;
            }
            Ok(())
        })
    }

    /// Loads one of the missing kernels.
    pub(crate) fn load_kernel(&mut self, missing: &MissingKernel) -> Result<(), Error> {
        self.kernels.load(missing)
    }

    /// The commands of a step of this shape, recorded on first use.
    fn recording(&mut self, shape: StepShape) -> Result<(Arc<[HostSegment]>, CommandBuffer), Error> {
        let now = self.steps;
        if let Some(recording) = self.recordings.get_mut(&shape) {
            recording.last_used = now;
            return Ok((Arc::clone(&recording.segments), recording.commands.clone()));
        }
        if self.recordings.len() >= MAX_RECORDINGS
            && let Some(oldest) =
                self.recordings.iter().min_by_key(|(_, recording)| recording.last_used).map(|(shape, _)| *shape)
        {
            self.recordings.remove(&oldest);
        }
        let recorder =
            StepRecorder::new(&self.device, &mut self.kernels, &self.scratch, shape, self.cache, self.features)
                .with_host(self.host.as_mut())
                .with_first_layer(self.first_layer);
        let layers = if shape.tokens == 0 { &[][..] } else { &self.layers };
        let recorder = recorder.with_input(self.input.as_ref()).with_streams(self.streams.as_ref());
        let (segments, commands) =
            recorder.record(layers, self.inputs.as_ref(), self.head.as_ref(), &self.staging, &self.readback)?;
        let segments: Arc<[HostSegment]> = segments.into();
        let recorded = RecordedStep {
            segments: Arc::clone(&segments),
            commands: commands.clone(),
            last_used: now,
            duration: None,
        };
        self.recordings.insert(shape, recorded);
        Ok((segments, commands))
    }
}
