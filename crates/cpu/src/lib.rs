//! The CPU driver: worker threads that run native kernels on host memory.
//!
//! A real driver, not a mock: batches that semaphores have released run at once and out of order, the independent
//! commands between two barriers share all workers, and a kernel that never ends costs its thread and its device but not
//! the process.
//!
//! Kernels never race, whatever the caller forgets. What the HAL's contract leaves unspecified (two unordered batches that
//! touch the same memory, two commands without a barrier between) is serialised: `program` splits such commands, `workers`
//! holds such batches back.
//!
//! Read in this order: `driver` (what exists), `device` (the HAL's side), `program` (a recording made ready),
//! `run` (one batch in execution), `workers` (the threads), `job` (parts of work that workers share).

#![deny(unsafe_code)]

mod device;
mod driver;
mod job;
mod lanes;
mod places;
mod program;
mod run;
mod times;
mod touch;
mod workers;

pub use driver::{CpuDriver, SCHEME};
