//! The CPU driver: worker threads that run native kernels on host memory.
//!
//! Batches whose semaphores are signaled run concurrently and out of order. Independent commands
//! between two barriers share all workers. A kernel that never ends costs its thread and its
//! device, not the process.
//!
//! Kernels never race. The HAL leaves two cases unspecified: unordered batches that touch the same
//! memory, and commands that do so without a barrier between them. This driver serializes both:
//! `commands` splits such commands into segments, `workers` delays such batches.
//!
//! Reading order: `driver` (enumeration), `device` (the HAL's traits), `commands` (a recording
//! prepared for replay), `run` (one batch in execution), `workers` (the threads), `job` (a batch
//! whose segments workers share), `spin` (busy waiting).

#![deny(unsafe_code)]

mod affinity;
mod commands;
mod device;
mod driver;
mod footprint;
mod job;
mod run;
mod spin;
mod times;
mod work_ranges;
mod workers;

pub use driver::{CpuDriver, SCHEME};
