//! Makes the device library: compiles every kernel for every target and links those of a target to one code object.
//!
//! `cargo run --release -p roci-device-build` writes the archive that the crate `roci-device-library` embeds; with
//! `--check` it only compares. It needs clang 22 and lld 22, and `zstd` to write.
//!
//! The same sources, options and programs give the same bytes, on every machine. What the bytes depend on stands in the
//! archive, so that anyone can tell without a compiler whether it is up to date ([`stale`]), and with the same compiler
//! whether it is what it says ([`build`]).
//!
//! Read `recipe.rs` (what is made for a target, and how), then `build.rs`.

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

/// Where the archive is kept, in the source tree.
pub const ARCHIVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../device-library/library.zst");
