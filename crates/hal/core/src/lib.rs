//! The hardware abstraction layer: devices, memory, queues, executables and semaphores, the same on
//! every driver.
//!
//! # Guarantees
//! - **Every wait is bounded.** Every wait takes a [`Deadline`]. A command that exceeds its timeout
//!   loses the device. Both errors name the device, the queue, the kernel in flight and the last
//!   one that completed. Compilation has its own timeout ([`deadline::Timeouts`]) and does not
//!   count as run time.
//! - **A lost device stays lost.** Every later call fails immediately with the first cause.
//! - **Calls are validated once, above the drivers.** A range outside its buffer, a missing
//!   binding, a constants block of the wrong size or a buffer of another device is an
//!   [`Error::Invalid`] with the values, and the call has no effect.
//! - **Memory outlives its use.** Buffers, executables and command buffers may be dropped while
//!   they are in flight.
//! - Everything is `Send + Sync`, cheap to clone, and needs no async runtime.
//!
//! # Duties of the caller
//! - Submissions are ordered only by semaphores, and commands in a command buffer only by barriers.
//!   Two accesses to the same memory, at least one of them a write, need one of these between them,
//!   or the content is unspecified.
//! - Kernels access only their bindings. Where the hardware detects violations, drivers report them
//!   as a failed submission or a lost device.
//!
//! # Reading order
//! [`uri`] (naming devices), [`registry`] (finding and opening them), [`device`], [`buffer`],
//! [`executable`], [`recorder`] and [`queue`] (using them), [`semaphore`] (ordering work),
//! [`profile`] (measuring it), [`driver`] (the driver interface). [`null`] is the smallest driver.
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
pub mod command;
pub mod command_buffer;
mod compile;
pub mod deadline;
pub mod device;
pub mod driver;
pub mod error;
pub mod executable;
pub mod host_memory;
pub mod info;
pub mod mapping;
pub mod memory;
pub mod native;
pub mod null;
mod pool;
pub mod profile;
pub mod queue;
pub mod recorder;
pub mod registry;
pub mod semaphore;
pub mod spin;
mod static_assertions;
mod submission;
mod sync;
mod timeline;
pub mod uri;
mod watchdog;

pub use buffer::{Buffer, BufferRange};
pub use command_buffer::CommandBuffer;
pub use deadline::Deadline;
pub use device::Device;
pub use error::Error;
pub use executable::{Access, Code, CodeFormat, EntryPoint, Executable, ExecutableSource, Kernel};
pub use info::{Capabilities, DeviceInfo, DeviceKind, PhysicalInfo, QueueInfo};
pub use memory::{BufferDesc, MemoryType};
pub use profile::Profile;
pub use queue::{Download, Queue, Submit};
pub use recorder::{Binding, Recorder};
pub use registry::Registry;
pub use semaphore::Semaphore;
pub use spin::SpinWindow;
pub use uri::DeviceUri;
