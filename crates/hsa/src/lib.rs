//! The HSA runtime: its C interface as a table of functions, filled from a library or from an emulated runtime, and a
//! thin safe layer over the table.
//!
//! - [`abi`]: types, constants and layouts. A queue and a signal are memory that clients and devices share, so layouts
//!   matter as much as functions do.
//! - [`for_each_function!`]: the list of functions, once. [`Api`] is made from it; an emulated runtime makes its
//!   exports from it.
//! - [`search`]: finds `libhsa-runtime64.so` and says where it looked.
//! - [`runtime`]: what a driver uses: [`Runtime::open`], agents, pools, signals, queues, executables, errors with
//!   remedies.
//!
//! # Contract
//! The safe layer promises: the runtime is shut down when the last object that uses it is gone; a panic in a
//! closure never unwinds into the library; an attribute's answer never writes beyond its place. It does not check what
//! a device does: memory that is freed while a kernel runs, or a packet that names the wrong address, is the caller's
//! mistake, which is why the functions that hand out addresses say so and those that copy are `unsafe`.

#![deny(unsafe_code)]

pub mod abi;
mod api;
mod error;
mod functions;
mod further;
mod kernel_driver;
mod library;
pub mod runtime;
pub mod search;
mod text;

pub use api::{Api, MissingFunctions};
pub use error::Error;
pub use kernel_driver::KernelDriver;
pub use library::Library;
pub use runtime::{Runtime, Source, Table};
