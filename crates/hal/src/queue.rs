//! Queues: where work enters a device.

use std::sync::Arc;
use std::time::Duration;

use crate::buffer::{Buffer, BufferRange};
use crate::command_buffer::CommandBuffer;
use crate::deadline::Deadline;
use crate::device::Core;
use crate::error::Error;
use crate::mapping;
use crate::memory::{BufferDesc, MemoryType};
use crate::profile::Profile;
use crate::recorder::Recorder;
use crate::semaphore::{Point, Semaphore};
use crate::submission::{Header, HostWork, Submission, Work};
use crate::sync::{Mutex, lock};

/// A queue of a device. Submissions are ordered by their semaphores alone, not by the order of the calls.
#[derive(Clone)]
pub struct Queue {
    core: Arc<Core>,
    index: usize,
}

/// What a submission waits for, signals and binds.
#[derive(Clone, Default)]
pub struct Submit {
    waits: Vec<Point>,
    signals: Vec<Point>,
    bindings: Vec<BufferRange>,
    label: Option<String>,
    limit: Option<Duration>,
    profile: Option<Profile>,
}

impl Submit {
    /// Waits for nothing, signals nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts only once the semaphore has reached the value.
    #[must_use]
    pub fn wait(mut self, semaphore: &Semaphore, value: u64) -> Self {
        self.waits.push(semaphore.at(value));
        self
    }

    /// Raises the semaphore to the value when it has ended.
    #[must_use]
    pub fn signal(mut self, semaphore: &Semaphore, value: u64) -> Self {
        self.signals.push(semaphore.at(value));
        self
    }

    /// Binds the next slot of a command buffer.
    #[must_use]
    pub fn bind(mut self, range: impl Into<BufferRange>) -> Self {
        self.bindings.push(range.into());
        self
    }

    /// Names it, so that a hang can name it.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// How long one of its commands may run before the device counts as lost; the device's own limit otherwise.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Adds to the profile when its commands ran. A device that cannot tell refuses the submission.
    #[must_use]
    pub fn profile(mut self, profile: &Profile) -> Self {
        self.profile = Some(profile.clone());
        self
    }
}

impl Queue {
    pub(crate) fn new(core: &Arc<Core>, index: usize) -> Self {
        Self { core: Arc::clone(core), index }
    }

    /// Its index in the device.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Executes recorded commands.
    pub fn submit(&self, commands: &CommandBuffer, mut submit: Submit) -> Result<(), Error> {
        if !Arc::ptr_eq(&commands.inner.core, &self.core) {
            return Err(Error::foreign("submit", "the commands were recorded on another device"));
        }
        commands.inner.check_slots(&submit.bindings)?;
        let slots = std::mem::take(&mut submit.bindings);
        self.launch("submit", submit, Work::Commands { commands: Arc::clone(&commands.inner), slots, then: None })
    }

    /// Executes nothing: joins what it waits for with what it signals.
    pub fn barrier(&self, submit: Submit) -> Result<(), Error> {
        self.launch("barrier", submit, Work::Nothing)
    }

    /// Allocates in stream order: the memory exists once the submission has executed, and may be memory that an earlier
    /// [`Queue::dealloca`] gave back. Its content is undefined.
    pub fn alloca(&self, desc: BufferDesc, submit: Submit) -> Result<Buffer, Error> {
        self.core.check_desc(&desc)?;
        let buffer = Buffer::pending(&self.core, desc.clone());
        let (core, inner) = (Arc::clone(&self.core), Arc::clone(&buffer.inner));
        let work: HostWork = Box::new(move || {
            inner.commit(core.lend(&desc)?);
            Ok(())
        });
        self.launch("alloca", submit, Work::Host(work))?;
        Ok(buffer)
    }

    /// Gives memory back in stream order; later uses of the buffer are errors.
    pub fn dealloca(&self, buffer: &Buffer, submit: Submit) -> Result<(), Error> {
        self.check_own("dealloca", buffer)?;
        let inner = Arc::clone(&buffer.inner);
        self.launch("dealloca", submit, Work::Host(Box::new(move || inner.release())))
    }

    /// Writes bytes from the host, through staging where the host cannot reach the memory.
    pub fn write(&self, target: impl Into<BufferRange>, data: Vec<u8>, submit: Submit) -> Result<(), Error> {
        let target = target.into();
        self.check_own("write", target.buffer())?;
        if data.len() as u64 != target.length() {
            let reason = format!("{} bytes into a range of {}", data.len(), target.length());
            return Err(Error::invalid("write", reason).hinted("give as many bytes as the range has"));
        }
        if data.is_empty() {
            return self.launch("write", submit, Work::Nothing);
        }
        if target.buffer().memory_type().host_visible() {
            let work: HostWork = Box::new(move || mapping::write(&target, &data));
            return self.launch("write", submit, Work::Host(work));
        }
        let staging = self.staging(target.length())?.whole();
        mapping::write(&staging, &data)?;
        self.copy("write", &staging, &target, submit, None)
    }

    /// Reads bytes to the host, through staging where the host cannot reach the memory.
    pub fn read(&self, source: impl Into<BufferRange>, submit: Submit) -> Result<Download, Error> {
        let source = source.into();
        self.check_own("read", source.buffer())?;
        let download = Download { done: Semaphore::new(&self.core, 0), data: Arc::default() };
        let submit = submit.signal(&download.done, 1);
        let data = Arc::clone(&download.data);
        let keep = move |bytes: Vec<u8>| *lock(&data) = bytes;
        if source.length() == 0 {
            self.launch("read", submit, Work::Nothing)?;
        } else if source.buffer().memory_type().host_visible() {
            let work: HostWork = Box::new(move || {
                keep(mapping::read(&source)?);
                Ok(())
            });
            self.launch("read", submit, Work::Host(work))?;
        } else {
            let target = self.staging(source.length())?.whole();
            let then: HostWork = Box::new({
                let target = target.clone();
                move || {
                    keep(mapping::read(&target)?);
                    Ok(())
                }
            });
            self.copy("read", &source, &target, submit, Some(then))?;
        }
        Ok(download)
    }

    fn copy(
        &self,
        call: &str,
        source: &BufferRange,
        target: &BufferRange,
        submit: Submit,
        then: Option<HostWork>,
    ) -> Result<(), Error> {
        let mut recorder = Recorder::new(&self.core);
        recorder.label(call).copy(source, target)?;
        let commands = recorder.finish()?.inner;
        self.launch(call, submit, Work::Commands { commands, slots: Vec::new(), then })
    }

    /// Host memory on loan from the pool.
    fn staging(&self, size: u64) -> Result<Buffer, Error> {
        let desc = BufferDesc { size, memory: MemoryType::Host, label: Some("staging".into()) };
        self.core.check_alive()?;
        self.core.check_desc(&desc)?;
        let backing = self.core.lend(&desc)?;
        Ok(Buffer::ready(&self.core, desc, backing))
    }

    fn check_own(&self, call: &str, buffer: &Buffer) -> Result<(), Error> {
        if Arc::ptr_eq(&buffer.inner.core, &self.core) {
            return Ok(());
        }
        Err(Error::foreign(call, "the buffer belongs to another device"))
    }

    fn launch(&self, call: &str, submit: Submit, work: Work) -> Result<(), Error> {
        self.core.check_alive()?;
        let Submit { waits, signals, bindings, label, limit, profile } = submit;
        if !bindings.is_empty() {
            let error = Error::invalid(call, "only submissions of command buffers bind slots");
            return Err(error.hinted("bind slots with `Queue::submit` alone"));
        }
        if profile.is_some() && !self.core.backend().profiles() {
            return Err(Error::Unavailable {
                what: format!("a profile of {}", self.core.name()),
                reason: "the driver cannot tell when commands ran".into(),
                hint: "submit without a profile, or use another driver".into(),
            });
        }
        let limit = limit.unwrap_or_else(|| self.core.limits().command);
        Submission::launch(&self.core, Header { queue: self.index, label, limit, waits, signals, profile }, work);
        Ok(())
    }
}

/// Bytes on their way to the host.
pub struct Download {
    done: Semaphore,
    data: Arc<Mutex<Vec<u8>>>,
}

impl Download {
    /// Waits for them.
    pub fn wait(self, deadline: impl Into<Deadline>) -> Result<Vec<u8>, Error> {
        self.done.wait(1, deadline)?;
        Ok(std::mem::take(&mut *lock(&self.data)))
    }
}
