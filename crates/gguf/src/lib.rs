//! GGUF files: metadata, tensors as they lie in the file, and the quantised blocks they are made of.
//!
//! [`Gguf::open`] maps a file (or all files of a split model) and checks its tables; after that every tensor is a slice of the
//! map, and nothing was copied. [`Gguf::from_bytes`] does the same for bytes in memory. [`Metadata`] answers typed questions:
//! a number is given out only where it fits what was asked for, and errors name the key.
//!
//! Every byte of a file may be hostile: counts are held against the bytes at hand before anything is allocated, offsets are
//! checked once, here, and what is wrong ends in one [`Error`] that names the key or tensor and the place in the file.
//!
//! [`Writer`] makes such files without holding more than one piece of a tensor in memory.
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
pub use file::{Gguf, Place};
pub use metadata::{FromValue, Metadata};
pub use split::SplitName;
pub use tensor::{Tensor, TensorInfo};
pub use types::Type;
pub use value::{Array, Value};
pub use writer::Writer;
