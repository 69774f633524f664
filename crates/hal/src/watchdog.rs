//! The watchdog: notices a submission whose command in flight does not change for too long.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::device::Core;
use crate::error::LossReason;
use crate::submission::Submission;
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
    limit: Duration,
    seen: usize,
    since: Instant,
}

impl Watchdog {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State::default()), wake: Condvar::new() })
    }

    /// Watches a submission that was just handed to the driver.
    pub(crate) fn watch(self: &Arc<Self>, core: &Arc<Core>, submission: &Arc<Submission>) {
        let now = Instant::now();
        let mut state = self.lock();
        state.entries.insert(
            submission.id,
            Entry { submission: Arc::downgrade(submission), limit: submission.limit, seen: 0, since: now },
        );
        if !state.started {
            state.started = true;
            let (watchdog, core) = (Arc::clone(self), Arc::downgrade(core));
            let spawned = std::thread::Builder::new().name("roci-watchdog".into()).spawn(move || watchdog.run(&core));
            // Without a watchdog thread hangs still end: every wait of the host has its own deadline.
            state.started = spawned.is_ok();
        } else if state.next.is_none_or(|next| next > now + pause(submission.limit)) {
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
                if self.is_hung(&submission)
                    && let (Some(core), Some(work)) = (core.upgrade(), submission.in_flight())
                {
                    core.lose(LossReason::Hang { limit: submission.limit }, work);
                }
            }
            let mut state = self.lock();
            if state.stopped {
                return;
            }
            state.entries.retain(|_, entry| entry.submission.strong_count() > 0);
            // Decided under the lock that the sleep gives up, so that no entry comes in between unseen.
            match state.entries.values().map(|entry| pause(entry.limit)).min() {
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

    /// Whether its command in flight has been the same for the whole limit.
    fn is_hung(&self, submission: &Submission) -> bool {
        let now = Instant::now();
        let progress = submission.progress();
        let mut state = self.lock();
        let Some(entry) = state.entries.get_mut(&submission.id) else { return false };
        // Before its start a batch waits for others, which are watched themselves.
        if progress != entry.seen || progress == 0 {
            (entry.seen, entry.since) = (progress, now);
        }
        now.duration_since(entry.since) >= submission.limit
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn pause(limit: Duration) -> Duration {
    (limit / CHECKS).max(SHORTEST_PAUSE)
}
