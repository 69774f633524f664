//! GGUF files: metadata, zero-copy tensors, and quantized block formats.
//!
//! [`Gguf::open`] maps a file (or all parts of a split model) and validates its tables. After that
//! every tensor is a slice of the mapping; nothing is copied. [`Gguf::from_bytes`] does the same
//! for bytes in memory. [`Metadata`] has typed accessors: a number is returned only if it fits the
//! requested type, and errors name the key.
//!
//! Files are untrusted input. Counts are checked against the remaining bytes before anything is
//! allocated, and offsets are validated once, when the file is opened. Every failure is an
//! [`Error`] with the key or tensor and the offset in the file.
//!
//! [`Writer`] writes such files without holding more than one chunk of a tensor in memory.
//!
//! ```
//! use roci_gguf::{Gguf, Metadata, TensorInfo, Type, Writer};
//!
//! let mut metadata = Metadata::new();
//! metadata.insert("general.architecture", "llama");
//! metadata.insert("llama.block_count", 2u32);
//! let tensors = [TensorInfo::new("norm", &[2], Type::F32)?];
//! let mut writer = Writer::start(Vec::new(), &metadata, &tensors)?;
//! writer.write("norm", &[0; 8])?;
//! let file = Gguf::from_bytes(writer.finish()?)?;
//!
//! assert_eq!(file.metadata().expect_u32("llama.block_count")?, 2);
//! assert_eq!(file.expect_tensor("norm")?.bytes(), [0; 8]);
//! assert!(file.metadata().expect_u32("general.architecture").is_err());
//! # Ok::<(), roci_gguf::Error>(())
//! ```

#![deny(unsafe_code)]

pub mod codes;
mod cursor;
mod dequantize;
mod error;
mod file;
mod map;
mod metadata;
mod parse;
mod quantize;
mod split;
mod tensor;
mod types;
mod value;
mod writer;

pub use error::Error;
pub use file::{DataLocation, Gguf};
pub use metadata::{FromValue, Metadata};
pub use split::SplitName;
pub use tensor::{Tensor, TensorInfo};
pub use types::Type;
pub use value::{Array, Value};
pub use writer::Writer;
