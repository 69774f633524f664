//! Interleaved measurement: the machine may be busy, so all implementations are measured over the
//! same period.

use std::time::{Duration, Instant};

/// One implementation of a case.
pub(crate) struct Implementation<'a> {
    /// Name in the table.
    pub name: &'static str,
    /// Runs the work once.
    pub run: Box<dyn FnMut() + 'a>,
    /// Units of work per run, if they differ from the case's.
    pub work: f64,
}

/// The rate of an implementation, in units of work per second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    /// Rate of the fastest run.
    pub best: f64,
    /// Median rate.
    pub median: f64,
}

/// Minimum time of one measurement; shorter runs are repeated within it.
const MIN_MEASUREMENT: Duration = Duration::from_millis(4);

/// Measures each implementation `rounds` times, interleaved.
pub(crate) fn measure(implementations: &mut [Implementation<'_>], rounds: usize) -> Vec<Rate> {
    let repeats: Vec<u32> = implementations
        .iter_mut()
        .map(|implementation| {
            (implementation.run)();
            let start = Instant::now();
            (implementation.run)();
            let once = start.elapsed().max(Duration::from_nanos(50));
            (MIN_MEASUREMENT.as_nanos() / once.as_nanos()).clamp(1, 1_000_000) as u32
        })
        .collect();
    let mut times = vec![Vec::with_capacity(rounds); implementations.len()];
    for _ in 0..rounds {
        for ((implementation, &repeats), times) in implementations.iter_mut().zip(&repeats).zip(&mut times) {
            let start = Instant::now();
            for _ in 0..repeats {
                (implementation.run)();
            }
            times.push(start.elapsed().as_secs_f64() / f64::from(repeats));
        }
    }
    let rate = |(implementation, mut times): (&mut Implementation<'_>, Vec<f64>)| {
        times.sort_by(f64::total_cmp);
        Rate { best: implementation.work / times[0], median: implementation.work / times[times.len() / 2] }
    };
    implementations.iter_mut().zip(times).map(rate).collect()
}
