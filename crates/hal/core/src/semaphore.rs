//! Timeline semaphores, which order submissions across queues, devices and drivers.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::deadline::Deadline;
use crate::device::DeviceCore;
use crate::error::Error;
use crate::spin::SpinWindow;
use crate::timeline::{SignalError, Timeline, Watcher};

/// Number of polls for compilation per wait, and their minimum interval.
const POLLS_PER_WAIT: u32 = 8;
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A 64-bit counter that only increases. Cheap to clone.
///
/// Submissions wait for values and signal values. A wait may come before the submission that will
/// signal its value. A failed submission fails the semaphores it would have signaled, and thereby
/// everything that waits for them.
#[derive(Clone)]
pub struct Semaphore {
    inner: Arc<SemaphoreInner>,
}

impl std::fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Semaphore").field("value", &self.query()).finish_non_exhaustive()
    }
}

struct SemaphoreInner {
    core: Arc<DeviceCore>,
    timeline: Timeline<Error>,
}

/// A semaphore and one of its values.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Point {
    /// The semaphore.
    pub semaphore: Semaphore,
    /// The value to wait for or signal.
    pub value: u64,
}

impl Semaphore {
    pub(crate) fn new(core: &Arc<DeviceCore>, value: u64) -> Self {
        Self { inner: Arc::new(SemaphoreInner { core: Arc::clone(core), timeline: Timeline::new(value) }) }
    }

    /// The current value, or the cause if the semaphore failed.
    pub fn query(&self) -> Result<u64, Error> {
        self.inner.timeline.query()
    }

    /// Blocks the calling thread until the semaphore reaches a value.
    pub fn wait(&self, value: u64, deadline: impl Into<Deadline>) -> Result<(), Error> {
        let deadline = deadline.into();
        let answer = if deadline.counts_compilation() {
            self.inner.timeline.wait(value, deadline)
        } else {
            self.wait_for_work(value, deadline)
        };
        answer.unwrap_or_else(|| Err(self.inner.core.timeout(deadline.waited())))
    }

    /// Waits without counting time that the device spends compiling, up to the compile timeout.
    fn wait_for_work(&self, value: u64, mut deadline: Deadline) -> Option<Result<(), Error>> {
        let core = &self.inner.core;
        let interval = (deadline.remaining() / POLLS_PER_WAIT).max(MIN_POLL_INTERVAL);
        let mut compiled = Duration::ZERO;
        loop {
            let (began, remaining) = (Instant::now(), deadline.remaining());
            if let Some(answer) = self.inner.timeline.wait(value, Deadline::after(interval.min(remaining))) {
                return Some(answer);
            }
            if remaining.is_zero() {
                return None;
            }
            if compiled < core.timeouts().compile && core.is_compiling() {
                let took = began.elapsed();
                compiled += took;
                deadline.extend(took);
            }
        }
    }

    /// Like [`Semaphore::wait`], for work that starts now and is expected to take `about`. The
    /// thread spins near the expected end instead of sleeping ([`SpinWindow`]). Not for devices
    /// that compute on the host's processor.
    pub fn wait_with_estimate(&self, value: u64, about: Duration, deadline: impl Into<Deadline>) -> Result<(), Error> {
        let deadline = deadline.into();
        let expected = SpinWindow::new(Instant::now(), about);
        let rest = expected.time_to_sleep().min(deadline.remaining());
        if let Some(answer) = self.inner.timeline.wait(value, Deadline::after(rest)) {
            return answer;
        }
        while expected.is_open() && self.query().is_ok_and(|reached| reached < value) {
            SpinWindow::spin();
        }
        self.wait(value, deadline)
    }

    /// Signals from the host. The value must be greater than the current one. Returns the cause if
    /// the semaphore has failed.
    pub fn signal(&self, value: u64) -> Result<(), Error> {
        match self.inner.timeline.signal(value) {
            Ok(watchers) => {
                notify(watchers, Ok(()));
                Ok(())
            }
            Err(SignalError::NotIncreasing(current)) => {
                let reason = format!("signaled with {value}, but its value is already {current}");
                Err(Error::invalid("semaphore", reason).with_hint("signal increasing values"))
            }
            Err(SignalError::Failed(cause)) => Err(cause),
        }
    }

    /// Fails the semaphore: current and future waits for values not yet reached return this cause.
    pub fn fail(&self, cause: Error) {
        notify(self.inner.timeline.fail(cause.clone()), Err(cause));
    }

    /// A point of this semaphore's timeline.
    pub fn at(&self, value: u64) -> Point {
        Point { semaphore: self.clone(), value }
    }

    pub(crate) fn watch(&self, value: u64, watcher: Watcher<Error>) {
        if let Some((watcher, answer)) = self.inner.timeline.watch(value, watcher) {
            notify(vec![watcher], answer);
        }
    }
}

impl Drop for SemaphoreInner {
    /// The semaphore can no longer be signaled. Fails pending waits, which would otherwise keep
    /// their memory forever.
    fn drop(&mut self) {
        let cause = Error::invalid("semaphore", "its last handle was dropped before it reached the awaited value")
            .with_hint("keep a handle of the semaphore until its value is signaled");
        notify(self.timeline.fail(cause.clone()), Err(cause));
    }
}

impl Point {
    /// Called when the submission that signals this value has ended.
    pub(crate) fn complete(&self, result: &Result<(), Error>) {
        match result {
            Ok(()) => {
                if let Err(error) = self.semaphore.signal(self.value) {
                    self.semaphore.fail(error);
                }
            }
            Err(cause) => self.semaphore.fail(cause.clone()),
        }
    }
}

type Notification = (Watcher<Error>, Result<(), Error>);

thread_local! {
    /// Notifications deferred to the thread's outermost call of `notify`.
    static BACKLOG: RefCell<Option<VecDeque<Notification>>> = const { RefCell::new(None) };
}

/// Calls watchers iteratively: a chain of ten thousand host operations that release each other
/// would otherwise recurse to that depth.
fn notify(watchers: Vec<Watcher<Error>>, result: Result<(), Error>) {
    let nested = BACKLOG.with_borrow_mut(|backlog| match backlog {
        Some(queue) => {
            queue.extend(watchers.into_iter().map(|watcher| (watcher, result.clone())));
            None
        }
        None => {
            *backlog = Some(VecDeque::new());
            Some((watchers, result))
        }
    });
    let Some((watchers, result)) = nested else { return };
    // If a watcher panics, a leftover backlog would disable notifications of this thread.
    let _reset = ResetBacklog;
    for watcher in watchers {
        watcher(result.clone());
    }
    while let Some((watcher, result)) =
        BACKLOG.with_borrow_mut(|backlog| backlog.as_mut().and_then(VecDeque::pop_front))
    {
        watcher(result);
    }
}

struct ResetBacklog;

impl Drop for ResetBacklog {
    fn drop(&mut self) {
        BACKLOG.with_borrow_mut(Option::take);
    }
}
