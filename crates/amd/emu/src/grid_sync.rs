//! Grid-wide barriers (global wave sync). One wave of each workgroup takes part.
//!
//! A resource counts the waves that have not arrived. The last wave to arrive releases the others
//! and resets the count.

use std::sync::{Mutex, PoisonError};

/// Number of GWS resources of a GPU.
const RESOURCES: usize = 64;

/// The GWS resources of an emulated GPU.
#[derive(Debug)]
pub(crate) struct GridSync {
    resources: [Mutex<Resource>; RESOURCES],
}

#[derive(Debug, Default)]
struct Resource {
    /// Waves that have not arrived.
    missing: u32,
    /// Number of completed barriers.
    rounds: u64,
}

/// Waits for the end of this round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GridSyncWait(u64);

impl Default for GridSync {
    fn default() -> Self {
        Self { resources: std::array::from_fn(|_| Mutex::default()) }
    }
}

impl GridSync {
    fn with<T>(&self, resource: u32, act: impl FnOnce(&mut Resource) -> T) -> T {
        let mutex = &self.resources[resource as usize % RESOURCES];
        act(&mut mutex.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets the number of waves, not counting the last.
    pub(crate) fn set(&self, resource: u32, others: u32) {
        self.with(resource, |resource| resource.missing = others);
    }

    /// A wave arrives. The last one resets the count and continues (`None`); the others wait.
    pub(crate) fn arrive(&self, resource: u32, others: u32) -> Option<GridSyncWait> {
        self.with(resource, |resource| {
            if resource.missing == 0 {
                resource.missing = others;
                resource.rounds += 1;
                return None;
            }
            resource.missing -= 1;
            Some(GridSyncWait(resource.rounds))
        })
    }

    /// Whether the barrier has completed.
    pub(crate) fn passed(&self, resource: u32, waiting: GridSyncWait) -> bool {
        self.with(resource, |resource| resource.rounds != waiting.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_wave_releases_all_repeatedly() {
        let sync = GridSync::default();
        sync.set(3, 2);
        for _ in 0..3 {
            let first = sync.arrive(3, 2).expect("it waits");
            let second = sync.arrive(3, 2).expect("it waits");
            assert!(!sync.passed(3, first) && !sync.passed(3, second));
            assert_eq!(sync.arrive(3, 2), None, "the last one");
            assert!(sync.passed(3, first) && sync.passed(3, second));
        }
        assert_eq!(sync.arrive(4, 0), None, "other resources are unaffected");
    }
}
