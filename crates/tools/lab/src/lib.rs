//! Experiments under a watchdog, with results in a database and reports.
//!
//! An [`Experiment`] is a TOML file: a command, phases and metrics to detect in its output, and
//! strategies to try. The [`engine`] plans the runs and passes those that the [`guard`] permits to
//! an [`executor`]. The watchdog ends runs that hang. The pure function in [`verdict`] determines
//! the [`Outcome`]. The [`Store`] saves each result in one transaction, so that a killed process
//! loses nothing.
//!
//! Start reading at `experiment/mod.rs` (what can be configured), then `engine/mod.rs` (how it is
//! executed).

#![deny(unsafe_code)]

pub mod cli;
pub mod engine;
pub mod error;
pub mod executor;
pub mod experiment;
pub mod guard;
pub mod import;
pub mod kernel_log;
mod message;
pub mod outcome;
pub mod output_buffer;
pub mod output_parser;
pub mod progress_display;
pub mod report;
pub mod requirements;
pub mod store;
pub mod verdict;
pub mod watchdog;

pub use error::LabError;
pub use experiment::Experiment;
pub use outcome::Outcome;
pub use report::Report;
pub use store::Store;
