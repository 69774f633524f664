//! The driver interface: memory, executables, prepared commands, and queues that execute batches.
//!
//! The HAL's public types (`Device`, `Queue`, `Semaphore`, …) validate every call, delay
//! submissions until their semaphores are signaled, resolve bindings, keep buffers alive and detect
//! hangs. A driver receives only valid batches that may start immediately. Its duties:
//!
//! - execute a [`Batch`] and finish its [`Completion`] exactly once, from any thread;
//! - order commands within a batch at each [`Command::Barrier`](crate::command::Command::Barrier).
//!   Commands between two barriers may run in any order or concurrently;
//! - batches of one queue may run in any order or concurrently: the HAL submits a batch only after
//!   those it depends on.
//!
//! Each driver implements [`Driver`] in its `driver.rs` and [`DeviceBackend`] in its `device.rs`:
//! `VulkanDevice`, `OpenClDevice`, `AmdgpuDevice`, `CpuDevice`, and [`null`](crate::null). From
//! there, [`DeviceBackend::prepare`] leads to the driver's `Commands` (`commands.rs`), and
//! [`DeviceBackend::submit`] to its queue.

#![expect(unsafe_code, reason = "declares an unsafe trait whose implementers guarantee valid memory")]

use std::any::Any;
use std::fs::File;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::command::Recording;
use crate::error::{DeviceLoss, Error};
use crate::executable::ExecutableSource;
use crate::info::{DeviceInfo, PhysicalInfo};
use crate::memory::BufferDesc;
use crate::uri::DeviceUri;

pub use crate::submission::{BatchFault, Completion};

/// A URI parameter of a driver.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Key in `?key=value`.
    pub key: &'static str,
    /// Help text, one line.
    pub help: &'static str,
}

/// A driver: enumerates and opens devices.
pub trait Driver: Send + Sync {
    /// URI scheme.
    fn scheme(&self) -> &'static str;

    /// Help text, one line.
    fn summary(&self) -> &'static str;

    /// Supported URI parameters.
    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }

    /// Whether devices are created on demand: URIs then name chips instead of existing devices.
    fn creates_on_demand(&self) -> bool {
        false
    }

    /// Existing devices (or supported chips), in order of their ordinals.
    ///
    /// Returns an empty list if there is no device, and an error if enumeration itself is
    /// impossible.
    fn enumerate(&self) -> Result<Vec<PhysicalInfo>, Error>;

    /// Enumerates for a URI that names this driver. May start libraries that plain enumeration must
    /// avoid because of the risk.
    fn enumerate_for(&self, _uri: &DeviceUri) -> Result<Vec<PhysicalInfo>, Error> {
        self.enumerate()
    }

    /// Opens a logical device.
    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn DeviceBackend>, Error>;
}

/// The physical devices to open as one logical device.
#[derive(Debug)]
pub struct OpenRequest<'a> {
    /// The canonical URI. The registry has validated the parameters' keys, but not their values.
    pub uri: &'a DeviceUri,
    /// Ordinals and descriptions of the physical devices: at least one, all compatible with each
    /// other.
    pub physical: &'a [(u32, PhysicalInfo)],
}

/// An open logical device.
pub trait DeviceBackend: Send + Sync {
    /// Device description. It never changes.
    fn info(&self) -> &DeviceInfo;

    /// Allocates memory that all queues of the device can access.
    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error>;

    /// Maps a file as device memory without copying. Returns the memory and its size in bytes, or
    /// `None` if unsupported.
    fn map_file(&self, _file: &File) -> Option<(Arc<dyn BufferBackend>, u64)> {
        None
    }

    /// Loads code in one of the formats in [`DeviceInfo::formats`].
    fn load(&self, source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, Error>;

    /// Translates validated commands into the driver's form for replay.
    fn prepare(&self, recording: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, Error>;

    /// Executes a batch that may start immediately. Must not block on its execution. Failures are
    /// reported through the batch's completion.
    fn submit(&self, queue: usize, batch: Batch);

    /// Whether the driver can measure commands. If so, it reports timing for batches with
    /// [`Completion::wants_timing`].
    fn supports_profiling(&self) -> bool {
        false
    }

    /// Called when the device is declared lost, after all batches in flight have failed. Stop what
    /// can be stopped.
    fn abandon(&self, loss: &DeviceLoss);
}

/// Device memory.
///
/// # Safety
/// The memory behind `host_pointer` must be initialized and valid for reads and writes of the whole
/// buffer for as long as the value lives.
pub unsafe trait BufferBackend: Any + Send + Sync {
    /// Host address; `Some` for host-visible memory.
    fn host_pointer(&self) -> Option<NonNull<u8>>;

    /// Makes device writes visible to the host, where memory is not coherent.
    fn invalidate(&self, _offset: u64, _length: u64) -> Result<(), Error> {
        Ok(())
    }

    /// Makes host writes visible to the device, where memory is not coherent.
    fn flush(&self, _offset: u64, _length: u64) -> Result<(), Error> {
        Ok(())
    }

    /// Reads pages of demand-paged memory, such as a mapped file, ahead of use.
    fn prefetch(&self, _offset: u64, _length: u64) {}

    /// The driver's buffer inside a wrapper of the HAL (pooled memory). Drivers do not override
    /// this.
    fn block(&self) -> Option<&Arc<dyn BufferBackend>> {
        None
    }
}

impl dyn BufferBackend {
    /// Downcasts to the driver's type. Returns `None` for another driver's buffer.
    pub fn downcast<T: BufferBackend>(&self) -> Option<&T> {
        let own: &dyn Any = match self.block() {
            Some(block) => block.as_ref(),
            None => self,
        };
        own.downcast_ref()
    }
}

/// Code loaded on a device.
pub trait ExecutableBackend: Any + Send + Sync {}

/// Commands translated by [`DeviceBackend::prepare`].
pub trait CommandsBackend: Any + Send + Sync {}

/// A range of a driver's buffer, validated against its size.
#[derive(Clone)]
pub struct BoundRange {
    /// The driver's buffer.
    pub buffer: Arc<dyn BufferBackend>,
    /// Offset of the first byte.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
}

impl std::fmt::Debug for BoundRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BoundRange").field("offset", &self.offset).field("length", &self.length).finish_non_exhaustive()
    }
}

/// Prepared commands that may start immediately.
pub struct Batch {
    /// The commands to execute.
    pub commands: Arc<dyn CommandsBackend>,
    /// Ranges bound to the recording's slots, in order, each long enough for every recorded use.
    pub slots: Vec<BoundRange>,
    /// Must be finished exactly once.
    pub completion: Completion,
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch")
            .field("slots", &self.slots)
            .field("completion", &self.completion)
            .finish_non_exhaustive()
    }
}

impl Batch {
    /// Splits the batch and downcasts its commands. A batch with another driver's commands, which
    /// the HAL never submits, is finished with a fault.
    pub fn into_parts<C: CommandsBackend>(self) -> Option<(Arc<C>, Vec<BoundRange>, Completion)> {
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
