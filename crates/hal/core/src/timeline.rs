//! The core of a timeline semaphore: an increasing counter that can fail, be waited for, and be
//! watched.
//!
//! Independent of devices, so that loom can explore it in isolation (`RUSTFLAGS="--cfg loom" cargo
//! test -p roci-hal`).

use std::collections::BTreeMap;

use crate::deadline::Deadline;
use crate::sync::{Condvar, Mutex, lock, wait_for};

/// Called once, outside of locks, when the awaited value is reached or the timeline fails.
pub(crate) type Watcher<E> = Box<dyn FnOnce(Result<(), E>) + Send>;

pub(crate) struct Timeline<E> {
    state: Mutex<TimelineState<E>>,
    changed: Condvar,
}

struct TimelineState<E> {
    value: u64,
    failure: Option<E>,
    /// Keyed by awaited value, then by order of registration.
    watchers: BTreeMap<(u64, u64), Watcher<E>>,
    arrivals: u64,
}

/// Why a signal was rejected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SignalError<E> {
    /// The value does not exceed the current one, given here.
    NotIncreasing(u64),
    /// The timeline has failed.
    Failed(E),
}

impl<E: Clone> Timeline<E> {
    pub(crate) fn new(value: u64) -> Self {
        let state = TimelineState { value, failure: None, watchers: BTreeMap::new(), arrivals: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The current value, or the failure.
    pub(crate) fn query(&self) -> Result<u64, E> {
        let state = lock(&self.state);
        state.failure.clone().map_or(Ok(state.value), Err)
    }

    /// Raises the value and returns the watchers to call, sorted by awaited value. A failed
    /// timeline stays failed.
    pub(crate) fn signal(&self, value: u64) -> Result<Vec<Watcher<E>>, SignalError<E>> {
        let mut state = lock(&self.state);
        if let Some(failure) = &state.failure {
            return Err(SignalError::Failed(failure.clone()));
        }
        if value <= state.value {
            return Err(SignalError::NotIncreasing(state.value));
        }
        state.value = value;
        let later = state.watchers.split_off(&(value.saturating_add(1), 0));
        let due = if value == u64::MAX {
            std::mem::take(&mut state.watchers)
        } else {
            std::mem::replace(&mut state.watchers, later)
        };
        drop(state);
        self.changed.notify_all();
        Ok(due.into_values().collect())
    }

    /// Fails the timeline, unless it has failed before, and returns the watchers to call with the
    /// cause.
    pub(crate) fn fail(&self, cause: E) -> Vec<Watcher<E>> {
        let mut state = lock(&self.state);
        if state.failure.is_some() {
            return Vec::new();
        }
        state.failure = Some(cause);
        let due = std::mem::take(&mut state.watchers);
        drop(state);
        self.changed.notify_all();
        due.into_values().collect()
    }

    /// Registers a watcher. If the result is already known, returns the watcher with it instead.
    pub(crate) fn watch(&self, value: u64, watcher: Watcher<E>) -> Option<(Watcher<E>, Result<(), E>)> {
        let mut state = lock(&self.state);
        if let Some(answer) = state.answer(value) {
            return Some((watcher, answer));
        }
        state.arrivals += 1;
        let key = (value, state.arrivals);
        state.watchers.insert(key, watcher);
        None
    }

    /// Waits until the value is reached (`Some(Ok)`), the timeline fails (`Some(Err)`) or the
    /// deadline passes (`None`).
    pub(crate) fn wait(&self, value: u64, deadline: Deadline) -> Option<Result<(), E>> {
        let mut state = lock(&self.state);
        loop {
            if let Some(answer) = state.answer(value) {
                return Some(answer);
            }
            let remaining = deadline.remaining();
            if remaining.is_zero() {
                return None;
            }
            state = wait_for(&self.changed, state, remaining);
        }
    }
}

impl<E: Clone> TimelineState<E> {
    /// The result for a value, if known. Values reached before the failure count as reached.
    fn answer(&self, value: u64) -> Option<Result<(), E>> {
        if self.value >= value { Some(Ok(())) } else { self.failure.clone().map(Err) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::{Arc, Mutex as StdMutex};
    use std::time::Duration;

    use super::*;

    #[test]
    fn watchers_fire_in_the_order_of_their_values() {
        let timeline = Timeline::<&str>::new(0);
        let values = Arc::new(StdMutex::new(Vec::new()));
        for value in [3, 1, 2, 9] {
            let values = Arc::clone(&values);
            assert!(timeline.watch(value, Box::new(move |_| values.lock().unwrap().push(value))).is_none());
        }
        timeline.signal(3).unwrap().into_iter().for_each(|watcher| watcher(Ok(())));
        assert_eq!(*values.lock().unwrap(), [1, 2, 3]);
        timeline.signal(u64::MAX).unwrap().into_iter().for_each(|watcher| watcher(Ok(())));
        assert_eq!(*values.lock().unwrap(), [1, 2, 3, 9]);
    }

    #[test]
    fn signals_only_increase_and_failures_stick() {
        let timeline = Timeline::<&str>::new(5);
        assert_eq!(timeline.signal(5).err(), Some(SignalError::NotIncreasing(5)));
        timeline.fail("first");
        timeline.fail("second");
        assert_eq!(timeline.signal(6).err(), Some(SignalError::Failed("first")));
        assert_eq!(timeline.wait(5, Deadline::now()), Some(Ok(())));
        assert_eq!(timeline.wait(6, Deadline::now()), Some(Err("first")));
        assert_eq!(timeline.query(), Err("first"));
    }

    #[test]
    fn a_wait_ends_at_its_deadline() {
        let timeline = Timeline::<&str>::new(0);
        assert_eq!(timeline.wait(1, Deadline::after(Duration::from_millis(5))), None);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use std::time::Duration;

    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicUsize, Ordering};
    use loom::thread;

    use super::*;

    fn long() -> Deadline {
        Deadline::after(Duration::from_secs(3600))
    }

    #[test]
    fn a_waiter_never_misses_a_signal() {
        loom::model(|| {
            let timeline = Arc::new(Timeline::<&'static str>::new(0));
            let signaler = {
                let timeline = Arc::clone(&timeline);
                thread::spawn(move || drop(timeline.signal(1).unwrap()))
            };
            assert_eq!(timeline.wait(1, long()), Some(Ok(())));
            signaler.join().unwrap();
        });
    }

    #[test]
    fn a_waiter_never_misses_a_failure() {
        loom::model(|| {
            let timeline = Arc::new(Timeline::<&'static str>::new(0));
            let failer = {
                let timeline = Arc::clone(&timeline);
                thread::spawn(move || drop(timeline.fail("lost")))
            };
            assert_eq!(timeline.wait(1, long()), Some(Err("lost")));
            failer.join().unwrap();
        });
    }

    #[test]
    fn a_watcher_runs_once_if_signal_and_failure_race() {
        loom::model(|| {
            let timeline = Arc::new(Timeline::<&'static str>::new(0));
            let calls = Arc::new(AtomicUsize::new(0));
            let signaler = {
                let timeline = Arc::clone(&timeline);
                // Rejected if the failure came first.
                thread::spawn(move || timeline.signal(1).into_iter().flatten().for_each(|watcher| watcher(Ok(()))))
            };
            let failer = {
                let timeline = Arc::clone(&timeline);
                thread::spawn(move || timeline.fail("lost").into_iter().for_each(|watcher| watcher(Err("lost"))))
            };
            let counter = Arc::clone(&calls);
            let count = move |_| {
                counter.fetch_add(1, Ordering::SeqCst);
            };
            let late = timeline.watch(1, Box::new(count));
            if let Some((watcher, answer)) = late {
                watcher(answer);
            }
            signaler.join().unwrap();
            failer.join().unwrap();
            assert_eq!(calls.load(Ordering::SeqCst), 1);
        });
    }
}
