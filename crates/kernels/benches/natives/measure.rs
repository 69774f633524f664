//! Interleaved measuring: the machine may be busy, so contestants take turns and are judged over the same minutes.

use std::time::{Duration, Instant};

/// One implementation of a case.
pub(crate) struct Contestant<'a> {
    /// What the table calls it.
    pub name: &'static str,
    /// Does the work once.
    pub run: Box<dyn FnMut() + 'a>,
    /// Units of work that one run does, if it differs from the case's.
    pub work: f64,
}

/// What a contestant reached, in units of work a second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    /// The fastest turn.
    pub best: f64,
    /// The middle one.
    pub median: f64,
}

/// Shortest time of one turn; shorter runs are repeated within it.
const TURN: Duration = Duration::from_millis(4);

/// Gives each contestant `rounds` turns, one after the other.
pub(crate) fn race(contestants: &mut [Contestant<'_>], rounds: usize) -> Vec<Rate> {
    let repeats: Vec<u32> = contestants
        .iter_mut()
        .map(|contestant| {
            (contestant.run)();
            let start = Instant::now();
            (contestant.run)();
            let once = start.elapsed().max(Duration::from_nanos(50));
            (TURN.as_nanos() / once.as_nanos()).clamp(1, 1_000_000) as u32
        })
        .collect();
    let mut times = vec![Vec::with_capacity(rounds); contestants.len()];
    for _ in 0..rounds {
        for ((contestant, &repeats), times) in contestants.iter_mut().zip(&repeats).zip(&mut times) {
            let start = Instant::now();
            for _ in 0..repeats {
                (contestant.run)();
            }
            times.push(start.elapsed().as_secs_f64() / f64::from(repeats));
        }
    }
    let rate = |(contestant, mut times): (&mut Contestant<'_>, Vec<f64>)| {
        times.sort_by(f64::total_cmp);
        Rate { best: contestant.work / times[0], median: contestant.work / times[times.len() / 2] }
    };
    contestants.iter_mut().zip(times).map(rate).collect()
}
