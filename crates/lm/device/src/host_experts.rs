//! Experts of a GPU's layers that the CPU computes.
//!
//! The GPU's commands end at such an MoE block: they write the normalized residual stream and the
//! expert ids and weights to host-visible memory. The CPU device computes the experts from its copy
//! of the matrices, and the GPU's next commands add the result to the residual stream. Meanwhile
//! the GPU computes the shared expert, if there is one.

use std::time::Duration;

use roci_hal::{Buffer, BufferDesc, BufferRange, CommandBuffer, Device, Queue, Semaphore, Submit};
use roci_lm::architecture::Model;

use crate::experts::DeviceExperts;
use crate::features::Features;
use crate::kernel_cache::{KernelCache, Specialize};
use crate::layer::DeviceActivation;
use crate::limits::scratch_sizes;
use crate::options::CacheType;
use crate::recorder::StepRecorder;
use crate::scratch::{Scratch, ScratchSizes};
use crate::shape::StepShape;
use crate::{Error, Options};

/// Timeout of the experts of a layer for one batch, as long as that of a step: the driver limits
/// each kernel.
const DEADLINE: Duration = Duration::from_secs(24 * 3600);

/// Buffers through which the GPU and the CPU exchange data at an MoE block.
#[derive(Clone)]
pub(crate) struct Exchange {
    /// Inputs of the experts, then their ids, then their weights; host-visible memory of the GPU's
    /// device.
    pub(crate) outbox: Buffer,
    /// Sums of the outputs of experts.
    pub(crate) inbox: Buffer,
    /// Offsets in the outbox, in bytes.
    pub(crate) ids: u64,
    pub(crate) weights: u64,
}

impl Exchange {
    fn new(device: &Device, rows: u64, pairs: u64) -> Result<Self, Error> {
        // Copy offsets must be multiples of four; these are also multiples of a cache line.
        let (ids, weights) = (rows.next_multiple_of(64), (rows + pairs).next_multiple_of(64));
        let allocate = |bytes: u64| device.allocate(BufferDesc::host(bytes.next_multiple_of(64)).label("experts"));
        Ok(Self { outbox: allocate(weights + 64 + pairs)?, inbox: allocate(rows)?, ids, weights: weights + 64 })
    }
}

/// The CPU's part of a GPU's stage.
pub(crate) struct HostExperts {
    device: Device,
    queue: Queue,
    kernels: KernelCache,
    scratch: Scratch,
    features: Features,
    cache: CacheType,
    pub(crate) exchange: Exchange,
    done: Semaphore,
    /// Submissions so far: the last value that `done` will reach.
    submitted: u64,
}

/// Commands of a step up to and including an MoE block that the CPU computes.
#[derive(Clone)]
pub(crate) struct HostSegment {
    /// Commands of the GPU that fill the outbox.
    pub(crate) before: CommandBuffer,
    /// Commands of the GPU that run concurrently with those of the CPU.
    pub(crate) beside: Option<CommandBuffer>,
    /// Commands of the CPU.
    pub(crate) experts: CommandBuffer,
    /// Experts per token.
    pub(crate) experts_per_token: usize,
}

impl HostExperts {
    /// `host` is the CPU; `gpu` has the layers.
    pub(crate) fn new(host: &Device, gpu: &Device, model: &Model, options: &Options) -> Result<Self, Error> {
        let sizes: ScratchSizes = scratch_sizes(model, options, host.info());
        let mut scratch = Scratch::new(host, &sizes)?;
        // The host writes these, and reads the result.
        let visible = |range: &BufferRange| -> Result<BufferRange, Error> {
            Ok(host.allocate(BufferDesc::host(range.length()).label("experts"))?.whole())
        };
        scratch.normed.range = visible(&scratch.normed.range)?;
        scratch.expert_ids = visible(&scratch.expert_ids)?;
        scratch.expert_weights = visible(&scratch.expert_weights)?;
        scratch.residual.range = visible(&scratch.residual.range)?;
        let exchange = Exchange::new(gpu, scratch.normed.range.length(), scratch.expert_ids.length())?;
        Ok(Self {
            queue: host.queue(0)?,
            kernels: KernelCache::new(host, Specialize::Never),
            features: Features::of(host.info(), options),
            cache: options.cache,
            done: host.semaphore(0),
            submitted: 0,
            device: host.clone(),
            scratch,
            exchange,
        })
    }

    /// The CPU's commands for a batch of this shape.
    pub(crate) fn record(
        &mut self,
        shape: StepShape,
        experts: &DeviceExperts,
        activation: (DeviceActivation, usize),
    ) -> Result<CommandBuffer, Error> {
        let recorder =
            StepRecorder::new(&self.device, &mut self.kernels, &self.scratch, shape, self.cache, self.features);
        recorder.record_experts(experts, activation)
    }

    /// Computes the experts of a batch once the outbox has their inputs, and fills the inbox.
    pub(crate) fn run(&mut self, segment: &HostSegment, tokens: usize) -> Result<(), Error> {
        let Self { scratch, exchange, .. } = self;
        let (rows, pairs) = (scratch.normed.bytes(tokens), 4 * (tokens * segment.experts_per_token) as u64);
        let sources = [(0, rows), (exchange.ids, pairs), (exchange.weights, pairs)];
        let targets = [&scratch.normed.range, &scratch.expert_ids, &scratch.expert_weights];
        for ((offset, bytes), target) in sources.into_iter().zip(targets) {
            let source = exchange.outbox.range(offset, bytes)?.map_read()?;
            target.range(0, bytes)?.map_write()?.copy_from_slice(&source);
        }
        self.submitted += 1;
        let submit = Submit::new().signal(&self.done, self.submitted).label("experts");
        self.queue.submit(&segment.experts, submit)?;
        self.done.wait(self.submitted, DEADLINE)?;
        let result = self.scratch.residual.range.range(0, rows)?.map_read()?;
        self.exchange.inbox.range(0, rows)?.map_write()?.copy_from_slice(&result);
        Ok(())
    }
}
