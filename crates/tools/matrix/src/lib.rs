//! The support matrix: the outcome of every probe on every device.
//!
//! [`run`] starts a child process per device ([`worker`]), which runs probes and prints events.
//! `supervise` reads them, and starts a new process for the remaining probes after a crash or a
//! hang. A [`Database`] stores the results, so that a later run reports what changed. A [`Report`]
//! has all results; [`table`], [`html`] and [`markdown`] render it.
//!
//! The crate prints nothing: progress goes to a callback.

#![forbid(unsafe_code)]

mod changes;
mod database;
mod date;
mod devices;
mod error;
mod event;
pub mod html;
pub mod markdown;
mod report;
mod run;
mod supervise;
pub mod table;
pub mod worker;

pub use database::{Database, PreviousResults};
pub use devices::{DeviceSelection, TestDevice};
pub use error::Error;
pub use event::{Event, Identity};
pub use report::{DeviceReport, OutcomeChange, ProbeReport, ProbeResult, Report, UnsupportedProbes};
pub use run::{Progress, Settings, run, select};
