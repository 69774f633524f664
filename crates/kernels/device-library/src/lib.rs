//! All kernels of the project as AMD code objects, prebuilt, compressed and embedded. Running them
//! needs neither a compiler nor ROCm.
//!
//! [`DeviceLibrary::embedded`] opens the library of this build, and [`DeviceLibrary::find`] returns
//! the code object for a device. Each code object contains every kernel of the table under its name
//! in the table.
//!
//! ```
//! let library = roci_device_library::DeviceLibrary::embedded()?;
//! let found = library.find(&"gfx1013:xnack-".parse()?)?;
//! let object = roci_codeobj::CodeObject::parse(found.bytes)?;
//! assert!(object.kernel("softmax").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate `roci-device-build` builds the archive and checks that it is up to date. This crate
//! does not know the kernels. `library.rs` selects a code object, `archive.rs` defines the format.

#![forbid(unsafe_code)]

mod archive;
mod error;
mod fingerprint;
mod library;

pub use archive::{Archive, Object, Toolchain};
pub use error::Error;
pub use fingerprint::Fingerprint;
pub use library::{DeviceLibrary, LibraryCode, parse_targets};
