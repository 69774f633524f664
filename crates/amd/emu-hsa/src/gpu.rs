//! One emulated GPU.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use parking_lot::RwLock;
use roci_emu::{Chip, Emulator, Kernel};
use roci_hsa::abi::Agent;

use crate::chips::properties;
use crate::config::Config;
use crate::{agent, clock};

pub(crate) struct Gpu {
    pub(crate) agent: Agent,
    pub(crate) chip: Chip,
    /// Index among the visible GPUs.
    pub(crate) index: u32,
    /// Index among all GPUs of the machine, including invisible ones.
    pub(crate) physical_index: u32,
    pub(crate) emulator: Emulator,
    /// Loaded kernels by the address of their descriptor, which packets call the kernel object.
    kernels: RwLock<HashMap<u64, Arc<Kernel>>>,
    /// Coherency type that the client set. It is only stored: all memory is coherent.
    pub(crate) coherency: AtomicU32,
    /// Bytes of device memory.
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
            agent: agent::of_gpu(index),
            chip,
            index,
            physical_index: config.physical_index(index),
            emulator,
            kernels: RwLock::default(),
            coherency: AtomicU32::new(0),
            memory: config.memory.unwrap_or_else(|| properties(chip).memory),
            used: AtomicU64::new(0),
        }
    }

    /// The kernel of a packet's kernel object.
    pub(crate) fn kernel(&self, object: u64) -> Option<Arc<Kernel>> {
        self.kernels.read().get(&object).cloned()
    }

    pub(crate) fn add_kernels(&self, kernels: &[Arc<Kernel>]) {
        let mut loaded = self.kernels.write();
        for kernel in kernels {
            loaded.insert(kernel.descriptor_address(), Arc::clone(kernel));
        }
    }

    pub(crate) fn remove_kernels(&self, kernels: &[Arc<Kernel>]) {
        let mut loaded = self.kernels.write();
        for kernel in kernels {
            loaded.remove(&kernel.descriptor_address());
        }
    }

    /// Counts bytes as used; `false` if fewer are available.
    pub(crate) fn reserve(&self, bytes: u64) -> bool {
        let reserve = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.memory);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve).is_ok()
    }

    /// Counts bytes that [`Gpu::reserve`] has counted as unused again.
    pub(crate) fn release(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes of device memory that are not reserved.
    pub(crate) fn available(&self) -> u64 {
        self.memory - self.used.load(Ordering::Relaxed)
    }
}
