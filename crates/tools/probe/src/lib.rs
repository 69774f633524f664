//! Device probes with reference results, used by `roci demo`, `matrix`, `doctor --verify` and
//! `bench`.
//!
//! - [`kernels`]: every kernel of the library with one or two problems, reference results in f64,
//!   and the tolerance of each.
//! - [`graphs`]: small graphs and models, compared with the reference interpreter.
//! - [`corruption`]: checks for silent corruption, such as copies at odd offsets and memory reuse.
//! - [`bench`](mod@bench): bandwidth, launch overhead and matrix products, with verified results.
//! - [`verify`]: a short check of one device in a child process.
//! - [`child`]: runs this program as a child process with time limits, because a driver may crash
//!   or hang.
//! - [`listing`]: the devices of all drivers as data.
//! - [`profile`]: sums of the times that a device reports for kernels and copies.
//!
//! [`probes`] lists graphs and corruption checks by name. All comparisons use the levels of
//! [`tolerance`]. The crate prints nothing.

#![deny(unsafe_code)]

pub mod bench;
pub mod child;
pub mod corruption;
pub mod graphs;
pub mod kernels;
pub mod listing;
pub mod probes;
pub mod profile;
pub mod text;
pub mod units;
pub mod verify;

mod error;
mod outcome;

pub use error::Error;
pub use outcome::{Outcome, Verdict};
pub use roci_tolerance as tolerance;
pub use roci_tolerance::Tolerance;

/// Work of one run, for computing a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkAmount {
    /// Bytes read and written, each counted once.
    Bytes(u64),
    /// Additions and multiplications, each counted as one operation.
    Operations(u64),
}
