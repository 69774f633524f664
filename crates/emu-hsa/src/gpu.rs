//! One emulated GPU.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use parking_lot::RwLock;
use roci_emu::{Chip, Emulator, Kernel};
use roci_hsa::abi::Agent;

use crate::clock;
use crate::config::Config;

/// The agent of the first GPU; the CPU comes before.
const FIRST: u64 = 2;

/// An emulated GPU.
pub(crate) struct Gpu {
    pub(crate) agent: Agent,
    pub(crate) chip: Chip,
    /// Its place among all GPUs.
    pub(crate) index: u32,
    /// Its place in the machine, also among those that programs do not see.
    pub(crate) place: u32,
    pub(crate) emulator: Emulator,
    /// Loaded kernels by the address of their descriptors, which is what packets name them by.
    kernels: RwLock<HashMap<u64, Arc<Kernel>>>,
    /// What kind of coherency clients asked for; there is one here.
    pub(crate) coherency: AtomicU32,
    /// Bytes of its memory.
    pub(crate) memory: u64,
    used: AtomicU64,
}

impl Gpu {
    pub(crate) fn new(chip: Chip, index: u32, config: &Config) -> Self {
        let mut emulator = Emulator::new(chip).with_checks(config.checks).with_clock(clock::gpu);
        if let Some(threads) = config.threads {
            emulator = emulator.with_threads(threads);
        }
        Self {
            agent: Agent { handle: FIRST + u64::from(index) },
            chip,
            index,
            place: config.place(index),
            emulator,
            kernels: RwLock::default(),
            coherency: AtomicU32::new(0),
            memory: config.memory.unwrap_or_else(|| crate::topology::properties(chip).memory),
            used: AtomicU64::new(0),
        }
    }

    /// The kernel that packets name by this number.
    pub(crate) fn kernel(&self, object: u64) -> Option<Arc<Kernel>> {
        self.kernels.read().get(&object).cloned()
    }

    /// Makes kernels known.
    pub(crate) fn add_kernels(&self, kernels: &[Arc<Kernel>]) {
        let mut known = self.kernels.write();
        for kernel in kernels {
            known.insert(kernel.descriptor_address(), Arc::clone(kernel));
        }
    }

    /// Forgets kernels.
    pub(crate) fn remove_kernels(&self, kernels: &[Arc<Kernel>]) {
        let mut known = self.kernels.write();
        for kernel in kernels {
            known.remove(&kernel.descriptor_address());
        }
    }

    /// Takes so many bytes of its memory, if they are free.
    pub(crate) fn take(&self, bytes: u64) -> bool {
        let take = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.memory);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// Gives them back.
    pub(crate) fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes of its memory that are free.
    pub(crate) fn free(&self) -> u64 {
        self.memory - self.used.load(Ordering::Relaxed)
    }
}
