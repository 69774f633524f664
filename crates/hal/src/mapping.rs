//! The host's exclusive view of a buffer.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::buffer::BufferInner;
use crate::driver::BufferBackend;
use crate::error::Error;

/// A mapped buffer, as bytes. Dropping it hands the buffer back to the device.
pub struct Mapping {
    buffer: Arc<BufferInner>,
    backing: Arc<dyn BufferBackend>,
    pointer: NonNull<u8>,
    length: usize,
}

// SAFETY: the pointer is to memory that `backing` owns and that nothing else touches while the buffer is marked as mapped.
unsafe impl Send for Mapping {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(crate) fn new(buffer: &Arc<BufferInner>) -> Result<Self, Error> {
        let backing = buffer.begin_map()?;
        let size = buffer.desc.size;
        let view = usize::try_from(size).ok().zip(backing.host_pointer());
        let mapping = match view {
            Some((length, pointer)) => Self { buffer: Arc::clone(buffer), backing, pointer, length },
            None => {
                buffer.end_map();
                return Err(buffer.invalid("the driver has no host address for it"));
            }
        };
        mapping.backing.invalidate(0, size)?;
        Ok(mapping)
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `BufferBackend::host_pointer` promises valid, initialised memory of the buffer's size; while mapped no
        // submission runs on it (`BufferInner::begin_use` refuses) and no second mapping exists.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.length) }
    }
}

impl DerefMut for Mapping {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` makes this the only view.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.length) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // A failed flush leaves stale bytes on a device that is about to report the same failure at its next submission.
        let _ = self.backing.flush(0, self.buffer.desc.size);
        self.buffer.end_map();
    }
}
