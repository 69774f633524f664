//! The watchdog: notices a submission whose command in flight does not change for too long. Compiling a kernel has a limit of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::deadline::Limits;
use crate::device::Core;
use crate::error::LossReason;
use crate::submission::{Progress, Submission};
use crate::sync::{Condvar, Mutex, MutexGuard, lock, wait, wait_for};

/// Checks in one limit: a hang is noticed at most this fraction of the limit late.
const CHECKS: u32 = 8;
/// The shortest pause between checks.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

pub(crate) struct Watchdog {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<u64, Entry>,
    /// When the thread looks next; `None` while it sleeps without a limit.
    next: Option<Instant>,
    started: bool,
    stopped: bool,
}

struct Entry {
    submission: Weak<Submission>,
    limits: Limits,
    /// The command in flight when the thread last looked, plus one.
    seen: usize,
    looked: Instant,
    /// How long that command has been in flight, and how much longer it was compiled. Counted apart, since drivers may go back and forth
    /// between the two.
    ran: Duration,
    compiled: Duration,
}

impl Entry {
    /// Counts the time since the last look, and tells why the submission counts as hung, if it does.
    fn look(&mut self, progress: Progress, now: Instant) -> Option<LossReason> {
        let passed = now.duration_since(std::mem::replace(&mut self.looked, now));
        // Before its start a batch waits for others, which are watched themselves.
        if progress.command() != self.seen || progress.command() == 0 {
            (self.seen, self.ran, self.compiled) = (progress.command(), Duration::ZERO, Duration::ZERO);
            return None;
        }
        if progress.is_compiling() {
            self.compiled += passed;
        } else {
            self.ran += passed;
        }
        if self.ran >= self.limits.command {
            return Some(LossReason::Hang { limit: self.limits.command });
        }
        (self.compiled >= self.limits.compile).then_some(LossReason::Compile { limit: self.limits.compile })
    }

    /// How long the thread may sleep.
    fn pause(&self) -> Duration {
        pause(self.limits)
    }
}

impl Watchdog {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State::default()), wake: Condvar::new() })
    }

    /// Watches a submission that was just handed to the driver.
    pub(crate) fn watch(self: &Arc<Self>, core: &Arc<Core>, submission: &Arc<Submission>) {
        let now = Instant::now();
        let limits = Limits { command: submission.limit, compile: core.limits().compile };
        let mut state = self.lock();
        let entry = Entry {
            submission: Arc::downgrade(submission),
            limits,
            seen: 0,
            looked: now,
            ran: Duration::ZERO,
            compiled: Duration::ZERO,
        };
        state.entries.insert(submission.id, entry);
        if !state.started {
            state.started = true;
            let (watchdog, core) = (Arc::clone(self), Arc::downgrade(core));
            let spawned = std::thread::Builder::new().name("roci-watchdog".into()).spawn(move || watchdog.run(&core));
            // Without a watchdog thread hangs still end: every wait of the host has its own deadline.
            state.started = spawned.is_ok();
        } else if state.next.is_none_or(|next| next > now + pause(limits)) {
            self.wake.notify_one();
        }
    }

    /// The submission has ended.
    pub(crate) fn unwatch(&self, submission: &Submission) {
        self.lock().entries.remove(&submission.id);
    }

    pub(crate) fn stop(&self) {
        self.lock().stopped = true;
        self.wake.notify_one();
    }

    fn run(&self, core: &Weak<Core>) {
        loop {
            // Looked at outside the lock: dropping the last handle of a submission may drop the device, which stops us.
            for submission in self.watched() {
                if let Some(reason) = self.look(&submission)
                    && let (Some(core), Some(work)) = (core.upgrade(), submission.in_flight())
                {
                    core.lose(reason, work);
                }
            }
            let mut state = self.lock();
            if state.stopped {
                return;
            }
            state.entries.retain(|_, entry| entry.submission.strong_count() > 0);
            // Decided under the lock that the sleep gives up, so that no entry comes in between unseen.
            match state.entries.values().map(Entry::pause).min() {
                Some(pause) => {
                    state.next = Some(Instant::now() + pause);
                    drop(wait_for(&self.wake, state, pause));
                }
                None => {
                    state.next = None;
                    drop(wait(&self.wake, state));
                }
            }
        }
    }

    fn watched(&self) -> Vec<Arc<Submission>> {
        self.lock().entries.values().filter_map(|entry| entry.submission.upgrade()).collect()
    }

    /// Why it counts as hung, if its command in flight has been the same for the whole limit.
    fn look(&self, submission: &Submission) -> Option<LossReason> {
        let (now, progress) = (Instant::now(), submission.progress());
        self.lock().entries.get_mut(&submission.id)?.look(progress, now)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn pause(limits: Limits) -> Duration {
    (limits.command.min(limits.compile) / CHECKS).max(SHORTEST_PAUSE)
}
