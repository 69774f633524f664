//! The hardware abstraction layer: devices, memory, queues, executables and semaphores, the same on every driver.
//!
//! # What it promises
//! - **Nothing waits for ever.** Every wait takes a [`Deadline`]; a command that runs past the device's limit loses the
//!   device. Both errors name the device, the queue, the kernel in flight and the last one that finished. Compiling a kernel
//!   has a limit of its own ([`deadline::Limits`]), and is not counted as running it.
//! - **A lost device stays lost.** Every later call fails at once with the first cause.
//! - **Calls are checked once, above the drivers.** A range outside its buffer, a missing binding, a constants block of the
//!   wrong size, a buffer of another device: an [`Error::Invalid`] with the figures, and nothing was done.
//! - **Memory outlives its use.** A buffer, executable or command buffer may be dropped while it is in flight.
//! - Everything is `Send + Sync`, cheap to clone, and needs no async runtime.
//!
//! # What the caller ensures
//! - Submissions are ordered by semaphores alone, commands in a command buffer by barriers alone. Two that touch the same
//!   memory, one of them writing, need one or the other between them, or the bytes are unspecified.
//! - Kernels stay inside their bindings. Drivers report what leaves them where the hardware can tell, as a failed
//!   submission or a lost device.
//!
//! # Reading order
//! [`uri`] (how a device is named), [`registry`] (how it is found and opened), [`device`], [`buffer`], [`executable`],
//! [`recorder`] and [`queue`] (how it is used), [`semaphore`] (how work is ordered), [`profile`] (when it ran),
//! [`driver`] (what a driver implements). [`null`] is the smallest driver.
//!
//! # Example
//! ```
//! use roci_hal::{BufferDesc, Deadline, Registry, Submit, null::NullDriver};
//!
//! # fn main() -> Result<(), roci_hal::Error> {
//! let registry = Registry::new().with(NullDriver::new(1));
//! let device = registry.open(&"null".parse()?, None)?;
//! let buffer = device.allocate(BufferDesc::device(1024).label("weights"))?;
//!
//! let mut recorder = device.record();
//! recorder.fill(&buffer, 0x2a2a2a2a)?;
//! let commands = recorder.finish()?;
//!
//! let done = device.semaphore(0);
//! device.queue(0)?.submit(&commands, Submit::new().signal(&done, 1).label("first fill"))?;
//! done.wait(1, Deadline::default())?;
//! assert_eq!(device.read(&buffer)?, [0x2a; 1024]);
//! # Ok(())
//! # }
//! ```

#![deny(unsafe_code)]

pub mod buffer;
pub mod cache;
pub mod command;
pub mod command_buffer;
mod compile;
pub mod deadline;
pub mod device;
pub mod driver;
pub mod env;
pub mod error;
pub mod executable;
pub mod exit;
pub mod expected;
pub mod host_memory;
pub mod info;
pub mod mapping;
pub mod memory;
pub mod native;
pub mod null;
pub mod panics;
mod pool;
pub mod profile;
mod promises;
pub mod queue;
pub mod recorder;
pub mod registry;
pub mod semaphore;
mod submission;
pub mod sync;
pub mod sysfs;
mod timeline;
pub mod uri;
mod watchdog;

pub use buffer::{Buffer, BufferRange};
pub use command_buffer::CommandBuffer;
pub use deadline::Deadline;
pub use device::Device;
pub use error::{Error, Hint};
pub use executable::{Access, Code, CodeFormat, EntryPoint, Executable, ExecutableSource, Kernel};
pub use expected::Expected;
pub use info::{Capabilities, DeviceInfo, DeviceKind, PhysicalInfo, QueueInfo};
pub use memory::{BufferDesc, MemoryType};
pub use profile::Profile;
pub use queue::{Download, Queue, Submit};
pub use recorder::{Binding, Recorder};
pub use registry::Registry;
pub use semaphore::Semaphore;
pub use uri::DeviceUri;
