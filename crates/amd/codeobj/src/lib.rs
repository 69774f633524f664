//! AMD GPU code objects: finding them in files, checking compatibility, reading their contents.
//!
//! - [`File`] finds device images in a file: a bare code object, offload bundles (compressed or
//!   not), programs and libraries that embed bundles, and archives of any of these.
//! - [`CodeObject`] parses one: target, kernels with descriptors and metadata, symbols. It also
//!   builds the memory image that a loader needs.
//! - [`FileSummary`] lists the images in a file of any size from its tables alone, and
//!   [`Compatibility`] says whether one runs on a device.
//! - [`TargetId`] and [`Processor`] identify targets and say which code runs on which device.
//!
//! ```no_run
//! let bytes = std::fs::read("libexample.so")?;
//! for image in &roci_codeobj::File::open(&bytes)?.images {
//!     let object = image.code_object()?;
//!     for kernel in object.kernels() {
//!         println!("{}: {} for {}", image.location, kernel.name, object.target());
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Contract
//!
//! All input is untrusted. Nothing here panics, hangs or allocates out of proportion to its input:
//! lengths are checked before anything is allocated, decompression stops at [`MAX_DECOMPRESSED`],
//! and the work is linear in the input size. A damaged part of a file is reported together with the
//! intact parts.

#![forbid(unsafe_code)]

mod bundle;
mod bundle_scanner;
mod code_object;
mod compressed;
mod descriptor;
mod device_image;
mod error;
mod file;
mod file_summary;
mod memory_image;
mod metadata;
mod offload_binary;
mod processor;
mod search;
mod source;
mod string_table;
mod target;
mod value_kind;
mod zstd_prefix;

pub use bundle::{Bundle, BundleEntry};
pub use code_object::{CodeObject, Kernel, Relocation, Segment, Symbol, SymbolKind};
pub use compressed::{Compression, MAX_DECOMPRESSED, decompress};
pub use descriptor::{KernelDescriptor, UserSgpr};
pub use device_image::{DeviceImage, ImageKind, ImageLocation};
pub use error::{Error, LoadError};
pub use file::{File, FileError, FileKind, Problem};
pub use file_summary::{Compatibility, FileSummary, ImageSummary};
pub use metadata::{Argument, KernelMetadata, Metadata};
pub use processor::Processor;
pub use target::{Mismatch, Setting, TargetError, TargetId};
pub use value_kind::ValueKind;
