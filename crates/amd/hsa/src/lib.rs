//! Bindings to the HSA runtime: its C interface as a function table, filled from a library or from
//! an emulated runtime, and a thin safe layer over the table.
//!
//! - [`abi`]: types, constants and layouts. Clients and devices share queues and signals in memory,
//!   so layouts are part of the interface.
//! - [`for_each_function!`]: the list of functions, from which [`Api`] and the exports of an
//!   emulated runtime are generated.
//! - [`search`]: finds `libhsa-runtime64.so` and reports where it searched.
//! - [`runtime`]: the safe layer for drivers: [`Runtime::open`], agents, pools, signals, queues and
//!   executables.
//!
//! # Contract
//! The safe layer guarantees: the runtime is shut down when the last object that uses it is
//! dropped; a panic in a closure never unwinds into the library; the library never writes an
//! attribute out of bounds. The layer does not check what a device does: freeing memory while a
//! kernel uses it, or a wrong address in a packet, is an error of the caller. Functions that return
//! addresses document this, and functions that copy are `unsafe`.

#![deny(unsafe_code)]

pub mod abi;
mod additional;
mod api;
mod c_string;
mod error;
mod functions;
mod kernel_driver;
mod library;
pub mod runtime;
pub mod search;

pub use api::{Api, MissingFunctions};
pub use error::Error;
pub use kernel_driver::KernelDriver;
pub use library::Library;
pub use runtime::{Runtime, Source, Table};
