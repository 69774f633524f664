//! Memory of the host that devices copy from and to themselves.
//!
//! What a program allocates may be moved or taken away by the system, so that drivers copy it once more, piece by piece, to memory that may not.

#![expect(unsafe_code, reason = "owns memory that OpenCL has mapped")]

use std::ptr::NonNull;
use std::sync::Arc;

use roci_hal::Deadline;

use crate::cl::Mem;
use crate::memory::Side;
use crate::patience;

/// The most bytes of one block: the system cannot use such memory for anything else.
const MOST: u64 = 64 << 20;

/// Zeroed memory of the host.
pub(crate) struct Pinned {
    mem: Mem,
    pointer: NonNull<u8>,
    side: Arc<Side>,
}

// SAFETY: the block is memory, owned by this value; who may touch it when is decided by the HAL's ordering.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// So many bytes; `None` if they are too many, or the driver has none.
    pub(crate) fn new(side: &Arc<Side>, size: u64) -> Option<Self> {
        let bytes = usize::try_from(size).ok().filter(|_| size <= MOST)?;
        let mem = side.context.pinned(bytes).ok()?;
        let (place, mapped) = side.queue.map(&mem, bytes).ok()?;
        // Owned from here on, so that it is given back in any case.
        let pinned = Self { mem, pointer: NonNull::new(place)?, side: Arc::clone(side) };
        side.queue.flush().ok()?;
        patience::wait(&mapped, Deadline::default()).ok()?;
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
        // SAFETY: its own place; whoever uses it holds this value. What cannot be given back stays with the driver.
        let _ = unsafe { self.side.queue.unmap(&self.mem, self.pointer.as_ptr()) };
        let _ = self.side.queue.flush();
    }
}
