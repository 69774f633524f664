//! `roci chat`, `roci run`, `roci serve`, `roci embed`, `roci rerank`, `roci perplexity`,
//! `roci convert` and `roci quantize`: language models.

pub(crate) mod adapters;
mod chat;
mod convert;
mod disk;
mod embed;
mod error;
mod generate;
mod load;
mod perplexity;
mod placement;
mod quantize;
mod run;
mod serve;
mod speculation;
mod vision;

use std::io::Read;
use std::path::Path;

pub(crate) use chat::run as chat;
pub(crate) use convert::run as convert;
pub(crate) use embed::{embed, rerank};
pub(crate) use error::LanguageError;
pub(crate) use load::{load_kernels, specialize};
pub(crate) use perplexity::run as perplexity;
pub(crate) use quantize::run as quantize;
pub(crate) use run::run;
pub(crate) use serve::run as serve;

use roci_lm::llama2c;

/// Whether a path is a language model, by its first bytes or its extension; `false` if the path is
/// not a file. A checkpoint of llama2.c counts: the error then says how to convert it.
pub(crate) fn is_language_model(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let mut magic = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && &magic == b"GGUF"
        || path.extension().is_some_and(|extension| extension == "gguf")
        || llama2c::is_checkpoint(path).unwrap_or(false)
}
