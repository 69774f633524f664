//! Timeline semaphores: what orders submissions, across queues, devices and drivers.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::deadline::Deadline;
use crate::device::Core;
use crate::error::Error;
use crate::expected::Expected;
use crate::timeline::{Refused, Timeline, Watcher};

/// How often a wait looks whether the device compiles, in its limit, and the shortest time between looks.
const LOOKS: u32 = 8;
const SHORTEST_LOOK: Duration = Duration::from_millis(1);

/// A 64-bit counter that only grows. Cheap to clone.
///
/// Submissions wait for values and signal values; waiting for a value that nothing has promised yet is legal. A failed
/// submission fails the semaphores it would have signalled, and with them everything that waits for them.
#[derive(Clone)]
pub struct Semaphore {
    inner: Arc<Inner>,
}

struct Inner {
    core: Arc<Core>,
    timeline: Timeline<Error>,
}

/// A semaphore and a value of it.
#[derive(Clone)]
pub struct Point {
    /// The semaphore.
    pub semaphore: Semaphore,
    /// The value.
    pub value: u64,
}

impl Semaphore {
    pub(crate) fn new(core: &Arc<Core>, value: u64) -> Self {
        Self { inner: Arc::new(Inner { core: Arc::clone(core), timeline: Timeline::new(value) }) }
    }

    /// The value reached so far, or why it failed.
    pub fn query(&self) -> Result<u64, Error> {
        self.inner.timeline.query()
    }

    /// Waits on the host for a value.
    pub fn wait(&self, value: u64, deadline: impl Into<Deadline>) -> Result<(), Error> {
        let deadline = deadline.into();
        let answer = if deadline.counts_compilation() {
            self.inner.timeline.wait(value, deadline)
        } else {
            self.wait_for_work(value, deadline)
        };
        answer.unwrap_or_else(|| Err(self.inner.core.timeout(deadline.waited())))
    }

    /// The same without counting the time in which the device compiles, up to the limit of that.
    fn wait_for_work(&self, value: u64, mut deadline: Deadline) -> Option<Result<(), Error>> {
        let core = &self.inner.core;
        let look = (deadline.remaining() / LOOKS).max(SHORTEST_LOOK);
        let mut compiled = Duration::ZERO;
        loop {
            let (began, remaining) = (Instant::now(), deadline.remaining());
            if let Some(answer) = self.inner.timeline.wait(value, Deadline::after(look.min(remaining))) {
                return Some(answer);
            }
            if remaining.is_zero() {
                return None;
            }
            if compiled < core.limits().compile && core.is_compiling() {
                let took = began.elapsed();
                compiled += took;
                deadline.extend(took);
            }
        }
    }

    /// The same for work that begins now and is expected to take about so long, on a device that is no processor of the host: close to its end this
    /// thread looks again and again instead of sleeping.
    pub fn wait_about(&self, value: u64, about: Duration, deadline: impl Into<Deadline>) -> Result<(), Error> {
        let deadline = deadline.into();
        let expected = Expected::new(Instant::now(), about);
        let rest = expected.rest().min(deadline.remaining());
        if let Some(answer) = self.inner.timeline.wait(value, Deadline::after(rest)) {
            return answer;
        }
        while expected.is_near() && self.query().is_ok_and(|reached| reached < value) {
            Expected::pause();
        }
        self.wait(value, deadline)
    }

    /// Signals from the host; the value must be higher than the present one. A failed semaphore gives its failure.
    pub fn signal(&self, value: u64) -> Result<(), Error> {
        match self.inner.timeline.signal(value) {
            Ok(watchers) => {
                notify(watchers, Ok(()));
                Ok(())
            }
            Err(Refused::NotIncreasing(current)) => {
                let reason = format!("signalled to {value}, which is not above its value {current}");
                Err(Error::invalid("semaphore", reason).hinted("signal values that only grow"))
            }
            Err(Refused::Failed(cause)) => Err(cause),
        }
    }

    /// Fails it: present and future waits for values not yet reached give this cause.
    pub fn fail(&self, cause: Error) {
        notify(self.inner.timeline.fail(cause.clone()), Err(cause));
    }

    /// This value of it.
    pub fn at(&self, value: u64) -> Point {
        Point { semaphore: self.clone(), value }
    }

    pub(crate) fn watch(&self, value: u64, watcher: Watcher<Error>) {
        if let Some((watcher, answer)) = self.inner.timeline.watch(value, watcher) {
            notify(vec![watcher], answer);
        }
    }
}

impl Drop for Inner {
    /// Nobody is left who could signal it: what still waits for it fails, instead of waiting for ever with all its memory.
    fn drop(&mut self) {
        let cause = Error::invalid("semaphore", "its last handle was dropped before it reached the awaited value")
            .hinted("keep a handle of the semaphore until its value is signalled");
        notify(self.timeline.fail(cause.clone()), Err(cause));
    }
}

impl Point {
    /// The submission that promised this value has ended.
    pub(crate) fn settle(&self, result: &Result<(), Error>) {
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

type Notice = (Watcher<Error>, Result<(), Error>);

thread_local! {
    /// Notices that wait for the thread's outermost `notify`.
    static BACKLOG: RefCell<Option<VecDeque<Notice>>> = const { RefCell::new(None) };
}

/// Calls watchers one after another, never one inside another: a chain of ten thousand host operations that release each
/// other would otherwise be a recursion of that depth.
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
    // A watcher that panics must not leave the backlog behind, or this thread would never notify again.
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
