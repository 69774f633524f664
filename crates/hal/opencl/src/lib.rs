//! OpenCL driver, for version 1.2 and later. Kernels are lowered for devices without 16-bit floats
//! or sub-groups, and allocations may exceed what a driver reports.
//!
//! The library is loaded at run time. Each queue has a thread that enqueues batches and observes
//! their completion by OpenCL events. A batch that never ends occupies that thread and the device,
//! but not the process.
//!
//! Reading order: `driver` (enumeration), `discover` and `identity` (device description), `device`
//! (the HAL's traits), `commands` (a recording prepared for replay), `queue` (batches in flight),
//! `buffer`, `executable` (compilation and the kernel cache), `cl` (OpenCL objects).
//!
//! A batch goes from `Queue::submit` to the queue's thread (`QueueInner::serve`), which calls
//! `Commands::enqueue`. `CommandQueue::dispatch` (`cl`) calls `clEnqueueNDRangeKernel`.

#![deny(unsafe_code)]

mod buffer;
mod cl;
mod commands;
mod device;
mod discover;
mod driver;
mod error;
mod executable;
mod identity;
mod options;
mod pinned;
mod properties;
mod queue;
mod sub_buffers;
mod timeout;
mod vendors;

pub use driver::{OpenClDriver, SCHEME};
