//! The environment of a case: devices of its backend, and common operations.

use std::sync::Arc;
use std::time::{Duration, Instant};

use roci_hal::{
    Buffer, BufferDesc, BufferRange, CommandBuffer, Deadline, Device, Error, Kernel, MemoryType, Queue, Recorder,
    Semaphore, Submit,
};

use crate::backend::{Backend, Tag};
use crate::case::{CaseResult, Failure};
use crate::check::words_of;
use crate::kernels;

/// The backend under test.
pub struct Context {
    backend: Arc<Backend>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("backend", &self.backend).finish()
    }
}

impl Context {
    pub(crate) fn new(backend: &Arc<Backend>) -> Self {
        Self { backend: Arc::clone(backend) }
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Whether the backend has a tag, for optional parts of a case.
    pub fn has(&self, tag: Tag) -> bool {
        self.backend.tags.contains(&tag)
    }

    /// Opens a fresh logical device whose command timeout is the backend's timeout.
    pub fn open(&self) -> Result<Device, Failure> {
        self.open_limited(self.backend.timeout)
    }

    /// Opens a fresh logical device with `limit` as its command timeout.
    pub fn open_limited(&self, limit: Duration) -> Result<Device, Failure> {
        opened((self.backend.open)(Some(limit)))
    }

    /// Opens a second logical device to use with [`Context::open`], on another driver if the
    /// backend has one.
    pub fn open_other(&self) -> Result<Device, Failure> {
        match &self.backend.second {
            Some(open) => opened(open(Some(self.backend.timeout))),
            None => self.open(),
        }
    }

    /// Timeout for one event.
    pub fn timeout(&self) -> Duration {
        self.backend.timeout
    }

    /// Loads the executable that contains a kernel of the suite.
    pub fn kernel(&self, device: &Device, name: &str) -> Result<Kernel, Failure> {
        let source = kernels::source(name, device.info())?;
        Ok(device.load(&source)?.kernel(name)?)
    }

    /// Waits for a value that is expected to be reached.
    pub fn wait(&self, semaphore: &Semaphore, value: u64) -> Result<(), Error> {
        semaphore.wait(value, self.backend.timeout)
    }

    /// Allocates a device buffer with this content.
    pub fn words(&self, device: &Device, words: &[u32]) -> Result<Buffer, Failure> {
        let buffer = device.allocate(BufferDesc::device(4 * words.len() as u64))?;
        self.write(device, &buffer, bytemuck::cast_slice(words))?;
        Ok(buffer)
    }

    /// Writes bytes and waits, with the backend's timeout even on a device with a short one: the
    /// short timeout is for the case's own commands, not for their setup on a busy machine.
    pub fn write(&self, device: &Device, target: impl Into<BufferRange>, bytes: &[u8]) -> CaseResult {
        let done = device.semaphore(0);
        let submit = Submit::new().signal(&done, 1).limit(self.backend.timeout);
        device.queue(0)?.write(target, bytes.to_vec(), submit)?;
        Ok(self.wait(&done, 1)?)
    }

    /// Reads bytes back and waits.
    pub fn read(&self, device: &Device, source: impl Into<BufferRange>) -> Result<Vec<u8>, Error> {
        device.queue(0)?.read(source, Submit::new())?.wait(self.backend.timeout)
    }

    /// Reads words back and waits.
    pub fn read_words(&self, device: &Device, source: impl Into<BufferRange>) -> Result<Vec<u32>, Error> {
        Ok(words_of(&self.read(device, source)?))
    }

    /// Records a command buffer with a closure.
    pub fn record(
        &self,
        device: &Device,
        record: impl FnOnce(&mut Recorder) -> Result<(), Error>,
    ) -> Result<CommandBuffer, Error> {
        let mut recorder = device.record();
        record(&mut recorder)?;
        recorder.finish()
    }

    /// Submits to queue 0 and waits for completion.
    pub fn run(&self, device: &Device, commands: &CommandBuffer, submit: Submit) -> Result<(), Error> {
        self.run_on(&device.queue(0)?, device, commands, submit)
    }

    /// Like [`Context::run`], on a given queue.
    pub fn run_on(
        &self,
        queue: &Queue,
        device: &Device,
        commands: &CommandBuffer,
        submit: Submit,
    ) -> Result<(), Error> {
        let done = device.semaphore(0);
        queue.submit(commands, submit.signal(&done, 1).limit(self.backend.timeout))?;
        self.wait(&done, 1)
    }

    /// The first host-visible memory type of a device.
    pub fn host_visible(&self, device: &Device) -> Result<MemoryType, Failure> {
        let types = &device.info().memory_types;
        types
            .iter()
            .copied()
            .find(|memory| memory.host_visible())
            .ok_or_else(|| Failure::Wrong(format!("no memory type of {types:?} is host-visible")))
    }

    /// Polls until `ask` returns true or the timeout expires.
    pub fn eventually(&self, what: &str, mut ask: impl FnMut() -> bool) -> CaseResult {
        let deadline = Deadline::after(self.backend.timeout);
        let started = Instant::now();
        while !ask() {
            if deadline.remaining().is_zero() {
                return Err(Failure::Wrong(format!("{what}: not within {:.1} s", started.elapsed().as_secs_f64())));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

/// Maps an unavailable device to a skip and any other error to a failure.
fn opened(device: Result<Device, Error>) -> Result<Device, Failure> {
    device.map_err(|error| match error {
        Error::Unavailable { .. } => Failure::Unavailable(error.to_string()),
        other => Failure::Hal(other),
    })
}
