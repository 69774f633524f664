//! The HSA runtime on emulated AMD GPUs: what `libhsa-runtime64.so` does, without a driver and without a card.
//!
//! Clients see the C interface alone: [`api`] gives it as a table, the crate `hsa-runtime64` exports it as a shared library.
//! Queues, signals and packets are memory that clients read and write without a call, as on a real GPU.
//!
//! Start reading at `runtime` (what there is), then `queue` and `processor` (how packets become kernels), `signal` and `wake`
//! (how completion is told), `memory` (who may touch what), `loader` (code objects) and `c` (the functions themselves).

mod c;
mod config;
mod copies;
mod events;
mod gpu;
mod handlers;
mod loader;
mod mapping;
mod memory;
mod processor;
mod queue;
mod runtime;
mod signal;
mod topology;
mod virtual_memory;
mod wake;

pub use c::{api, table};
pub use config::{Config, ConfigError, memory_size};
pub use events::last_fault;
pub use runtime::provide;
