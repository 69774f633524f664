//! The watchdog: decides when to end a run. It is a state machine without a clock: callers pass in
//! time and usage.

use std::time::Duration;

use crate::executor::Usage;
use crate::experiment::Limits;

/// CPU time that still counts as idle: background threads use a little.
const IDLE: Duration = Duration::from_millis(50);
/// Share of the elapsed time that still counts as idle.
const IDLE_SHARE: f64 = 0.01;
/// Maximum time between two samples that counts as idle: a gap in our own scheduling is not idle
/// time of the child.
const STEP: Duration = Duration::from_secs(1);

/// Why a run must end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// The deadline passed.
    Deadline(Duration),
    /// It was idle for this long.
    Stall(Duration),
    /// It exceeded its memory limit: bytes used, bytes allowed.
    Memory(u64, u64),
}

impl Alarm {
    /// Description for people.
    pub fn describe(&self) -> String {
        match self {
            Self::Deadline(limit) => format!("not finished after {}", time(*limit)),
            Self::Stall(limit) => format!("no output and no CPU for {}", time(*limit)),
            Self::Memory(used, allowed) => format!("used {} of memory, the limit is {}", size(*used), size(*allowed)),
        }
    }
}

/// Watches one run.
#[derive(Debug)]
pub struct Watchdog {
    limits: Limits,
    /// Start of execution; time in a queue does not count.
    begun: Option<Duration>,
    /// Idle time, and the CPU time used before it.
    idle: Duration,
    cpu: Duration,
    /// Time of the last sample.
    looked: Duration,
    /// Whether CPU time was ever available.
    knows_cpu: bool,
}

impl Watchdog {
    /// With these limits.
    pub fn new(limits: Limits) -> Self {
        let (idle, cpu, looked) = Default::default();
        Self { limits, begun: None, idle, cpu, looked, knows_cpu: false }
    }

    /// The run is queued.
    pub fn queued(&mut self) {
        self.begun = None;
    }

    /// A sample at `now` after the start: whether there was output since the last call, and the
    /// resources used.
    pub fn running(&mut self, now: Duration, wrote: bool, usage: Option<Usage>) -> Option<Alarm> {
        let begun = *self.begun.get_or_insert_with(|| {
            (self.idle, self.looked) = (Duration::ZERO, now);
            now
        });
        self.idle += now.saturating_sub(self.looked).min(STEP);
        self.looked = now;
        if wrote {
            self.idle = Duration::ZERO;
        }
        if let Some(usage) = usage {
            let used = usage.cpu.saturating_sub(self.cpu);
            // The first sample has nothing to compare with and does not count as progress.
            if wrote || usage.runnable || used > IDLE.max(self.idle.mul_f64(IDLE_SHARE)) || !self.knows_cpu {
                (self.idle, self.cpu, self.knows_cpu) = (Duration::ZERO, usage.cpu, true);
            }
            if let Some(allowed) = self.limits.memory.filter(|allowed| usage.memory > *allowed) {
                return Some(Alarm::Memory(usage.memory, allowed));
            }
        }
        if now.saturating_sub(begun) >= self.limits.deadline {
            return Some(Alarm::Deadline(self.limits.deadline));
        }
        let stall = self.limits.stall?;
        (self.idle >= stall).then_some(Alarm::Stall(stall))
    }
}

/// A duration for people.
pub(crate) fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        ..10.0 => format!("{} s", (seconds * 10.0).round() / 10.0),
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// A size for people.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let (mut number, mut unit) = (bytes as f64, 0);
    while number >= 1024.0 && unit + 1 < UNITS.len() {
        number /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} bytes") } else { format!("{number:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        let seconds = Duration::from_secs;
        Limits { deadline: seconds(100), stall: Some(seconds(10)), memory: Some(1000), ..Limits::default() }
    }

    fn used(cpu: u64) -> Option<Usage> {
        Some(Usage { cpu: Duration::from_millis(cpu), memory: 10, processes: 1, runnable: false })
    }

    fn at(second: u64) -> Duration {
        Duration::from_secs(second)
    }

    /// Samples every second from one time to another; returns the first alarm.
    fn look(dog: &mut Watchdog, from: u64, to: u64, usage: Option<Usage>) -> Option<(u64, Alarm)> {
        (from..=to).find_map(|second| dog.running(at(second), false, usage).map(|alarm| (second, alarm)))
    }

    #[test]
    fn output_or_cpu_usage_prevents_a_stall() {
        let mut dog = Watchdog::new(limits());
        assert_eq!(look(&mut dog, 0, 8, used(0)), None);
        assert_eq!(dog.running(at(9), true, used(0)), None);
        assert_eq!(look(&mut dog, 10, 17, used(0)), None);
        assert_eq!(dog.running(at(18), false, used(500)), None);
        assert_eq!(look(&mut dog, 19, 40, used(520)), Some((28, Alarm::Stall(at(10)))), "a little is nothing");
    }

    #[test]
    fn a_runnable_process_is_not_stalled() {
        let mut dog = Watchdog::new(limits());
        let waits = Some(Usage { runnable: true, ..used(0).unwrap_or_default() });
        assert_eq!(look(&mut dog, 0, 200, waits), Some((100, Alarm::Deadline(at(100)))));
    }

    #[test]
    fn gaps_between_samples_are_not_idle_time() {
        let mut dog = Watchdog::new(limits());
        assert_eq!(dog.running(at(0), false, used(0)), None);
        assert_eq!(dog.running(at(60), false, used(0)), None);
        assert_eq!(look(&mut dog, 61, 80, used(0)), Some((69, Alarm::Stall(at(10)))));
    }

    #[test]
    fn without_cpu_time_output_alone_counts() {
        let mut dog = Watchdog::new(limits());
        assert_eq!(look(&mut dog, 0, 20, None), Some((10, Alarm::Stall(at(10)))));
        let mut patient = Watchdog::new(Limits { stall: None, ..limits() });
        assert_eq!(look(&mut patient, 0, 99, None), None);
    }

    #[test]
    fn the_time_in_a_queue_does_not_count() {
        let mut dog = Watchdog::new(limits());
        dog.queued();
        assert_eq!(look(&mut dog, 1000, 1020, None), Some((1010, Alarm::Stall(at(10)))));
    }

    #[test]
    fn exceeding_the_memory_limit_is_an_alarm() {
        let mut dog = Watchdog::new(limits());
        let large = Some(Usage { memory: 1001, ..Usage::default() });
        let alarm = dog.running(at(1), false, large);
        assert_eq!(alarm, Some(Alarm::Memory(1001, 1000)));
        assert_eq!(
            alarm.map(|alarm| alarm.describe()).as_deref(),
            Some("used 1001 bytes of memory, the limit is 1000 bytes")
        );
    }

    #[test]
    fn durations_and_sizes_are_short() {
        assert_eq!(
            (time(Duration::from_millis(1500)), time(at(60)), time(at(600))),
            ("1.5 s".into(), "60 s".into(), "10 min".into())
        );
        assert_eq!(size(3 << 29), "1.5 GiB");
    }
}
