//! What a case works with: devices of its backend, and the steps that most cases share.

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

/// The backend under test, as a case sees it.
pub struct Context {
    backend: Arc<Backend>,
}

impl Context {
    pub(crate) fn new(backend: &Arc<Backend>) -> Self {
        Self { backend: Arc::clone(backend) }
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Whether the backend has a tag, for cases that do more where they can.
    pub fn has(&self, tag: Tag) -> bool {
        self.backend.tags.contains(&tag)
    }

    /// A fresh logical device, on which one command may run as long as the backend's patience.
    pub fn open(&self) -> Result<Device, Failure> {
        self.open_limited(self.backend.patience)
    }

    /// A fresh logical device, on which one command may run no longer than `limit`.
    pub fn open_limited(&self, limit: Duration) -> Result<Device, Failure> {
        opened((self.backend.open)(Some(limit)))
    }

    /// A second logical device beside one of [`Context::open`], of another kind where the backend has one.
    pub fn open_other(&self) -> Result<Device, Failure> {
        match &self.backend.other {
            Some(open) => opened(open(Some(self.backend.patience))),
            None => self.open(),
        }
    }

    /// How long anything that should happen may take.
    pub fn patience(&self) -> Duration {
        self.backend.patience
    }

    /// Loads the executable that holds a kernel of the suite.
    pub fn kernel(&self, device: &Device, name: &str) -> Result<Kernel, Failure> {
        let source = kernels::source(name, device.info())?;
        Ok(device.load(&source)?.kernel(name)?)
    }

    /// Waits for a value that should come.
    pub fn wait(&self, semaphore: &Semaphore, value: u64) -> Result<(), Error> {
        semaphore.wait(value, self.backend.patience)
    }

    /// A device buffer with these words in it.
    pub fn words(&self, device: &Device, words: &[u32]) -> Result<Buffer, Failure> {
        let buffer = device.allocate(BufferDesc::device(4 * words.len() as u64))?;
        self.write(device, &buffer, bytemuck::cast_slice(words))?;
        Ok(buffer)
    }

    /// Writes bytes and waits. The backend's patience holds even on a device with a short limit, which is meant for the case's
    /// own commands, not for what prepares them on a busy machine.
    pub fn write(&self, device: &Device, target: impl Into<BufferRange>, bytes: &[u8]) -> CaseResult {
        let done = device.semaphore(0);
        let submit = Submit::new().signal(&done, 1).limit(self.backend.patience);
        device.queue(0)?.write(target, bytes.to_vec(), submit)?;
        Ok(self.wait(&done, 1)?)
    }

    /// Reads bytes.
    pub fn read(&self, device: &Device, source: impl Into<BufferRange>) -> Result<Vec<u8>, Error> {
        device.queue(0)?.read(source, Submit::new())?.wait(self.backend.patience)
    }

    /// Reads words.
    pub fn read_words(&self, device: &Device, source: impl Into<BufferRange>) -> Result<Vec<u32>, Error> {
        Ok(words_of(&self.read(device, source)?))
    }

    /// Records with a closure.
    pub fn record(
        &self,
        device: &Device,
        record: impl FnOnce(&mut Recorder) -> Result<(), Error>,
    ) -> Result<CommandBuffer, Error> {
        let mut recorder = device.record();
        record(&mut recorder)?;
        recorder.finish()
    }

    /// Submits and waits for the end.
    pub fn run(&self, device: &Device, commands: &CommandBuffer, submit: Submit) -> Result<(), Error> {
        self.run_on(&device.queue(0)?, device, commands, submit)
    }

    /// As [`Context::run`], on a queue of choice.
    pub fn run_on(
        &self,
        queue: &Queue,
        device: &Device,
        commands: &CommandBuffer,
        submit: Submit,
    ) -> Result<(), Error> {
        let done = device.semaphore(0);
        queue.submit(commands, submit.signal(&done, 1).limit(self.backend.patience))?;
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

    /// Asks until the answer is yes or patience ends.
    pub fn eventually(&self, what: &str, mut ask: impl FnMut() -> bool) -> CaseResult {
        let deadline = Deadline::after(self.backend.patience);
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

/// A device, or why it cannot be had.
fn opened(device: Result<Device, Error>) -> Result<Device, Failure> {
    device.map_err(|error| match error {
        Error::Unavailable { .. } => Failure::Unavailable(error.to_string()),
        other => Failure::Hal(other),
    })
}
