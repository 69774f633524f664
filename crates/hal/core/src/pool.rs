//! Pool of stream-ordered allocations: freed blocks are reused for later requests of the same size
//! class.

#![expect(unsafe_code, reason = "forwards the guarantees of a driver's memory")]

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

use crate::driver::BufferBackend;
use crate::error::Error;
use crate::memory::{BufferDesc, MemoryType};
use roci_base::sync::{Mutex, MutexGuard, lock};

/// Maximum number of bytes kept for reuse; blocks beyond that are freed.
const MAX_POOLED_BYTES: u64 = 256 << 20;
/// Minimum block size in bytes, so that small requests share a size class.
const MIN_BLOCK: u64 = 256;

pub(crate) struct Pool {
    free: Mutex<FreeBlocks>,
}

#[derive(Default)]
struct FreeBlocks {
    blocks: BTreeMap<(MemoryType, u64), Vec<Arc<dyn BufferBackend>>>,
    bytes: u64,
}

/// A pooled block. Returns to the pool after its last use by host or device.
struct PooledBuffer {
    block: Option<Arc<dyn BufferBackend>>,
    class: (MemoryType, u64),
    pool: Weak<Pool>,
}

impl Pool {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { free: Mutex::default() })
    }

    /// Reuses a free block or calls `allocate` with at most `limit` bytes.
    pub(crate) fn allocate(
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
        Ok(Arc::new(PooledBuffer { block: Some(block), class, pool: Arc::downgrade(self) }))
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    /// Frees all unused blocks. Returns whether there were any.
    pub(crate) fn trim(&self) -> bool {
        // Moved out of the lock: drivers free memory outside of it.
        let free = std::mem::take(&mut *self.lock());
        free.bytes > 0
    }

    fn lock(&self) -> MutexGuard<'_, FreeBlocks> {
        lock(&self.free)
    }
}

/// Rounds up in steps of 1/8 of a power of two: wastes at most 12.5 % and yields few classes.
fn size_class(size: u64) -> u64 {
    let size = size.max(MIN_BLOCK);
    let step = (1u64 << size.ilog2()) / 8;
    size.checked_next_multiple_of(step.max(MIN_BLOCK)).unwrap_or(size)
}

// SAFETY: forwards to the wrapped block, which it owns until it is dropped and which upholds the
// contract.
unsafe impl BufferBackend for PooledBuffer {
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

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        let (Some(block), Some(pool)) = (self.block.take(), self.pool.upgrade()) else { return };
        let mut free = pool.lock();
        if free.bytes + self.class.1 <= MAX_POOLED_BYTES {
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
            assert!(class <= size.max(MIN_BLOCK) + (size / 8).max(MIN_BLOCK), "{size} -> {class}");
        }
    }
}
