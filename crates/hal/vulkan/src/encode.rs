//! Encodes a plan with its bindings into command buffers.

#![expect(unsafe_code, reason = "calls Vulkan")]

use std::sync::Arc;

use ash::vk;
use roci_hal::Error;
use roci_hal::command::Operand;
use roci_hal::driver::BoundRange;

use crate::buffer::buffer_of;
use crate::device_state::DeviceState;
use crate::error::failed;
use crate::plan::{AccessKinds, CommandPlan, DispatchPart, PlanStep};
use crate::timing::TimestampQueries;

/// Pipeline stages of kernels and transfers.
const DEVICE_STAGES: vk::PipelineStageFlags = vk::PipelineStageFlags::from_raw(
    vk::PipelineStageFlags::COMPUTE_SHADER.as_raw() | vk::PipelineStageFlags::TRANSFER.as_raw(),
);
const DEVICE_WRITES: vk::AccessFlags =
    vk::AccessFlags::from_raw(vk::AccessFlags::SHADER_WRITE.as_raw() | vk::AccessFlags::TRANSFER_WRITE.as_raw());
const DEVICE_ACCESS: vk::AccessFlags = vk::AccessFlags::from_raw(
    DEVICE_WRITES.as_raw() | vk::AccessFlags::SHADER_READ.as_raw() | vk::AccessFlags::TRANSFER_READ.as_raw(),
);

/// Command buffers, one per chunk. They may be in flight more than once at a time.
pub(crate) struct EncodedCommands {
    shared: Arc<DeviceState>,
    pub(crate) plan: Arc<CommandPlan>,
    pub(crate) buffers: Vec<vk::CommandBuffer>,
    /// Present if timing is requested. Such command buffers run once.
    pub(crate) times: Option<TimestampQueries>,
    pool: vk::CommandPool,
    /// Null if nothing is bound.
    descriptors: vk::DescriptorPool,
}

impl EncodedCommands {
    /// Encodes command buffers for these slot bindings, with timestamps if `timed`.
    pub(crate) fn new(
        shared: &Arc<DeviceState>,
        plan: &Arc<CommandPlan>,
        slots: &[BoundRange],
        timed: bool,
    ) -> Result<Self, Error> {
        // From here on, dropping it releases the pools.
        let mut encoded = Self {
            shared: Arc::clone(shared),
            plan: Arc::clone(plan),
            buffers: Vec::new(),
            times: timed.then(|| TimestampQueries::new(shared, plan)).transpose()?,
            pool: shared.acquire_command_pool()?,
            descriptors: vk::DescriptorPool::null(),
        };
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(encoded.pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(plan.chunks.len() as u32);
        // SAFETY: the pool belongs to this value alone.
        let buffers = unsafe { shared.device.allocate_command_buffers(&info) };
        encoded.buffers = buffers.map_err(failed("command buffers"))?;
        let sets = encoded.bind(slots)?;
        let mut number = 0;
        for (index, buffer) in encoded.buffers.iter().enumerate() {
            encoded.record(index, *buffer, &sets, slots, &mut number)?;
        }
        Ok(encoded)
    }

    /// Allocates and writes the descriptor sets of all dispatches.
    fn bind(&mut self, slots: &[BoundRange]) -> Result<Vec<vk::DescriptorSet>, Error> {
        let (device, plan) = (&self.shared.device, &self.plan);
        let count: usize = plan.sets.iter().map(|set| set.operands.len()).sum();
        if count == 0 {
            return Ok(Vec::new());
        }
        let kind = vk::DescriptorType::STORAGE_BUFFER;
        let sizes = [vk::DescriptorPoolSize::default().ty(kind).descriptor_count(count as u32)];
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(plan.sets.len() as u32).pool_sizes(&sizes);
        // SAFETY: valid create info.
        let pool = unsafe { device.create_descriptor_pool(&info, None) };
        self.descriptors = pool.map_err(failed("bindings"))?;
        let layouts: Vec<_> = plan.sets.iter().map(|set| set.kernel.layout.set).collect();
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(self.descriptors).set_layouts(&layouts);
        // SAFETY: the pool was sized for exactly these sets.
        let sets = unsafe { device.allocate_descriptor_sets(&info) }.map_err(failed("bindings"))?;
        let infos = plan.sets.iter().flat_map(|set| &set.operands).map(|operand| descriptor(operand, slots));
        let infos = infos.collect::<Result<Vec<_>, _>>()?;
        let mut rest = &infos[..];
        let mut writes = Vec::new();
        for (set, raw) in plan.sets.iter().zip(&sets) {
            let (own, others) = rest.split_at(set.operands.len());
            rest = others;
            let write = vk::WriteDescriptorSet::default().dst_set(*raw).descriptor_type(kind);
            // The bindings of a layout are consecutive, so one write covers all of them.
            writes.push(write.buffer_info(own));
        }
        // SAFETY: buffers of this device, and sets that nothing uses yet.
        unsafe { device.update_descriptor_sets(&writes, &[]) };
        Ok(sets)
    }

    /// Records the command buffer of one chunk, step by step ([`CommandEncoder::step`]).
    fn record(
        &self,
        index: usize,
        buffer: vk::CommandBuffer,
        sets: &[vk::DescriptorSet],
        slots: &[BoundRange],
        number: &mut usize,
    ) -> Result<(), Error> {
        let (device, plan) = (&self.shared.device, &self.plan);
        let info = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE);
        // SAFETY: freshly allocated, not yet recorded.
        unsafe { device.begin_command_buffer(buffer, &info) }.map_err(failed("a command buffer"))?;
        let mut encoder =
            CommandEncoder { device, buffer, sets, slots, pipeline: vk::Pipeline::null(), set: None, constants: None };
        if index == 0 {
            // The host waited for earlier batches, which makes their writes available; this barrier
            // makes them visible.
            encoder.barrier(
                vk::PipelineStageFlags::TOP_OF_PIPE,
                vk::AccessFlags::empty(),
                DEVICE_STAGES,
                DEVICE_ACCESS,
            );
            self.times.iter().for_each(|times| times.reset(buffer));
        }
        for step in &plan.steps[plan.chunks[index].steps.clone()] {
            match &self.times {
                Some(times) if !matches!(step, PlanStep::Barrier { .. }) => {
                    times.begin(buffer, *number);
                    encoder.step(step)?;
                    times.end(buffer, *number);
                    *number += 1;
                }
                _ => encoder.step(step)?,
            }
        }
        if index + 1 == plan.chunks.len() {
            let host = vk::AccessFlags::HOST_READ | vk::AccessFlags::HOST_WRITE;
            encoder.barrier(DEVICE_STAGES, DEVICE_WRITES, vk::PipelineStageFlags::HOST, host);
        }
        // SAFETY: recording was begun above.
        unsafe { device.end_command_buffer(buffer) }.map_err(failed("a command buffer"))
    }
}

/// Encodes commands, skipping state that is already set.
struct CommandEncoder<'a> {
    device: &'a ash::Device,
    buffer: vk::CommandBuffer,
    sets: &'a [vk::DescriptorSet],
    slots: &'a [BoundRange],
    pipeline: vk::Pipeline,
    /// The bound descriptor set and its layout.
    set: Option<(usize, vk::PipelineLayout)>,
    /// The push constants that are set, and their layout.
    constants: Option<(&'a [u8], vk::PipelineLayout)>,
}

impl<'a> CommandEncoder<'a> {
    fn step(&mut self, step: &'a PlanStep) -> Result<(), Error> {
        match step {
            PlanStep::Barrier { before, after } => {
                let ((before, writes, _), (after, _, accesses)) = (scope(*before), scope(*after));
                self.barrier(before, writes, after, accesses);
            }
            PlanStep::Fill { target, pattern } => {
                let target = self.buffer_info(target)?;
                // SAFETY: whole words inside the buffer.
                unsafe {
                    self.device.cmd_fill_buffer(self.buffer, target.buffer, target.offset, target.range, *pattern)
                };
            }
            PlanStep::Copy { source, target } => {
                let (source, target) = (self.buffer_info(source)?, self.buffer_info(target)?);
                let region =
                    vk::BufferCopy { src_offset: source.offset, dst_offset: target.offset, size: source.range };
                // SAFETY: both ranges lie inside their buffers and do not overlap.
                unsafe { self.device.cmd_copy_buffer(self.buffer, source.buffer, target.buffer, &[region]) };
            }
            PlanStep::Update { data, target } => {
                let target = self.buffer_info(target)?;
                // SAFETY: whole words inside the buffer, within Vulkan's limit for inline updates.
                unsafe { self.device.cmd_update_buffer(self.buffer, target.buffer, target.offset, data) };
            }
            PlanStep::Dispatch(part) => self.dispatch(part),
        }
        Ok(())
    }

    fn buffer_info(&self, operand: &Operand) -> Result<vk::DescriptorBufferInfo, Error> {
        buffer_info(operand, self.slots)
    }

    /// Encodes `vkCmdDispatch`, after the state that it needs and that is not set yet.
    fn dispatch(&mut self, part: &'a DispatchPart) {
        let (device, layout) = (self.device, part.kernel.layout.pipeline);
        let point = vk::PipelineBindPoint::COMPUTE;
        if self.pipeline != part.kernel.pipeline {
            self.pipeline = part.kernel.pipeline;
            // SAFETY: the recording keeps the kernel alive.
            unsafe { device.cmd_bind_pipeline(self.buffer, point, self.pipeline) };
        }
        if let Some(set) = part.set
            && self.set != Some((set, layout))
        {
            self.set = Some((set, layout));
            // SAFETY: a set of the kernel's layout.
            unsafe { device.cmd_bind_descriptor_sets(self.buffer, point, layout, 0, &[self.sets[set]], &[]) };
        }
        if !part.constants.is_empty() && self.constants != Some((&part.constants, layout)) {
            self.constants = Some((&part.constants, layout));
            let stage = vk::ShaderStageFlags::COMPUTE;
            // SAFETY: the length is that of the layout.
            unsafe { device.cmd_push_constants(self.buffer, layout, stage, 0, &part.constants) };
        }
        let ([x, y, z], [i, j, k]) = (part.base, part.groups);
        if part.base == [0; 3] {
            // SAFETY: the HAL has checked the grid against the device's limits.
            unsafe { device.cmd_dispatch(self.buffer, i, j, k) };
        } else {
            // SAFETY: part of a grid that was checked, of a pipeline created with `DISPATCH_BASE`.
            unsafe { device.cmd_dispatch_base(self.buffer, x, y, z, i, j, k) };
        }
    }

    fn barrier(
        &mut self,
        before: vk::PipelineStageFlags,
        writes: vk::AccessFlags,
        after: vk::PipelineStageFlags,
        accesses: vk::AccessFlags,
    ) {
        let memory = [vk::MemoryBarrier::default().src_access_mask(writes).dst_access_mask(accesses)];
        let none = vk::DependencyFlags::empty();
        // SAFETY: stages that every compute queue supports.
        unsafe { self.device.cmd_pipeline_barrier(self.buffer, before, after, none, &memory, &[], &[]) };
    }
}

/// Stages, writes and all accesses of these kinds. No access at all, at the end of a batch, means
/// all commands.
fn scope(kinds: AccessKinds) -> (vk::PipelineStageFlags, vk::AccessFlags, vk::AccessFlags) {
    use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
    match (kinds.kernels, kinds.transfers) {
        (true, false) => (Stage::COMPUTE_SHADER, Access::SHADER_WRITE, Access::SHADER_READ | Access::SHADER_WRITE),
        (false, true) => (Stage::TRANSFER, Access::TRANSFER_WRITE, Access::TRANSFER_READ | Access::TRANSFER_WRITE),
        _ => (DEVICE_STAGES, DEVICE_WRITES, DEVICE_ACCESS),
    }
}

/// The buffer range of a transfer operand.
fn buffer_info(operand: &Operand, slots: &[BoundRange]) -> Result<vk::DescriptorBufferInfo, Error> {
    let range = operand.resolve(slots);
    let buffer = buffer_of(&range)?.buffer;
    Ok(vk::DescriptorBufferInfo { buffer, offset: range.offset, range: range.length })
}

/// The buffer range of a binding, rounded up to whole words.
fn descriptor(operand: &Operand, slots: &[BoundRange]) -> Result<vk::DescriptorBufferInfo, Error> {
    let mut info = buffer_info(operand, slots)?;
    info.range = descriptor_length(info.range);
    Ok(info)
}

/// Length of a binding in bytes, rounded up to whole words.
pub(crate) fn descriptor_length(bytes: u64) -> u64 {
    bytes.next_multiple_of(4)
}

impl Drop for EncodedCommands {
    fn drop(&mut self) {
        let device = &self.shared.device;
        // SAFETY: batches in flight hold their command buffers, so none is in use. A null handle is
        // allowed.
        unsafe { device.destroy_descriptor_pool(self.descriptors, None) };
        if !self.buffers.is_empty() {
            // SAFETY: as above.
            unsafe { device.free_command_buffers(self.pool, &self.buffers) };
        }
        // SAFETY: as above.
        let reset = unsafe { device.reset_command_pool(self.pool, vk::CommandPoolResetFlags::empty()) };
        // A pool whose reset failed is still empty.
        let _ = reset;
        self.shared.release_command_pool(self.pool);
    }
}
