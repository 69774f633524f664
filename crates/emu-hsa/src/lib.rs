//! The HSA runtime on emulated AMD GPUs: what `libhsa-runtime64.so` does, without a driver and without a card.
//!
//! Clients see the C interface alone: [`api`] gives it as a table, the crate `hsa-runtime64` exports it as a shared library.
//! Queues, signals and packets are memory that clients read and write without a call, as on a real GPU.
//!
//! Start reading at `runtime` (what there is), then `queue`, `rest` and `processor` (how packets become kernels), `signal` and `wake`
//! (how completion is told), `memory` (who may touch what), `loader` (code objects) and `c` (the functions themselves).

mod c;
mod clock;
mod config;
mod copies;
mod events;
mod gpu;
mod handlers;
mod ipc;
mod loader;
mod mapping;
mod memory;
mod pm4;
mod pool;
mod processor;
mod queue;
mod rest;
mod runtime;
mod signal;
mod topology;
mod trap;
mod virtual_memory;
mod wake;

pub use c::{FURTHER, Further, api, table};
pub use config::{Config, ConfigError, memory_size};
pub use events::last_fault;
pub use runtime::provide;
