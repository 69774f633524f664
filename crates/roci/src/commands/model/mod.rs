//! `roci run` and `roci inspect`: models on devices.

mod error;
mod inputs;
mod inspect;
mod run;

pub(crate) use error::ModelError;
pub(crate) use inspect::run as inspect;
pub(crate) use run::run;
