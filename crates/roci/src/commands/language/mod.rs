//! `roci chat`, `roci run`, `roci serve` and `roci convert`: language models.

mod ask;
mod chat;
mod convert;
mod error;
mod load;
mod run;
mod serve;

use std::io::Read;
use std::path::Path;

pub(crate) use chat::run as chat;
pub(crate) use convert::run as convert;
pub(crate) use error::LanguageError;
pub(crate) use load::{bake, load_kernels};
pub(crate) use run::run;
pub(crate) use serve::run as serve;

/// Whether a file is a language model, by its first bytes or its name. Of what is no file nothing is taken away.
pub(crate) fn is_language_model(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let mut magic = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && &magic == b"GGUF" || path.extension().is_some_and(|extension| extension == "gguf")
}
