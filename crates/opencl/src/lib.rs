//! The driver of OpenCL devices, version 1.2 and up, whatever they lack: 16-bit floats and sub-groups are made up for by
//! the kernels that a device is handed, and memory that a driver underrates is asked for all the same.
//!
//! The library is found at run time. Each queue has a thread that enqueues batches and learns of their end from the events
//! of OpenCL; what runs for ever costs that thread and the device, not the process.
//!
//! Read in this order: `driver` (what is found and opened), `discover` and `identity` (what a device says of itself, and
//! what is true), `device` (the HAL's side), `program` (a recording made ready), `queue` (batches in flight), `memory`,
//! `executable` (source made into kernels, and kept on disk), `cl` (OpenCL's objects).

#![deny(unsafe_code)]

mod cl;
mod device;
mod discover;
mod driver;
mod error;
mod executable;
mod facts;
mod identity;
mod memory;
mod options;
mod patience;
mod pinned;
mod program;
mod queue;
mod sub_buffers;
mod vendors;

pub use driver::{OpenClDriver, SCHEME};
