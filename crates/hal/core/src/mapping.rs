//! Host access to buffers: exclusive mappings, and stream-ordered reads and writes.

#![expect(unsafe_code, reason = "turns a driver's pointer into slices")]

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::buffer::{BufferInner, BufferRange};
use crate::driver::BufferBackend;
use crate::error::Error;

/// Mapped bytes of a buffer, for reading and writing. Dropping it unmaps the buffer and makes the
/// writes visible to the device.
pub struct Mapping {
    view: MappedView,
}

impl std::fmt::Debug for Mapping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mapping")
            .field("offset", &self.view.offset)
            .field("length", &self.view.length)
            .finish_non_exhaustive()
    }
}

/// Mapped bytes of a buffer, read-only. Dropping it unmaps the buffer.
pub struct ReadMapping {
    view: MappedView,
}

impl std::fmt::Debug for ReadMapping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadMapping")
            .field("offset", &self.view.offset)
            .field("length", &self.view.length)
            .finish_non_exhaustive()
    }
}

/// Address of a range of a buffer that is marked as mapped while this value lives.
struct MappedView {
    buffer: Arc<BufferInner>,
    backing: Arc<dyn BufferBackend>,
    first: NonNull<u8>,
    offset: u64,
    length: usize,
}

// SAFETY: the pointer is to memory that `backing` owns, and nothing else accesses it while the
// buffer is marked as mapped.
unsafe impl Send for MappedView {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for MappedView {}

impl Mapping {
    /// Maps a range for reading and writing.
    pub(crate) fn new(range: &BufferRange) -> Result<Self, Error> {
        let view = MappedView::new(range)?;
        view.invalidate()?;
        Ok(Self { view })
    }

    /// Maps a range for writing. Device writes are not downloaded.
    pub(crate) fn write_only(range: &BufferRange) -> Result<Self, Error> {
        Ok(Self { view: MappedView::new(range)? })
    }
}

impl ReadMapping {
    pub(crate) fn new(range: &BufferRange) -> Result<Self, Error> {
        let view = MappedView::new(range)?;
        view.invalidate()?;
        Ok(Self { view })
    }
}

impl MappedView {
    fn new(range: &BufferRange) -> Result<Self, Error> {
        let buffer = &range.buffer().inner;
        let backing = buffer.begin_map()?;
        let span = usize::try_from(range.offset()).ok().zip(usize::try_from(range.length()).ok());
        let Some((start, (offset, length))) = backing.host_pointer().zip(span) else {
            buffer.end_map();
            return Err(buffer.invalid("the driver reports no host address for it"));
        };
        // SAFETY: `BufferRange` guarantees that the range is inside its buffer, and the pointer is
        // to the whole buffer.
        let first = unsafe { start.add(offset) };
        Ok(Self { buffer: Arc::clone(buffer), backing, first, offset: range.offset(), length })
    }

    fn invalidate(&self) -> Result<(), Error> {
        self.backing.invalidate(self.offset, self.length as u64)
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: `BufferBackend::host_pointer` guarantees valid, initialized memory of the
        // buffer's size, and the range is inside it. While it is mapped, no submission uses it
        // (`BufferInner::begin_use` fails) and no second mapping exists.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.length) }
    }
}

impl Drop for MappedView {
    fn drop(&mut self) {
        self.buffer.end_map();
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.view.bytes()
    }
}

impl DerefMut for Mapping {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `MappedView::bytes`, and `&mut self` makes this the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.view.first.as_ptr(), self.view.length) }
    }
}

impl Deref for ReadMapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.view.bytes()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // A device whose flush fails reports the same failure at its next submission.
        let _ = self.view.backing.flush(self.view.offset, self.view.length as u64);
    }
}

/// Reads a range in stream order. Like a device command, it may run concurrently with other uses of
/// the buffer; only a mapping excludes it.
pub(crate) fn read(source: &BufferRange) -> Result<Vec<u8>, Error> {
    let access = HostAccess::new(source)?;
    access.backing.invalidate(source.offset, source.length)?;
    let mut bytes = vec![0; access.length];
    // SAFETY: `HostAccess::new` has validated the range. `bytes` has the same length and is freshly
    // allocated, so the two do not overlap. The caller must order concurrent writers, as for device
    // commands.
    unsafe { access.first.copy_to_nonoverlapping(NonNull::from(bytes.as_mut_slice()).cast(), access.length) };
    Ok(bytes)
}

/// Writes a range in stream order; see [`read`]. `data` is as long as the range.
pub(crate) fn write(target: &BufferRange, data: &[u8]) -> Result<(), Error> {
    let access = HostAccess::new(target)?;
    let length = access.length.min(data.len());
    // SAFETY: `HostAccess::new` has validated the range. `data` is the caller's memory and no
    // mapping exists, so the two do not overlap.
    unsafe { access.first.copy_from_nonoverlapping(NonNull::from(data).cast(), length) };
    access.backing.flush(target.offset, target.length)
}

/// A stream-ordered host access to a range of host-visible memory.
struct HostAccess<'a> {
    buffer: &'a BufferInner,
    backing: Arc<dyn BufferBackend>,
    first: NonNull<u8>,
    length: usize,
}

impl<'a> HostAccess<'a> {
    fn new(range: &'a BufferRange) -> Result<Self, Error> {
        let buffer = range.buffer().inner.as_ref();
        let backing = buffer.begin_use()?;
        let span = usize::try_from(range.offset()).ok().zip(usize::try_from(range.length()).ok());
        let Some((start, (offset, length))) = backing.host_pointer().zip(span) else {
            buffer.end_use();
            return Err(buffer.invalid("the driver reports no host address for it"));
        };
        // SAFETY: `BufferRange` guarantees that the range is inside its buffer, and the pointer is
        // to the whole buffer.
        let first = unsafe { start.add(offset) };
        Ok(Self { buffer, backing, first, length })
    }
}

impl Drop for HostAccess<'_> {
    fn drop(&mut self) {
        self.buffer.end_use();
    }
}
