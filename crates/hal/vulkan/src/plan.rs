//! A recording split into chunks that each run for less than the kernel driver's watchdog allows.
//!
//! amdgpu resets a GPU whose submission runs for two seconds. The run time of a chunk is unknown
//! before its first run. Chunks therefore start small, by number of invocations, and each is a
//! submission of its own. Once their times are known, a submission takes as many chunks as fit into
//! the budget. Chunks that are still too slow are split further.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use roci_hal::command::{Command, Dispatch, Operand, Recording};
use roci_hal::driver::{BoundRange, BufferBackend};
use roci_hal::{DeviceKind, Error};

use crate::buffer::Buffer;
use crate::device_state::DeviceState;
use crate::executable::{Executable, Kernel};

/// Time budget of one submission, out of the watchdog's two seconds.
const SUBMISSION_BUDGET: Duration = Duration::from_millis(250);
/// A recording that takes less is merged into one chunk.
const SINGLE_CHUNK_TIME: Duration = Duration::from_millis(30);
/// Weight limit of that chunk: none.
pub(crate) const UNLIMITED_WEIGHT: u64 = 1 << 40;
/// A chunk that takes longer is split further.
const MAX_CHUNK_TIME: Duration = Duration::from_millis(500);
/// Initial weight of a chunk, in invocations: that of a large matrix product, which takes 0.1 s on
/// a slow GPU.
pub(crate) const INITIAL_WEIGHT: u64 = 1 << 20;
/// GPU invocations that cost as much as one on a software rasterizer.
const SOFTWARE_WEIGHT: u64 = 32;
/// Minimum weight of a chunk.
const MIN_WEIGHT: u64 = 1 << 10;
/// Factor by which slow chunks are split further.
const REFINEMENT: u64 = 4;
/// Maximum number of commands of a chunk.
const MAX_COMMANDS: usize = 128;
/// Bytes of a copy or fill that count as one invocation.
const BYTES_PER_INVOCATION: u64 = 64;
/// Maximum number of bytes of one copy or fill command.
const MAX_TRANSFER: u64 = 256 << 20;
/// Maximum size of an inline update in bytes, set by Vulkan.
const MAX_INLINE_UPDATE: usize = 65_536;

/// A recording as steps and chunks.
pub(crate) struct CommandPlan {
    pub(crate) steps: Vec<PlanStep>,
    /// For each step, the command of the recording that it is all or part of.
    pub(crate) commands: Vec<usize>,
    pub(crate) chunks: Vec<Chunk>,
    /// Descriptor sets of the dispatches, without duplicates.
    pub(crate) sets: Vec<BindingSet>,
    weight: u64,
    is_slow: AtomicBool,
    /// Whether the recording already ran under a previous plan.
    pub(crate) ran: bool,
}

/// The bindings of one or more dispatches.
pub(crate) struct BindingSet {
    pub(crate) kernel: Kernel,
    pub(crate) operands: Vec<Operand>,
}

/// Steps of one command buffer.
pub(crate) struct Chunk {
    pub(crate) steps: Range<usize>,
    /// First command of the recording that is at least partly in this chunk.
    pub(crate) command: usize,
    /// Run time in nanoseconds; zero before the first run.
    cost: AtomicU64,
    can_split: bool,
}

pub(crate) enum PlanStep {
    /// Orders the commands since the previous barrier before those up to the next one. Barriers
    /// chain, so earlier commands need no further ordering.
    Barrier {
        before: AccessKinds,
        after: AccessKinds,
    },
    Fill {
        target: Operand,
        pattern: u32,
    },
    Copy {
        source: Operand,
        target: Operand,
    },
    Update {
        data: Arc<[u8]>,
        target: Operand,
    },
    Dispatch(DispatchPart),
}

/// Kinds of commands between two barriers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccessKinds {
    pub(crate) kernels: bool,
    pub(crate) transfers: bool,
}

/// All or part of a dispatch's grid.
pub(crate) struct DispatchPart {
    pub(crate) kernel: Kernel,
    /// Index into the plan's sets; `None` without bindings.
    pub(crate) set: Option<usize>,
    pub(crate) base: [u32; 3],
    pub(crate) groups: [u32; 3],
    pub(crate) constants: Arc<[u8]>,
}

impl CommandPlan {
    /// Splits a recording into chunks of about `weight` invocations.
    pub(crate) fn new(shared: &Arc<DeviceState>, recording: &Recording, weight: u64) -> Result<Self, Error> {
        let plan = Self {
            steps: Vec::new(),
            commands: Vec::new(),
            chunks: Vec::new(),
            sets: Vec::new(),
            weight,
            is_slow: AtomicBool::new(false),
            ran: false,
        };
        let mut builder = PlanBuilder { shared, plan, start: 0, load: 0, count: 0, command: 0, can_split: false };
        for (index, command) in recording.commands.iter().enumerate() {
            builder.lower(index, command)?;
        }
        builder.end_chunk();
        set_barrier_scopes(&mut builder.plan.steps);
        Ok(builder.plan)
    }

    fn push(&mut self, command: usize, step: PlanStep) {
        self.steps.push(step);
        self.commands.push(command);
    }

    /// Whether there are no steps.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.iter().all(|step| matches!(step, PlanStep::Barrier { .. }))
    }

    /// Groups the chunks into submissions.
    pub(crate) fn groups(&self) -> Vec<Range<usize>> {
        let mut groups: Vec<Range<usize>> = Vec::new();
        let mut load = 0;
        for (index, chunk) in self.chunks.iter().enumerate() {
            let cost = chunk.cost.load(Ordering::Relaxed);
            match groups.last_mut() {
                Some(group) if cost > 0 && load > 0 && load + cost <= SUBMISSION_BUDGET.as_nanos() as u64 => {
                    (group.end, load) = (index + 1, load + cost);
                }
                _ => {
                    groups.push(index..index + 1);
                    load = cost;
                }
            }
        }
        groups
    }

    /// Records the run time of consecutive chunks.
    pub(crate) fn record_time(&self, chunks: Range<usize>, took: Duration) {
        let took = (took.as_nanos() as u64).max(1);
        let chunks = &self.chunks[chunks];
        let expected: u64 = chunks.iter().map(|chunk| chunk.cost.load(Ordering::Relaxed)).sum();
        for chunk in chunks {
            let known = chunk.cost.load(Ordering::Relaxed);
            // Times are too long on a busy machine, so a new time is averaged with the old one.
            let share = (u128::from(took) * u128::from(known)).checked_div(u128::from(expected)).unwrap_or(0) as u64;
            let cost = if known == 0 { took } else { known / 2 + share / 2 };
            chunk.cost.store(cost.max(1), Ordering::Relaxed);
            if cost > MAX_CHUNK_TIME.as_nanos() as u64 && chunk.can_split {
                self.is_slow.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Whether chunks contain a kernel that has not run yet.
    pub(crate) fn is_first_run(&self, chunks: &Range<usize>) -> bool {
        self.chunks[chunks.clone()].iter().any(|chunk| {
            let dispatches = |step: &PlanStep| matches!(step, PlanStep::Dispatch(_));
            !self.ran
                && chunk.cost.load(Ordering::Relaxed) == 0
                && self.steps[chunk.steps.clone()].iter().any(dispatches)
        })
    }

    /// Expected run time of consecutive chunks, if they have run.
    pub(crate) fn expected_time(&self, chunks: &Range<usize>) -> Option<Duration> {
        let costs = self.chunks[chunks.clone()].iter().map(|chunk| chunk.cost.load(Ordering::Relaxed));
        let total: u64 = costs.sum();
        (total > 0).then(|| Duration::from_nanos(total))
    }

    /// Whether the chunks are short enough to be merged: each command buffer costs the device some
    /// microseconds.
    pub(crate) fn is_short(&self) -> bool {
        let known = self.chunks.iter().all(|chunk| chunk.cost.load(Ordering::Relaxed) > 0);
        known
            && self.chunks.len() > 1
            && self.expected_time(&(0..self.chunks.len())).is_some_and(|time| time < SINGLE_CHUNK_TIME)
    }

    /// The weight for smaller chunks, if some chunk is too slow and can be split.
    pub(crate) fn refined_weight(&self) -> Option<u64> {
        let weight = self.weight.min(INITIAL_WEIGHT) / REFINEMENT;
        (self.is_slow.load(Ordering::Relaxed) && weight >= MIN_WEIGHT).then_some(weight)
    }
}

/// Splits a recording into steps and chunks.
struct PlanBuilder<'a> {
    shared: &'a Arc<DeviceState>,
    plan: CommandPlan,
    /// First step of the current chunk.
    start: usize,
    /// Invocations, command count and first command of the current chunk.
    load: u64,
    count: usize,
    command: usize,
    can_split: bool,
}

impl PlanBuilder<'_> {
    fn lower(&mut self, index: usize, command: &Command) -> Result<(), Error> {
        match command {
            Command::Barrier => {
                let (before, after) = (AccessKinds::default(), AccessKinds::default());
                self.plan.push(index, PlanStep::Barrier { before, after });
            }
            Command::Fill { target, pattern } => {
                for (offset, length) in transfer_ranges(target.length()) {
                    let target = part(target, offset, length);
                    self.add(index, length / BYTES_PER_INVOCATION, false, PlanStep::Fill { target, pattern: *pattern });
                }
            }
            Command::Copy { source, target } => self.copy(index, source, target),
            Command::Update { data, target } if data.len() <= MAX_INLINE_UPDATE => {
                if !data.is_empty() {
                    let step = PlanStep::Update { data: Arc::clone(data), target: target.clone() };
                    self.add(index, data.len() as u64 / BYTES_PER_INVOCATION, false, step);
                }
            }
            Command::Update { data, target } => {
                let buffer: Arc<dyn BufferBackend> = Arc::new(Buffer::with_data(self.shared, data)?);
                let length = data.len() as u64;
                self.copy(index, &Operand::Fixed(BoundRange { buffer, offset: 0, length }), target);
            }
            Command::Dispatch(dispatch) => self.dispatch(index, dispatch)?,
        }
        Ok(())
    }

    fn copy(&mut self, index: usize, source: &Operand, target: &Operand) {
        for (offset, length) in transfer_ranges(source.length()) {
            let (source, target) = (part(source, offset, length), part(target, offset, length));
            self.add(index, length / BYTES_PER_INVOCATION, false, PlanStep::Copy { source, target });
        }
    }

    fn dispatch(&mut self, index: usize, dispatch: &Dispatch) -> Result<(), Error> {
        let entry = &dispatch.entry_point;
        let call = || format!("dispatch of \"{}\"", entry.name);
        let executable: &dyn Any = dispatch.executable.as_ref();
        let kernels = executable.downcast_ref::<Executable>();
        let kernel = kernels.and_then(|kernels| kernels.kernels.get(dispatch.entry));
        let kernel = *kernel.ok_or_else(|| Error::invalid(call(), "an executable of another driver"))?;
        if dispatch.grid.contains(&0) {
            return Ok(());
        }
        let set = (!dispatch.bindings.is_empty()).then(|| self.set(kernel, &dispatch.bindings));
        let invocations: u64 = entry.workgroup_size.iter().map(|size| u64::from(*size)).product();
        let invocations = invocations * invocation_weight(self.shared.card.info.kind);
        for (base, groups) in parts(dispatch.grid, invocations, self.plan.weight, kernel.can_split) {
            let weight = invocations * count(groups);
            let can_split = kernel.can_split && count(groups) > 1;
            let constants = Arc::clone(&dispatch.constants);
            self.add(
                index,
                weight,
                can_split,
                PlanStep::Dispatch(DispatchPart { kernel, set, base, groups, constants }),
            );
        }
        Ok(())
    }

    /// Index of a binding set, reusing an equal recent one.
    fn set(&mut self, kernel: Kernel, operands: &[Operand]) -> usize {
        let is_same = |set: &BindingSet| {
            set.kernel.layout == kernel.layout && set.operands.iter().zip(operands).all(|(a, b)| same(a, b))
        };
        // Recordings tend to repeat recent bindings; searching further back does not pay.
        let recent = self.plan.sets.len().saturating_sub(8);
        if let Some(found) = self.plan.sets[recent..].iter().position(is_same) {
            return recent + found;
        }
        self.plan.sets.push(BindingSet { kernel, operands: operands.to_vec() });
        self.plan.sets.len() - 1
    }

    fn add(&mut self, command: usize, weight: u64, can_split: bool, step: PlanStep) {
        if self.count > 0
            && (self.load + weight > self.plan.weight
                || self.count == MAX_COMMANDS && self.plan.weight != UNLIMITED_WEIGHT)
        {
            self.end_chunk();
        }
        if self.count == 0 {
            self.command = command;
        }
        self.can_split |= can_split || self.count > 0;
        self.load += weight;
        self.count += 1;
        self.plan.push(command, step);
    }

    /// Ends the current chunk.
    fn end_chunk(&mut self) {
        let steps = self.start..self.plan.steps.len();
        self.start = steps.end;
        if !steps.is_empty() {
            let can_split = std::mem::take(&mut self.can_split);
            self.plan.chunks.push(Chunk { steps, command: self.command, cost: AtomicU64::new(0), can_split });
        }
        (self.load, self.count) = (0, 0);
    }
}

/// Sets what each barrier orders.
fn set_barrier_scopes(steps: &mut [PlanStep]) {
    fn pass<'a>(steps: impl Iterator<Item = &'a mut PlanStep>, set: impl Fn(&mut PlanStep, AccessKinds)) {
        let mut kinds = AccessKinds::default();
        for step in steps {
            match step {
                PlanStep::Barrier { .. } => set(step, std::mem::take(&mut kinds)),
                PlanStep::Dispatch(_) => kinds.kernels = true,
                PlanStep::Fill { .. } | PlanStep::Copy { .. } | PlanStep::Update { .. } => kinds.transfers = true,
            }
        }
    }
    pass(steps.iter_mut(), |step, kinds| {
        if let PlanStep::Barrier { before, .. } = step {
            *before = kinds;
        }
    });
    pass(steps.iter_mut().rev(), |step, kinds| {
        if let PlanStep::Barrier { after, .. } = step {
            *after = kinds;
        }
    });
}

fn same(a: &Operand, b: &Operand) -> bool {
    match (a, b) {
        (Operand::Fixed(a), Operand::Fixed(b)) => {
            Arc::ptr_eq(&a.buffer, &b.buffer) && (a.offset, a.length) == (b.offset, b.length)
        }
        (Operand::Slot { slot: a, offset: x, length: m }, Operand::Slot { slot: b, offset: y, length: n }) => {
            (a, x, m) == (b, y, n)
        }
        _ => false,
    }
}

fn count(groups: [u32; 3]) -> u64 {
    groups.iter().map(|count| u64::from(*count)).product()
}

fn invocation_weight(kind: DeviceKind) -> u64 {
    if kind == DeviceKind::Software { SOFTWARE_WEIGHT } else { 1 }
}

/// Splits a grid into parts of about `weight` invocations: the origin and size of each.
fn parts(grid: [u32; 3], invocations: u64, weight: u64, can_split: bool) -> Vec<([u32; 3], [u32; 3])> {
    // Splits along the longest axis only.
    let axis = (0..3).max_by_key(|axis| grid[*axis]).unwrap_or(0);
    let parts = (count(grid).saturating_mul(invocations)).div_ceil(weight).clamp(1, u64::from(grid[axis])) as u32;
    if !can_split || parts == 1 {
        return vec![([0; 3], grid)];
    }
    let step = grid[axis].div_ceil(parts);
    let part = |start: u32| {
        let (mut base, mut groups) = ([0; 3], grid);
        (base[axis], groups[axis]) = (start, step.min(grid[axis] - start));
        (base, groups)
    };
    (0..grid[axis]).step_by(step as usize).map(part).collect()
}

/// Splits a transfer into ranges that one command can handle: offset and length.
fn transfer_ranges(bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..bytes.div_ceil(MAX_TRANSFER))
        .map(move |index| (index * MAX_TRANSFER, (bytes - index * MAX_TRANSFER).min(MAX_TRANSFER)))
}

/// A subrange of an operand.
fn part(operand: &Operand, by: u64, length: u64) -> Operand {
    match operand {
        Operand::Fixed(range) => {
            Operand::Fixed(BoundRange { buffer: Arc::clone(&range.buffer), offset: range.offset + by, length })
        }
        Operand::Slot { slot, offset, .. } => Operand::Slot { slot: *slot, offset: offset + by, length },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_a_grid_exactly_once() {
        for (grid, weight) in [([1, 1, 1], 64), ([1000, 1, 1], 4096), ([7, 65_535, 3], 1 << 20), ([3, 3, 100], 1)] {
            let parts = parts(grid, 64, weight, true);
            assert_eq!(parts.iter().map(|(_, groups)| count(*groups)).sum::<u64>(), count(grid), "{grid:?}");
            let axis = (0..3).max_by_key(|axis| grid[*axis]).expect("three");
            let mut next = 0;
            for (base, groups) in &parts {
                assert_eq!(base[axis], next, "{grid:?}");
                next += groups[axis];
            }
            assert_eq!(next, grid[axis]);
        }
        assert_eq!(parts([1000, 1, 1], 64, 1, false), [([0; 3], [1000, 1, 1])]);
        assert_eq!(parts([1000, 1, 1], 64, 1 << 20, true).len(), 1);
    }

    #[test]
    fn a_rasterizer_starts_with_smaller_parts() {
        let parts_on = |kind| parts([8192, 1, 1], 256 * invocation_weight(kind), INITIAL_WEIGHT, true).len() as u64;
        assert_eq!(parts_on(DeviceKind::DiscreteGpu), 2);
        assert_eq!(parts_on(DeviceKind::Software), 2 * SOFTWARE_WEIGHT);
    }

    fn plan(chunks: usize) -> CommandPlan {
        let chunk = |index| Chunk { steps: index..index + 1, command: index, cost: AtomicU64::new(0), can_split: true };
        CommandPlan {
            steps: Vec::new(),
            commands: Vec::new(),
            chunks: (0..chunks).map(chunk).collect(),
            sets: Vec::new(),
            weight: INITIAL_WEIGHT,
            is_slow: AtomicBool::new(false),
            ran: false,
        }
    }

    #[test]
    fn chunks_of_unknown_cost_are_submitted_alone_and_short_ones_together() {
        let plan = plan(4);
        assert_eq!(plan.groups(), [0..1, 1..2, 2..3, 3..4]);
        for index in 0..4 {
            plan.record_time(index..index + 1, Duration::from_micros(10));
        }
        assert_eq!(plan.groups(), vec![Range { start: 0, end: 4 }]);
        // Too slow: the recorded time is the sum of all four chunks.
        for _ in 0..20 {
            plan.record_time(0..4, Duration::from_millis(800));
        }
        assert_eq!(plan.groups(), [0..1, 1..2, 2..3, 3..4]);
        assert_eq!(plan.refined_weight(), None);
    }

    #[test]
    fn short_chunks_are_merged_once_all_costs_are_known() {
        let plan = plan(3);
        plan.record_time(0..2, Duration::from_micros(10));
        assert!(!plan.is_short());
        plan.record_time(2..3, Duration::from_micros(10));
        assert!(plan.is_short());
        assert_eq!(plan.expected_time(&(0..3)), Some(Duration::from_micros(30)));
        plan.record_time(0..1, Duration::from_millis(200));
        assert!(!plan.is_short());
    }

    #[test]
    fn slow_dispatches_are_split_further() {
        let plan = plan(1);
        plan.record_time(0..1, Duration::from_millis(900));
        assert_eq!(plan.refined_weight(), Some(INITIAL_WEIGHT / REFINEMENT));
    }

    #[test]
    fn barriers_have_the_access_kinds_on_both_sides() {
        let barrier = || PlanStep::Barrier { before: AccessKinds::default(), after: AccessKinds::default() };
        let operand = || Operand::Slot { slot: 0, offset: 0, length: 4 };
        let fill = || PlanStep::Fill { target: operand(), pattern: 0 };
        let copy = || PlanStep::Copy { source: operand(), target: operand() };
        let mut steps = [fill(), barrier(), copy(), fill(), barrier()];
        set_barrier_scopes(&mut steps);
        let reported: Vec<_> = steps
            .iter()
            .filter_map(|step| match step {
                PlanStep::Barrier { before, after } => Some((*before, *after)),
                _ => None,
            })
            .collect();
        let transfers = AccessKinds { kernels: false, transfers: true };
        assert_eq!(reported, [(transfers, transfers), (transfers, AccessKinds::default())]);
    }

    #[test]
    fn long_copies_are_split() {
        assert_eq!(transfer_ranges(0).count(), 0);
        assert_eq!(transfer_ranges(5).collect::<Vec<_>>(), [(0, 5)]);
        assert_eq!(transfer_ranges(MAX_TRANSFER + 1).collect::<Vec<_>>(), [(0, MAX_TRANSFER), (MAX_TRANSFER, 1)]);
    }
}
