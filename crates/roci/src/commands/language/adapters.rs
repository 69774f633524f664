//! LoRA adapters of a model.

use std::path::Path;
use std::sync::Arc;

use roci_gguf::Gguf;
use roci_lm::adapter::Adapter;
use roci_lm::architecture::Model;
use roci_lm_device::ModelAdapter;

use super::LanguageError;
use crate::cli::AdapterArgs;

/// Reads the adapters of a model.
pub(crate) fn open(arguments: &AdapterArgs, base: &Gguf, model: &Model) -> Result<Vec<ModelAdapter>, LanguageError> {
    arguments.files().map(|(path, scale)| one(path, scale, base, model)).collect()
}

fn one(path: &Path, scale: f32, base: &Gguf, model: &Model) -> Result<ModelAdapter, LanguageError> {
    let file = Gguf::open(path).map_err(|source| LanguageError::File { path: path.to_owned(), source })?;
    let adapter = Adapter::new(file, base, model);
    let adapter = adapter.map_err(|source| LanguageError::Adapter { path: path.to_owned(), source })?;
    Ok(ModelAdapter { name: path.display().to_string(), adapter: Arc::new(adapter), scale })
}
