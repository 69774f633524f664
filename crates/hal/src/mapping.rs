//! The host's views of a buffer: exclusive as a mapping, in stream order as a read or a write.

#![expect(unsafe_code, reason = "turns a driver's pointer into slices")]

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::buffer::{BufferInner, BufferRange};
use crate::driver::BufferBackend;
use crate::error::Error;

/// Mapped bytes of a buffer. Dropping it hands the buffer back to the device, with what the host wrote.
pub struct Mapping {
    view: View,
}

/// Mapped bytes of a buffer, to be read alone. Dropping it hands the buffer back to the device as it was.
pub struct ReadMapping {
    view: View,
}

/// Bytes of a buffer that is marked as mapped for as long as this lives.
struct View {
    buffer: Arc<BufferInner>,
    backing: Arc<dyn BufferBackend>,
    first: NonNull<u8>,
    offset: u64,
    length: usize,
}

// SAFETY: the pointer is to memory that `backing` owns and that nothing else touches while the buffer is marked as mapped.
unsafe impl Send for View {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for View {}

impl Mapping {
    /// A range to be read and written.
    pub(crate) fn new(range: &BufferRange) -> Result<Self, Error> {
        let view = View::new(range)?;
        view.invalidate()?;
        Ok(Self { view })
    }

    /// A range to be written: what the device wrote is not fetched.
    pub(crate) fn to_write(range: &BufferRange) -> Result<Self, Error> {
        Ok(Self { view: View::new(range)? })
    }
}

impl ReadMapping {
    pub(crate) fn new(range: &BufferRange) -> Result<Self, Error> {
        let view = View::new(range)?;
        view.invalidate()?;
        Ok(Self { view })
    }
}

impl View {
    fn new(range: &BufferRange) -> Result<Self, Error> {
        let buffer = &range.buffer().inner;
        let backing = buffer.begin_map()?;
        let place = usize::try_from(range.offset()).ok().zip(usize::try_from(range.length()).ok());
        let Some((start, (offset, length))) = backing.host_pointer().zip(place) else {
            buffer.end_map();
            return Err(buffer.invalid("the driver has no host address for it"));
        };
        // SAFETY: the range lies inside its buffer by construction, and the pointer is to the whole buffer.
        let first = unsafe { start.add(offset) };
        Ok(Self { buffer: Arc::clone(buffer), backing, first, offset: range.offset(), length })
    }

    fn invalidate(&self) -> Result<(), Error> {
        self.backing.invalidate(self.offset, self.length as u64)
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: `BufferBackend::host_pointer` promises valid, initialised memory of the buffer's size, and `new` has put
        // the range inside it; while mapped no submission runs on it (`BufferInner::begin_use` refuses) and no second
        // mapping exists.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.length) }
    }
}

impl Drop for View {
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
        // SAFETY: as in `View::bytes`, and `&mut self` makes this the only view.
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
        // A failed flush leaves stale bytes on a device that is about to report the same failure at its next submission.
        let _ = self.view.backing.flush(self.view.offset, self.view.length as u64);
    }
}

/// Reads a range in stream order: like a command on the device it runs beside whatever else uses the buffer, and only a
/// mapping keeps it out.
pub(crate) fn read(source: &BufferRange) -> Result<Vec<u8>, Error> {
    let access = HostAccess::new(source)?;
    access.backing.invalidate(source.offset, source.length)?;
    let mut bytes = vec![0; access.length];
    // SAFETY: `HostAccess::new` has checked the range; `bytes` is as long, fresh, and so does not overlap it. A writer at
    // the same time is the caller's mistake, as it is for a command on the device.
    unsafe { access.first.copy_to_nonoverlapping(NonNull::from(bytes.as_mut_slice()).cast(), access.length) };
    Ok(bytes)
}

/// Writes a range in stream order; see [`read`]. `data` is as long as the range.
pub(crate) fn write(target: &BufferRange, data: &[u8]) -> Result<(), Error> {
    let access = HostAccess::new(target)?;
    let length = access.length.min(data.len());
    // SAFETY: `HostAccess::new` has checked the range; `data` is the caller's own memory and no mapping exists, so the two
    // do not overlap.
    unsafe { access.first.copy_from_nonoverlapping(NonNull::from(data).cast(), length) };
    access.backing.flush(target.offset, target.length)
}

/// A range of host-visible memory in use by the host in stream order.
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
        let place = usize::try_from(range.offset()).ok().zip(usize::try_from(range.length()).ok());
        let Some((start, (offset, length))) = backing.host_pointer().zip(place) else {
            buffer.end_use();
            return Err(buffer.invalid("the driver has no host address for it"));
        };
        // SAFETY: the range lies inside its buffer by construction, and the pointer is to the whole buffer.
        let first = unsafe { start.add(offset) };
        Ok(Self { buffer, backing, first, length })
    }
}

impl Drop for HostAccess<'_> {
    fn drop(&mut self) {
        self.buffer.end_use();
    }
}
