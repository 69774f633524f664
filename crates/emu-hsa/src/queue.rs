//! Queues in memory, each with the thread that serves it.

#![expect(unsafe_code, reason = "queues are memory that clients and kernels change without a call")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;

use parking_lot::{Mutex, RwLock};
use roci_hsa::abi::{
    AmdQueue, PACKET_SIZE, PacketType, QueueErrorCallback, QueueFeature, QueueProperties, QueueType, Signal,
    SignalKind, Status, c_void,
};

use crate::gpu::Gpu;
use crate::mapping::{Mapping, PAGE};
use crate::rest::{Bell, Rest};
use crate::runtime::{self, Runtime};
use crate::{clock, processor, signal, wake};

/// The fewest and the most packets of a queue.
pub(crate) const SIZES: [u32; 2] = [64, 131_072];
/// The most queues of a GPU at once.
pub(crate) const MOST: usize = 128;
/// The queue is followed by its doorbell, and that by the packets: a page each for what different parties write.
const DOORBELL_AT: usize = PAGE;
const PACKETS_AT: usize = 2 * PAGE;

/// Whom to tell of errors.
#[derive(Clone, Copy)]
pub(crate) struct OnError {
    pub(crate) function: Option<QueueErrorCallback>,
    pub(crate) data: *mut c_void,
}

// SAFETY: the client gives both to be used on a thread of the runtime.
unsafe impl Send for OnError {}
// SAFETY: the same.
unsafe impl Sync for OnError {}

/// A queue.
pub(crate) struct Queue {
    /// Whose it is; a soft queue is served by the client.
    pub(crate) gpu: Option<Arc<Gpu>>,
    pub(crate) on_error: OnError,
    /// Nothing more is to be done.
    pub(crate) stop: AtomicBool,
    /// Dispatches note when they began and ended.
    pub(crate) timed: AtomicBool,
    pub(crate) bell: Bell,
    /// The compute units that clients want it to use, a bit each; all run everything here.
    pub(crate) cu_mask: Mutex<Vec<u32>>,
    mapping: Arc<Mapping>,
    doorbell: Signal,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Queue {
    /// The queue in memory.
    pub(crate) fn amd(&self) -> &AmdQueue {
        // SAFETY: written when the queue was made, and mapped as long as it lives; what others change is atomic.
        unsafe { &*self.mapping.start().cast::<AmdQueue>() }
    }

    /// Its address, which clients know it by.
    pub(crate) fn address(&self) -> u64 {
        self.mapping.range().start
    }

    /// The address of the packet of a number.
    pub(crate) fn packet(&self, index: u64) -> *mut u8 {
        let slot = index & u64::from(self.amd().hsa_queue.size - 1);
        self.mapping.start().wrapping_add(PACKETS_AT + slot as usize * PACKET_SIZE)
    }

    /// The first word of a packet: its header and what follows.
    pub(crate) fn head(&self, index: u64) -> &AtomicU32 {
        // SAFETY: inside the ring, aligned, and only changed as an atomic.
        unsafe { &*self.packet(index).cast::<AtomicU32>() }
    }

    /// The address of its doorbell, which has a page to itself.
    pub(crate) fn doorbell_page(&self) -> u64 {
        self.address() + DOORBELL_AT as u64
    }

    /// What was last written to its doorbell: the number of a packet, or -1 before the first.
    pub(crate) fn rung(&self) -> i64 {
        let place = self.mapping.start().wrapping_add(DOORBELL_AT);
        // SAFETY: inside the mapping, aligned, and only changed as an atomic.
        unsafe { &*place.cast::<AtomicU64>() }.load(Ordering::Acquire).cast_signed()
    }

    /// Wakes its thread, whichever way it sleeps.
    fn rouse(&self) {
        // Beside the doorbell: what counts is that its page is written.
        let place = self.mapping.start().wrapping_add(DOORBELL_AT + size_of::<u64>());
        // SAFETY: inside the mapping, aligned, and only written as an atomic.
        unsafe { &*place.cast::<AtomicU64>() }.store(1, Ordering::SeqCst);
        self.bell.ring();
    }

    /// Ends its thread.
    fn end(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.rouse();
        wake::changed();
        if let Some(thread) = self.thread.lock().take()
            // Its own error callback may destroy it.
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

/// All queues by their address.
#[derive(Default)]
pub(crate) struct Queues {
    all: RwLock<HashMap<u64, Arc<Queue>>>,
    next: AtomicU64,
}

/// What is asked of a new queue.
pub(crate) struct Wanted {
    pub(crate) gpu: Option<Arc<Gpu>>,
    pub(crate) size: u32,
    pub(crate) kind: QueueType,
    pub(crate) features: QueueFeature,
    pub(crate) on_error: OnError,
    /// The client's own; made with the queue if null.
    pub(crate) doorbell: Signal,
}

impl Queues {
    /// Makes a queue; its address.
    pub(crate) fn create(&self, runtime: &Arc<Runtime>, wanted: Wanted) -> Result<u64, Status> {
        // The limits are the hardware's: queues that clients serve have others of their own.
        let [fewest, most] = if wanted.gpu.is_some() { SIZES } else { [1, SIZES[1]] };
        if !wanted.size.is_power_of_two() || wanted.size < fewest {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if wanted.size > most {
            return Err(Status::ERROR_OUT_OF_RESOURCES);
        }
        if let Some(gpu) = &wanted.gpu {
            let same = |queue: &&Arc<Queue>| queue.gpu.as_ref().is_some_and(|other| other.index == gpu.index);
            if self.all.read().values().filter(same).count() >= MOST {
                return Err(Status::ERROR_OUT_OF_RESOURCES);
            }
        }
        let bytes = PACKETS_AT + wanted.size as usize * PACKET_SIZE;
        let mapping = runtime.memory.share(bytes).ok_or(Status::ERROR_OUT_OF_RESOURCES)?;
        let queue = Arc::new(self.lay_out(runtime, mapping, wanted)?);
        let address = queue.address();
        self.all.write().insert(address, Arc::clone(&queue));
        if queue.gpu.is_some() {
            let (served, events) = (Arc::clone(&queue), Arc::clone(&runtime.events));
            let rest = Rest::new(&queue, runtime.config.polls);
            let name = format!("roci-queue-{}", queue.amd().hsa_queue.id);
            let thread = std::thread::Builder::new()
                .name(name)
                .spawn(move || processor::serve(&served, rest, &events, clock::gpu));
            match thread {
                Ok(thread) => *queue.thread.lock() = Some(thread),
                Err(_) => {
                    self.destroy(runtime, address)?;
                    return Err(Status::ERROR_OUT_OF_RESOURCES);
                }
            }
        }
        Ok(address)
    }

    /// Writes a queue into its memory.
    fn lay_out(&self, runtime: &Runtime, mapping: Arc<Mapping>, wanted: Wanted) -> Result<Queue, Status> {
        let start = mapping.start();
        let bell = mapping.range().start + DOORBELL_AT as u64;
        let doorbell = if wanted.doorbell.is_null() {
            let made = runtime.signals.create(&runtime.memory, SignalKind::DOORBELL, bell.cast_signed());
            made.ok_or(Status::ERROR_OUT_OF_RESOURCES)?
        } else {
            wanted.doorbell
        };
        // SAFETY: fresh zeroed memory that is large enough; zero is a queue without anything.
        let amd = unsafe { &mut *start.cast::<AmdQueue>() };
        amd.hsa_queue.queue_type = wanted.kind;
        amd.hsa_queue.features = wanted.features;
        amd.hsa_queue.base_address = start.wrapping_add(PACKETS_AT).cast();
        amd.hsa_queue.doorbell_signal = doorbell;
        amd.hsa_queue.size = wanted.size;
        amd.hsa_queue.id = self.next.fetch_add(1, Ordering::Relaxed);
        amd.read_dispatch_id_field_base_byte_offset = std::mem::offset_of!(AmdQueue, read_dispatch_id) as u32;
        amd.group_segment_aperture_base_hi = roci_emu::SHARED_APERTURE;
        amd.private_segment_aperture_base_hi = roci_emu::PRIVATE_APERTURE;
        amd.queue_properties = QueueProperties::IS_PTR64;
        for slot in 0..wanted.size as usize {
            // SAFETY: inside the ring, which no one has yet.
            unsafe {
                start.wrapping_add(PACKETS_AT + slot * PACKET_SIZE).cast::<u16>().write(PacketType::INVALID.0.into())
            };
        }
        // SAFETY: inside the mapping, which no one has yet.
        unsafe { start.wrapping_add(DOORBELL_AT).cast::<u64>().write(u64::MAX) };
        if wanted.doorbell.is_null() {
            let place = std::ptr::with_exposed_provenance_mut::<roci_hsa::abi::AmdSignal>(doorbell.handle as usize);
            // SAFETY: the signal was just made, and no one else knows it.
            unsafe { &mut *place }.queue_ptr = mapping.range().start;
        }
        Ok(Queue {
            gpu: wanted.gpu,
            on_error: wanted.on_error,
            stop: AtomicBool::new(false),
            timed: AtomicBool::new(false),
            bell: Bell::default(),
            cu_mask: Mutex::default(),
            doorbell: if wanted.doorbell.is_null() { doorbell } else { Signal::NULL },
            mapping,
            thread: Mutex::new(None),
        })
    }

    /// The queue at an address.
    pub(crate) fn get(&self, address: u64) -> Result<Arc<Queue>, Status> {
        self.all.read().get(&address).cloned().ok_or(Status::ERROR_INVALID_QUEUE)
    }

    /// Ends a queue and gives its memory back.
    pub(crate) fn destroy(&self, runtime: &Runtime, address: u64) -> Result<(), Status> {
        let queue = self.all.write().remove(&address).ok_or(Status::ERROR_INVALID_QUEUE)?;
        queue.end();
        // The doorbell's signal leads into the queue's memory.
        runtime.signals.destroy(&runtime.memory, &runtime.handlers, queue.doorbell);
        runtime.memory.unshare(&queue.mapping);
        Ok(())
    }

    /// Lets a queue do nothing more.
    pub(crate) fn inactivate(&self, address: u64) -> Result<(), Status> {
        self.get(address)?.end();
        Ok(())
    }

    /// Ends all.
    pub(crate) fn end(&self, runtime: &Runtime) {
        let addresses: Vec<u64> = self.all.read().keys().copied().collect();
        for address in addresses {
            // Another thread may have destroyed it.
            let _ = self.destroy(runtime, address);
        }
    }
}

/// Wakes the thread of a queue whose doorbell was written through the runtime.
pub(crate) fn ring(address: u64) {
    if let Ok(queue) = runtime::current().and_then(|runtime| runtime.queues.get(address)) {
        queue.bell.ring();
    }
}

/// Tells whether a signal of dependencies lets a packet begin.
pub(crate) fn is_zero(dependency: Signal) -> bool {
    dependency.is_null() || signal::load(dependency) == 0
}
