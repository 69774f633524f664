//! `roci run` and `roci inspect` for ONNX models.

mod error;
mod inspect;
mod run;

pub(crate) use error::OnnxError;
pub(crate) use inspect::run as inspect;
pub(crate) use run::{format_note, run};

/// Reads a model and its external data files. Initializers named in `inputs` become inputs.
fn open(path: &std::path::Path, inputs: &[&str]) -> Result<roci_onnx::Model, OnnxError> {
    let bytes = crate::input::read(path).map_err(|error| roci_onnx::Error::File { path: path.to_owned(), error })?;
    Ok(roci_onnx::Model::with_inputs(&bytes, path.parent(), inputs)?)
}
