//! Experiments that end, remember and report.
//!
//! An [`Experiment`] is a TOML file: a command, phases and metrics recognised in its output, and strategies to try. The
//! [`engine`] plans runs and hands each that the [`guard`] lets start to an [`executor`]; the watchdog ends those that hang; the pure function in
//! [`verdict`] names the [`Outcome`]; the [`Store`] keeps it in one transaction, so that a killed process loses nothing.
//!
//! Start reading at `experiment/mod.rs` (what can be asked for), then `engine.rs` (how it is done).

#![deny(unsafe_code)]

pub mod cli;
pub mod engine;
pub mod error;
pub mod executor;
pub mod experiment;
pub mod guard;
pub mod import;
pub mod keep;
pub mod kernel_log;
pub mod live;
pub mod outcome;
pub mod phases;
pub mod report;
pub mod requirements;
pub mod store;
pub mod verdict;
pub mod watch;
mod words;

pub use error::LabError;
pub use experiment::Experiment;
pub use outcome::Outcome;
pub use report::Report;
pub use store::Store;
