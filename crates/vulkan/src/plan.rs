//! A recording cut into pieces, none of which should keep the GPU busy for longer than the kernel's watchdog allows.
//!
//! amdgpu resets a GPU whose submission runs for two seconds. How long a piece takes is not known before it has run: so
//! pieces are small by their number of invocations at first, each a submission of its own, and once their times are known
//! as many go into one submission as fit into the budget. What still takes too long is cut finer.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use roci_hal::command::{Command, Dispatch, Operand, Recording};
use roci_hal::driver::{BoundRange, BufferBackend};
use roci_hal::{BufferDesc, DeviceKind, Error, MemoryType};

use crate::encode::write_host;
use crate::executable::{Kernel, Kernels};
use crate::memory::Memory;
use crate::shared::Shared;

/// What one submission may take, of the two seconds of the watchdog.
const BUDGET: Duration = Duration::from_millis(250);
/// What takes less is one piece, however many commands it has.
const QUICK: Duration = Duration::from_millis(30);
/// Its weight.
pub(crate) const WHOLE: u64 = 1 << 40;
/// A piece that takes longer is cut finer.
const SLOW: Duration = Duration::from_millis(500);
/// Invocations of a piece at first: a large matrix product has as many, and takes a slow GPU a tenth of a second.
pub(crate) const FIRST_WEIGHT: u64 = 1 << 20;
/// Invocations of a GPU that one of a processor which stands in for a GPU takes as long as, or longer.
const SOFTWARE: u64 = 32;
/// Invocations of the smallest piece.
const LEAST_WEIGHT: u64 = 1 << 10;
/// By how much finer.
const FINER: u64 = 4;
/// Commands of a piece.
const COMMANDS: usize = 128;
/// Bytes of a copy or a fill that count as one invocation.
const BYTES: u64 = 64;
/// Bytes that one command copies or fills at most.
const STRETCH: u64 = 256 << 20;
/// Bytes that go into a command buffer themselves, which Vulkan limits.
const INLINE: usize = 65_536;

/// A recording as steps.
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// The command of the recording that each step is, or is a part of.
    pub(crate) commands: Vec<usize>,
    pub(crate) pieces: Vec<Piece>,
    /// What dispatches bind, each list once.
    pub(crate) sets: Vec<Set>,
    weight: u64,
    is_slow: AtomicBool,
    /// Whether the recording ran, cut otherwise.
    pub(crate) ran: bool,
}

/// What dispatches bind.
pub(crate) struct Set {
    pub(crate) kernel: Kernel,
    pub(crate) operands: Vec<Operand>,
}

/// Steps that are one command buffer.
pub(crate) struct Piece {
    pub(crate) steps: Range<usize>,
    /// The first command of the recording that it holds a part of.
    pub(crate) command: usize,
    /// Nanoseconds that it took; zero before it has run.
    cost: AtomicU64,
    can_split: bool,
}

pub(crate) enum Step {
    /// With what stands since the last one, and until the next: those two are all that it has to order, since it goes on where
    /// the last one ended.
    Barrier {
        before: Touch,
        after: Touch,
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
    Dispatch(Run),
}

/// What commands there are between two barriers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) kernels: bool,
    pub(crate) transfers: bool,
}

/// A part of a grid.
pub(crate) struct Run {
    pub(crate) kernel: Kernel,
    /// Index into the plan's sets.
    pub(crate) set: Option<usize>,
    pub(crate) base: [u32; 3],
    pub(crate) groups: [u32; 3],
    pub(crate) constants: Arc<[u8]>,
}

impl Plan {
    /// Cuts a recording into pieces of about so many invocations.
    pub(crate) fn new(shared: &Arc<Shared>, recording: &Recording, weight: u64) -> Result<Self, Error> {
        let plan = Self {
            steps: Vec::new(),
            commands: Vec::new(),
            pieces: Vec::new(),
            sets: Vec::new(),
            weight,
            is_slow: AtomicBool::new(false),
            ran: false,
        };
        let mut cutter = Cutter { shared, plan, start: 0, load: 0, count: 0, command: 0, can_split: false };
        for (index, command) in recording.commands.iter().enumerate() {
            cutter.lower(index, command)?;
        }
        cutter.cut();
        order(&mut cutter.plan.steps);
        Ok(cutter.plan)
    }

    fn push(&mut self, command: usize, step: Step) {
        self.steps.push(step);
        self.commands.push(command);
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.iter().all(|step| matches!(step, Step::Barrier { .. }))
    }

    /// The pieces by submission.
    pub(crate) fn groups(&self) -> Vec<Range<usize>> {
        let mut groups: Vec<Range<usize>> = Vec::new();
        let mut load = 0;
        for (index, piece) in self.pieces.iter().enumerate() {
            let cost = piece.cost.load(Ordering::Relaxed);
            match groups.last_mut() {
                Some(group) if cost > 0 && load > 0 && load + cost <= BUDGET.as_nanos() as u64 => {
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

    /// Learns how long pieces took together.
    pub(crate) fn learn(&self, pieces: Range<usize>, took: Duration) {
        let took = (took.as_nanos() as u64).max(1);
        let pieces = &self.pieces[pieces];
        let expected: u64 = pieces.iter().map(|piece| piece.cost.load(Ordering::Relaxed)).sum();
        for piece in pieces {
            let known = piece.cost.load(Ordering::Relaxed);
            // A machine that was busy elsewhere tells too much, so half of the surprise counts.
            let share = (u128::from(took) * u128::from(known)).checked_div(u128::from(expected)).unwrap_or(0) as u64;
            let cost = if known == 0 { took } else { known / 2 + share / 2 };
            piece.cost.store(cost.max(1), Ordering::Relaxed);
            if cost > SLOW.as_nanos() as u64 && piece.can_split {
                self.is_slow.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Whether pieces hold a kernel that they have not run yet.
    pub(crate) fn is_first_run(&self, pieces: &Range<usize>) -> bool {
        self.pieces[pieces.clone()].iter().any(|piece| {
            let dispatches = |step: &Step| matches!(step, Step::Dispatch(_));
            !self.ran
                && piece.cost.load(Ordering::Relaxed) == 0
                && self.steps[piece.steps.clone()].iter().any(dispatches)
        })
    }

    /// How long pieces took together of late, if they ran.
    pub(crate) fn about(&self, pieces: &Range<usize>) -> Option<Duration> {
        let costs = self.pieces[pieces.clone()].iter().map(|piece| piece.cost.load(Ordering::Relaxed));
        let about: u64 = costs.sum();
        (about > 0).then(|| Duration::from_nanos(about))
    }

    /// Whether its pieces take so little time together that they should be one: each command buffer costs a device some microseconds.
    pub(crate) fn is_quick(&self) -> bool {
        let known = self.pieces.iter().all(|piece| piece.cost.load(Ordering::Relaxed) > 0);
        known && self.pieces.len() > 1 && self.about(&(0..self.pieces.len())).is_some_and(|about| about < QUICK)
    }

    /// The weight of finer pieces, if these take too long.
    pub(crate) fn finer(&self) -> Option<u64> {
        let weight = self.weight.min(FIRST_WEIGHT) / FINER;
        (self.is_slow.load(Ordering::Relaxed) && weight >= LEAST_WEIGHT).then_some(weight)
    }
}

/// Cuts.
struct Cutter<'a> {
    shared: &'a Arc<Shared>,
    plan: Plan,
    /// The first step of the piece that is open.
    start: usize,
    /// Its invocations, commands and first command.
    load: u64,
    count: usize,
    command: usize,
    can_split: bool,
}

impl Cutter<'_> {
    fn lower(&mut self, index: usize, command: &Command) -> Result<(), Error> {
        match command {
            Command::Barrier => {
                let (before, after) = (Touch::default(), Touch::default());
                self.plan.push(index, Step::Barrier { before, after });
            }
            Command::Fill { target, pattern } => {
                for (offset, length) in stretches(target.length()) {
                    let target = part(target, offset, length);
                    self.add(index, length / BYTES, false, Step::Fill { target, pattern: *pattern });
                }
            }
            Command::Copy { source, target } => self.copy(index, source, target),
            Command::Update { data, target } if data.len() <= INLINE => {
                if !data.is_empty() {
                    let step = Step::Update { data: Arc::clone(data), target: target.clone() };
                    self.add(index, data.len() as u64 / BYTES, false, step);
                }
            }
            Command::Update { data, target } => {
                let size = data.len() as u64;
                let memory = Memory::new(self.shared, &BufferDesc { size, memory: MemoryType::Host, label: None })?;
                write_host(&memory, data)?;
                let buffer: Arc<dyn BufferBackend> = Arc::new(memory);
                self.copy(index, &Operand::Fixed(BoundRange { buffer, offset: 0, length: size }), target);
            }
            Command::Dispatch(dispatch) => self.dispatch(index, dispatch)?,
        }
        Ok(())
    }

    fn copy(&mut self, index: usize, source: &Operand, target: &Operand) {
        for (offset, length) in stretches(source.length()) {
            let (source, target) = (part(source, offset, length), part(target, offset, length));
            self.add(index, length / BYTES, false, Step::Copy { source, target });
        }
    }

    fn dispatch(&mut self, index: usize, dispatch: &Dispatch) -> Result<(), Error> {
        let entry = &dispatch.entry_point;
        let call = || format!("dispatch of \"{}\"", entry.name);
        let executable: &dyn Any = dispatch.executable.as_ref();
        let kernels = executable.downcast_ref::<Kernels>();
        let kernel = kernels.and_then(|kernels| kernels.kernels.get(dispatch.entry));
        let kernel = *kernel.ok_or_else(|| Error::invalid(call(), "an executable of another driver"))?;
        if dispatch.grid.contains(&0) {
            return Ok(());
        }
        let set = (!dispatch.bindings.is_empty()).then(|| self.set(kernel, &dispatch.bindings));
        let invocations: u64 = entry.workgroup_size.iter().map(|size| u64::from(*size)).product();
        let invocations = invocations * weight_on(self.shared.card.info.kind);
        for (base, groups) in parts(dispatch.grid, invocations, self.plan.weight, kernel.can_split) {
            let weight = invocations * count(groups);
            let can_split = kernel.can_split && count(groups) > 1;
            let constants = Arc::clone(&dispatch.constants);
            self.add(index, weight, can_split, Step::Dispatch(Run { kernel, set, base, groups, constants }));
        }
        Ok(())
    }

    /// The index of a list of bindings.
    fn set(&mut self, kernel: Kernel, operands: &[Operand]) -> usize {
        let is_same = |set: &Set| {
            set.kernel.layout == kernel.layout && set.operands.iter().zip(operands).all(|(a, b)| same(a, b))
        };
        // Recordings bind what they bound just before; further back it is not worth looking.
        let recent = self.plan.sets.len().saturating_sub(8);
        if let Some(found) = self.plan.sets[recent..].iter().position(is_same) {
            return recent + found;
        }
        self.plan.sets.push(Set { kernel, operands: operands.to_vec() });
        self.plan.sets.len() - 1
    }

    fn add(&mut self, command: usize, weight: u64, can_split: bool, step: Step) {
        if self.count > 0
            && (self.load + weight > self.plan.weight || self.count == COMMANDS && self.plan.weight != WHOLE)
        {
            self.cut();
        }
        if self.count == 0 {
            self.command = command;
        }
        self.can_split |= can_split || self.count > 0;
        self.load += weight;
        self.count += 1;
        self.plan.push(command, step);
    }

    /// Ends a piece.
    fn cut(&mut self) {
        let steps = self.start..self.plan.steps.len();
        self.start = steps.end;
        if !steps.is_empty() {
            let can_split = std::mem::take(&mut self.can_split);
            self.plan.pieces.push(Piece { steps, command: self.command, cost: AtomicU64::new(0), can_split });
        }
        (self.load, self.count) = (0, 0);
    }
}

/// Tells barriers what they stand between.
fn order(steps: &mut [Step]) {
    fn pass<'a>(steps: impl Iterator<Item = &'a mut Step>, tell: impl Fn(&mut Step, Touch)) {
        let mut touch = Touch::default();
        for step in steps {
            match step {
                Step::Barrier { .. } => tell(step, std::mem::take(&mut touch)),
                Step::Dispatch(_) => touch.kernels = true,
                Step::Fill { .. } | Step::Copy { .. } | Step::Update { .. } => touch.transfers = true,
            }
        }
    }
    pass(steps.iter_mut(), |step, touch| {
        if let Step::Barrier { before, .. } = step {
            *before = touch;
        }
    });
    pass(steps.iter_mut().rev(), |step, touch| {
        if let Step::Barrier { after, .. } = step {
            *after = touch;
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

/// What an invocation counts for on a device.
fn weight_on(kind: DeviceKind) -> u64 {
    if kind == DeviceKind::Software { SOFTWARE } else { 1 }
}

/// A grid in parts of about so many invocations: where each starts, and its size.
fn parts(grid: [u32; 3], invocations: u64, weight: u64, can_split: bool) -> Vec<([u32; 3], [u32; 3])> {
    // The longest axis: cutting along one alone keeps it simple.
    let axis = (0..3).max_by_key(|axis| grid[*axis]).unwrap_or(0);
    let wanted = (count(grid).saturating_mul(invocations)).div_ceil(weight).clamp(1, u64::from(grid[axis])) as u32;
    if !can_split || wanted == 1 {
        return vec![([0; 3], grid)];
    }
    let step = grid[axis].div_ceil(wanted);
    let part = |start: u32| {
        let (mut base, mut groups) = ([0; 3], grid);
        (base[axis], groups[axis]) = (start, step.min(grid[axis] - start));
        (base, groups)
    };
    (0..grid[axis]).step_by(step as usize).map(part).collect()
}

/// Stretches of bytes that one command handles: where each begins, and how many.
fn stretches(bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..bytes.div_ceil(STRETCH)).map(move |index| (index * STRETCH, (bytes - index * STRETCH).min(STRETCH)))
}

/// A part of an operand.
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
    fn parts_cover_a_grid_once() {
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
    fn a_processor_gets_smaller_parts_at_first() {
        let parts_on = |kind| parts([8192, 1, 1], 256 * weight_on(kind), FIRST_WEIGHT, true).len() as u64;
        assert_eq!(parts_on(DeviceKind::DiscreteGpu), 2);
        assert_eq!(parts_on(DeviceKind::Software), 2 * SOFTWARE);
    }

    fn plan(pieces: usize) -> Plan {
        let piece = |index| Piece { steps: index..index + 1, command: index, cost: AtomicU64::new(0), can_split: true };
        Plan {
            steps: Vec::new(),
            commands: Vec::new(),
            pieces: (0..pieces).map(piece).collect(),
            sets: Vec::new(),
            weight: FIRST_WEIGHT,
            is_slow: AtomicBool::new(false),
            ran: false,
        }
    }

    #[test]
    fn pieces_of_unknown_cost_are_submitted_alone_and_quick_ones_together() {
        let plan = plan(4);
        assert_eq!(plan.groups(), [0..1, 1..2, 2..3, 3..4]);
        for index in 0..4 {
            plan.learn(index..index + 1, Duration::from_micros(10));
        }
        assert_eq!(plan.groups(), vec![Range { start: 0, end: 4 }]);
        // Slow after all: the times of all four are in the sum.
        for _ in 0..20 {
            plan.learn(0..4, Duration::from_millis(800));
        }
        assert_eq!(plan.groups(), [0..1, 1..2, 2..3, 3..4]);
        assert_eq!(plan.finer(), None);
    }

    #[test]
    fn quick_pieces_become_one_when_all_are_known() {
        let plan = plan(3);
        plan.learn(0..2, Duration::from_micros(10));
        assert!(!plan.is_quick());
        plan.learn(2..3, Duration::from_micros(10));
        assert!(plan.is_quick());
        assert_eq!(plan.about(&(0..3)), Some(Duration::from_micros(30)));
        plan.learn(0..1, Duration::from_millis(200));
        assert!(!plan.is_quick());
    }

    #[test]
    fn what_takes_too_long_is_cut_finer() {
        let plan = plan(1);
        plan.learn(0..1, Duration::from_millis(900));
        assert_eq!(plan.finer(), Some(FIRST_WEIGHT / FINER));
    }

    #[test]
    fn barriers_know_what_they_stand_between() {
        let barrier = || Step::Barrier { before: Touch::default(), after: Touch::default() };
        let operand = || Operand::Slot { slot: 0, offset: 0, length: 4 };
        let fill = || Step::Fill { target: operand(), pattern: 0 };
        let copy = || Step::Copy { source: operand(), target: operand() };
        let mut steps = [fill(), barrier(), copy(), fill(), barrier()];
        order(&mut steps);
        let told: Vec<_> = steps
            .iter()
            .filter_map(|step| match step {
                Step::Barrier { before, after } => Some((*before, *after)),
                _ => None,
            })
            .collect();
        let transfers = Touch { kernels: false, transfers: true };
        assert_eq!(told, [(transfers, transfers), (transfers, Touch::default())]);
    }

    #[test]
    fn long_copies_go_in_stretches() {
        assert_eq!(stretches(0).count(), 0);
        assert_eq!(stretches(5).collect::<Vec<_>>(), [(0, 5)]);
        assert_eq!(stretches(STRETCH + 1).collect::<Vec<_>>(), [(0, STRETCH), (STRETCH, 1)]);
    }
}
