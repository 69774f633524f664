//! Buffers: memory of a device, ranges of it, and the host's view of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::device::Core;
use crate::driver::{BoundRange, BufferBackend};
use crate::error::Error;
use crate::mapping::{Mapping, ReadMapping};
use crate::memory::{BufferDesc, MemoryType};
use crate::sync::{Mutex, MutexGuard, lock};

/// Memory of a device. Cheap to clone; the memory lives until the last handle and the last submission using it are gone.
#[derive(Clone)]
pub struct Buffer {
    pub(crate) inner: Arc<BufferInner>,
}

/// Part of a buffer.
#[derive(Clone)]
pub struct BufferRange {
    pub(crate) buffer: Buffer,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

pub(crate) struct BufferInner {
    pub(crate) core: Arc<Core>,
    pub(crate) desc: BufferDesc,
    id: u64,
    state: Mutex<State>,
}

struct State {
    backing: Backing,
    in_flight: u32,
    mapped: bool,
}

enum Backing {
    /// There is memory.
    Ready(Arc<dyn BufferBackend>),
    /// Stream-ordered: the allocation has not executed yet.
    Pending,
    /// Stream-ordered: the deallocation has executed.
    Released,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl PartialEq for Buffer {
    /// Whether both are handles of one buffer.
    fn eq(&self, other: &Self) -> bool {
        self.inner.id == other.inner.id
    }
}

impl Eq for Buffer {}

impl Buffer {
    pub(crate) fn ready(core: &Arc<Core>, desc: BufferDesc, backing: Arc<dyn BufferBackend>) -> Self {
        Self::new(core, desc, Backing::Ready(backing))
    }

    pub(crate) fn pending(core: &Arc<Core>, desc: BufferDesc) -> Self {
        Self::new(core, desc, Backing::Pending)
    }

    fn new(core: &Arc<Core>, desc: BufferDesc, backing: Backing) -> Self {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let state = Mutex::new(State { backing, in_flight: 0, mapped: false });
        Self { inner: Arc::new(BufferInner { core: Arc::clone(core), desc, id, state }) }
    }

    /// The name it was allocated with, if it has one.
    pub fn label(&self) -> Option<&str> {
        self.inner.desc.label.as_deref()
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.inner.desc.size
    }

    /// Where it lives.
    pub fn memory_type(&self) -> MemoryType {
        self.inner.desc.memory
    }

    /// All of it.
    pub fn whole(&self) -> BufferRange {
        BufferRange { buffer: self.clone(), offset: 0, length: self.size() }
    }

    /// `length` bytes from `offset` on.
    pub fn range(&self, offset: u64, length: u64) -> Result<BufferRange, Error> {
        if offset.checked_add(length).is_none_or(|end| end > self.size()) {
            return Err(self
                .inner
                .invalid(format!("bytes {offset} to {offset}+{length} are outside its {} bytes", self.size())));
        }
        Ok(BufferRange { buffer: self.clone(), offset, length })
    }

    /// Gives the host exclusive sight of a host-visible buffer until the mapping is dropped.
    ///
    /// Refused while a submission that uses the buffer is in flight; a submission that starts while it is mapped fails.
    pub fn map(&self) -> Result<Mapping, Error> {
        Mapping::new(&self.whole())
    }
}

impl BufferRange {
    /// The buffer.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// First byte.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// `length` bytes from `offset` on, counted from this range's start.
    pub fn range(&self, offset: u64, length: u64) -> Result<Self, Error> {
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(self
                .buffer
                .inner
                .invalid(format!("bytes {offset} to {offset}+{length} are outside a range of {} bytes", self.length)));
        }
        Ok(Self { buffer: self.buffer.clone(), offset: self.offset + offset, length })
    }

    /// Gives the host exclusive sight of the buffer, as [`Buffer::map`] does, to read this range. Where host and device have
    /// copies of their own, only its bytes travel, and none of them back.
    pub fn map_read(&self) -> Result<ReadMapping, Error> {
        ReadMapping::new(self)
    }

    /// The same to write all of the range. What it held is unspecified, and what the host leaves unwritten stays so, since
    /// nothing is fetched from the device.
    pub fn map_write(&self) -> Result<Mapping, Error> {
        Mapping::to_write(self)
    }

    /// Brings memory here that is only found when it is touched, as that of [`Device::map_file`](crate::Device::map_file).
    pub fn fetch(&self) -> Result<(), Error> {
        let bound = self.bound()?;
        bound.buffer.fetch(bound.offset, bound.length);
        Ok(())
    }

    /// The driver's view, if there is memory already.
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

    fn backing_of(&self, state: &State) -> Result<Arc<dyn BufferBackend>, Error> {
        match &state.backing {
            Backing::Ready(backing) => Ok(Arc::clone(backing)),
            Backing::Pending => Err(self
                .invalid("used before its stream-ordered allocation has executed")
                .hinted("wait for the semaphore that the allocation signals")),
            Backing::Released => Err(self
                .invalid("used after its stream-ordered deallocation")
                .hinted("deallocate after the last use, ordered by a semaphore")),
        }
    }

    /// Whether the memory was there from the start, so that commands can be prepared with it.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.lock().backing, Backing::Ready(_))
    }

    /// Stream-ordered allocation has executed.
    pub(crate) fn commit(&self, backing: Arc<dyn BufferBackend>) {
        self.lock().backing = Backing::Ready(backing);
    }

    /// Stream-ordered deallocation has executed; what is in flight keeps its own hold on the memory.
    pub(crate) fn release(&self) -> Result<(), Error> {
        let mut state = self.lock();
        self.backing_of(&state)?;
        if state.mapped {
            return Err(self.invalid("deallocated while the host has it mapped").hinted("drop the mapping first"));
        }
        state.backing = Backing::Released;
        Ok(())
    }

    /// A submission that uses it starts.
    pub(crate) fn begin_use(&self) -> Result<Arc<dyn BufferBackend>, Error> {
        let mut state = self.lock();
        let backing = self.backing_of(&state)?;
        if state.mapped {
            let error = self.invalid("mapped by the host while a submission that uses it starts");
            return Err(error.hinted("drop the mapping first"));
        }
        state.in_flight += 1;
        Ok(backing)
    }

    /// A submission that uses it has ended.
    pub(crate) fn end_use(&self) {
        self.lock().in_flight -= 1;
    }

    pub(crate) fn begin_map(&self) -> Result<Arc<dyn BufferBackend>, Error> {
        let mut state = self.lock();
        // Work of a lost device has been given up but may still run: its memory is not the host's to look at.
        self.core.check_alive()?;
        let backing = self.backing_of(&state)?;
        if !self.desc.memory.host_visible() {
            let error = self.invalid("device memory cannot be mapped");
            return Err(error.hinted("use `MemoryType::Host` or `Shared`, or `Queue::read` and `write`"));
        }
        if state.mapped {
            return Err(self.invalid("mapped already").hinted("use the mapping that exists, or drop it first"));
        }
        if state.in_flight > 0 {
            let error = self.invalid("in use by a submission in flight");
            return Err(error.hinted("wait for its semaphore before mapping"));
        }
        state.mapped = true;
        Ok(backing)
    }

    pub(crate) fn end_map(&self) {
        self.lock().mapped = false;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}
