//! Vision towers of language models.
//!
//! A GGUF file of the architecture `clip` (mmproj) has the tower that turns an image into rows of
//! embeddings, which a language model takes in place of tokens. [`Tower::load`] reads such a file,
//! and [`Tower::encode`] computes the rows of a PNG or JPEG image.
//!
//! Differences between towers are data: `projector` has one row per projector type, `description`
//! adds the sizes in a file. No code that computes a tower depends on its name:
//!
//! 1. `preprocess` resizes and normalizes the image; for some towers it cuts it into `tiles`.
//! 2. `layout` cuts it into patches, in the order in which the tower merges them, so that merging,
//!    pooling and attention windows are views of consecutive patches. It also computes what depends
//!    on the position of a patch: embeddings, rotations, masks.
//! 3. `build` makes the graph of the tower. Its constants are the tensors of the file
//!    (`weights`), its inputs the patches and the tables of `layout`. Any number of patches fits.
//! 4. `tower` runs it on a device. `surroundings` has the texts around and between the rows.

#![deny(unsafe_code)]

mod build;
mod description;
mod error;
mod layout;
mod preprocess;
mod projector;
mod surroundings;
pub mod synthetic;
mod tiles;
mod tower;
mod weights;

pub use description::Description;
pub use error::Error;
pub use projector::{Positions, projector_types};
pub use tower::{EncodedImage, Tower};
