//! `roci run` and `roci inspect`: models on devices.

mod error;
mod image;
mod inputs;
mod inspect;
mod run;
mod trace;

pub(crate) use error::ModelError;
pub(crate) use inspect::run as inspect;
pub(crate) use run::{note, run};
