//! The driver of AMD GPUs: HSA directly, no HIP, native kernels for the chip.
//!
//! The hot path makes no library call: packets, arguments and doorbells are written to memory. Start reading at `driver`
//! (what is found and opened), then `device`, `program` (commands made into packets once), `queue` (packets written and
//! completions told) and `memory`.

mod arguments;
mod device;
mod discover;
mod driver;
mod executable;
mod memory;
mod program;
mod queue;

pub use driver::{AmdgpuDriver, CodeLibrary, OpenRuntime, Origin};
