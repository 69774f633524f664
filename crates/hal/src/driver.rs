//! What a driver implements: memory, executables, prepared commands and queues that execute ready batches.
//!
//! The HAL's own types (`Device`, `Queue`, `Semaphore`, …) stand above these traits. They validate every call, hold
//! submissions back until their semaphores allow them, resolve bindings, keep buffers alive and watch for hangs, so a
//! driver sees only well-formed work that may start at once. What is left to a driver:
//!
//! - execute a [`Batch`] and finish its [`Completion`] exactly once, from any thread;
//! - order commands inside a batch by [`Command::Barrier`](crate::command::Command::Barrier) alone: between two barriers any order is right;
//! - run batches of one queue in any order or at once: what must be ordered was held back until it may start.

#![expect(unsafe_code, reason = "declares the trait whose implementers promise valid memory")]

use std::any::Any;
use std::fs::File;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::command::Recording;
use crate::error::{Error, Loss};
use crate::executable::ExecutableSource;
use crate::info::{DeviceInfo, PhysicalInfo};
use crate::memory::BufferDesc;
use crate::uri::DeviceUri;

pub use crate::submission::{BatchFault, Completion};

/// A URI parameter that a driver takes.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The key.
    pub key: &'static str,
    /// One line for the help.
    pub help: &'static str,
}

/// A way to reach devices.
pub trait Driver: Send + Sync {
    /// Its name in URIs.
    fn scheme(&self) -> &'static str;

    /// One line for the help.
    fn summary(&self) -> &'static str;

    /// The `?key=value` parameters it takes.
    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }

    /// Whether URIs name chips that are then made, instead of devices that are found.
    fn made_to_order(&self) -> bool {
        false
    }

    /// The devices that exist (or the chips that can be made), in the order of their ordinals.
    ///
    /// No device is `Ok` and empty; `Err` says why the driver cannot even look.
    fn enumerate(&self) -> Result<Vec<PhysicalInfo>, Error>;

    /// The same for somebody who named this driver by a URI, and so may be given what looking around must not start.
    fn enumerate_for(&self, _uri: &DeviceUri) -> Result<Vec<PhysicalInfo>, Error> {
        self.enumerate()
    }

    /// Opens one logical device.
    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn DeviceBackend>, Error>;
}

/// Which devices to open as one.
#[derive(Debug)]
pub struct OpenRequest<'a> {
    /// The URI in canonical form; its parameters' keys are known to the driver, its values are not checked yet.
    pub uri: &'a DeviceUri,
    /// Ordinals and descriptions of the physical devices, at least one, mutually compatible.
    pub physical: &'a [(u32, PhysicalInfo)],
}

/// An open logical device.
pub trait DeviceBackend: Send + Sync {
    /// What it is. The answer never changes.
    fn info(&self) -> &DeviceInfo;

    /// Allocates memory that every queue of the device can reach.
    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error>;

    /// The bytes of a file as memory of the device, and how many they are, without a copy of them; `None` where that cannot be.
    fn map_file(&self, _file: &File) -> Option<(Arc<dyn BufferBackend>, u64)> {
        None
    }

    /// Loads code in one of the formats that [`DeviceInfo::formats`] lists.
    fn load(&self, source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, Error>;

    /// Turns validated commands into whatever replays fastest.
    fn prepare(&self, recording: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, Error>;

    /// Executes a batch that may start at once. Must not block on the batch's execution; what goes wrong is said through
    /// the batch's completion.
    fn submit(&self, queue: usize, batch: Batch);

    /// Whether it can tell when commands ran: if so, it does for batches whose [`Completion::wants_times`] says yes.
    fn profiles(&self) -> bool {
        false
    }

    /// The device was declared lost: stop what can be stopped. Batches in flight have already been failed.
    fn abandon(&self, loss: &Loss);
}

/// Memory of a device.
///
/// # Safety
/// `host_pointer` must stay valid for reads and writes of the whole buffer, initialised, for as long as the value lives.
pub unsafe trait BufferBackend: Any + Send + Sync {
    /// Where the host finds it; `Some` for host-visible memory.
    fn host_pointer(&self) -> Option<NonNull<u8>>;

    /// Makes what the device wrote visible to the host, where memory is not coherent.
    fn invalidate(&self, _offset: u64, _length: u64) -> Result<(), Error> {
        Ok(())
    }

    /// Makes what the host wrote visible to the device, where memory is not coherent.
    fn flush(&self, _offset: u64, _length: u64) -> Result<(), Error> {
        Ok(())
    }

    /// Brings memory here that is only found when it is touched, as that of a file.
    fn fetch(&self, _offset: u64, _length: u64) {}

    /// The driver's own buffer inside a wrapper of the HAL's (pooled memory); drivers leave this alone.
    fn block(&self) -> Option<&Arc<dyn BufferBackend>> {
        None
    }
}

impl dyn BufferBackend {
    /// The driver's own type behind the trait; `None` for another driver's buffer.
    pub fn downcast<T: BufferBackend>(&self) -> Option<&T> {
        let own: &dyn Any = match self.block() {
            Some(block) => block.as_ref(),
            None => self,
        };
        own.downcast_ref()
    }
}

/// Loaded code.
pub trait ExecutableBackend: Any + Send + Sync {}

/// Commands in the driver's own form.
pub trait CommandsBackend: Any + Send + Sync {}

/// A range of a driver's buffer, already checked against its size.
#[derive(Clone)]
pub struct BoundRange {
    /// The buffer.
    pub buffer: Arc<dyn BufferBackend>,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

/// Prepared commands that may start at once.
pub struct Batch {
    /// What to execute.
    pub commands: Arc<dyn CommandsBackend>,
    /// What the recording's slots are bound to, in order; long enough for every use that was recorded.
    pub slots: Vec<BoundRange>,
    /// To be finished exactly once.
    pub completion: Completion,
}

impl Batch {
    /// Its parts, with the commands in the driver's own type. A batch of another driver's commands, which the HAL hands
    /// to nobody, is finished with a fault.
    pub fn open<C: CommandsBackend>(self) -> Option<(Arc<C>, Vec<BoundRange>, Completion)> {
        let Self { commands, slots, completion } = self;
        let commands: Arc<dyn Any + Send + Sync> = commands;
        match commands.downcast() {
            Ok(commands) => Some((commands, slots, completion)),
            Err(_) => {
                completion.finish(Err(BatchFault::Device("commands of another driver".into())));
                None
            }
        }
    }
}
