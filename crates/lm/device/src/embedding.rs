//! Lookup of token embeddings on the host.

use roci_gguf::Gguf;
use roci_lm::architecture::Model;

use crate::Error;

/// Minimum number of rows to dequantize embeddings with several threads.
const MIN_PARALLEL_ROWS: usize = 128;
/// Maximum number of threads.
const MAX_THREADS: usize = 8;

/// Writes the embeddings of tokens to `rows`, `stride` floats each, with zeros as padding.
pub(crate) fn embed(file: &Gguf, model: &Model, tokens: &[u32], stride: usize, rows: &mut [f32]) -> Result<(), Error> {
    let threads =
        if tokens.len() < MIN_PARALLEL_ROWS { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) };
    let per_thread = tokens.len().div_ceil(threads.min(MAX_THREADS)).max(1);
    if per_thread == tokens.len() {
        return embed_rows(file, model, tokens, stride, rows);
    }
    std::thread::scope(|scope| {
        let parts = tokens.chunks(per_thread).zip(rows.chunks_mut(per_thread * stride));
        let running: Vec<_> =
            parts.map(|(tokens, rows)| scope.spawn(move || embed_rows(file, model, tokens, stride, rows))).collect();
        running.into_iter().try_for_each(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

fn embed_rows(file: &Gguf, model: &Model, tokens: &[u32], stride: usize, rows: &mut [f32]) -> Result<(), Error> {
    let matrix = &model.embedding;
    let tensor = file.expect_tensor(&matrix.tensor)?;
    let kind = tensor.info().kind();
    let row_bytes = kind.bytes(matrix.columns as u64).unwrap_or(0) as usize;
    for (row, token) in rows.chunks_exact_mut(stride).zip(tokens) {
        let start = (matrix.rows.start + *token as usize) * row_bytes;
        let bytes = tensor.bytes().get(start..start + row_bytes).filter(|_| (*token as usize) < matrix.outputs());
        let bytes = bytes.ok_or_else(|| Error::file(format!("token {token} is not in the vocabulary")))?;
        let (row, padding) = row.split_at_mut(matrix.columns);
        kind.dequantize(bytes, row)?;
        row.iter_mut().for_each(|value| *value *= model.embedding_scale);
        padding.fill(0.0);
    }
    Ok(())
}
