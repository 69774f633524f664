//! The conformance suite: a set of cases that every HAL driver must pass. It depends on no driver.
//!
//! A driver registers with a test binary without the standard harness:
//!
//! ```no_run
//! use std::process::ExitCode;
//! use roci_hal::{Registry, null::NullDriver};
//! use roci_hal_cts::{Backend, Tag};
//!
//! fn main() -> ExitCode {
//!     let open = |timeout| Registry::new().with(NullDriver::new(1)).open(&"null".parse()?, timeout);
//!     let reason = "it computes nothing";
//!     let missing = [(Tag::Dispatch, reason), (Tag::Hang, reason), (Tag::Bounds, reason)];
//!     roci_hal_cts::main(vec![Backend::new("null", open).missing(&missing)])
//! }
//! ```
//!
//! - The factory opens a fresh logical device at each call. If it returns `Unavailable`, the
//!   backend's cases are skipped with that reason, or fail if `ROCI_REQUIRE` names the backend. Any
//!   other error is a failure.
//! - [`Tag`]s declare what a backend can do, and what it lacks with the reason. Each tag must be in
//!   one of the two lists. A case that needs a missing tag is skipped with the tag and the reason.
//! - Two more lists have a reason per entry: *unsupported* (permanent, not run) and *expected
//!   failure* (temporary, run; a pass is a failure, so that the list shrinks). An entry that names
//!   no case is a failure.
//! - Every case that was skipped or allowed to fail is written by [`roci_testkit::skipped`] to the
//!   file in `ROCI_SKIPPED`, because test runners count it as a pass.
//! - Every case runs on its own thread with its own timeout: a hang or a panic fails that case
//!   only.
//!
//! `tests/toys.rs` proves that the suite can fail: a correct toy driver passes, ten broken ones are
//! caught.
//!
//! Reading order: [`case`](Case), [`Backend`], [`Context`], then `groups/` (the cases) and
//! `kernels/` (the kernels they run).

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
