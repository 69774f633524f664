//! The driver of AMD GPUs: calls HSA directly, without HIP, and runs native kernels for the chip.
//!
//! The hot path makes no library call: packets, arguments and doorbells are written to memory.
//!
//! Reading order: `driver` (enumeration), `device` (the HAL's traits), `commands` (a recording as
//! packets), `ring_writer` (places packets in a queue's memory), `in_flight` (which batches wait,
//! run and have completed), `queue` (the thread that reports completions), `buffer`. `settings`
//! decides whether HSA may be started, `copy_policy` whether kernels or copy engines copy, `timing`
//! measures commands, `faults` collects what the runtime reports of failures.
//!
//! A recording becomes packets in `AmdgpuDevice::prepare` (`Commands::new`). `Queue::submit` writes
//! them at once if there is room (`RingWriter::write`), and rings the doorbell.

mod agent;
mod buffer;
mod commands;
mod copy_policy;
mod device;
mod device_state;
mod discover;
mod driver;
mod engine_copy;
mod error;
mod executable;
mod faults;
mod in_flight;
mod kernarg_ring;
mod queue;
mod ring_writer;
mod settings;
mod timing;

pub use device::CodeLibrary;
pub use driver::{AmdgpuDriver, OpenRuntime, Origin};
pub use settings::Settings;
