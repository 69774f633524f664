//! Runs a grid: distributes workgroups over threads and schedules the waves of a workgroup on one
//! thread.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::counts::Counts;
use crate::engine::{Machine, StopReason, Worker};
use crate::fault::{Fault, FaultReport};
use crate::lanes::Level;
use crate::launch::Launch;
use crate::memory::{Access, Allocation, Memory, MemoryView};
use crate::observe::{DispatchMonitor, WorkgroupMonitor};
use crate::pool::ThreadPool;
use crate::program::{DecodeOptions, DecodedProgram, LoadedCode};
use crate::wave::{Wave, WaveStatus};

/// Time slice of a wave in micro-ops: long enough that switching costs nothing, short enough that a
/// kernel can be stopped within milliseconds.
const TIME_SLICE: i64 = 200_000;
/// Maximum number of resident workgroups per worker. More than one is needed if workgroups wait for
/// each other.
const MAX_RESIDENT: u64 = 64;
/// Limit in bytes for the scratch memory of one worker. If its resident workgroups need more, fewer
/// are resident.
const MAX_ARENA: u64 = 1 << 30;

/// Why a dispatch failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// A wave faulted.
    #[error("{0}")]
    Fault(Box<FaultReport>),
    /// The stop flag was set, or an observer ended the dispatch.
    #[error("the dispatch was stopped before it finished")]
    Stopped,
    /// Allocation of scratch memory failed.
    #[error("cannot allocate {bytes} bytes of private memory: use smaller workgroups or fewer threads")]
    OutOfMemory {
        /// Bytes requested.
        bytes: u64,
    },
}

/// A dispatch with everything needed to run it.
pub(crate) struct PreparedDispatch<'a> {
    pub(crate) launch: &'a Launch,
    pub(crate) code: &'a Arc<LoadedCode>,
    pub(crate) target: DecodeOptions,
    pub(crate) entry: u64,
    pub(crate) kernel: &'a str,
    pub(crate) memory: &'a Arc<Memory>,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) threads: usize,
    pub(crate) pool: &'a ThreadPool,
    /// Checks and traces of the dispatch.
    pub(crate) monitor: Option<&'a DispatchMonitor<'a>>,
}

/// State shared by all workers of a dispatch.
struct DispatchState<'a> {
    grid: &'a PreparedDispatch<'a>,
    /// The newest version of the program. A jump to undecoded code creates a new version.
    program: Mutex<Arc<DecodedProgram>>,
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

impl PreparedDispatch<'_> {
    /// Runs all workgroups.
    pub(crate) fn run(&self, program: Arc<DecodedProgram>) -> Result<Counts, DispatchError> {
        // A saturated count cannot be finished anyway; the dispatch runs until it is stopped.
        let total = self.launch.groups().into_iter().map(u64::from).fold(1, u64::saturating_mul);
        let state = DispatchState {
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
        self.pool.run(threads - 1, &|| state.run_worker());
        match lock(&state.outcome).take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut *lock(&state.counts))),
        }
    }
}

struct ResidentWorkgroup<'a> {
    id: [u32; 3],
    waves: Vec<Wave>,
    lds: Vec<u8>,
    /// Its slot in the scratch arena.
    slot: u64,
    monitor: Option<WorkgroupMonitor<'a>>,
}

impl<'a> DispatchState<'a> {
    fn run_worker(&self) {
        let launch = self.grid.launch;
        let mut program = Arc::clone(&lock(&self.program));
        let per_group = launch.scratch_per_wave() * u64::from(launch.waves());
        let max_resident = if launch.cooperative {
            // Any worker may get any workgroup, and all of them must be resident.
            self.total
        } else {
            MAX_ARENA.checked_div(per_group).unwrap_or(MAX_RESIDENT).clamp(1, MAX_RESIDENT)
        };
        // Allocate the arena before the snapshot of the address space is taken.
        let arena = match self.arena(per_group.saturating_mul(max_resident.min(self.total))) {
            Ok(arena) => arena,
            Err(error) => {
                lock(&self.outcome).get_or_insert(error);
                self.ended.store(true, Ordering::Relaxed);
                return;
            }
        };
        let window = MemoryView::new(self.grid.memory);
        let mut worker = Worker::new(window, self.level);
        worker.runs = vec![0; program.len() + 1];
        let mut idle: Vec<ResidentWorkgroup<'a>> = Vec::new();
        let mut slots = 0;
        let mut resident: VecDeque<ResidentWorkgroup<'a>> = VecDeque::new();
        let base = arena.as_ref().map_or(0, Allocation::address);
        loop {
            if self.stopped() {
                break;
            }
            // A workgroup whose time slice is over goes to the back of the queue, so that those it
            // waits for can run. New ones start while there is room.
            let fresh = if (resident.len() as u64) < max_resident { self.next_workgroup() } else { None };
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
            if self.run_slice(&mut group, &mut worker, &mut program) {
                idle.push(group);
            } else {
                resident.push_back(group);
            }
        }
        lock(&self.counts).add(&worker, &program);
        drop(arena);
    }

    /// Allocates scratch memory for the workgroups of a worker.
    fn arena(&self, bytes: u64) -> Result<Option<Allocation>, DispatchError> {
        if bytes == 0 {
            return Ok(None);
        }
        let arena = usize::try_from(bytes).ok().and_then(|size| self.grid.memory.try_allocate(size, Access::ReadWrite));
        arena.map(Some).ok_or(DispatchError::OutOfMemory { bytes })
    }

    /// Whether the dispatch has ended or must stop.
    fn stopped(&self) -> bool {
        let stop_requested =
            self.grid.stop.load(Ordering::Relaxed) || self.grid.monitor.is_some_and(DispatchMonitor::is_done);
        if stop_requested && !self.ended.swap(true, Ordering::Relaxed) {
            lock(&self.outcome).get_or_insert(DispatchError::Stopped);
        }
        self.ended.load(Ordering::Relaxed)
    }

    /// Takes the next workgroup that has not started.
    fn next_workgroup(&self) -> Option<[u32; 3]> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        if index >= self.total {
            self.next.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let [x, y, _] = self.grid.launch.groups().map(u64::from);
        Some([index % x, index / x % y, index / x / y].map(|value| value as u32))
    }

    fn new_group(&self, program: &DecodedProgram, slot: u64) -> ResidentWorkgroup<'a> {
        let target = program.target();
        let waves = (0..self.grid.launch.waves()).map(|_| Wave::new(target.wave, usize::from(target.registers)));
        ResidentWorkgroup {
            id: [0; 3],
            waves: waves.collect(),
            lds: vec![0; self.grid.launch.lds as usize],
            slot,
            monitor: None,
        }
    }

    fn start(&self, group: &mut ResidentWorkgroup<'a>, program: &DecodedProgram, arena: u64) {
        let entry = program.index(self.grid.entry).unwrap_or(0);
        let count = group.waves.len() as u64;
        for (number, wave) in group.waves.iter_mut().enumerate() {
            let slot = group.slot * count + number as u64;
            self.grid.launch.start(wave, group.id, number as u32, entry, arena, slot);
        }
        group.monitor = self.grid.monitor.and_then(|monitor| monitor.group(group.id, self.grid.launch, &group.waves));
    }

    /// Runs a workgroup until it ends (`true`) or all of its waves have used their time slices.
    fn run_slice(
        &self,
        group: &mut ResidentWorkgroup<'_>,
        worker: &mut Worker,
        program: &mut Arc<DecodedProgram>,
    ) -> bool {
        for wave in &mut group.waves {
            wave.budget = TIME_SLICE;
        }
        loop {
            let (mut ran, mut progressed) = (false, false);
            for number in 0..group.waves.len() {
                let wave = &mut group.waves[number];
                if wave.status != WaveStatus::Ready || wave.budget <= 0 {
                    continue;
                }
                ran = true;
                let mut machine = Machine::new(wave, &mut group.lds, worker, program, self.grid.launch);
                let exit = match &mut group.monitor {
                    None => machine.run(),
                    Some(monitor) => machine.run_observed(monitor),
                };
                match exit {
                    StopReason::Ended | StopReason::Barrier => progressed = true,
                    // A wave that yields lets the other waves of its workgroup run first.
                    StopReason::TimeSlice => progressed |= group.waves[number].budget <= 0,
                    StopReason::Undecoded(address) => match self.extend(program, worker, address) {
                        Ok(()) => progressed = true,
                        Err(fault) => {
                            self.report(fault, group, number, program);
                            return true;
                        }
                    },
                    StopReason::Fault(fault) => {
                        self.report(fault, group, number, program);
                        return true;
                    }
                }
            }
            if group.waves.iter().all(|wave| wave.status == WaveStatus::Ended) {
                return true;
            }
            if group.waves.iter().all(|wave| wave.status != WaveStatus::Ready) {
                for wave in group.waves.iter_mut().filter(|wave| wave.status == WaveStatus::AtBarrier) {
                    wave.status = WaveStatus::Ready;
                }
                if let Some(monitor) = &mut group.monitor {
                    monitor.barrier();
                }
            } else if !ran || !progressed {
                // All waves that can run wait for something, possibly for another workgroup.
                return false;
            }
        }
    }

    /// Decodes code at the target of an indirect jump.
    fn extend(&self, program: &mut Arc<DecodedProgram>, worker: &mut Worker, address: u64) -> Result<(), Fault> {
        if self.grid.code.at(address).is_none() || !address.is_multiple_of(4) {
            return Err(Fault::OutsideCode { address });
        }
        let mut entries = lock(&self.entries);
        let mut newest = lock(&self.program);
        if newest.index(address).is_none() {
            // New entries go to the end: the existing micro-ops, which waves refer to, keep their
            // indices.
            entries.push(address);
            *newest = Arc::new(DecodedProgram::new(self.grid.code, self.grid.target, self.level, &entries));
        }
        *program = Arc::clone(&newest);
        worker.runs.resize(program.len() + 1, 0);
        Ok(())
    }

    /// Records a fault. Only the first one of a dispatch is kept.
    fn report(&self, fault: Fault, group: &ResidentWorkgroup<'_>, number: usize, program: &DecodedProgram) {
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
