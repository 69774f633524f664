//! AMD GPU code objects: where they are found, what they are for, what is in them.
//!
//! - [`File`] finds code objects in files: a code object itself, offload bundles (also compressed), programs and
//!   libraries with bundles inside, archives of those.
//! - [`CodeObject`] reads one: its target, its kernels with descriptors and metadata, its symbols; it lays the object
//!   out in memory for a loader.
//! - [`Survey`] tells what there is in a file of any size, from its tables alone, and [`Fit`] whether it runs on a device.
//! - [`TargetId`] and [`Processor`] say what code is for and what runs where.
//!
//! ```no_run
//! let bytes = std::fs::read("libexample.so")?;
//! for found in &roci_codeobj::File::open(&bytes)?.found {
//!     let object = found.code_object()?;
//!     for kernel in object.kernels() {
//!         assert!(kernel.descriptor.wave_size() == 32, "{} on {}: {}", kernel.name, object.target(), found.place);
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Contract
//!
//! Every byte of input may be hostile. Nothing here panics, runs for long or takes memory out of proportion: lengths are
//! checked against the bytes at hand before anything is allocated, decompression stops at a limit
//! ([`MAX_DECOMPRESSED`]), and work is linear in the size of the input. A damaged part of a file is reported beside the
//! parts that are fine.

#![forbid(unsafe_code)]

mod bundle;
mod code_object;
mod compressed;
mod descriptor;
mod error;
mod file;
mod found;
mod image;
mod metadata;
mod names;
mod next_bundle;
mod offload_binary;
mod processor;
mod search;
mod source;
mod survey;
mod target;
mod value_kind;
mod zstd_start;

pub use bundle::{Bundle, BundleEntry};
pub use code_object::{CodeObject, Kernel, Relocation, Segment, Symbol, SymbolKind};
pub use compressed::{Compression, MAX_DECOMPRESSED, decompress};
pub use descriptor::{KernelDescriptor, UserSgpr};
pub use error::{Error, LoadError};
pub use file::{File, FileError, FileKind, Problem};
pub use found::{Content, Found, Place};
pub use metadata::{Argument, KernelMetadata, Metadata};
pub use processor::Processor;
pub use survey::{Fit, Piece, Survey};
pub use target::{Mismatch, Setting, TargetError, TargetId};
pub use value_kind::ValueKind;
