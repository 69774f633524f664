//! Open logical devices: the public handle, and the state shared by a device's buffers, queues and
//! semaphores.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::buffer::{Buffer, BufferRange};
use crate::command_buffer::CommandBufferInner;
use crate::compile;
use crate::deadline::{Deadline, Timeouts};
use crate::driver::{BufferBackend, DeviceBackend};
use crate::error::{DeviceLoss, DeviceLossReason, Error, InFlight};
use crate::executable::{Executable, ExecutableInner, ExecutableSource};
use crate::info::DeviceInfo;
use crate::memory::BufferDesc;
use crate::pool::Pool;
use crate::queue::{Queue, Submit};
use crate::recorder::Recorder;
use crate::semaphore::Semaphore;
use crate::submission::Submission;
use crate::watchdog::Watchdog;
use roci_base::sync::{Mutex, lock};

/// Chunk size in bytes of [`Device::write`] and [`Device::read`], which keep two chunks in flight.
/// A staging buffer of the full size would have to be faulted in page by page, which takes longer
/// than the transfer.
const CHUNK: usize = 16 << 20;

/// An open logical device. Cheap to clone. Closed after the last handle is dropped and the last
/// submission has ended.
#[derive(Clone)]
pub struct Device {
    core: Arc<DeviceCore>,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device")
            .field("uri", &self.core.name())
            .field("is_lost", &self.loss().is_some())
            .finish_non_exhaustive()
    }
}

/// State shared by everything that belongs to a device.
pub(crate) struct DeviceCore {
    backend: Arc<dyn DeviceBackend>,
    name: String,
    timeouts: Timeouts,
    loss: OnceLock<Arc<DeviceLoss>>,
    submissions: AtomicU64,
    tracked: Mutex<BTreeMap<u64, Arc<Submission>>>,
    /// Per queue: the name of the last command that completed. Holding the command buffer instead
    /// would keep its buffers, and through them this device, alive.
    finished: Vec<Mutex<Option<Arc<str>>>>,
    watchdog: Arc<Watchdog>,
    pool: Arc<Pool>,
    /// What new buffers contain; undefined if not set.
    initial_word: OnceLock<u32>,
}

impl Device {
    /// Wraps an open device of a driver. `timeout` limits how long one command may run; the default
    /// is `ROCI_TIMEOUT`.
    pub fn new(backend: Arc<dyn DeviceBackend>, timeout: Option<Duration>) -> Self {
        let timeouts = Timeouts::default();
        Self::with_timeouts(backend, Timeouts { command: timeout.unwrap_or(timeouts.command), ..timeouts })
    }

    /// Wraps an open device of a driver, with explicit timeouts.
    pub fn with_timeouts(backend: Arc<dyn DeviceBackend>, timeouts: Timeouts) -> Self {
        let info = backend.info();
        let core = DeviceCore {
            name: info.uri.to_string(),
            timeouts,
            loss: OnceLock::new(),
            submissions: AtomicU64::new(0),
            tracked: Mutex::default(),
            finished: info.queues.iter().map(|_| Mutex::default()).collect(),
            watchdog: Watchdog::new(),
            pool: Pool::new(),
            initial_word: OnceLock::new(),
            backend,
        };
        Self { core: Arc::new(core) }
    }

    /// Identity, limits and capabilities.
    pub fn info(&self) -> &DeviceInfo {
        self.core.backend.info()
    }

    /// A queue, by its index in [`DeviceInfo::queues`].
    pub fn queue(&self, index: usize) -> Result<Queue, Error> {
        let count = self.info().queues.len();
        if index >= count {
            let error =
                Error::invalid(format!("queue {index} of {}", self.core.name), format!("it has {count} queues"));
            return Err(error.with_hint("queue indices start at 0"));
        }
        Ok(Queue::new(&self.core, index))
    }

    /// Allocates a buffer.
    pub fn allocate(&self, desc: BufferDesc) -> Result<Buffer, Error> {
        self.core.check_alive()?;
        self.core.check_buffer_desc(&desc)?;
        let backing = self.core.allocate(&desc)?;
        let buffer = Buffer::ready(&self.core, desc, backing);
        if let Some(word) = self.core.initial_word.get() {
            self.fill(&buffer, *word)?;
        }
        Ok(buffer)
    }

    /// Fills all new buffers with this word, for tests: with NaN, a kernel that reads what was never
    /// written computes NaN. The first call counts.
    pub fn fill_new_buffers(&self, word: u32) {
        self.core.initial_word.get_or_init(|| word);
    }

    fn fill(&self, buffer: &Buffer, word: u32) -> Result<(), Error> {
        let whole_words = buffer.whole().length() / 4 * 4;
        if whole_words == 0 {
            return Ok(());
        }
        let mut recorder = self.record();
        recorder.fill(&buffer.range(0, whole_words)?, word)?;
        let done = self.semaphore(0);
        self.queue(0)?.submit(&recorder.finish()?, Submit::new().signal(&done, 1))?;
        done.wait(1, self.core.timeouts.command)
    }

    /// Maps a file as a host buffer, without copying. Returns `None` if the device cannot access
    /// mapped files. Pages are read on first access or by [`BufferRange::prefetch`]. Writes to the
    /// buffer do not change the file.
    ///
    /// The file must not change while the buffer is in use: see
    /// [`HostMemory::map_file`](crate::host_memory::HostMemory::map_file).
    pub fn map_file(&self, file: &File, label: &str) -> Result<Option<Buffer>, Error> {
        self.core.check_alive()?;
        let Some((backing, size)) = self.core.backend.map_file(file) else { return Ok(None) };
        Ok(Some(Buffer::ready(&self.core, BufferDesc::host(size).label(label), backing)))
    }

    /// Loads code. Drivers compile it here or at the first dispatch of a kernel;
    /// [`Timeouts::compile`] applies to both. A timeout here is an [`Error::Compile`], and the
    /// device stays usable.
    pub fn load(&self, source: &ExecutableSource) -> Result<Executable, Error> {
        self.core.check_alive()?;
        let format = source.code.format();
        let info = self.info();
        if !info.formats.contains(&format) {
            let reason = format!("{} cannot load {format:?} code, only {:?}", self.core.name, info.formats);
            let error = Error::invalid(format!("executable \"{}\"", source.label), reason);
            return Err(error.with_hint("load code in one of the formats in `DeviceInfo::formats`"));
        }
        for entry in &source.entry_points {
            let call = || format!("entry point \"{}\"", entry.name);
            if entry.constants > info.max_constants || !entry.constants.is_multiple_of(4) {
                let reason = format!(
                    "the constants block has {} bytes; its size must be a multiple of 4 and at most {}",
                    entry.constants, info.max_constants
                );
                return Err(Error::invalid(call(), reason));
            }
            if entry.bindings.len() > info.max_bindings {
                let reason =
                    format!("it has {} bindings; the device supports {}", entry.bindings.len(), info.max_bindings);
                return Err(Error::invalid(call(), reason));
            }
        }
        source.check_accesses()?;
        let inner = ExecutableInner {
            core: Arc::clone(&self.core),
            label: source.label.clone(),
            entry_points: source.entry_points.iter().cloned().map(Arc::new).collect(),
            backend: compile::load(&self.core.backend, source, self.core.timeouts.compile)?,
        };
        Ok(Executable { inner: Arc::new(inner) })
    }

    /// Creates a semaphore with an initial value.
    pub fn semaphore(&self, value: u64) -> Semaphore {
        Semaphore::new(&self.core, value)
    }

    /// Starts recording commands.
    pub fn record(&self) -> Recorder {
        Recorder::new(&self.core)
    }

    /// Uploads bytes and waits for completion: for initialization and tests. Large uploads are
    /// split into chunks, and the command timeout applies to each chunk.
    pub fn write(&self, target: impl Into<BufferRange>, data: &[u8]) -> Result<(), Error> {
        let (target, queue, done) = (target.into(), self.queue(0)?, self.semaphore(0));
        if data.len() as u64 != target.length() || data.len() <= CHUNK {
            queue.write(target, data.to_vec(), Submit::new().signal(&done, 1))?;
            return done.wait(1, self.core.deadline());
        }
        let mut sent = 0;
        for (piece, offset) in data.chunks(CHUNK).zip((0..).step_by(CHUNK)) {
            // At most two chunks are in flight; the staging memory of a completed one is reused.
            done.wait(u64::saturating_sub(sent, 1), self.core.deadline())?;
            let submit = Submit::new().wait(&done, sent).signal(&done, sent + 1);
            queue.write(target.range(offset, piece.len() as u64)?, piece.to_vec(), submit)?;
            sent += 1;
        }
        done.wait(sent, self.core.deadline())
    }

    /// Downloads bytes and waits for completion, in chunks like [`Device::write`].
    pub fn read(&self, source: impl Into<BufferRange>) -> Result<Vec<u8>, Error> {
        let (source, queue) = (source.into(), self.queue(0)?);
        let piece = |offset: u64| source.range(offset, (source.length() - offset).min(CHUNK as u64));
        let mut next = queue.read(piece(0)?, Submit::new())?;
        if source.length() <= CHUNK as u64 {
            return next.wait(self.core.deadline());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(source.length()).unwrap_or_default());
        for offset in (CHUNK as u64..source.length()).step_by(CHUNK) {
            let after = queue.read(piece(offset)?, Submit::new())?;
            bytes.extend(std::mem::replace(&mut next, after).wait(self.core.deadline())?);
        }
        bytes.extend(next.wait(self.core.deadline())?);
        Ok(bytes)
    }

    /// Whether the device supports [`Submit::profile`].
    pub fn supports_profiling(&self) -> bool {
        self.core.backend.supports_profiling()
    }

    /// The cause, if the device is lost.
    pub fn loss(&self) -> Option<Arc<DeviceLoss>> {
        self.core.loss.get().cloned()
    }

    /// Declares the device lost: everything in flight and every later call fails with this reason.
    pub fn lose(&self, reason: impl Into<String>) {
        self.core.lose(DeviceLossReason::Requested(reason.into()), self.core.in_flight());
    }

    /// Bytes that the pool of stream-ordered allocations holds for reuse.
    pub fn pooled_bytes(&self) -> u64 {
        self.core.pool.bytes()
    }

    /// Returns the pool's unused memory to the driver.
    pub fn trim(&self) {
        self.core.pool.trim();
    }
}

impl DeviceCore {
    pub(crate) fn backend(&self) -> &dyn DeviceBackend {
        self.backend.as_ref()
    }

    /// The canonical URI, for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// The command timeout from now, excluding compilation.
    fn deadline(&self) -> Deadline {
        Deadline::excluding_compilation(self.timeouts.command)
    }

    /// Whether the driver is compiling a kernel of any submission.
    pub(crate) fn is_compiling(&self) -> bool {
        lock(&self.tracked).values().any(|submission| submission.progress().is_compiling())
    }

    /// Allocates from the driver. If it is out of memory, empties the pool and retries.
    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> {
        match self.backend.allocate(desc) {
            Err(Error::OutOfMemory { .. }) if self.pool.trim() => self.backend.allocate(desc),
            answer => answer,
        }
    }

    /// Allocates memory that returns to the pool after its last use.
    pub(crate) fn allocate_pooled(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> {
        self.pool.allocate(desc, self.backend.info().max_allocation, |desc| self.allocate(desc))
    }

    /// Fails with the first cause if the device is lost.
    pub(crate) fn check_alive(&self) -> Result<(), Error> {
        self.loss.get().map_or(Ok(()), |loss| Err(Error::Lost(Arc::clone(loss))))
    }

    pub(crate) fn check_buffer_desc(&self, desc: &BufferDesc) -> Result<(), Error> {
        let info = self.backend.info();
        let call = || format!("allocation on {}", self.name);
        if desc.size == 0 {
            return Err(Error::invalid(call(), "the size is zero").with_hint("allocate at least one byte"));
        }
        if !info.memory_types.contains(&desc.memory) {
            let reason = format!("the device has no {:?} memory, only {:?}", desc.memory, info.memory_types);
            return Err(Error::invalid(call(), reason).with_hint("use a memory type that the device has"));
        }
        if desc.size > info.max_allocation {
            let limit = Some(info.max_allocation);
            return Err(Error::OutOfMemory { device: self.name.clone(), requested: desc.size, limit });
        }
        Ok(())
    }

    pub(crate) fn next_submission(&self) -> u64 {
        self.submissions.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn track(&self, submission: &Arc<Submission>) {
        lock(&self.tracked).insert(submission.id, Arc::clone(submission));
    }

    pub(crate) fn untrack(&self, submission: &Submission) {
        self.watchdog.unwatch(submission);
        // Bound to a name so that the submission is dropped after the lock is released.
        let _tracked = lock(&self.tracked).remove(&submission.id);
    }

    pub(crate) fn watch_for_hang(self: &Arc<Self>, submission: &Arc<Submission>) {
        self.watchdog.watch(self, submission);
    }

    pub(crate) fn set_last_finished(&self, queue: usize, commands: &CommandBufferInner) {
        if let Some(name) = &commands.last {
            *lock(&self.finished[queue]) = Some(Arc::clone(name));
        }
    }

    /// Name of the last command that completed on a queue.
    pub(crate) fn last_finished(&self, queue: usize) -> Option<String> {
        lock(&self.finished[queue]).as_deref().map(str::to_owned)
    }

    /// The oldest submission in flight that has started.
    fn in_flight(&self) -> InFlight {
        let tracked: Vec<_> = lock(&self.tracked).values().cloned().collect();
        let (started, waiting): (Vec<_>, Vec<_>) =
            tracked.iter().partition(|submission| submission.progress().command() > 0);
        let mut candidates = started.into_iter().chain(waiting);
        candidates.find_map(|submission| submission.in_flight()).unwrap_or_else(|| InFlight {
            last_finished: (0..self.finished.len()).find_map(|queue| self.last_finished(queue)),
            ..InFlight::default()
        })
    }

    pub(crate) fn timeout(&self, waited: Duration) -> Error {
        Error::Timeout { device: self.name.clone(), waited, in_flight: Box::new(self.in_flight()) }
    }

    /// Marks the device as lost. Only the first cause is kept.
    pub(crate) fn lose(&self, reason: DeviceLossReason, in_flight: InFlight) {
        let loss = Arc::new(DeviceLoss { device: self.name.clone(), reason, in_flight });
        if self.loss.set(Arc::clone(&loss)).is_err() {
            return;
        }
        let tracked: Vec<_> = lock(&self.tracked).values().cloned().collect();
        for submission in tracked {
            submission.finish(Err(Error::Lost(Arc::clone(&loss))));
        }
        self.backend.abandon(&loss);
    }
}

impl Drop for DeviceCore {
    fn drop(&mut self) {
        self.watchdog.stop();
    }
}
