//! How long kernels took, by the node that they belong to.

use std::time::Duration;

use roci_hal::Profile;

/// One kernel of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The nodes that it computes, with their operations.
    pub node: String,
    /// The kernel.
    pub kernel: String,
    /// The queue that it ran in.
    pub queue: usize,
    /// When it began, from the start of the run.
    pub start: Duration,
    /// How long it took.
    pub duration: Duration,
}

/// Kernels of the run that is being measured.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) profile: Profile,
    timings: Vec<Timing>,
}

impl Watch {
    /// Takes what one recording left, whose commands have these names.
    pub(crate) fn collect(&mut self, names: &[String]) {
        let began = self.profile.began();
        for record in self.profile.take() {
            self.timings.push(Timing {
                node: names.get(record.command).cloned().unwrap_or_default(),
                kernel: record.name.to_string(),
                queue: record.queue,
                start: record.start.saturating_duration_since(began),
                duration: record.duration(),
            });
        }
    }

    /// All of the run, by their starts.
    pub(crate) fn into_timings(mut self) -> Vec<Timing> {
        self.timings.sort_by_key(|timing| timing.start);
        self.timings
    }
}
