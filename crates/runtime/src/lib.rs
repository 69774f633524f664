//! Graphs on devices.
//!
//! A [`Session`] holds a graph and a device. The first run of given input shapes walks the graph node by node: what is
//! known is computed on the host, every other operation is lowered to kernels (`lower/`), which collect in a
//! `segment`; its memory is planned in one arena, and it is recorded once. Later runs of the same shapes replay the
//! recording. Operations whose results decide how to go on (a shape that depends on data, graphs inside of nodes, text)
//! end a segment and run on the host; which those are is fixed (`host.rs`), and an operation that a device cannot do is
//! an error, never silently another device's work.
//!
//! On devices every element is a 32-bit word (`storage`): f32 and narrower floats as f32, integers and `bool` as 32-bit
//! integers. 64-bit integers must fit, which is checked when they are handed over; f64 is computed in f32, and a run says so.

#![deny(unsafe_code)]

mod arena;
mod error;
mod fuse;
mod half;
mod host;
mod kernels;
mod limits;
mod lower;
mod native;
mod plan;
mod ranges;
mod segment;
mod session;
mod split;
mod stateful;
mod storage;
mod timing;
mod walk;

pub use error::Error;
pub use half::Precision;
pub use plan::{Placement, Plan, plan};
pub use session::{Memory, Note, Session};
pub use stateful::Stateful;
pub use timing::Timing;
