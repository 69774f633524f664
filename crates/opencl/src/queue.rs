//! Batches in flight: a thread enqueues them, hears of their end by OpenCL's events, and says which command is under way.
//!
//! Nothing is released while the device may still use it: what a lost device has under way is kept, with its thread, until
//! it ends, or until the process does.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use roci_hal::driver::{BatchFault, BoundRange, Completion};
use roci_hal::exit::{self, Busy, Leaving};
use roci_hal::profile::{Clock, Span};
use roci_hal::{Deadline, Error, Expected};

use crate::cl::{Context, DeviceId, Event, Queue, Stage};
use crate::error::{Failed, unavailable};
use crate::patience;
use crate::program::{Enqueued, Program, Target};

/// How often the thread looks which command is under way, and whether the batch has ended: drivers call back late (NVIDIA's
/// a millisecond after the end), so that short batches are looked at often, and long ones after a part of what they took so far. A batch
/// whose last run is known is let be until its end is near.
const LOOK: RangeInclusive<Duration> = Duration::from_micros(20)..=Duration::from_millis(5);
/// That part.
const LOOK_PART: u32 = 32;
/// The longest where the driver does not call back, so that looking is all there is.
const LOOK_ALWAYS: Duration = Duration::from_micros(200);
/// The same for what was given up.
const LOOK_AFTER: Duration = Duration::from_millis(50);
/// How long reading the device's clock may take.
const CLOCK: Duration = Duration::from_secs(1);

/// A queue of the logical device.
pub(crate) struct Line {
    inner: Arc<Inner>,
}

struct Inner {
    /// For commands in the order in which they are enqueued: a device needs no event to keep it, and drivers start the next
    /// command at once, where one that waits for an event came a tenth of a millisecond later.
    serial: Pair,
    /// For commands that may overlap, where the device offers that.
    parallel: Option<Pair>,
    /// For reading the device's clock: a command that does nothing waits for nothing there. Made for the first profile, if it
    /// can be.
    clock: OnceLock<Option<Queue>>,
    context: Arc<Context>,
    device: DeviceId,
    /// Whether a processor stands in for a GPU, which has better things to do than to look.
    is_software: bool,
    state: Mutex<State>,
    changed: Condvar,
}

/// A queue of OpenCL, and its like for batches of which somebody wants to know when they ran, made for the first.
struct Pair {
    plain: Queue,
    profiled: OnceLock<Queue>,
    out_of_order: bool,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// Something may have ended since the thread looked.
    news: bool,
    closed: bool,
}

/// A batch that is not enqueued.
struct Waiting {
    program: Arc<Program>,
    slots: Vec<BoundRange>,
    completion: Completion,
}

/// A batch on the device.
struct Flight {
    /// `None` once its end was told.
    completion: Option<Completion>,
    enqueued: Enqueued,
    /// The first event that was not complete.
    next: usize,
    /// Whether the driver calls when it ends.
    announced: bool,
    /// What went wrong, until that is told.
    trouble: Option<Trouble>,
    /// The device's clock, if somebody wants to know when it ran.
    clock: Option<Clock>,
    /// When it was enqueued.
    since: Instant,
    /// Whether it runs behind all others that learn, so that its time is the one from their end to its own.
    learns: bool,
    /// Whether the driver compiles kernels when they first run, as those of processors do.
    compiles_late: bool,
    program: Arc<Program>,
    _slots: Vec<BoundRange>,
}

/// A command that went wrong.
enum Trouble {
    /// It was not enqueued; the device has no part in that.
    Refused(usize, Failed),
    /// It failed, and the device with it.
    Failed(usize, Failed),
}

impl Line {
    pub(crate) fn open(
        context: &Arc<Context>,
        device: DeviceId,
        out_of_order: bool,
        is_software: bool,
    ) -> Result<Self, Error> {
        let pair = |out_of_order| {
            let plain = context.queue(device, out_of_order, false).map_err(|error| error.unavailable("a queue"))?;
            Ok::<_, Error>(Pair { plain, profiled: OnceLock::new(), out_of_order })
        };
        let inner = Arc::new(Inner {
            serial: pair(false)?,
            parallel: out_of_order.then(|| pair(true)).transpose()?,
            clock: OnceLock::new(),
            context: Arc::clone(context),
            device,
            is_software,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let leaving = Leaving::default();
        let (served, left) = (Arc::clone(&inner), leaving.clone());
        let thread = std::thread::Builder::new().name("opencl-queue".into()).spawn(move || {
            served.serve();
            let _busy = Busy::new();
            // Perhaps the last to hold the queue.
            drop(served);
            left.set();
        });
        let thread = thread.map_err(|error| unavailable("a thread for a queue", error, "end some processes"))?;
        exit::leave(leaving, thread);
        Ok(Self { inner })
    }

    /// Hands a batch to the thread.
    pub(crate) fn submit(&self, program: Arc<Program>, slots: Vec<BoundRange>, completion: Completion) {
        if program.is_empty() {
            return completion.finish(Ok(()));
        }
        let mut state = self.inner.state.lock();
        if state.closed {
            drop(state);
            return completion.finish(Err(BatchFault::Device("the queue is closed".into())));
        }
        state.waiting.push_back(Waiting { program, slots, completion });
        drop(state);
        self.inner.changed.notify_one();
    }

    /// Takes no more; what is under way is let end.
    pub(crate) fn close(&self) {
        self.inner.state.lock().closed = true;
        self.inner.changed.notify_one();
    }
}

impl Inner {
    /// What the thread does.
    fn serve(self: &Arc<Self>) {
        let mut flying: Vec<Flight> = Vec::new();
        // When a batch last began or ended.
        let mut since = Instant::now();
        // When a batch whose time tells something last ended.
        let mut ended = since;
        let mut state = self.state.lock();
        loop {
            let waiting = std::mem::take(&mut state.waiting);
            state.news = false;
            let closed = state.closed;
            MutexGuard::unlocked(&mut state, || {
                let _busy = Busy::new();
                if closed {
                    // Given up by the HAL already, which told whoever waited.
                    drop(waiting);
                } else if !waiting.is_empty() {
                    for waiting in waiting {
                        // The driver may compile while this enqueues, and nothing is seen of what is in flight.
                        if let Some(oldest) = flying.first().filter(|_| waiting.program.compiles_first().is_some()) {
                            oldest.hold_up();
                        }
                        flying.push(self.start(waiting, flying.is_empty()));
                    }
                    since = Instant::now();
                }
                let before = flying.len();
                let mut oldest = true;
                flying.retain_mut(|flight| {
                    let kept = flight.advance(oldest, ended);
                    if !kept && flight.learns {
                        ended = Instant::now();
                    }
                    oldest &= !kept;
                    kept
                });
                if flying.len() < before {
                    since = Instant::now();
                }
            });
            if !state.waiting.is_empty() || state.news {
                continue;
            }
            if state.closed && flying.is_empty() {
                return;
            }
            if flying.is_empty() {
                if !state.closed {
                    self.changed.wait(&mut state);
                }
                continue;
            }
            let expected = flying.first().and_then(|flight| flight.expected(ended));
            let soon = expected.map(|expected| expected.rest());
            let part = soon.unwrap_or(since.elapsed() / LOOK_PART).clamp(*LOOK.start(), *LOOK.end());
            let look = match (state.closed, flying.iter().all(|flight| flight.announced)) {
                (true, _) => LOOK_AFTER,
                (false, true) => part,
                (false, false) => part.min(LOOK_ALWAYS),
            };
            let is_near = expected.is_some_and(|expected| expected.is_near());
            if is_near && !self.is_software && !state.closed {
                // A thread that sleeps wakes up too late.
                MutexGuard::unlocked(&mut state, Expected::pause);
            } else {
                self.changed.wait_for(&mut state, look);
            }
        }
    }

    /// Enqueues a batch, which may be the only one.
    fn start(self: &Arc<Self>, waiting: Waiting, alone: bool) -> Flight {
        let Waiting { program, slots, completion } = waiting;
        let mut enqueued = Enqueued::default();
        let pair = self.parallel.as_ref().filter(|_| !program.is_serial()).unwrap_or(&self.serial);
        let (queue, clock) = self.queue_for(pair, &completion);
        let target = Target { queue, out_of_order: pair.out_of_order, timed: clock.is_some() };
        let (since, learns) = (Instant::now(), !pair.out_of_order && !completion.wants_times());
        if alone && let Some(command) = program.compiles_first() {
            completion.compiling(command);
        }
        let answer = program.enqueue(target, &slots, &mut enqueued);
        // Said before the driver may begin: RustICL 22.3 can keep whoever asks how far a command is until it has ended.
        if alone && let Some((command, _)) = enqueued.events.first() {
            tell(&completion, *command, self.is_software && program.may_compile(*command));
        }
        let last = enqueued.events.last().map_or(0, |(command, _)| *command);
        let wrong = answer.and_then(|()| queue.flush().map_err(|error| (last, error))).err();
        let trouble = wrong.map(|(command, error)| {
            // What is adrift is never seen to end, so that its refusal would never be told.
            if error.is_refusal() && !enqueued.adrift {
                Trouble::Refused(command, error)
            } else {
                Trouble::Failed(command, error)
            }
        });
        let announced = enqueued.events.last().is_some_and(|(_, event)| {
            let own = Arc::clone(self);
            event.on_completion(Box::new(move || own.wake())).is_ok()
        });
        Flight {
            completion: Some(completion),
            enqueued,
            next: 0,
            announced,
            trouble,
            clock,
            since,
            learns,
            compiles_late: self.is_software,
            program,
            _slots: slots,
        }
    }

    /// Where a batch goes, and the clock for its times if they are wanted. Without one the times are left out.
    fn queue_for<'a>(&self, pair: &'a Pair, completion: &Completion) -> (&'a Queue, Option<Clock>) {
        if !completion.wants_times() {
            return (&pair.plain, None);
        }
        if pair.profiled.get().is_none()
            && let Ok(queue) = self.context.queue(self.device, pair.out_of_order, true)
        {
            let _ = pair.profiled.set(queue);
        }
        let Some(queue) = pair.profiled.get() else { return (&pair.plain, None) };
        let idle = self.clock.get_or_init(|| self.context.queue(self.device, false, true).ok());
        (queue, idle.as_ref().and_then(clock))
    }

    /// Something ended.
    fn wake(&self) {
        self.state.lock().news = true;
        self.changed.notify_one();
    }
}

/// The clock of an idle queue's device: commands that do nothing know when they were enqueued, and so does the host. The one
/// that took the shortest counts.
fn clock(queue: &Queue) -> Option<Clock> {
    let mut best: Option<(Duration, Instant, u64)> = None;
    for _ in 0..3 {
        let before = Instant::now();
        let event = queue.join(&[]).ok()?;
        let window = before.elapsed();
        queue.flush().ok()?;
        patience::wait(&event, Deadline::after(CLOCK)).ok()?;
        let [enqueued, ..] = event.times().ok()?;
        if best.is_none_or(|(shortest, ..)| window < shortest) {
            best = Some((window, before + window / 2, enqueued));
        }
    }
    let (_, instant, ticks) = best?;
    Clock::read(1.0, || Some(ticks + instant.elapsed().as_nanos() as u64))
}

/// Says which command is in flight, and whether the driver compiles its kernel.
fn tell(completion: &Completion, command: usize, compiles: bool) {
    if compiles {
        completion.compiling(command);
    } else {
        completion.progress(command);
    }
}

impl Flight {
    /// Looks how far it is and tells its end; whether it must still be kept. `ended` is when the one before it did, of
    /// those that learn.
    fn advance(&mut self, oldest: bool, ended: Instant) -> bool {
        let running = self.is_running(oldest);
        match self.trouble.take() {
            // The device goes on, once what was enqueued before has ended.
            Some(Trouble::Refused(command, error)) if running => self.trouble = Some(Trouble::Refused(command, error)),
            Some(Trouble::Refused(command, error)) => {
                self.end(Err(BatchFault::Kernel { command, reason: error.to_string() }));
            }
            // Told at once; the rest is still let end.
            Some(Trouble::Failed(command, error)) => {
                self.completion.iter().for_each(|completion| completion.progress(command));
                self.end(Err(BatchFault::Device(error.to_string())));
            }
            None if running => {}
            None => {
                self.program.note_run();
                if self.learns {
                    self.program.learn(self.since.max(ended).elapsed());
                }
                self.tell_times();
                self.end(Ok(()));
            }
        }
        running
    }

    /// Whether a command of it is still to come or under way; notes the first that failed. A batch behind another in its
    /// queue has not begun unless the driver says so.
    fn is_running(&mut self, oldest: bool) -> bool {
        while let Some((command, event)) = self.enqueued.events.get(self.next) {
            let may_compile = self.program.may_compile(*command);
            // RustICL answers only once it has compiled.
            if may_compile && oldest {
                self.completion.iter().for_each(|completion| completion.compiling(*command));
            }
            match event.stage() {
                Ok(Stage::Complete) => {}
                Ok(stage) => {
                    if oldest || stage == Stage::Running {
                        let compiles = may_compile && self.compiles_late && stage != Stage::Running;
                        self.completion.iter().for_each(|completion| tell(completion, *command, compiles));
                    }
                    return true;
                }
                Err(error) if !matches!(self.trouble, Some(Trouble::Failed(..))) => {
                    self.trouble = Some(Trouble::Failed(*command, error));
                }
                Err(_) => {}
            }
            self.next += 1;
        }
        self.enqueued.adrift
    }

    /// Says that what is in flight may stand still because the driver compiles something else.
    fn hold_up(&self) {
        if let (Some(completion), Some((command, _))) = (&self.completion, self.enqueued.events.get(self.next)) {
            completion.compiling(*command);
        }
    }

    /// When it ends, if that is known. `None` when it is long past.
    fn expected(&self, ended: Instant) -> Option<Expected> {
        let (took, began) = (self.program.short()?, self.since.max(ended));
        (self.learns && began.elapsed() < 2 * took).then(|| Expected::new(began, took))
    }

    /// Tells when commands ran, if somebody wants to know.
    fn tell_times(&self) {
        let (Some(completion), Some(clock)) = (&self.completion, &self.clock) else { return };
        let commands = self.enqueued.events.iter().take(self.enqueued.commands);
        let span = |(command, event): &(usize, Event)| {
            let [_, start, end] = event.times().ok()?;
            Some(Span { command: *command, start: clock.instant(start), end: clock.instant(end) })
        };
        completion.times(commands.filter_map(span).collect());
    }

    fn end(&mut self, result: Result<(), BatchFault>) {
        self.completion.take().into_iter().for_each(|completion| completion.finish(result.clone()));
    }
}
