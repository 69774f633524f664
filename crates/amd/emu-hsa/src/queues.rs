//! All queues of the runtime.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use roci_hsa::abi::{SignalKind, Status};

use crate::chips::Properties;
use crate::events::Events;
use crate::idle::Idle;
use crate::memory::Allocations;
use crate::queue::{DOORBELL_OFFSET, Queue, QueueDesc};
use crate::signal_pool::SignalPool;
use crate::{clock, processor};

/// Queues by address.
pub(crate) struct Queues {
    memory: Arc<Allocations>,
    signals: Arc<SignalPool>,
    events: Arc<Events>,
    poll_doorbells: bool,
    queues: RwLock<HashMap<u64, Arc<Queue>>>,
    next_id: AtomicU64,
}

impl Queues {
    /// Queues in `memory` with doorbells from `signals`; their faults go to `events`. With
    /// `poll_doorbells` their threads never use a write trap.
    pub(crate) fn new(
        memory: Arc<Allocations>,
        signals: Arc<SignalPool>,
        events: Arc<Events>,
        poll_doorbells: bool,
    ) -> Self {
        Self { memory, signals, events, poll_doorbells, queues: RwLock::default(), next_id: AtomicU64::new(0) }
    }

    /// Creates a queue and returns its address. The queue of a GPU starts to process packets at
    /// once.
    pub(crate) fn create(&self, desc: QueueDesc) -> Result<u64, Status> {
        // The lower limit is the hardware's and does not hold for soft queues.
        let [min, max] = Properties::QUEUE_SIZES;
        let min = if desc.gpu.is_some() { min } else { 1 };
        if !desc.size.is_power_of_two() || desc.size < min {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if desc.size > max {
            return Err(Status::ERROR_OUT_OF_RESOURCES);
        }
        if let Some(gpu) = &desc.gpu {
            let same = |queue: &&Arc<Queue>| queue.gpu.as_ref().is_some_and(|other| other.index == gpu.index);
            if self.queues.read().values().filter(same).count() >= Properties::MAX_QUEUES as usize {
                return Err(Status::ERROR_OUT_OF_RESOURCES);
            }
        }
        let mapping = self.memory.allocate_internal(Queue::bytes(desc.size)).ok_or(Status::ERROR_OUT_OF_RESOURCES)?;
        let doorbell = if desc.doorbell.is_null() {
            let address = mapping.range().start + DOORBELL_OFFSET as u64;
            let created = self.signals.create(SignalKind::DOORBELL, address.cast_signed());
            Some(created.ok_or(Status::ERROR_OUT_OF_RESOURCES)?)
        } else {
            None
        };
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let queue = Arc::new(Queue::new(mapping, desc, doorbell, id));
        let address = queue.address();
        self.queues.write().insert(address, Arc::clone(&queue));
        if queue.gpu.is_some() {
            let (served, events) = (Arc::clone(&queue), Arc::clone(&self.events));
            let idle = Idle::new(&queue, self.poll_doorbells);
            let thread = std::thread::Builder::new()
                .name(format!("roci-queue-{id}"))
                .spawn(move || processor::serve(&served, idle, &events, clock::gpu));
            match thread {
                Ok(thread) => queue.set_thread(thread),
                Err(_) => {
                    self.destroy(address)?;
                    return Err(Status::ERROR_OUT_OF_RESOURCES);
                }
            }
        }
        Ok(address)
    }

    pub(crate) fn get(&self, address: u64) -> Result<Arc<Queue>, Status> {
        self.queues.read().get(&address).cloned().ok_or(Status::ERROR_INVALID_QUEUE)
    }

    /// Wakes the thread of a queue whose doorbell was written through a call; ignores unknown
    /// queues.
    pub(crate) fn ring(&self, address: u64) {
        if let Ok(queue) = self.get(address) {
            queue.parker.unpark();
        }
    }

    /// Stops a queue and frees its memory.
    pub(crate) fn destroy(&self, address: u64) -> Result<(), Status> {
        let queue = self.queues.write().remove(&address).ok_or(Status::ERROR_INVALID_QUEUE)?;
        queue.shut_down();
        // First the signal, which points into the memory of the queue.
        self.signals.destroy(queue.doorbell());
        self.memory.unregister_internal(queue.mapping());
        Ok(())
    }

    /// Stops a queue, whose memory stays until it is destroyed.
    pub(crate) fn inactivate(&self, address: u64) -> Result<(), Status> {
        self.get(address)?.shut_down();
        Ok(())
    }

    /// Destroys all queues.
    pub(crate) fn shut_down(&self) {
        let addresses: Vec<u64> = self.queues.read().keys().copied().collect();
        for address in addresses {
            // Fails if another thread has destroyed the queue meanwhile.
            let _ = self.destroy(address);
        }
    }
}
