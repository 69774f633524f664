//! Barriers of a whole grid: the global wave sync, of which one wave of each group takes part.
//!
//! A resource counts the waves that are still missing. The last one finds none missing, lets all others go on and sets the count
//! for the next time.

use std::sync::{Mutex, PoisonError};

/// Resources of a GPU.
const RESOURCES: usize = 64;

/// All resources of an emulated GPU.
#[derive(Debug)]
pub(crate) struct GridSync {
    resources: [Mutex<Resource>; RESOURCES],
}

#[derive(Debug, Default)]
struct Resource {
    /// Waves that must still come.
    missing: u32,
    /// How often all had come.
    rounds: u64,
}

/// A wave that waits, by the round that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting(u64);

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

    /// Sets how many waves must come besides the last.
    pub(crate) fn set(&self, resource: u32, others: u32) {
        self.with(resource, |resource| resource.missing = others);
    }

    /// A wave comes: it goes on if it is the last, which sets the count for the next time, or waits.
    pub(crate) fn arrive(&self, resource: u32, others: u32) -> Option<Waiting> {
        self.with(resource, |resource| {
            if resource.missing == 0 {
                resource.missing = others;
                resource.rounds += 1;
                return None;
            }
            resource.missing -= 1;
            Some(Waiting(resource.rounds))
        })
    }

    /// Whether all have come since.
    pub(crate) fn passed(&self, resource: u32, waiting: Waiting) -> bool {
        self.with(resource, |resource| resource.rounds != waiting.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lets_all_go_on_again_and_again() {
        let sync = GridSync::default();
        sync.set(3, 2);
        for _ in 0..3 {
            let first = sync.arrive(3, 2).expect("it waits");
            let second = sync.arrive(3, 2).expect("it waits");
            assert!(!sync.passed(3, first) && !sync.passed(3, second));
            assert_eq!(sync.arrive(3, 2), None, "the last one");
            assert!(sync.passed(3, first) && sync.passed(3, second));
        }
        assert_eq!(sync.arrive(4, 0), None, "others are not concerned");
    }
}
