//! The conformance suite: one set of cases that every HAL driver must pass, and that knows no driver.
//!
//! A driver's whole registration is a test binary without the usual harness:
//!
//! ```no_run
//! use std::process::ExitCode;
//! use roci_hal::{Registry, null::NullDriver};
//! use roci_hal_cts::{Backend, Tag};
//!
//! fn main() -> ExitCode {
//!     let open = |timeout| Registry::new().with(NullDriver::new(1)).open(&"null".parse()?, timeout);
//!     let reason = "it computes nothing";
//!     let lacks = [(Tag::Dispatch, reason), (Tag::Hang, reason), (Tag::Bounds, reason)];
//!     roci_hal_cts::main(vec![Backend::new("null", open).lacks(&lacks)])
//! }
//! ```
//!
//! - The factory opens a fresh logical device at each call. If it answers `Unavailable`, its cases are skipped with the
//!   reason, or fail when `ROCI_REQUIRE` names the backend. Any other error fails.
//! - [`Tag`]s say what a backend can do at all, and what it lacks, with the reason; each must be in one of the two. A case
//!   that needs more is skipped with the tag and the reason.
//! - Two lists are kept apart, each entry with a reason: *unsupported* (for good, not run) and *expected failure* (for
//!   now, run; a pass fails, so that the list shrinks). An entry that names no case fails.
//! - Whatever did not have to pass goes by [`roci_testkit::skipped`] to the file of `ROCI_SKIPPED`, since runners count it
//!   as a pass.
//! - Every case runs on its own thread under its own deadline: one that hangs or panics is one failure, not the end.
//!
//! That the suite can fail is shown by `tests/toys.rs`: a correct toy driver passes, ten broken ones are caught.
//!
//! Reading order: [`case`](Case), [`Backend`], [`Context`], then `groups/` (the cases) and `kernels/` (what they run).

#![deny(unsafe_code)]

mod backend;
mod case;
mod check;
mod child;
mod context;
mod groups;
pub mod kernels;
mod random;
mod runner;

pub use backend::{Backend, Tag};
pub use case::{Case, CaseResult, Failure, Verdict};
pub use context::Context;
pub use groups::cases;
pub use runner::{main, run_case, run_trials, trials};
