//! Some layers of a model on one device.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use roci_engine::Limits;
use roci_gguf::Gguf;
use roci_hal::{Buffer, BufferDesc, CommandBuffer, Device, Profile, Queue, Semaphore, Submit};
use roci_llm::architecture::Model;

use crate::kernels::{Bakes, Kernels, Missing};
use crate::layer::{LayerPart, Maker};
use crate::product::{Units, is_played};
use crate::record::{Head, Shape, Writer};
use crate::scratch::{Scratch, Sizes};
use crate::weights::{Loader, Progress};
use crate::{Error, Options};

/// Recordings that are kept; the oldest go first.
const KEPT: usize = 64;

/// Some layers of a model on one device.
pub(crate) struct Stage {
    pub(crate) device: Device,
    queue: Queue,
    kernels: Kernels,
    layers: Vec<LayerPart>,
    head: Option<Head>,
    scratch: Scratch,
    staging: Buffer,
    answer: Buffer,
    recordings: HashMap<Shape, Recording>,
    done: Semaphore,
    steps: u64,
    host: bool,
    /// Whether a processor of the host plays the device.
    is_played: bool,
    cache: crate::options::CacheType,
    units: Units,
    pub(crate) profile: Option<Profile>,
}

/// A step that is written down.
struct Recording {
    commands: CommandBuffer,
    /// The step in which it last ran.
    used: u64,
    /// How long it took then.
    took: Option<Duration>,
}

/// What a stage is made of.
pub(crate) struct Plan<'a> {
    pub(crate) file: &'a Gguf,
    pub(crate) model: &'a Model,
    pub(crate) layers: Range<usize>,
    pub(crate) options: &'a Options,
    pub(crate) pages: usize,
    pub(crate) sizes: Sizes,
}

impl Stage {
    pub(crate) fn new(device: &Device, plan: &Plan<'_>, progress: &Progress<'_>) -> Result<Self, Error> {
        let host = roci_kernels::takes_native(device.info());
        let loader =
            Loader { file: plan.file, device, host, progress, files: Mutex::default(), upload: Mutex::default() };
        let context = plan.model.context as usize;
        let mut maker = Maker { loader, options: plan.options, context, pages: plan.pages, rotations: Vec::new() };
        let layers = plan.model.layers[plan.layers.clone()]
            .iter()
            .map(|layer| maker.layer(layer))
            .collect::<Result<Vec<_>, _>>()?;
        let head = if plan.layers.end == plan.model.layers.len() {
            // The CPU looks them up in the file.
            let tied = plan.model.embedding == plan.model.output.matrix && plan.layers.start == 0 && !host;
            Some(Head {
                norm: maker.norm(&plan.model.norm)?,
                output: maker.product(&plan.model.output, 0)?,
                embeds: tied.then_some(plan.model.embedding_scale),
            })
        } else {
            None
        };
        maker.loader.finish()?;
        let bakes = match plan.options.bake {
            Some(true) => Bakes::Always,
            None if !is_played(device.info()) => Bakes::Gladly,
            _ => Bakes::Never,
        };
        Ok(Self {
            queue: device.queue(0)?,
            kernels: Kernels::new(device, bakes),
            layers,
            head,
            scratch: Scratch::new(device, &plan.sizes)?,
            staging: device.allocate(BufferDesc::host(plan.sizes.staging()).label("inputs"))?,
            answer: device.allocate(BufferDesc::host(plan.sizes.answer()).label("results"))?,
            recordings: HashMap::new(),
            done: device.semaphore(0),
            steps: 0,
            host,
            is_played: host || is_played(device.info()),
            units: Units::of(device.info(), plan.options),
            cache: plan.options.cache,
            profile: None,
            device: device.clone(),
        })
    }

    /// Floats between rows of the state.
    pub(crate) fn state_stride(&self) -> usize {
        self.scratch.state.stride
    }

    /// Runs a step: `inputs` and the state of its tokens in, the state or what is wanted of it out, as rows of floats.
    ///
    /// `fill` writes the state, and `take` reads what comes back, where the device finds and leaves them. Rows are as far apart as
    /// [`state_stride`](Self::state_stride) and [`answer_stride`](Self::answer_stride) say.
    pub(crate) fn run<T>(
        &mut self,
        shape: Shape,
        inputs: &[u32],
        limits: &Limits,
        fill: impl FnOnce(&mut [f32]) -> Result<(), Error>,
        take: impl FnOnce(&[f32]) -> T,
    ) -> Result<T, Error> {
        let words: &[u8] = bytemuck::cast_slice(inputs);
        self.staging.range(0, words.len() as u64)?.map_write()?.copy_from_slice(words);
        if shape.tokens > 0 && !self.embeds(shape.tokens) {
            let state = self.staging.range(self.scratch.state_at, self.scratch.state.bytes(shape.tokens))?;
            fill(bytemuck::cast_slice_mut(&mut state.map_write()?))?;
        }
        let commands = self.recording(shape, limits)?;
        self.steps += 1;
        let mut submit = Submit::new().signal(&self.done, self.steps).label("language model");
        if let Some(profile) = &self.profile {
            submit = submit.profile(profile);
        }
        let began = Instant::now();
        self.queue.submit(&commands, submit)?;
        // Each command has the device's own limit; a step is as many of them as there are.
        let deadline = Duration::from_secs(24 * 3600);
        match self.recordings.get(&shape).and_then(|recording| recording.took).filter(|_| !self.is_played) {
            Some(took) => self.done.wait_about(self.steps, took.saturating_sub(began.elapsed()), deadline)?,
            None => self.done.wait(self.steps, deadline)?,
        }
        if let Some(recording) = self.recordings.get_mut(&shape) {
            recording.took = Some(began.elapsed());
        }
        let rows = if self.head.is_some() { shape.rows } else { shape.tokens };
        let floats = rows * self.answer_stride(shape.logits);
        let answer = self.answer.range(0, 4 * floats as u64)?.map_read()?;
        Ok(take(bytemuck::cast_slice(&answer)))
    }

    /// Whether the device looks up the embeddings of so many tokens itself.
    fn embeds(&self, tokens: usize) -> bool {
        self.head.as_ref().is_some_and(|head| head.embedding(tokens).is_some())
    }

    /// Floats between rows of what [`run`](Self::run) gives.
    pub(crate) fn answer_stride(&self, logits: bool) -> usize {
        match (&self.head, logits) {
            (None, _) => self.scratch.state.stride,
            (Some(_), true) => self.scratch.logits.stride,
            (Some(_), false) => self.scratch.last.stride,
        }
    }

    /// Kernels of steps of these shapes that are not loaded.
    pub(crate) fn missing(&mut self, shapes: &[Shape], limits: &Limits) -> Result<Vec<Missing>, Error> {
        let Self { device, kernels, layers, head, scratch, staging, answer, .. } = self;
        let (cache, host, units) = (self.cache, self.host, self.units);
        kernels.missing(|kernels| {
            for &shape in shapes {
                let writer = Writer::new(device, kernels, scratch, shape, (cache, host, units));
                writer.step(layers, head.as_ref(), staging, answer, limits)?;
            }
            Ok(())
        })
    }

    /// Loads one of them.
    pub(crate) fn load(&mut self, missing: &Missing) -> Result<(), Error> {
        self.kernels.load(missing)
    }

    fn recording(&mut self, shape: Shape, limits: &Limits) -> Result<CommandBuffer, Error> {
        let now = self.steps;
        if let Some(recording) = self.recordings.get_mut(&shape) {
            recording.used = now;
            return Ok(recording.commands.clone());
        }
        if self.recordings.len() >= KEPT
            && let Some(oldest) = self.recordings.iter().min_by_key(|(_, one)| one.used).map(|(shape, _)| *shape)
        {
            self.recordings.remove(&oldest);
        }
        let kinds = (self.cache, self.host, self.units);
        let writer = Writer::new(&self.device, &mut self.kernels, &self.scratch, shape, kinds);
        let layers = if shape.tokens == 0 { &[][..] } else { &self.layers };
        let commands = writer.step(layers, self.head.as_ref(), &self.staging, &self.answer, limits)?;
        self.recordings.insert(shape, Recording { commands: commands.clone(), used: now, took: None });
        Ok(commands)
    }
}
