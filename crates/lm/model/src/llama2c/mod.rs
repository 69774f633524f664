//! Conversion of llama2.c checkpoints to GGUF.
//!
//! A checkpoint is a header and all weights as f32, in one of two orders: version 0, as `train.py`
//! writes it, and version 1 of `export.py`, which starts with a magic number. The vocabulary is in
//! a file of its own, `tokenizer.bin`. Both are untrusted: every count is checked against the file
//! size.

mod error;
mod layout;
mod tokens;

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::Path;

use roci_gguf::{Metadata, TensorInfo, Type, Value, Writer};

pub use error::ConvertError;
use layout::{LONG_HEADER, Layout};

/// Whether a file is a checkpoint, by its header and its size.
///
/// # Errors
/// If the file cannot be read.
pub fn is_checkpoint(path: &Path) -> io::Result<bool> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut header = Vec::new();
    file.take(LONG_HEADER as u64).read_to_end(&mut header)?;
    Ok(Layout::new(&header, length).is_ok())
}

/// Writes a checkpoint and its vocabulary as a GGUF file. `name` is the name of the model.
///
/// # Errors
/// If the files are invalid or do not match, or writing fails.
pub fn convert<W: Write>(checkpoint: &[u8], tokenizer: &[u8], name: &str, out: W) -> Result<W, ConvertError> {
    let layout = Layout::new(checkpoint, checkpoint.len() as u64)?;
    let tokens = tokens::read(tokenizer, layout.vocabulary)?;
    let key = |key: &str, value: usize| (format!("llama.{key}"), Value::from(value as u32));
    let mut pairs = vec![
        ("general.architecture".to_owned(), Value::from("llama")),
        ("general.name".to_owned(), Value::from(name)),
        ("general.file_type".to_owned(), Value::from(0u32)),
        key("vocab_size", layout.vocabulary),
        key("context_length", layout.context),
        key("embedding_length", layout.embedding),
        key("block_count", layout.layers),
        key("feed_forward_length", layout.feed_forward),
        key("attention.head_count", layout.heads),
        key("attention.head_count_kv", layout.kv_heads),
        key("rope.dimension_count", layout.head()),
        // Both are constants in llama2.c's source.
        ("llama.attention.layer_norm_rms_epsilon".to_owned(), Value::from(1e-5f32)),
        ("llama.rope.freq_base".to_owned(), Value::from(10_000f32)),
    ];
    pairs.extend(tokens.metadata());
    let metadata: Metadata = pairs.into_iter().collect();

    let tensors = layout.tensors();
    let infos = tensors.iter().map(|tensor| TensorInfo::new(&tensor.name, &tensor.shape, Type::F32));
    let infos = infos.collect::<Result<Vec<_>, _>>()?;
    let mut writer = Writer::start(out, &metadata, &infos)?;
    for tensor in &tensors {
        writer.write(&tensor.name, &checkpoint[tensor.bytes.clone()])?;
    }
    Ok(writer.finish()?)
}

#[cfg(test)]
mod tests;
