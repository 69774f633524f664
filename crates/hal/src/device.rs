//! An open logical device: the handle that people hold, and the state that its buffers, queues and semaphores share.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::buffer::{Buffer, BufferRange};
use crate::command_buffer::CommandBufferInner;
use crate::compile;
use crate::deadline::{Deadline, Limits};
use crate::driver::{BufferBackend, DeviceBackend};
use crate::error::{Error, InFlight, Loss, LossReason};
use crate::executable::{Executable, ExecutableInner, ExecutableSource};
use crate::info::DeviceInfo;
use crate::memory::BufferDesc;
use crate::pool::Pool;
use crate::queue::{Queue, Submit};
use crate::recorder::Recorder;
use crate::semaphore::Semaphore;
use crate::submission::Submission;
use crate::sync::{Mutex, lock};
use crate::watchdog::Watchdog;

/// Bytes that [`Device::write`] and [`Device::read`] move at once. Two of them are on their way at a time: staging of the size of
/// the whole would be new memory from the system, page by page, which takes longer than the transfer.
const PIECE: usize = 16 << 20;

/// An open logical device. Cheap to clone; closed when the last handle and the last work in flight are gone.
#[derive(Clone)]
pub struct Device {
    core: Arc<Core>,
}

/// What everything that belongs to a device shares.
pub(crate) struct Core {
    backend: Arc<dyn DeviceBackend>,
    name: String,
    limits: Limits,
    loss: OnceLock<Arc<Loss>>,
    submissions: AtomicU64,
    tracked: Mutex<BTreeMap<u64, Arc<Submission>>>,
    /// By queue: the name of the last command that finished. The name alone: holding its command buffer would keep the
    /// buffers of that alive, and this device for ever.
    finished: Vec<Mutex<Option<Arc<str>>>>,
    watchdog: Arc<Watchdog>,
    pool: Arc<Pool>,
}

impl Device {
    /// Wraps what a driver opened. `timeout` limits how long one command may run; `None` takes `ROCI_TIMEOUT`.
    pub fn new(backend: Arc<dyn DeviceBackend>, timeout: Option<Duration>) -> Self {
        let limits = Limits::default();
        Self::limited(backend, Limits { command: timeout.unwrap_or(limits.command), ..limits })
    }

    /// Wraps what a driver opened, with limits of its own.
    pub fn limited(backend: Arc<dyn DeviceBackend>, limits: Limits) -> Self {
        let info = backend.info();
        let core = Core {
            name: info.uri.to_string(),
            limits,
            loss: OnceLock::new(),
            submissions: AtomicU64::new(0),
            tracked: Mutex::default(),
            finished: info.queues.iter().map(|_| Mutex::default()).collect(),
            watchdog: Watchdog::new(),
            pool: Pool::new(),
            backend,
        };
        Self { core: Arc::new(core) }
    }

    /// What it is.
    pub fn info(&self) -> &DeviceInfo {
        self.core.backend.info()
    }

    /// One of its queues.
    pub fn queue(&self, index: usize) -> Result<Queue, Error> {
        let count = self.info().queues.len();
        if index >= count {
            let error = Error::invalid(format!("queue {index} of {}", self.core.name), format!("it has {count}"));
            return Err(error.hinted("queues are counted from 0"));
        }
        Ok(Queue::new(&self.core, index))
    }

    /// Allocates memory.
    pub fn allocate(&self, desc: BufferDesc) -> Result<Buffer, Error> {
        self.core.check_alive()?;
        self.core.check_desc(&desc)?;
        let backing = self.core.allocate(&desc)?;
        Ok(Buffer::ready(&self.core, desc, backing))
    }

    /// A host buffer of the bytes of a file, without a copy of them; `None` where the device cannot work on such. Bytes are read when they are
    /// first touched, or by [`BufferRange::fetch`]; writing to the buffer does not change the file.
    ///
    /// The file must stay as it is for as long as the buffer is used: see [`HostMemory::of_file`](crate::host_memory::HostMemory::of_file).
    pub fn map_file(&self, file: &File, label: &str) -> Result<Option<Buffer>, Error> {
        self.core.check_alive()?;
        let Some((backing, size)) = self.core.backend.map_file(file) else { return Ok(None) };
        Ok(Some(Buffer::ready(&self.core, BufferDesc::host(size).label(label), backing)))
    }

    /// Loads code. Drivers compile it here or when a kernel is first dispatched; either has the limit of compilation, and a driver that misses
    /// it here is an [`Error::Compile`], after which the device goes on.
    pub fn load(&self, source: &ExecutableSource) -> Result<Executable, Error> {
        self.core.check_alive()?;
        let format = source.code.format();
        let info = self.info();
        if !info.formats.contains(&format) {
            let reason = format!("{} cannot load {format:?} code, only {:?}", self.core.name, info.formats);
            let error = Error::invalid(format!("executable \"{}\"", source.label), reason);
            return Err(error.hinted("write the code in a format that the device lists"));
        }
        for entry in &source.entry_points {
            let call = || format!("entry point \"{}\"", entry.name);
            if entry.constants > info.max_constants || !entry.constants.is_multiple_of(4) {
                let reason = format!(
                    "a constants block of {} bytes; it must be a multiple of 4 and at most {}",
                    entry.constants, info.max_constants
                );
                return Err(Error::invalid(call(), reason));
            }
            if entry.bindings.len() > info.max_bindings {
                let reason = format!("{} bindings; the device takes {}", entry.bindings.len(), info.max_bindings);
                return Err(Error::invalid(call(), reason));
            }
        }
        source.check_accesses()?;
        let inner = ExecutableInner {
            core: Arc::clone(&self.core),
            label: source.label.clone(),
            entry_points: source.entry_points.iter().cloned().map(Arc::new).collect(),
            backend: compile::load(&self.core.backend, source, self.core.limits.compile)?,
        };
        Ok(Executable { inner: Arc::new(inner) })
    }

    /// A semaphore with a first value.
    pub fn semaphore(&self, value: u64) -> Semaphore {
        Semaphore::new(&self.core, value)
    }

    /// Starts to record commands.
    pub fn record(&self) -> Recorder {
        Recorder::new(&self.core)
    }

    /// Writes bytes and waits until they are there: for set-up and tests, not for streams. A large write goes in pieces, each of
    /// which may take as long as a command of this device may run.
    pub fn write(&self, target: impl Into<BufferRange>, data: &[u8]) -> Result<(), Error> {
        let (target, queue, done) = (target.into(), self.queue(0)?, self.semaphore(0));
        if data.len() as u64 != target.length() || data.len() <= PIECE {
            queue.write(target, data.to_vec(), Submit::new().signal(&done, 1))?;
            return done.wait(1, self.core.deadline());
        }
        let mut sent = 0;
        for (piece, offset) in data.chunks(PIECE).zip((0..).step_by(PIECE)) {
            // The memory of a piece that is done serves the next but one.
            done.wait(u64::saturating_sub(sent, 1), self.core.deadline())?;
            let submit = Submit::new().wait(&done, sent).signal(&done, sent + 1);
            queue.write(target.range(offset, piece.len() as u64)?, piece.to_vec(), submit)?;
            sent += 1;
        }
        done.wait(sent, self.core.deadline())
    }

    /// Reads bytes, waiting for them as [`Device::write`] does: for results and tests, not for streams.
    pub fn read(&self, source: impl Into<BufferRange>) -> Result<Vec<u8>, Error> {
        let (source, queue) = (source.into(), self.queue(0)?);
        let piece = |offset: u64| source.range(offset, (source.length() - offset).min(PIECE as u64));
        let mut next = queue.read(piece(0)?, Submit::new())?;
        if source.length() <= PIECE as u64 {
            return next.wait(self.core.deadline());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(source.length()).unwrap_or_default());
        for offset in (PIECE as u64..source.length()).step_by(PIECE) {
            let after = queue.read(piece(offset)?, Submit::new())?;
            bytes.extend(std::mem::replace(&mut next, after).wait(self.core.deadline())?);
        }
        bytes.extend(next.wait(self.core.deadline())?);
        Ok(bytes)
    }

    /// Whether submissions may ask when their commands ran ([`Submit::profile`]).
    pub fn profiles(&self) -> bool {
        self.core.backend.profiles()
    }

    /// Why it is lost, if it is.
    pub fn loss(&self) -> Option<Arc<Loss>> {
        self.core.loss.get().cloned()
    }

    /// Declares it lost: everything in flight and every later call fails with this reason.
    pub fn lose(&self, reason: impl Into<String>) {
        self.core.lose(LossReason::Requested(reason.into()), self.core.in_flight());
    }

    /// Bytes that stream-ordered deallocations have left for reuse.
    pub fn pooled_bytes(&self) -> u64 {
        self.core.pool.bytes()
    }

    /// Returns those bytes to the driver.
    pub fn trim(&self) {
        self.core.pool.trim();
    }
}

impl Core {
    pub(crate) fn backend(&self) -> &dyn DeviceBackend {
        self.backend.as_ref()
    }

    /// The canonical URI.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// A command's limit of work from now.
    fn deadline(&self) -> Deadline {
        Deadline::of_work(self.limits.command)
    }

    /// Whether the driver compiles a kernel of something that was submitted.
    pub(crate) fn is_compiling(&self) -> bool {
        lock(&self.tracked).values().any(|submission| submission.progress().is_compiling())
    }

    /// Memory from the driver. What the pool keeps goes back first, if the driver has no more.
    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> {
        match self.backend.allocate(desc) {
            Err(Error::OutOfMemory { .. }) if self.pool.trim() => self.backend.allocate(desc),
            answer => answer,
        }
    }

    /// Memory that returns to the pool when nothing uses it any more.
    pub(crate) fn lend(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> {
        self.pool.take(desc, self.backend.info().max_allocation, |desc| self.allocate(desc))
    }

    /// The first cause, once the device is lost.
    pub(crate) fn check_alive(&self) -> Result<(), Error> {
        self.loss.get().map_or(Ok(()), |loss| Err(Error::Lost(Arc::clone(loss))))
    }

    pub(crate) fn check_desc(&self, desc: &BufferDesc) -> Result<(), Error> {
        let info = self.backend.info();
        let call = || format!("allocation on {}", self.name);
        if desc.size == 0 {
            return Err(Error::invalid(call(), "zero bytes").hinted("ask for at least one byte"));
        }
        if !info.memory_types.contains(&desc.memory) {
            let reason = format!("it has no {:?} memory, only {:?}", desc.memory, info.memory_types);
            return Err(Error::invalid(call(), reason).hinted("choose one of those"));
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
        // Bound to a name so that what the map held is dropped after the lock.
        let _tracked = lock(&self.tracked).remove(&submission.id);
    }

    pub(crate) fn watch_for_hang(self: &Arc<Self>, submission: &Arc<Submission>) {
        self.watchdog.watch(self, submission);
    }

    pub(crate) fn finished_last(&self, queue: usize, commands: &CommandBufferInner) {
        if let Some(name) = &commands.last {
            *lock(&self.finished[queue]) = Some(Arc::clone(name));
        }
    }

    /// The name of the last command that finished on a queue.
    pub(crate) fn last_finished(&self, queue: usize) -> Option<String> {
        lock(&self.finished[queue]).as_deref().map(str::to_owned)
    }

    /// What is in flight now; of several submissions the oldest that has started.
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
        Error::Timeout { device: self.name.clone(), waited, work: Box::new(self.in_flight()) }
    }

    /// Loses the device for good; only the first cause counts.
    pub(crate) fn lose(&self, reason: LossReason, work: InFlight) {
        let loss = Arc::new(Loss { device: self.name.clone(), reason, work });
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

impl Drop for Core {
    fn drop(&mut self) {
        self.watchdog.stop();
    }
}
