//! Some layers of a model on one device.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use roci_engine::Limits;
use roci_gguf::Gguf;
use roci_hal::{Buffer, BufferDesc, CommandBuffer, Device, Profile, Queue, Semaphore, Submit};
use roci_llm::architecture::Model;

use crate::layer::{LayerPart, Maker};
use crate::record::{Head, Kernels, Shape, Units, Writer};
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
    recordings: HashMap<Shape, (u64, CommandBuffer)>,
    done: Semaphore,
    steps: u64,
    host: bool,
    cache: crate::options::CacheType,
    units: Units,
    pub(crate) profile: Option<Profile>,
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
        let loader = Loader { file: plan.file, device, host, progress };
        let context = plan.model.context as usize;
        let mut maker = Maker { loader, options: plan.options, context, pages: plan.pages, rotations: Vec::new() };
        let layers = plan.model.layers[plan.layers.clone()]
            .iter()
            .map(|layer| maker.layer(layer))
            .collect::<Result<Vec<_>, _>>()?;
        let head = if plan.layers.end == plan.model.layers.len() {
            Some(Head { norm: maker.norm(&plan.model.norm)?, output: maker.product(&plan.model.output, 0)? })
        } else {
            None
        };
        Ok(Self {
            queue: device.queue(0)?,
            kernels: Kernels::default(),
            layers,
            head,
            scratch: Scratch::new(device, &plan.sizes)?,
            staging: device.allocate(BufferDesc::host(plan.sizes.staging()).label("inputs"))?,
            answer: device.allocate(BufferDesc::host(plan.sizes.answer()).label("results"))?,
            recordings: HashMap::new(),
            done: device.semaphore(0),
            steps: 0,
            host,
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

    /// Runs a step: inputs and the state of its tokens in, the state or what is wanted of it out, as floats.
    pub(crate) fn run(
        &mut self,
        shape: Shape,
        inputs: &[u32],
        state: &[f32],
        limits: &Limits,
    ) -> Result<Vec<f32>, Error> {
        {
            let mut staging = self.staging.map()?;
            let words: &[u8] = bytemuck::cast_slice(inputs);
            staging[..words.len()].copy_from_slice(words);
            let at = self.scratch.state_at as usize;
            let state: &[u8] = bytemuck::cast_slice(state);
            staging[at..at + state.len()].copy_from_slice(state);
        }
        let commands = self.recording(shape, limits)?;
        self.steps += 1;
        let mut submit = Submit::new().signal(&self.done, self.steps).label("language model");
        if let Some(profile) = &self.profile {
            submit = submit.profile(profile);
        }
        self.queue.submit(&commands, submit)?;
        // Each command has the device's own limit; a step is as many of them as there are.
        self.done.wait(self.steps, Duration::from_secs(24 * 3600))?;
        let stride = match (&self.head, shape.logits) {
            (None, _) => self.scratch.state.stride,
            (Some(_), true) => self.scratch.logits.stride,
            (Some(_), false) => self.scratch.last.stride,
        };
        let rows = if self.head.is_some() { shape.rows } else { shape.tokens };
        let answer = self.answer.map()?;
        Ok(bytemuck::cast_slice(&answer[..4 * rows * stride]).to_vec())
    }

    /// Floats between rows of what [`run`](Self::run) gives of the last stage.
    pub(crate) fn answer_stride(&self, logits: bool) -> usize {
        if logits { self.scratch.logits.stride } else { self.scratch.last.stride }
    }

    fn recording(&mut self, shape: Shape, limits: &Limits) -> Result<CommandBuffer, Error> {
        let now = self.steps;
        if let Some((used, commands)) = self.recordings.get_mut(&shape) {
            *used = now;
            return Ok(commands.clone());
        }
        if self.recordings.len() >= KEPT
            && let Some(oldest) = self.recordings.iter().min_by_key(|(_, (used, _))| *used).map(|(shape, _)| *shape)
        {
            self.recordings.remove(&oldest);
        }
        let writer = Writer {
            recorder: self.device.record(),
            device: &self.device,
            kernels: &mut self.kernels,
            scratch: &self.scratch,
            shape,
            cache: self.cache,
            host: self.host,
            units: self.units,
            ready: false,
        };
        let layers = if shape.tokens == 0 { &[][..] } else { &self.layers };
        let commands = writer.step(layers, self.head.as_ref(), &self.staging, &self.answer, limits)?;
        self.recordings.insert(shape, (now, commands.clone()));
        Ok(commands)
    }
}
