//! The watchdog: detects submissions whose command in flight exceeds its timeout. Compilation has
//! its own timeout.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::deadline::Timeouts;
use crate::device::DeviceCore;
use crate::error::DeviceLossReason;
use crate::submission::{Progress, Submission};
use roci_base::sync::{Condvar, Mutex, MutexGuard, lock, wait, wait_for};

/// Checks per timeout: a hang is detected at most 1/8 of the timeout late.
const CHECKS_PER_TIMEOUT: u32 = 8;
/// Minimum pause between checks.
const MIN_PAUSE: Duration = Duration::from_millis(1);

pub(crate) struct Watchdog {
    state: Mutex<WatchdogState>,
    wake: Condvar,
}

#[derive(Default)]
struct WatchdogState {
    entries: BTreeMap<u64, WatchedSubmission>,
    /// Time of the next check; `None` while the thread sleeps indefinitely.
    next: Option<Instant>,
    started: bool,
    stopped: bool,
}

struct WatchedSubmission {
    submission: Weak<Submission>,
    timeouts: Timeouts,
    /// The command in flight at the last check, plus one.
    command: usize,
    checked: Instant,
    /// Accumulated run time and compile time of that command. Counted separately, because drivers
    /// may alternate between the two.
    ran: Duration,
    compiled: Duration,
}

impl WatchedSubmission {
    /// Accounts for the time since the last check. Returns the cause if the submission counts as
    /// hung.
    fn check(&mut self, progress: Progress, now: Instant) -> Option<DeviceLossReason> {
        let passed = now.duration_since(std::mem::replace(&mut self.checked, now));
        // A batch that has not started waits for others, which are watched themselves.
        if progress.command() != self.command || progress.command() == 0 {
            (self.command, self.ran, self.compiled) = (progress.command(), Duration::ZERO, Duration::ZERO);
            return None;
        }
        if progress.is_compiling() {
            self.compiled += passed;
        } else {
            self.ran += passed;
        }
        if self.ran >= self.timeouts.command {
            return Some(DeviceLossReason::Hang { limit: self.timeouts.command });
        }
        (self.compiled >= self.timeouts.compile).then_some(DeviceLossReason::Compile { limit: self.timeouts.compile })
    }

    /// Maximum time until the next check.
    fn pause(&self) -> Duration {
        pause(self.timeouts)
    }
}

impl Watchdog {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(WatchdogState::default()), wake: Condvar::new() })
    }

    /// Watches a submission that is about to be submitted to the driver.
    pub(crate) fn watch(self: &Arc<Self>, core: &Arc<DeviceCore>, submission: &Arc<Submission>) {
        let now = Instant::now();
        let timeouts = Timeouts { command: submission.limit, compile: core.timeouts().compile };
        let mut state = self.lock();
        let entry = WatchedSubmission {
            submission: Arc::downgrade(submission),
            timeouts,
            command: 0,
            checked: now,
            ran: Duration::ZERO,
            compiled: Duration::ZERO,
        };
        state.entries.insert(submission.id, entry);
        if !state.started {
            state.started = true;
            let (watchdog, core) = (Arc::clone(self), Arc::downgrade(core));
            let spawned = std::thread::Builder::new().name("roci-watchdog".into()).spawn(move || watchdog.run(&core));
            // Without a watchdog thread, hangs still end at the deadlines of host waits.
            state.started = spawned.is_ok();
        } else if state.next.is_none_or(|next| next > now + pause(timeouts)) {
            self.wake.notify_one();
        }
    }

    /// Called when the submission has ended.
    pub(crate) fn unwatch(&self, submission: &Submission) {
        self.lock().entries.remove(&submission.id);
    }

    pub(crate) fn stop(&self) {
        self.lock().stopped = true;
        self.wake.notify_one();
    }

    fn run(&self, core: &Weak<DeviceCore>) {
        loop {
            // Checked outside of the lock: dropping a submission's last handle may drop the device,
            // which calls `stop`.
            for submission in self.watched() {
                if let Some(reason) = self.check(&submission)
                    && let (Some(core), Some(in_flight)) = (core.upgrade(), submission.in_flight())
                {
                    core.lose(reason, in_flight);
                }
            }
            let mut state = self.lock();
            if state.stopped {
                return;
            }
            state.entries.retain(|_, entry| entry.submission.strong_count() > 0);
            // Decided under the lock that waiting releases, so that no new entry is missed.
            match state.entries.values().map(WatchedSubmission::pause).min() {
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

    /// The cause if the command in flight has exceeded a timeout.
    fn check(&self, submission: &Submission) -> Option<DeviceLossReason> {
        let (now, progress) = (Instant::now(), submission.progress());
        self.lock().entries.get_mut(&submission.id)?.check(progress, now)
    }

    fn lock(&self) -> MutexGuard<'_, WatchdogState> {
        lock(&self.state)
    }
}

fn pause(timeouts: Timeouts) -> Duration {
    (timeouts.command.min(timeouts.compile) / CHECKS_PER_TIMEOUT).max(MIN_PAUSE)
}
