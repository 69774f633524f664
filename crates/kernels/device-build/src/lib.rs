//! Builds the device library: compiles every kernel for every target, and links the kernels of a
//! target into one code object.
//!
//! `cargo run --release -p roci-device-build` writes the archive that the crate
//! `roci-device-library` embeds; `--check` only compares. It needs clang 22 and lld 22, and `zstd`
//! for writing.
//!
//! The build is reproducible: the same sources, options and toolchain give the same bytes on every
//! machine. The archive records these inputs. Without a compiler, [`stale`] tells whether the
//! archive is up to date; with the same compiler, [`build`] reproduces its bytes.
//!
//! Read `recipe.rs` (the inputs of a target), then `build.rs`.

#![forbid(unsafe_code)]

mod build;
mod compare;
mod error;
mod programs;
mod recipe;

pub use build::{build, build_all, compress};
pub use compare::{difference, stale};
pub use error::Error;
pub use programs::Programs;
pub use recipe::{KernelSource, Recipe, TARGETS};

/// Path of the archive in the source tree.
pub const ARCHIVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../device-library/library.zst");
