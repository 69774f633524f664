//! A queue: batches are submitted as they come, and a thread waits for them and tells of their completion.

#![expect(unsafe_code, reason = "calls Vulkan")]

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ash::vk;
use parking_lot::{Condvar, Mutex, MutexGuard};
use roci_hal::driver::{BatchFault, BoundRange, Completion};
use roci_hal::exit::{self, Busy, Leaving};
use roci_hal::{DeviceKind, Error, Expected};

use crate::clock::Clock;
use crate::encode::Encoded;
use crate::fault::{failed, loss, unavailable};
use crate::program::Program;
use crate::shared::Shared;

/// Submissions that Vulkan has at a time: amdgpu blocks whoever submits when it has 32 of one context and ring.
const FLYING: usize = 24;
/// How long one wait of the thread is; the end of the process may have to wait for it.
const LOOK: Duration = Duration::from_millis(500);
/// How often it looks after work that was given up, which may never end.
const REST: Duration = Duration::from_millis(20);

/// A queue.
pub(crate) struct Line {
    inner: Arc<Inner>,
    leaving: Leaving,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Inner {
    shared: Arc<Shared>,
    queue: vk::Queue,
    clock: Clock,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    flying: VecDeque<Flight>,
    waiting: VecDeque<Waiting>,
    /// Submissions ever made.
    count: u64,
    /// When the last submission was seen to be complete.
    seen: Option<Instant>,
    closed: bool,
    /// What is in flight was given up.
    abandoned: bool,
    /// The thread is gone, or about to be.
    ended: bool,
}

/// A batch that Vulkan does not have yet.
struct Waiting {
    completion: Completion,
    encoded: Arc<Encoded>,
    keep: Keep,
}

/// What must live while a batch runs.
struct Keep {
    _program: Arc<Program>,
    _slots: Vec<BoundRange>,
}

/// A batch on the device.
struct Flight {
    /// `None` once its end was told. What Vulkan has of it runs on all the same.
    completion: Option<Completion>,
    encoded: Arc<Encoded>,
    /// The submissions that are not complete: the count of each, and its pieces.
    groups: VecDeque<(u64, Range<usize>)>,
    /// The pieces of those that Vulkan does not have yet.
    rest: VecDeque<Range<usize>>,
    since: Instant,
    _keep: Keep,
}

/// Batches that ended, to be told outside of the lock: that may start others, which come back here.
type Ended = Vec<(Completion, Result<(), BatchFault>, Option<Timed>)>;
/// Command buffers that know when commands ran.
type Timed = Arc<Encoded>;

impl Line {
    pub(crate) fn open(shared: &Arc<Shared>, number: u32) -> Result<Self, Error> {
        // SAFETY: the device was made with so many queues of the family.
        let queue = unsafe { shared.device.get_device_queue(shared.family, number) };
        let inner = Arc::new(Inner {
            clock: Clock::new(shared).map_err(failed("a queue"))?,
            shared: Arc::clone(shared),
            queue,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let leaving = Leaving::default();
        let (served, left) = (Arc::clone(&inner), leaving.clone());
        let thread = std::thread::Builder::new().name(format!("vulkan-queue-{number}")).spawn(move || {
            let _busy = served.serve();
            // Perhaps the last to hold the device.
            drop(served);
            left.set();
        });
        let thread = thread.map_err(|error| unavailable("a thread for a queue", error))?;
        Ok(Self { inner, leaving, thread: Mutex::new(Some(thread)) })
    }

    /// Submits a batch, or lets it wait for room.
    pub(crate) fn submit(&self, program: Arc<Program>, slots: Vec<BoundRange>, completion: Completion) {
        let encoded = match program.encoded(&slots, completion.wants_times()) {
            Ok(Some(encoded)) => encoded,
            Ok(None) => return completion.finish(Ok(())),
            // Nothing was submitted, so that the device has no part in it.
            Err(error) => {
                return completion.finish(Err(BatchFault::Kernel { command: 0, reason: error.to_string() }));
            }
        };
        let keep = Keep { _program: program, _slots: slots };
        let mut state = self.inner.state.lock();
        if state.closed {
            drop(state);
            return completion.finish(Err(BatchFault::Device("the queue is closed".into())));
        }
        state.waiting.push_back(Waiting { completion, encoded, keep });
        let was_idle = state.flying.is_empty();
        let ended = self.inner.launch(&mut state);
        if was_idle {
            self.inner.changed.notify_all();
        }
        drop(state);
        tell(ended);
    }

    /// Takes no more work.
    pub(crate) fn close(&self) {
        self.stop(false);
    }

    /// Takes no more work, and expects no end of what is in flight.
    pub(crate) fn abandon(&self) {
        self.stop(true);
    }

    fn stop(&self, abandoned: bool) {
        let waiting = {
            let mut state = self.inner.state.lock();
            state.closed = true;
            state.abandoned |= abandoned;
            let begun = state.flying.back_mut().filter(|flight| !flight.rest.is_empty()).and_then(Flight::give_up);
            (begun, std::mem::take(&mut state.waiting))
        };
        self.inner.changed.notify_all();
        drop(waiting);
    }

    /// Waits for the thread, unless it is the one who asks or is caught by work that does not end.
    pub(crate) fn join(&self, patience: Duration) {
        let Some(thread) = self.thread.lock().take() else { return };
        let is_own = thread.thread().id() == std::thread::current().id();
        if is_own || !self.has_ended(patience) {
            return exit::leave(self.leaving.clone(), thread);
        }
        // A panic in it has nothing to say that the batches have not said.
        let _ = thread.join();
    }
}

impl Line {
    /// Whether the thread has nothing left to do, now or soon.
    fn has_ended(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = self.inner.state.lock();
        while !state.ended {
            if self.inner.changed.wait_until(&mut state, deadline).timed_out() {
                return false;
            }
        }
        true
    }
}

fn tell(ended: Ended) {
    for (completion, result, timed) in ended {
        if let Some(times) = timed.as_ref().and_then(|encoded| encoded.times.as_ref()) {
            completion.times(times.spans());
        }
        // Before the one who waits goes on, who may close the device.
        drop(timed);
        completion.finish(result);
    }
}

impl Flight {
    fn new(Waiting { completion, encoded, keep }: Waiting) -> Self {
        let rest = encoded.plan.groups().into();
        let groups = VecDeque::new();
        Self { completion: Some(completion), encoded, groups, rest, since: Instant::now(), _keep: keep }
    }

    /// Says at which command the batch is. A processor that stands in for a GPU compiles kernels when they first run, not when pipelines are
    /// made.
    fn progress(&self, compiles_late: bool) {
        let next = self.groups.front().map(|(_, pieces)| pieces).or(self.rest.front());
        let (Some(completion), Some(pieces)) = (&self.completion, next) else { return };
        let command = self.encoded.plan.pieces[pieces.start].command;
        if compiles_late && self.encoded.plan.is_first_run(pieces) {
            completion.compiling(command);
        } else {
            completion.progress(command);
        }
    }

    /// Submits no more of it, and leaves it to the caller to tell of its end, if nobody has.
    fn give_up(&mut self) -> Option<Completion> {
        self.rest.clear();
        self.completion.take()
    }
}

impl Inner {
    /// Gives Vulkan what waits, as far as it may have more.
    fn launch(&self, state: &mut State) -> Ended {
        let mut ended = Vec::new();
        while !state.closed {
            let room = FLYING.saturating_sub(state.flying.iter().map(|flight| flight.groups.len()).sum());
            if room == 0 {
                break;
            }
            let begun = state.flying.pop_back_if(|flight| !flight.rest.is_empty());
            let Some(mut flight) = begun.or_else(|| state.waiting.pop_front().map(Flight::new)) else { break };
            if state.flying.is_empty() {
                flight.progress(self.is_software());
            }
            let pieces: Vec<_> = flight.rest.drain(..room.min(flight.rest.len())).collect();
            let buffers: Vec<_> = pieces.iter().map(|pieces| &flight.encoded.buffers[pieces.clone()]).collect();
            let (submitted, answer) = self.clock.submit(self.queue, state.count, &buffers);
            let refused = pieces.get(submitted).map_or(0, |pieces| pieces.start);
            flight.groups.extend((state.count + 1..).zip(pieces).take(submitted));
            state.count += submitted as u64;
            if let Err(result) = answer {
                let command = flight.encoded.plan.pieces[refused].command;
                let reason = loss(result, self.shared.card.facts.vendor);
                // Where nothing of the batch was submitted the device goes on.
                let goes_on = refused == 0 && result != vk::Result::ERROR_DEVICE_LOST;
                let fault = if goes_on { BatchFault::Kernel { command, reason } } else { BatchFault::Device(reason) };
                state.closed |= !goes_on;
                ended.extend(flight.give_up().map(|completion| {
                    completion.progress(command);
                    (completion, Err(fault), None)
                }));
            }
            // Kept also where its end was told, since what was submitted runs.
            if !flight.groups.is_empty() {
                state.flying.push_back(flight);
            }
        }
        ended
    }

    /// Whether a processor stands in for a GPU.
    fn is_software(&self) -> bool {
        self.shared.card.info.kind == DeviceKind::Software
    }

    /// What the thread does: waits for the oldest submission, tells of completions, makes room for what waits.
    fn serve(&self) -> Busy {
        let mut state = self.state.lock();
        loop {
            let first = state.flying.front().and_then(|flight| flight.groups.front().map(|group| (flight, group)));
            let Some((flight, (oldest, pieces))) = first else {
                if state.closed {
                    break;
                }
                self.changed.wait(&mut state);
                continue;
            };
            let (oldest, about) = (*oldest, flight.encoded.plan.about(pieces));
            let began = state.seen.map_or(flight.since, |seen| seen.max(flight.since));
            // Where a processor stands in for a GPU, it has better things to do than to look.
            let expected = about.filter(|_| !self.is_software());
            let expected = expected.map(|about| Expected::new(began, about));
            // Almost never inside Vulkan with what may never end: the process may.
            let patience = if state.abandoned { Duration::ZERO } else { LOOK };
            if state.abandoned {
                self.changed.wait_for(&mut state, REST);
            }
            // Until the loop comes round: whoever waits for what is told may end the process, while this thread has yet
            // to close the device.
            let (busy, reached) = MutexGuard::unlocked(&mut state, || {
                let busy = Busy::new();
                let reached = self.clock.wait(oldest, patience, expected);
                (busy, reached)
            });
            let mut ended = match reached {
                Ok(reached) => self.retire(&mut state, reached),
                Err(result) => {
                    let reason = loss(result, self.shared.card.facts.vendor);
                    let fault = |completion| (completion, Err(BatchFault::Device(reason.clone())), None);
                    let ended = state.flying.iter_mut().filter_map(Flight::give_up).map(fault).collect();
                    (state.closed, state.abandoned) = (true, true);
                    // Nothing of a lost device runs any more. Of others it is not known, so that the rest stays.
                    if result == vk::Result::ERROR_DEVICE_LOST {
                        state.flying.clear();
                    }
                    ended
                }
            };
            ended.extend(self.launch(&mut state));
            MutexGuard::unlocked(&mut state, || tell(ended));
            if state.closed && state.flying.is_empty() {
                return self.end(&mut state, busy);
            }
        }
        let busy = MutexGuard::unlocked(&mut state, Busy::new);
        self.end(&mut state, busy)
    }

    fn end(&self, state: &mut State, busy: Busy) -> Busy {
        state.ended = true;
        self.changed.notify_all();
        busy
    }

    /// Takes off what is complete.
    fn retire(&self, state: &mut State, reached: u64) -> Ended {
        let now = Instant::now();
        let mut ended = Vec::new();
        while let Some(flight) = state.flying.front_mut() {
            while let Some((_, pieces)) = flight.groups.pop_front_if(|(count, _)| *count <= reached) {
                let began = state.seen.map_or(flight.since, |seen| seen.max(flight.since));
                flight.encoded.plan.learn(pieces, now - began);
                state.seen = Some(now);
            }
            if !flight.groups.is_empty() || !flight.rest.is_empty() {
                flight.progress(self.is_software());
                break;
            }
            let Some(flight) = state.flying.pop_front() else { break };
            let timed = Some(flight.encoded).filter(|encoded| encoded.times.is_some());
            ended.extend(flight.completion.map(|completion| (completion, Ok(()), timed)));
        }
        ended
    }
}
