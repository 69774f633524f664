//! The watchdog: when a run has had enough. It is told what happens and answers; it looks at no clock itself.

use std::time::Duration;

use crate::executor::Usage;
use crate::experiment::Limits;

/// CPU time that is nothing: threads that look after something once in a while need a little.
const IDLE: Duration = Duration::from_millis(50);
/// The share of the time that is nothing either.
const IDLE_SHARE: f64 = 0.01;
/// The longest time between two looks that counts as idle: whoever was not let run himself cannot say that another idled.
const STEP: Duration = Duration::from_secs(1);

/// Why a run has to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// Its time is over.
    Deadline(Duration),
    /// It did nothing for so long.
    Stall(Duration),
    /// It takes more memory than it may: used, allowed.
    Memory(u64, u64),
}

impl Alarm {
    /// In words.
    pub fn describe(&self) -> String {
        match self {
            Self::Deadline(limit) => format!("not done after {}", time(*limit)),
            Self::Stall(limit) => format!("no output and no CPU for {}", time(*limit)),
            Self::Memory(used, allowed) => format!("took {} of memory, {} are allowed", size(*used), size(*allowed)),
        }
    }
}

/// Watches one run.
#[derive(Debug)]
pub struct Watchdog {
    limits: Limits,
    /// When it began to run: the time in a queue does not count.
    begun: Option<Duration>,
    /// How long it has done nothing, and the CPU time that it had used before.
    idle: Duration,
    cpu: Duration,
    /// When it was last looked at.
    looked: Duration,
    /// Whether CPU time was ever told.
    knows_cpu: bool,
}

impl Watchdog {
    /// For these limits.
    pub fn new(limits: Limits) -> Self {
        let (idle, cpu, looked) = Default::default();
        Self { limits, begun: None, idle, cpu, looked, knows_cpu: false }
    }

    /// It waits for its turn.
    pub fn queued(&mut self) {
        self.begun = None;
    }

    /// It runs, `now` after its start; whether it wrote something since the last call, and what it has used.
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
            // The first figure is no progress, but nothing to compare with.
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

/// A time for people.
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

    /// Looks every second from one time to another; the first alarm.
    fn look(dog: &mut Watchdog, from: u64, to: u64, usage: Option<Usage>) -> Option<(u64, Alarm)> {
        (from..=to).find_map(|second| dog.running(at(second), false, usage).map(|alarm| (second, alarm)))
    }

    #[test]
    fn output_or_work_keeps_it_alive() {
        let mut dog = Watchdog::new(limits());
        assert_eq!(look(&mut dog, 0, 8, used(0)), None);
        assert_eq!(dog.running(at(9), true, used(0)), None);
        assert_eq!(look(&mut dog, 10, 17, used(0)), None);
        assert_eq!(dog.running(at(18), false, used(500)), None);
        assert_eq!(look(&mut dog, 19, 40, used(520)), Some((28, Alarm::Stall(at(10)))), "a little is nothing");
    }

    #[test]
    fn whoever_waits_for_a_processor_is_not_stalled() {
        let mut dog = Watchdog::new(limits());
        let waits = Some(Usage { runnable: true, ..used(0).unwrap_or_default() });
        assert_eq!(look(&mut dog, 0, 200, waits), Some((100, Alarm::Deadline(at(100)))));
    }

    #[test]
    fn time_in_which_nobody_looked_is_not_idle() {
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
    fn memory_has_a_limit() {
        let mut dog = Watchdog::new(limits());
        let large = Some(Usage { memory: 1001, ..Usage::default() });
        let alarm = dog.running(at(1), false, large);
        assert_eq!(alarm, Some(Alarm::Memory(1001, 1000)));
        assert_eq!(
            alarm.map(|alarm| alarm.describe()).as_deref(),
            Some("took 1001 bytes of memory, 1000 bytes are allowed")
        );
    }

    #[test]
    fn times_and_sizes_are_short() {
        assert_eq!(
            (time(Duration::from_millis(1500)), time(at(60)), time(at(600))),
            ("1.5 s".into(), "60 s".into(), "10 min".into())
        );
        assert_eq!(size(3 << 29), "1.5 GiB");
    }
}
