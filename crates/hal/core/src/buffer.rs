//! Buffers, ranges of buffers, and mapping them for the host.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::device::DeviceCore;
use crate::driver::{BoundRange, BufferBackend};
use crate::error::Error;
use crate::mapping::{Mapping, ReadMapping};
use crate::memory::{BufferDesc, MemoryType};
use roci_base::sync::{Mutex, MutexGuard, lock};

/// Device memory. Cheap to clone. The memory is freed after the last handle is dropped and the last
/// submission that uses it has completed.
#[derive(Clone)]
pub struct Buffer {
    pub(crate) inner: Arc<BufferInner>,
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer")
            .field("id", &self.inner.id)
            .field("label", &self.label())
            .field("size", &self.size())
            .field("memory_type", &self.memory_type())
            .finish_non_exhaustive()
    }
}

/// A byte range of a buffer.
#[derive(Clone, Debug)]
pub struct BufferRange {
    pub(crate) buffer: Buffer,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

pub(crate) struct BufferInner {
    pub(crate) core: Arc<DeviceCore>,
    pub(crate) desc: BufferDesc,
    id: u64,
    state: Mutex<BufferState>,
}

struct BufferState {
    backing: Backing,
    in_flight: u32,
    mapped: bool,
}

enum Backing {
    /// Allocated.
    Ready(Arc<dyn BufferBackend>),
    /// Stream-ordered: the allocation has not executed yet.
    Pending,
    /// Stream-ordered: the deallocation has executed.
    Released,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl PartialEq for Buffer {
    /// Whether both handles refer to the same buffer.
    fn eq(&self, other: &Self) -> bool {
        self.inner.id == other.inner.id
    }
}

impl Eq for Buffer {}

impl Buffer {
    pub(crate) fn ready(core: &Arc<DeviceCore>, desc: BufferDesc, backing: Arc<dyn BufferBackend>) -> Self {
        Self::new(core, desc, Backing::Ready(backing))
    }

    pub(crate) fn pending(core: &Arc<DeviceCore>, desc: BufferDesc) -> Self {
        Self::new(core, desc, Backing::Pending)
    }

    fn new(core: &Arc<DeviceCore>, desc: BufferDesc, backing: Backing) -> Self {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let state = Mutex::new(BufferState { backing, in_flight: 0, mapped: false });
        Self { inner: Arc::new(BufferInner { core: Arc::clone(core), desc, id, state }) }
    }

    /// The label of its [`BufferDesc`].
    pub fn label(&self) -> Option<&str> {
        self.inner.desc.label.as_deref()
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.inner.desc.size
    }

    /// The memory type it was allocated from.
    pub fn memory_type(&self) -> MemoryType {
        self.inner.desc.memory
    }

    /// All bytes, to bind or copy.
    pub fn whole(&self) -> BufferRange {
        BufferRange { buffer: self.clone(), offset: 0, length: self.size() }
    }

    /// `length` bytes starting at `offset`.
    pub fn range(&self, offset: u64, length: u64) -> Result<BufferRange, Error> {
        if offset.checked_add(length).is_none_or(|end| end > self.size()) {
            return Err(self
                .inner
                .invalid(format!("bytes {offset} to {offset}+{length} are outside its {} bytes", self.size())));
        }
        Ok(BufferRange { buffer: self.clone(), offset, length })
    }

    /// Maps a host-visible buffer for exclusive access by the host until the mapping is dropped.
    ///
    /// Fails while a submission that uses the buffer is in flight. A submission that starts while
    /// it is mapped fails.
    pub fn map(&self) -> Result<Mapping, Error> {
        Mapping::new(&self.whole())
    }
}

impl BufferRange {
    /// The buffer that contains the range.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Offset of the first byte in the buffer.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Length in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// `length` bytes starting at `offset`, relative to the start of this range.
    pub fn range(&self, offset: u64, length: u64) -> Result<Self, Error> {
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(self
                .buffer
                .inner
                .invalid(format!("bytes {offset} to {offset}+{length} are outside a range of {} bytes", self.length)));
        }
        Ok(Self { buffer: self.buffer.clone(), offset: self.offset + offset, length })
    }

    /// Maps the buffer exclusively, like [`Buffer::map`], and makes this range readable. Where host
    /// and device hold separate copies, only this range is downloaded, and nothing is uploaded when
    /// the mapping is dropped.
    pub fn map_read(&self) -> Result<ReadMapping, Error> {
        ReadMapping::new(self)
    }

    /// Maps the buffer exclusively to overwrite this range. Nothing is downloaded: bytes that the
    /// host does not write are unspecified.
    pub fn map_write(&self) -> Result<Mapping, Error> {
        Mapping::write_only(self)
    }

    /// Reads the pages of demand-paged memory ahead of use. Useful after
    /// [`Device::map_file`](crate::Device::map_file).
    pub fn prefetch(&self) -> Result<(), Error> {
        let bound = self.bound()?;
        bound.buffer.prefetch(bound.offset, bound.length);
        Ok(())
    }

    /// The range of the driver's buffer. Fails while a stream-ordered allocation is pending.
    pub(crate) fn bound(&self) -> Result<BoundRange, Error> {
        Ok(BoundRange { buffer: self.buffer.inner.backing()?, offset: self.offset, length: self.length })
    }
}

impl From<&Buffer> for BufferRange {
    fn from(buffer: &Buffer) -> Self {
        buffer.whole()
    }
}

impl From<&BufferRange> for BufferRange {
    fn from(range: &BufferRange) -> Self {
        range.clone()
    }
}

impl BufferInner {
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn invalid(&self, reason: impl Into<String>) -> Error {
        let name = self.desc.label.as_ref().map_or_else(|| format!("#{}", self.id), |label| format!("\"{label}\""));
        Error::invalid(format!("buffer {name}"), reason)
    }

    pub(crate) fn backing(&self) -> Result<Arc<dyn BufferBackend>, Error> {
        self.backing_of(&self.lock())
    }

    fn backing_of(&self, state: &BufferState) -> Result<Arc<dyn BufferBackend>, Error> {
        match &state.backing {
            Backing::Ready(backing) => Ok(Arc::clone(backing)),
            Backing::Pending => Err(self
                .invalid("used before its stream-ordered allocation has executed")
                .with_hint("wait for the semaphore that the allocation signals")),
            Backing::Released => Err(self
                .invalid("used after its stream-ordered deallocation")
                .with_hint("deallocate after the last use, ordered by a semaphore")),
        }
    }

    /// Whether memory is allocated, so that commands can be prepared with its address.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.lock().backing, Backing::Ready(_))
    }

    /// Called when the stream-ordered allocation executes.
    pub(crate) fn commit(&self, backing: Arc<dyn BufferBackend>) {
        self.lock().backing = Backing::Ready(backing);
    }

    /// Called when the stream-ordered deallocation executes. Submissions in flight hold their own
    /// references.
    pub(crate) fn release(&self) -> Result<(), Error> {
        let mut state = self.lock();
        self.backing_of(&state)?;
        if state.mapped {
            return Err(self.invalid("deallocated while the host has it mapped").with_hint("drop the mapping first"));
        }
        state.backing = Backing::Released;
        Ok(())
    }

    /// Called when a submission that uses the buffer starts.
    pub(crate) fn begin_use(&self) -> Result<Arc<dyn BufferBackend>, Error> {
        let mut state = self.lock();
        let backing = self.backing_of(&state)?;
        if state.mapped {
            let error = self.invalid("mapped by the host while a submission that uses it starts");
            return Err(error.with_hint("drop the mapping first"));
        }
        state.in_flight += 1;
        Ok(backing)
    }

    /// Called when that submission has ended.
    pub(crate) fn end_use(&self) {
        self.lock().in_flight -= 1;
    }

    pub(crate) fn begin_map(&self) -> Result<Arc<dyn BufferBackend>, Error> {
        let mut state = self.lock();
        // Abandoned work of a lost device may still run and access the memory.
        self.core.check_alive()?;
        let backing = self.backing_of(&state)?;
        if !self.desc.memory.host_visible() {
            let error = self.invalid("device memory cannot be mapped");
            return Err(error.with_hint("use `MemoryType::Host` or `Shared`, or `Queue::read` and `write`"));
        }
        if state.mapped {
            return Err(self.invalid("already mapped").with_hint("use the mapping that exists, or drop it first"));
        }
        if state.in_flight > 0 {
            let error = self.invalid("in use by a submission in flight");
            return Err(error.with_hint("wait for its semaphore before mapping"));
        }
        state.mapped = true;
        Ok(backing)
    }

    pub(crate) fn end_map(&self) {
        self.lock().mapped = false;
    }

    fn lock(&self) -> MutexGuard<'_, BufferState> {
        lock(&self.state)
    }
}
