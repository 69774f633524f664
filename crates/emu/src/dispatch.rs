//! Runs a grid: workgroups over threads, waves of a group in turns on one thread.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::counts::Counts;
use crate::engine::{Exit, Machine, Worker};
use crate::fault::{Fault, FaultReport};
use crate::lanes::Level;
use crate::launch::Launch;
use crate::memory::{Access, Allocation, Memory, Window};
use crate::observe::{GroupWatch, Watch};
use crate::pool::Pool;
use crate::program::{Code, Program, Target};
use crate::wave::{Status, Wave};

/// Steps that a wave runs before others get their turn: so many that taking turns costs nothing, so few that a kernel can
/// be stopped within milliseconds.
const TURN: i64 = 200_000;
/// Groups of one worker that may be under way at once, when they wait for each other.
const RESIDENT: u64 = 64;
/// Private memory of one worker's groups: with less room than for all of them, fewer are under way at once.
const ARENA: u64 = 1 << 30;

/// Why a dispatch did not end well.
#[derive(Debug, thiserror::Error)]
pub enum DispatchError {
    /// A wave faulted.
    #[error("{0}")]
    Fault(Box<FaultReport>),
    /// It was told to stop.
    #[error("stopped before its end")]
    Stopped,
    /// The host has no memory for the lanes' private memory.
    #[error("the host has no {bytes} bytes for private memory (use smaller workgroups, or fewer threads)")]
    OutOfMemory {
        /// What was asked for.
        bytes: u64,
    },
}

/// What is to be run, ready to run.
pub(crate) struct Grid<'a> {
    pub(crate) launch: &'a Launch,
    pub(crate) code: &'a Arc<Code>,
    pub(crate) target: Target,
    pub(crate) entry: u64,
    pub(crate) kernel: &'a str,
    pub(crate) memory: &'a Arc<Memory>,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) threads: usize,
    pub(crate) pool: &'a Pool,
    /// Who looks at every instruction.
    pub(crate) watch: Option<&'a Watch<'a>>,
}

/// What the workers share.
struct Shared<'a> {
    grid: &'a Grid<'a>,
    /// The newest program: others are made when code jumps where none was decoded.
    program: Mutex<Arc<Program>>,
    entries: Mutex<Vec<u64>>,
    next: AtomicU64,
    total: u64,
    outcome: Mutex<Option<DispatchError>>,
    ended: AtomicBool,
    counts: Mutex<Counts>,
    level: Level,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Grid<'_> {
    /// Runs all groups.
    pub(crate) fn run(&self, program: Arc<Program>) -> Result<Counts, DispatchError> {
        // More than can be counted is more than can be run: then it goes on until it is stopped.
        let total = self.launch.groups().into_iter().map(u64::from).fold(1, u64::saturating_mul);
        let shared = Shared {
            grid: self,
            program: Mutex::new(program),
            entries: Mutex::new(vec![self.entry]),
            next: AtomicU64::new(0),
            total,
            outcome: Mutex::new(None),
            ended: AtomicBool::new(false),
            counts: Mutex::new(Counts::default()),
            level: Level::best(),
        };
        let threads = self.threads.clamp(1, usize::try_from(total).unwrap_or(usize::MAX).max(1));
        self.pool.run(threads - 1, &|| shared.work());
        match lock(&shared.outcome).take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut *lock(&shared.counts))),
        }
    }
}

/// A group under way.
struct Group<'a> {
    id: [u32; 3],
    waves: Vec<Wave>,
    lds: Vec<u8>,
    /// Which part of the scratch arena is its.
    slot: u64,
    watch: Option<GroupWatch<'a>>,
}

impl<'a> Shared<'a> {
    fn work(&self) {
        let launch = self.grid.launch;
        let mut program = Arc::clone(&lock(&self.program));
        let per_group = launch.scratch_per_wave() * u64::from(launch.waves());
        let most = if launch.cooperative {
            // Any worker may get any group, and none may be left out.
            self.total
        } else {
            ARENA.checked_div(per_group).unwrap_or(RESIDENT).clamp(1, RESIDENT)
        };
        // The arena has to be known before the address space is looked at.
        let arena = match self.arena(per_group.saturating_mul(most.min(self.total))) {
            Ok(arena) => arena,
            Err(error) => {
                lock(&self.outcome).get_or_insert(error);
                self.ended.store(true, Ordering::Relaxed);
                return;
            }
        };
        let window = Window::new(self.grid.memory);
        let mut worker = Worker::new(window, self.level);
        worker.runs = vec![0; program.len() + 1];
        let mut idle: Vec<Group<'a>> = Vec::new();
        let mut slots = 0;
        let mut resident: VecDeque<Group<'a>> = VecDeque::new();
        let base = arena.as_ref().map_or(0, Allocation::address);
        loop {
            if self.stopped() {
                break;
            }
            // A group that had its turn goes to the back, so that those it waits for can run; new ones join as long as there is room.
            let fresh = if (resident.len() as u64) < most { self.take() } else { None };
            let mut group = match fresh {
                Some(id) => {
                    let mut group = idle.pop().unwrap_or_else(|| {
                        slots += 1;
                        self.new_group(&program, slots - 1)
                    });
                    group.id = id;
                    self.start(&mut group, &program, base);
                    group
                }
                None => match resident.pop_front() {
                    Some(group) => group,
                    None => break,
                },
            };
            if self.turn(&mut group, &mut worker, &mut program) {
                idle.push(group);
            } else {
                resident.push_back(group);
            }
        }
        lock(&self.counts).add(&worker, &program);
        drop(arena);
    }

    /// Private memory for the groups of a worker.
    fn arena(&self, bytes: u64) -> Result<Option<Allocation>, DispatchError> {
        if bytes == 0 {
            return Ok(None);
        }
        let arena = usize::try_from(bytes).ok().and_then(|size| self.grid.memory.try_allocate(size, Access::ReadWrite));
        arena.map(Some).ok_or(DispatchError::OutOfMemory { bytes })
    }

    /// Whether there is no more to do.
    fn stopped(&self) -> bool {
        let told = self.grid.stop.load(Ordering::Relaxed) || self.grid.watch.is_some_and(Watch::has_enough);
        if told && !self.ended.swap(true, Ordering::Relaxed) {
            lock(&self.outcome).get_or_insert(DispatchError::Stopped);
        }
        self.ended.load(Ordering::Relaxed)
    }

    /// The next group that no one has begun.
    fn take(&self) -> Option<[u32; 3]> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        if index >= self.total {
            self.next.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let [x, y, _] = self.grid.launch.groups().map(u64::from);
        Some([index % x, index / x % y, index / x / y].map(|value| value as u32))
    }

    fn new_group(&self, program: &Program, slot: u64) -> Group<'a> {
        let target = program.target();
        let waves = (0..self.grid.launch.waves()).map(|_| Wave::new(target.wave, usize::from(target.registers)));
        Group { id: [0; 3], waves: waves.collect(), lds: vec![0; self.grid.launch.lds as usize], slot, watch: None }
    }

    fn start(&self, group: &mut Group<'a>, program: &Program, arena: u64) {
        let entry = program.index(self.grid.entry).unwrap_or(0);
        let count = group.waves.len() as u64;
        for (number, wave) in group.waves.iter_mut().enumerate() {
            let slot = group.slot * count + number as u64;
            self.grid.launch.start(wave, group.id, number as u32, entry, arena, slot);
        }
        group.watch = self.grid.watch.and_then(|watch| watch.group(group.id, self.grid.launch, &group.waves));
    }

    /// Lets a group run until it ends (`true`) or every wave has had its turn.
    fn turn(&self, group: &mut Group<'_>, worker: &mut Worker, program: &mut Arc<Program>) -> bool {
        for wave in &mut group.waves {
            wave.budget = TURN;
        }
        loop {
            let (mut ran, mut went_on) = (false, false);
            for number in 0..group.waves.len() {
                let wave = &mut group.waves[number];
                if wave.status != Status::Ready || wave.budget <= 0 {
                    continue;
                }
                ran = true;
                let mut machine = Machine::new(wave, &mut group.lds, worker, program, self.grid.launch);
                let exit = match &mut group.watch {
                    None => machine.run(),
                    Some(watch) => machine.run_watched(watch),
                };
                match exit {
                    Exit::Ended | Exit::Barrier => went_on = true,
                    // A wave that yields lets the others of its group run first.
                    Exit::Turn => went_on |= group.waves[number].budget <= 0,
                    Exit::Undecoded(address) => match self.extend(program, worker, address) {
                        Ok(()) => went_on = true,
                        Err(fault) => {
                            self.report(fault, group, number, program);
                            return true;
                        }
                    },
                    Exit::Fault(fault) => {
                        self.report(fault, group, number, program);
                        return true;
                    }
                }
            }
            if group.waves.iter().all(|wave| wave.status == Status::Ended) {
                return true;
            }
            if group.waves.iter().all(|wave| wave.status != Status::Ready) {
                for wave in group.waves.iter_mut().filter(|wave| wave.status == Status::AtBarrier) {
                    wave.status = Status::Ready;
                }
                if let Some(watch) = &mut group.watch {
                    watch.barrier();
                }
            } else if !ran || !went_on {
                // All that could run wait for something: perhaps for another group.
                return false;
            }
        }
    }

    /// Decodes code that was jumped to.
    fn extend(&self, program: &mut Arc<Program>, worker: &mut Worker, address: u64) -> Result<(), Fault> {
        if self.grid.code.at(address).is_none() || !address.is_multiple_of(4) {
            return Err(Fault::OutsideCode { address });
        }
        let mut entries = lock(&self.entries);
        let mut newest = lock(&self.program);
        if newest.index(address).is_none() {
            // Entries before this one give the same steps as before: waves keep their place.
            entries.push(address);
            *newest = Arc::new(Program::new(self.grid.code, self.grid.target, self.level, &entries));
        }
        *program = Arc::clone(&newest);
        worker.runs.resize(program.len() + 1, 0);
        Ok(())
    }

    /// Notes the first fault.
    fn report(&self, fault: Fault, group: &Group<'_>, number: usize, program: &Program) {
        let wave = &group.waves[number];
        let pc = program.pc(wave.next);
        let report = FaultReport {
            fault,
            kernel: self.grid.kernel.to_owned(),
            workgroup: group.id,
            wave: wave.number,
            pc,
            offset: pc.checked_sub(self.grid.entry),
            instruction: program.text(wave.next),
        };
        lock(&self.outcome).get_or_insert(DispatchError::Fault(Box::new(report)));
        self.ended.store(true, Ordering::Relaxed);
    }
}
