//! All kernels of the project as AMD code objects: prebuilt, compressed, embedded, so that neither a compiler nor ROCm
//! is needed where they run.
//!
//! [`DeviceLibrary::embedded`] opens what this build carries, and [`DeviceLibrary::find`] gives the code object for a
//! device. Each code object holds every kernel of the table, under its name there.
//!
//! ```
//! let library = roci_device_library::DeviceLibrary::embedded()?;
//! let found = library.find(&"gfx1013:xnack-".parse()?)?;
//! let object = roci_codeobj::CodeObject::parse(found.bytes)?;
//! assert!(object.kernel("softmax").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The archive is made by the crate `roci-device-build`, which also checks that it is what the sources give; nothing here
//! knows the kernels. `library.rs` chooses, `archive.rs` is the format.

#![forbid(unsafe_code)]

mod archive;
mod error;
mod fingerprint;
mod library;

pub use archive::{Archive, Object, Toolchain};
pub use error::Error;
pub use fingerprint::Fingerprint;
pub use library::{DeviceLibrary, Found, parse_targets};
