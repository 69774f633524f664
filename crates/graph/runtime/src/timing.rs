//! The duration of each dispatch, by the nodes that it computes.

use std::time::Duration;

use roci_hal::Profile;

/// One dispatch of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The nodes that the dispatch computes, with their operations.
    pub node: String,
    /// The kernel's name.
    pub kernel: String,
    /// The index of the queue that it ran on.
    pub queue: usize,
    /// When the dispatch started, relative to the start of the run.
    pub start: Duration,
    /// The execution time.
    pub duration: Duration,
}

/// Collects the timings of one run.
#[derive(Default)]
pub(crate) struct TimingCollector {
    pub(crate) profile: Profile,
    timings: Vec<Timing>,
}

impl TimingCollector {
    /// Takes the profile of a finished command buffer, whose commands have these labels.
    pub(crate) fn collect(&mut self, labels: &[String]) {
        let began = self.profile.began();
        for record in self.profile.take() {
            self.timings.push(Timing {
                node: labels.get(record.command).cloned().unwrap_or_default(),
                kernel: record.name.to_string(),
                queue: record.queue,
                start: record.start.saturating_duration_since(began),
                duration: record.duration(),
            });
        }
    }

    /// All timings, in the order of their starts.
    pub(crate) fn into_timings(mut self) -> Vec<Timing> {
        self.timings.sort_by_key(|timing| timing.start);
        self.timings
    }
}
