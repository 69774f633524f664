//! Queues: submission of work to a device.

use std::sync::Arc;
use std::time::Duration;

use crate::buffer::{Buffer, BufferRange};
use crate::command_buffer::CommandBuffer;
use crate::deadline::Deadline;
use crate::device::DeviceCore;
use crate::error::Error;
use crate::mapping;
use crate::memory::{BufferDesc, MemoryType};
use crate::profile::Profile;
use crate::recorder::Recorder;
use crate::semaphore::{Point, Semaphore};
use crate::submission::{HostCallback, Submission, SubmissionParams, SubmissionWork};
use roci_base::sync::{Mutex, lock};

/// A queue of a device. Only semaphores order submissions, not the order of calls.
#[derive(Clone)]
pub struct Queue {
    core: Arc<DeviceCore>,
    index: usize,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("device", &self.core.name()).field("index", &self.index).finish()
    }
}

/// Parameters of a submission: semaphores, slot bindings, label, timeout, profile.
#[derive(Clone, Debug, Default)]
pub struct Submit {
    waits: Vec<Point>,
    signals: Vec<Point>,
    bindings: Vec<BufferRange>,
    label: Option<String>,
    limit: Option<Duration>,
    profile: Option<Profile>,
}

impl Submit {
    /// A submission without semaphores.
    pub fn new() -> Self {
        Self::default()
    }

    /// Delays the start until the semaphore has reached the value.
    #[must_use]
    pub fn wait(mut self, semaphore: &Semaphore, value: u64) -> Self {
        self.waits.push(semaphore.at(value));
        self
    }

    /// Signals the semaphore with the value on completion.
    #[must_use]
    pub fn signal(mut self, semaphore: &Semaphore, value: u64) -> Self {
        self.signals.push(semaphore.at(value));
        self
    }

    /// Binds a range to the next slot of the command buffer.
    #[must_use]
    pub fn bind(mut self, range: impl Into<BufferRange>) -> Self {
        self.bindings.push(range.into());
        self
    }

    /// Sets the label, for error messages and profiles.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets how long one command may run before the device counts as lost. Default: the device's
    /// timeout.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Adds the timing of each command to the profile. Fails on devices without
    /// [profiling support](crate::Device::supports_profiling).
    #[must_use]
    pub fn profile(mut self, profile: &Profile) -> Self {
        self.profile = Some(profile.clone());
        self
    }
}

impl Queue {
    pub(crate) fn new(core: &Arc<DeviceCore>, index: usize) -> Self {
        Self { core: Arc::clone(core), index }
    }

    /// Index in the device's queues.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Submits recorded commands. They reach the driver once the waits are satisfied, possibly
    /// before this returns.
    pub fn submit(&self, commands: &CommandBuffer, mut submit: Submit) -> Result<(), Error> {
        if !Arc::ptr_eq(&commands.inner.core, &self.core) {
            return Err(Error::foreign("submit", "the commands were recorded on another device"));
        }
        commands.inner.check_slots(&submit.bindings)?;
        let slots = std::mem::take(&mut submit.bindings);
        self.launch(
            "submit",
            submit,
            SubmissionWork::Commands { commands: Arc::clone(&commands.inner), slots, then: None },
        )
    }

    /// Submits no commands: signals when all waits are satisfied.
    pub fn barrier(&self, submit: Submit) -> Result<(), Error> {
        self.launch("barrier", submit, SubmissionWork::Nothing)
    }

    /// Stream-ordered allocation: the memory exists once the submission has executed. It may be
    /// memory freed by an earlier [`Queue::dealloca`], and its content is undefined.
    pub fn alloca(&self, desc: BufferDesc, submit: Submit) -> Result<Buffer, Error> {
        self.core.check_buffer_desc(&desc)?;
        let buffer = Buffer::pending(&self.core, desc.clone());
        let (core, inner) = (Arc::clone(&self.core), Arc::clone(&buffer.inner));
        let work: HostCallback = Box::new(move || {
            inner.commit(core.allocate_pooled(&desc)?);
            Ok(())
        });
        self.launch("alloca", submit, SubmissionWork::Host(work))?;
        Ok(buffer)
    }

    /// Stream-ordered deallocation. Later uses of the buffer fail.
    pub fn dealloca(&self, buffer: &Buffer, submit: Submit) -> Result<(), Error> {
        self.check_own("dealloca", buffer)?;
        let inner = Arc::clone(&buffer.inner);
        self.launch("dealloca", submit, SubmissionWork::Host(Box::new(move || inner.release())))
    }

    /// Uploads bytes, through a staging buffer if the memory is not host-visible.
    pub fn write(&self, target: impl Into<BufferRange>, data: Vec<u8>, submit: Submit) -> Result<(), Error> {
        let target = target.into();
        self.check_own("write", target.buffer())?;
        if data.len() as u64 != target.length() {
            let reason = format!("{} bytes for a range of {} bytes", data.len(), target.length());
            return Err(Error::invalid("write", reason).with_hint("pass as many bytes as the range has"));
        }
        if data.is_empty() {
            return self.launch("write", submit, SubmissionWork::Nothing);
        }
        if target.buffer().memory_type().host_visible() {
            let work: HostCallback = Box::new(move || mapping::write(&target, &data));
            return self.launch("write", submit, SubmissionWork::Host(work));
        }
        let staging = self.staging(target.length())?.whole();
        mapping::write(&staging, &data)?;
        self.copy("write", &staging, &target, submit, None)
    }

    /// Downloads bytes, through a staging buffer if the memory is not host-visible.
    pub fn read(&self, source: impl Into<BufferRange>, submit: Submit) -> Result<Download, Error> {
        let source = source.into();
        self.check_own("read", source.buffer())?;
        let download = Download { done: Semaphore::new(&self.core, 0), data: Arc::default() };
        let submit = submit.signal(&download.done, 1);
        let data = Arc::clone(&download.data);
        let keep = move |bytes: Vec<u8>| *lock(&data) = bytes;
        if source.length() == 0 {
            self.launch("read", submit, SubmissionWork::Nothing)?;
        } else if source.buffer().memory_type().host_visible() {
            let work: HostCallback = Box::new(move || {
                keep(mapping::read(&source)?);
                Ok(())
            });
            self.launch("read", submit, SubmissionWork::Host(work))?;
        } else {
            let target = self.staging(source.length())?.whole();
            let then: HostCallback = Box::new({
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
        then: Option<HostCallback>,
    ) -> Result<(), Error> {
        let mut recorder = Recorder::new(&self.core);
        recorder.label(call).copy(source, target)?;
        let commands = recorder.finish()?.inner;
        self.launch(call, submit, SubmissionWork::Commands { commands, slots: Vec::new(), then })
    }

    /// A staging buffer from the pool.
    fn staging(&self, size: u64) -> Result<Buffer, Error> {
        let desc = BufferDesc::new(size, MemoryType::Host).label("staging");
        self.core.check_alive()?;
        self.core.check_buffer_desc(&desc)?;
        let backing = self.core.allocate_pooled(&desc)?;
        Ok(Buffer::ready(&self.core, desc, backing))
    }

    fn check_own(&self, call: &str, buffer: &Buffer) -> Result<(), Error> {
        if Arc::ptr_eq(&buffer.inner.core, &self.core) {
            return Ok(());
        }
        Err(Error::foreign(call, "the buffer belongs to another device"))
    }

    fn launch(&self, call: &str, submit: Submit, work: SubmissionWork) -> Result<(), Error> {
        self.core.check_alive()?;
        let Submit { waits, signals, bindings, label, limit, profile } = submit;
        if !bindings.is_empty() {
            let error = Error::invalid(call, "slots are bound, but there is no command buffer");
            return Err(error.with_hint("bind slots only with `Queue::submit`"));
        }
        if profile.is_some() && !self.core.backend().supports_profiling() {
            return Err(Error::Unavailable {
                what: format!("a profile of {}", self.core.name()),
                reason: "the driver cannot measure commands".into(),
                hint: "submit without a profile, or use another driver".into(),
            });
        }
        let limit = limit.unwrap_or_else(|| self.core.timeouts().command);
        Submission::launch(
            &self.core,
            SubmissionParams { queue: self.index, label, limit, waits, signals, profile },
            work,
        );
        Ok(())
    }
}

/// A download in flight.
pub struct Download {
    done: Semaphore,
    data: Arc<Mutex<Vec<u8>>>,
}

impl std::fmt::Debug for Download {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Download").field("done", &self.done).finish_non_exhaustive()
    }
}

impl Download {
    /// Waits for the bytes.
    pub fn wait(self, deadline: impl Into<Deadline>) -> Result<Vec<u8>, Error> {
        self.done.wait(1, deadline)?;
        Ok(std::mem::take(&mut *lock(&self.data)))
    }
}
