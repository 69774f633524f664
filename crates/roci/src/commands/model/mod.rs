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

/// Reads a model, and files that it refers to. Inputs of the names in `given` are inputs even where the model has a default.
fn open(path: &std::path::Path, given: &[&str]) -> Result<roci_onnx::Model, ModelError> {
    let bytes = crate::input::read(path).map_err(|error| roci_onnx::Error::File { path: path.to_owned(), error })?;
    Ok(roci_onnx::Model::with_given(&bytes, path.parent(), given)?)
}
