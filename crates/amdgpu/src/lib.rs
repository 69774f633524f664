//! The driver of AMD GPUs: HSA directly, no HIP, native kernels for the chip.
//!
//! The hot path makes no library call: packets, arguments and doorbells are written to memory. Start reading at `driver`
//! (what is found and opened), then `device`, `program` (commands made into packets once), `queue` (its thread, which tells
//! of completions), `write` (packets put into it) and `memory`. `settings` says when HSA is not started at all, `copies` who
//! copies, `times` when things ran, `faults` what went wrong.

mod arguments;
mod copies;
mod device;
mod discover;
mod driver;
mod executable;
mod faults;
mod memory;
mod program;
mod queue;
mod settings;
mod times;
mod write;

pub use driver::{AmdgpuDriver, CodeLibrary, OpenRuntime, Origin};
pub use settings::Settings;
