//! Memory of the host that devices copy from and to themselves.
//!
//! What a program allocates may be moved or taken away by the system, so that drivers copy it once more, piece by piece, to memory that may not.

#![expect(unsafe_code, reason = "owns memory that OpenCL has mapped")]

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use roci_hal::Deadline;

use crate::cl::Mem;
use crate::memory::Side;
use crate::patience;

/// The most bytes of one block, and of all of a device: the system cannot use such memory for anything else.
const MOST: u64 = 64 << 20;
const MOST_IN_ALL: u64 = 256 << 20;
/// How long a device may take to map a block before it is not asked for one any more.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a device has of such memory.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    bytes: AtomicU64,
    refused: AtomicBool,
}

/// Zeroed memory of the host.
pub(crate) struct Pinned {
    mem: Mem,
    pointer: NonNull<u8>,
    bytes: u64,
    side: Arc<Side>,
}

// SAFETY: the block is memory, owned by this value; who may touch it when is decided by the HAL's ordering.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// So many bytes; `None` if they are too many, or the driver has none.
    pub(crate) fn new(side: &Arc<Side>, size: u64) -> Option<Self> {
        let pins = &side.pins;
        let fits = size <= MOST && pins.bytes.load(Relaxed) + size <= MOST_IN_ALL && !pins.refused.load(Relaxed);
        let found = if fits { Self::map(side, size) } else { None };
        pins.refused.fetch_or(fits && found.is_none(), Relaxed);
        found
    }

    fn map(side: &Arc<Side>, size: u64) -> Option<Self> {
        let bytes = usize::try_from(size).ok()?;
        let mem = side.context.pinned(bytes).ok()?;
        let (place, mapped) = side.queue.map(&mem, bytes).ok()?;
        // Owned from here on, so that it is given back in any case.
        let pinned = Self { mem, pointer: NonNull::new(place)?, bytes: size, side: Arc::clone(side) };
        side.pins.bytes.fetch_add(size, Relaxed);
        side.queue.flush().ok()?;
        patience::wait(&mapped, Deadline::after(PATIENCE)).ok()?;
        // SAFETY: mapped memory of that many bytes, which nothing else knows of.
        unsafe { pinned.pointer.write_bytes(0, bytes) };
        Some(pinned)
    }

    pub(crate) fn pointer(&self) -> NonNull<u8> {
        self.pointer
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.side.pins.bytes.fetch_sub(self.bytes, Relaxed);
        // SAFETY: its own place; whoever uses it holds this value. What cannot be given back stays with the driver.
        let _ = unsafe { self.side.queue.unmap(&self.mem, self.pointer.as_ptr()) };
        let _ = self.side.queue.flush();
    }
}
