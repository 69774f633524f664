//! Polls a job's state on a separate thread, so that polling a job never blocks on a slow
//! scheduler.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The latest state of a job that is polled periodically.
#[derive(Debug)]
pub(super) struct StateObserver<T> {
    shared: Arc<Shared<T>>,
}

#[derive(Debug)]
struct Shared<T> {
    latest: Mutex<Latest<T>>,
    /// Signals new states, and wakes the polling thread.
    news: Condvar,
}

#[derive(Debug)]
struct Latest<T> {
    value: T,
    stop: bool,
}

impl<T: Clone + Send + 'static> StateObserver<T> {
    /// Starts with `first`, then calls `ask` every `interval` until a state is `last` or the
    /// observer is dropped. If `ask` returns `None`, the previous state stays.
    pub(super) fn start(
        first: T,
        interval: Duration,
        last: fn(&T) -> bool,
        mut ask: impl FnMut() -> Option<T> + Send + 'static,
    ) -> Self {
        let shared =
            Arc::new(Shared { latest: Mutex::new(Latest { value: first, stop: false }), news: Condvar::new() });
        let mine = Arc::clone(&shared);
        std::thread::spawn(move || {
            loop {
                let answer = ask();
                let mut latest = mine.latest.lock();
                if let Some(answer) = answer {
                    latest.value = answer;
                    mine.news.notify_all();
                }
                if latest.stop || last(&latest.value) {
                    return;
                }
                // A spurious wake costs one extra poll at most.
                mine.news.wait_for(&mut latest, interval);
                if latest.stop {
                    return;
                }
            }
        });
        Self { shared }
    }

    pub(super) fn latest(&self) -> T {
        self.shared.latest.lock().value.clone()
    }

    /// Waits until `is_reached` holds for the state or `deadline` passes; returns whether it holds.
    pub(super) fn wait(&self, deadline: Instant, is_reached: impl Fn(&T) -> bool) -> bool {
        let mut latest = self.shared.latest.lock();
        while !is_reached(&latest.value) {
            if self.shared.news.wait_until(&mut latest, deadline).timed_out() {
                return is_reached(&latest.value);
            }
        }
        true
    }
}

impl<T> Drop for StateObserver<T> {
    fn drop(&mut self) {
        self.shared.latest.lock().stop = true;
        // Not joined: the thread may be blocked in a poll.
        self.shared.news.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(1);

    fn in_a_minute() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn states_arrive_until_the_final_one() {
        let mut count = 0;
        let observer = StateObserver::start(
            0,
            SOON,
            |count| *count == 3,
            move || {
                count += 1;
                assert!(count <= 3, "polled again after the last answer");
                Some(count)
            },
        );
        assert!(observer.wait(in_a_minute(), |count| *count == 3));
        assert_eq!(observer.latest(), 3);
    }

    #[test]
    fn an_unknown_state_keeps_the_previous_one() {
        let (send, receive) = std::sync::mpsc::channel();
        let mut answers = vec![None, None, Some(1)];
        let observer = StateObserver::start(
            0,
            SOON,
            |_| false,
            move || {
                let answer = answers.pop().flatten();
                let _ = send.send(());
                answer
            },
        );
        for _ in 0..3 {
            receive.recv_timeout(Duration::from_secs(60)).expect("it asks on");
        }
        assert_eq!(observer.latest(), 1);
    }

    #[test]
    fn a_dropped_observer_stops_polling() {
        let alive = Arc::new(1);
        let mine = Arc::clone(&alive);
        let observer = StateObserver::start(0, SOON, |_| false, move || Some(*mine));
        drop(observer);
        let deadline = in_a_minute();
        while Arc::strong_count(&alive) > 1 && Instant::now() < deadline {
            std::thread::sleep(SOON);
        }
        assert_eq!(Arc::strong_count(&alive), 1, "its thread still exists");
    }

    #[test]
    fn waiting_ends_at_the_deadline() {
        let observer = StateObserver::start(0, SOON, |_| false, || Some(0));
        assert!(!observer.wait(Instant::now() + SOON, |count| *count == 1));
    }
}
