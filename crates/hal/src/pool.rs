//! The pool behind stream-ordered allocation: memory that was given back waits for the next request of its size class.

#![expect(unsafe_code, reason = "forwards a driver's promise about its memory")]

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

use crate::driver::BufferBackend;
use crate::error::Error;
use crate::memory::{BufferDesc, MemoryType};
use crate::sync::{Mutex, MutexGuard, lock};

/// Bytes kept for reuse at most; what comes back beyond that goes to the driver.
const KEEP: u64 = 256 << 20;
/// The smallest block, so that tiny requests share a class.
const SMALLEST: u64 = 256;

pub(crate) struct Pool {
    free: Mutex<Free>,
}

#[derive(Default)]
struct Free {
    blocks: BTreeMap<(MemoryType, u64), Vec<Arc<dyn BufferBackend>>>,
    bytes: u64,
}

/// A block on loan: returns to the pool when the last user, host or device, lets go of it.
struct Loan {
    block: Option<Arc<dyn BufferBackend>>,
    class: (MemoryType, u64),
    pool: Weak<Pool>,
}

impl Pool {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { free: Mutex::default() })
    }

    /// Memory for `desc`, reused or from `allocate`, which is never asked for more than `limit` bytes.
    pub(crate) fn take(
        self: &Arc<Self>,
        desc: &BufferDesc,
        limit: u64,
        allocate: impl FnOnce(&BufferDesc) -> Result<Arc<dyn BufferBackend>, Error>,
    ) -> Result<Arc<dyn BufferBackend>, Error> {
        let class = (desc.memory, size_class(desc.size).min(limit).max(desc.size));
        let reused = {
            let mut free = self.lock();
            let block = free.blocks.get_mut(&class).and_then(Vec::pop);
            free.bytes -= if block.is_some() { class.1 } else { 0 };
            block
        };
        let block = match reused {
            Some(block) => block,
            None => allocate(&BufferDesc { size: class.1, ..desc.clone() })?,
        };
        Ok(Arc::new(Loan { block: Some(block), class, pool: Arc::downgrade(self) }))
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    /// Gives everything back to the driver; says whether there was anything.
    pub(crate) fn trim(&self) -> bool {
        // Moved out first: drivers free memory outside the lock.
        let free = std::mem::take(&mut *self.lock());
        free.bytes > 0
    }

    fn lock(&self) -> MutexGuard<'_, Free> {
        lock(&self.free)
    }
}

/// Sizes in steps of an eighth of a power of two: at most 12.5 % is wasted, and there are few classes.
fn size_class(size: u64) -> u64 {
    let size = size.max(SMALLEST);
    let step = (1u64 << size.ilog2()) / 8;
    size.checked_next_multiple_of(step.max(SMALLEST)).unwrap_or(size)
}

// SAFETY: forwards to the block it holds for its whole life, whose own implementation makes the promise.
unsafe impl BufferBackend for Loan {
    fn host_pointer(&self) -> Option<NonNull<u8>> {
        self.block.as_ref().and_then(|block| block.host_pointer())
    }

    fn invalidate(&self, offset: u64, length: u64) -> Result<(), Error> {
        self.block.as_ref().map_or(Ok(()), |block| block.invalidate(offset, length))
    }

    fn flush(&self, offset: u64, length: u64) -> Result<(), Error> {
        self.block.as_ref().map_or(Ok(()), |block| block.flush(offset, length))
    }

    fn block(&self) -> Option<&Arc<dyn BufferBackend>> {
        self.block.as_ref()
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let (Some(block), Some(pool)) = (self.block.take(), self.pool.upgrade()) else { return };
        let mut free = pool.lock();
        if free.bytes + self.class.1 <= KEEP {
            free.bytes += self.class.1;
            free.blocks.entry(self.class).or_default().push(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_classes_waste_little_and_are_stable() {
        for size in [1, 255, 256, 257, 1000, 4096, 4097, 1 << 20, (1 << 20) + 1, 123_456_789] {
            let class = size_class(size);
            assert!(class >= size && size_class(class) == class, "{size} -> {class}");
            assert!(class <= size.max(SMALLEST) + (size / 8).max(SMALLEST), "{size} -> {class}");
        }
    }
}
