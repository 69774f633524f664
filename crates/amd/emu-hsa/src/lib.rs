//! The HSA runtime on emulated AMD GPUs: `libhsa-runtime64.so` without a kernel driver and without
//! a card.
//!
//! Clients use the C interface only: [`api`] returns it as a table, the crate `hsa-runtime64`
//! exports it as a shared library. Clients access queues, signals and packets in memory without a
//! call, as on a real GPU.
//!
//! Imports go in one direction: `c` (C functions; only they look up the runtime of the process)
//! uses `runtime` (all state), which uses `queues`, `processor`, `queue` (packets), `copy_engine`,
//! `loader` (code objects), `virtual_memory`, `signal_pool` and `handlers`, which use `memory`
//! (allocations and access), `signal` and `wake` (completion), which use `gpu`, `pool`, `mapping`.

mod agent;
mod c;
mod chips;
mod clock;
mod config;
mod copy_engine;
mod events;
mod gpu;
mod handle;
mod handlers;
mod idle;
mod ipc;
mod loader;
mod mapping;
mod memory;
mod packet_error;
mod parker;
mod pm4;
mod pool;
mod processor;
mod queue;
mod queues;
mod runtime;
mod signal;
mod signal_groups;
mod signal_pool;
mod topology;
mod virtual_memory;
mod visible;
mod wake;
mod write_trap;

pub use c::{ADDITIONAL, Additional, api, provide, table};
pub use config::{Config, ConfigError, memory_size};
pub use events::last_fault;
