//! A plan written into command buffers, with everything bound.

#![expect(unsafe_code, reason = "calls Vulkan, and writes memory of the host")]

use std::sync::Arc;

use ash::vk;
use roci_hal::Error;
use roci_hal::command::Operand;
use roci_hal::driver::{BoundRange, BufferBackend};

use crate::fault::{failed, unavailable};
use crate::memory::{Memory, memory};
use crate::plan::{Plan, Run, Step, Touch};
use crate::shared::Shared;
use crate::times::Times;

/// What kernels and transfers do to memory.
const DEVICE_STAGES: vk::PipelineStageFlags = vk::PipelineStageFlags::from_raw(
    vk::PipelineStageFlags::COMPUTE_SHADER.as_raw() | vk::PipelineStageFlags::TRANSFER.as_raw(),
);
const DEVICE_WRITES: vk::AccessFlags =
    vk::AccessFlags::from_raw(vk::AccessFlags::SHADER_WRITE.as_raw() | vk::AccessFlags::TRANSFER_WRITE.as_raw());
const DEVICE_ACCESS: vk::AccessFlags = vk::AccessFlags::from_raw(
    DEVICE_WRITES.as_raw() | vk::AccessFlags::SHADER_READ.as_raw() | vk::AccessFlags::TRANSFER_READ.as_raw(),
);

/// Command buffers, one a piece. They may be in flight more than once at a time.
pub(crate) struct Encoded {
    shared: Arc<Shared>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) buffers: Vec<vk::CommandBuffer>,
    /// Where somebody wants to know when commands ran. Such buffers run once.
    pub(crate) times: Option<Times>,
    pool: vk::CommandPool,
    /// Null where nothing is bound.
    descriptors: vk::DescriptorPool,
}

impl Encoded {
    /// Command buffers for these slots; with `timed`, such that tell when commands ran.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        plan: &Arc<Plan>,
        slots: &[BoundRange],
        timed: bool,
    ) -> Result<Self, Error> {
        // From here on dropping it gives the pools back.
        let mut encoded = Self {
            shared: Arc::clone(shared),
            plan: Arc::clone(plan),
            buffers: Vec::new(),
            times: timed.then(|| Times::new(shared, plan)).transpose()?,
            pool: shared.take_pool()?,
            descriptors: vk::DescriptorPool::null(),
        };
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(encoded.pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(plan.pieces.len() as u32);
        // SAFETY: the pool is this recording's alone.
        let buffers = unsafe { shared.device.allocate_command_buffers(&info) };
        encoded.buffers = buffers.map_err(failed("command buffers"))?;
        let sets = encoded.bind(slots)?;
        let mut number = 0;
        for (index, buffer) in encoded.buffers.iter().enumerate() {
            encoded.record(index, *buffer, &sets, slots, &mut number)?;
        }
        Ok(encoded)
    }

    /// Descriptor sets of everything that dispatches bind.
    fn bind(&mut self, slots: &[BoundRange]) -> Result<Vec<vk::DescriptorSet>, Error> {
        let (device, plan) = (&self.shared.device, &self.plan);
        let count: usize = plan.sets.iter().map(|set| set.operands.len()).sum();
        if count == 0 {
            return Ok(Vec::new());
        }
        let kind = vk::DescriptorType::STORAGE_BUFFER;
        let sizes = [vk::DescriptorPoolSize::default().ty(kind).descriptor_count(count as u32)];
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(plan.sets.len() as u32).pool_sizes(&sizes);
        // SAFETY: a valid description.
        let pool = unsafe { device.create_descriptor_pool(&info, None) };
        self.descriptors = pool.map_err(failed("bindings"))?;
        let layouts: Vec<_> = plan.sets.iter().map(|set| set.kernel.layout.set).collect();
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(self.descriptors).set_layouts(&layouts);
        // SAFETY: the pool was made for exactly these.
        let sets = unsafe { device.allocate_descriptor_sets(&info) }.map_err(failed("bindings"))?;
        let infos = plan.sets.iter().flat_map(|set| &set.operands).map(|operand| descriptor(operand, slots));
        let infos = infos.collect::<Result<Vec<_>, _>>()?;
        let mut rest = &infos[..];
        let mut writes = Vec::new();
        for (set, raw) in plan.sets.iter().zip(&sets) {
            let (own, others) = rest.split_at(set.operands.len());
            rest = others;
            let write = vk::WriteDescriptorSet::default().dst_set(*raw).descriptor_type(kind);
            // The bindings of a layout are consecutive, so one write goes on from each to the next.
            writes.push(write.buffer_info(own));
        }
        // SAFETY: buffers of this device, sets that nothing uses yet.
        unsafe { device.update_descriptor_sets(&writes, &[]) };
        Ok(sets)
    }

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
        // SAFETY: fresh.
        unsafe { device.begin_command_buffer(buffer, &info) }.map_err(failed("a command buffer"))?;
        let mut writer = Writer { device, buffer, sets, slots, pipeline: vk::Pipeline::null(), set: None, block: None };
        if index == 0 {
            // Earlier batches were waited for by the host, which makes their writes available; this makes them visible.
            writer.barrier(vk::PipelineStageFlags::TOP_OF_PIPE, vk::AccessFlags::empty(), DEVICE_STAGES, DEVICE_ACCESS);
            self.times.iter().for_each(|times| times.reset(buffer));
        }
        for step in &plan.steps[plan.pieces[index].steps.clone()] {
            match &self.times {
                Some(times) if !matches!(step, Step::Barrier { .. }) => {
                    times.begin(buffer, *number);
                    writer.step(step)?;
                    times.end(buffer, *number);
                    *number += 1;
                }
                _ => writer.step(step)?,
            }
        }
        if index + 1 == plan.pieces.len() {
            let host = vk::AccessFlags::HOST_READ | vk::AccessFlags::HOST_WRITE;
            writer.barrier(DEVICE_STAGES, DEVICE_WRITES, vk::PipelineStageFlags::HOST, host);
        }
        // SAFETY: begun above.
        unsafe { device.end_command_buffer(buffer) }.map_err(failed("a command buffer"))
    }
}

/// Writes commands, leaving out what is set already.
struct Writer<'a> {
    device: &'a ash::Device,
    buffer: vk::CommandBuffer,
    sets: &'a [vk::DescriptorSet],
    slots: &'a [BoundRange],
    pipeline: vk::Pipeline,
    /// The set that is bound, and for which layout.
    set: Option<(usize, vk::PipelineLayout)>,
    /// The constants block that is set, and for which layout.
    block: Option<(&'a [u8], vk::PipelineLayout)>,
}

impl<'a> Writer<'a> {
    fn step(&mut self, step: &'a Step) -> Result<(), Error> {
        match step {
            Step::Barrier { before, after } => {
                let ((before, writes, _), (after, _, accesses)) = (scope(*before), scope(*after));
                self.barrier(before, writes, after, accesses);
            }
            Step::Fill { target, pattern } => {
                let target = self.place(target)?;
                // SAFETY: whole words inside the buffer.
                unsafe {
                    self.device.cmd_fill_buffer(self.buffer, target.buffer, target.offset, target.range, *pattern)
                };
            }
            Step::Copy { source, target } => {
                let (source, target) = (self.place(source)?, self.place(target)?);
                let region =
                    vk::BufferCopy { src_offset: source.offset, dst_offset: target.offset, size: source.range };
                // SAFETY: both ranges lie inside their buffers and do not overlap.
                unsafe { self.device.cmd_copy_buffer(self.buffer, source.buffer, target.buffer, &[region]) };
            }
            Step::Update { data, target } => {
                let target = self.place(target)?;
                // SAFETY: whole words inside the buffer, at most as many as Vulkan takes.
                unsafe { self.device.cmd_update_buffer(self.buffer, target.buffer, target.offset, data) };
            }
            Step::Dispatch(run) => self.dispatch(run),
        }
        Ok(())
    }

    fn place(&self, operand: &Operand) -> Result<vk::DescriptorBufferInfo, Error> {
        place(operand, self.slots)
    }

    fn dispatch(&mut self, run: &'a Run) {
        let (device, layout) = (self.device, run.kernel.layout.pipeline);
        let point = vk::PipelineBindPoint::COMPUTE;
        if self.pipeline != run.kernel.pipeline {
            self.pipeline = run.kernel.pipeline;
            // SAFETY: the recording keeps the kernel.
            unsafe { device.cmd_bind_pipeline(self.buffer, point, self.pipeline) };
        }
        if let Some(set) = run.set
            && self.set != Some((set, layout))
        {
            self.set = Some((set, layout));
            // SAFETY: a set of the kernel's layout.
            unsafe { device.cmd_bind_descriptor_sets(self.buffer, point, layout, 0, &[self.sets[set]], &[]) };
        }
        if !run.constants.is_empty() && self.block != Some((&run.constants, layout)) {
            self.block = Some((&run.constants, layout));
            let stage = vk::ShaderStageFlags::COMPUTE;
            // SAFETY: as long as the layout says.
            unsafe { device.cmd_push_constants(self.buffer, layout, stage, 0, &run.constants) };
        }
        let ([x, y, z], [i, j, k]) = (run.base, run.groups);
        if run.base == [0; 3] {
            // SAFETY: the HAL has checked the grid against the device's limits.
            unsafe { device.cmd_dispatch(self.buffer, i, j, k) };
        } else {
            // SAFETY: a part of such a grid, of a kernel that was made for it.
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
        // SAFETY: stages that every queue which computes has.
        unsafe { self.device.cmd_pipeline_barrier(self.buffer, before, after, none, &memory, &[], &[]) };
    }
}

/// The stages of commands, what they write, and what they do at all. Nothing is taken for everything: a barrier at the end.
fn scope(touch: Touch) -> (vk::PipelineStageFlags, vk::AccessFlags, vk::AccessFlags) {
    use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
    match (touch.kernels, touch.transfers) {
        (true, false) => (Stage::COMPUTE_SHADER, Access::SHADER_WRITE, Access::SHADER_READ | Access::SHADER_WRITE),
        (false, true) => (Stage::TRANSFER, Access::TRANSFER_WRITE, Access::TRANSFER_READ | Access::TRANSFER_WRITE),
        _ => (DEVICE_STAGES, DEVICE_WRITES, DEVICE_ACCESS),
    }
}

/// Memory that a command touches.
fn place(operand: &Operand, slots: &[BoundRange]) -> Result<vk::DescriptorBufferInfo, Error> {
    let range = operand.resolve(slots);
    let buffer = memory(&range)?.buffer;
    Ok(vk::DescriptorBufferInfo { buffer, offset: range.offset, range: range.length })
}

/// Memory that a kernel works on: in whole words, as buffers are.
fn descriptor(operand: &Operand, slots: &[BoundRange]) -> Result<vk::DescriptorBufferInfo, Error> {
    let mut info = place(operand, slots)?;
    info.range = descriptor_length(info.range);
    Ok(info)
}

/// The bytes that a binding of so many has.
pub(crate) fn descriptor_length(bytes: u64) -> u64 {
    bytes.next_multiple_of(4)
}

/// Writes fresh memory of the host.
pub(crate) fn write_host(memory: &Memory, data: &[u8]) -> Result<(), Error> {
    let place = memory.host_pointer().ok_or_else(|| unavailable("memory of the host", "it is not mapped"))?;
    // SAFETY: fresh memory that nothing else touches, at least as long as the data.
    unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), place.as_ptr(), data.len()) };
    Ok(())
}

impl Drop for Encoded {
    fn drop(&mut self) {
        let device = &self.shared.device;
        // SAFETY: flights hold what they run, so nothing of it is in use. A null handle is fine.
        unsafe { device.destroy_descriptor_pool(self.descriptors, None) };
        if !self.buffers.is_empty() {
            // SAFETY: as above.
            unsafe { device.free_command_buffers(self.pool, &self.buffers) };
        }
        // SAFETY: as above.
        let reset = unsafe { device.reset_command_pool(self.pool, vk::CommandPoolResetFlags::empty()) };
        // One that cannot be reset is empty all the same.
        let _ = reset;
        self.shared.give_pool(self.pool);
    }
}
