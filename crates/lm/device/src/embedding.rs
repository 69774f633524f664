//! Lookup of token embeddings on the host.

use roci_gguf::Gguf;
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::Matrix;

use crate::Error;

/// Minimum number of rows to dequantize embeddings with several threads.
const MIN_PARALLEL_ROWS: usize = 128;
/// Maximum number of threads.
const MAX_THREADS: usize = 8;

/// Writes the embeddings of tokens to `rows`, `stride` floats each, with zeros as padding.
pub(crate) fn embed(file: &Gguf, model: &Model, tokens: &[u32], stride: usize, rows: &mut [f32]) -> Result<(), Error> {
    for_each_row(file, &model.embedding, tokens, stride, rows, |values, row| {
        let (row, padding) = row.split_at_mut(values.len());
        row.iter_mut().zip(values).for_each(|(to, value)| *to = value * model.embedding_scale);
        padding.fill(0.0);
    })
}

/// Passes the row of each token in a table, and `stride` floats of `rows`, to `write`, in several
/// threads.
pub(crate) fn for_each_row(
    file: &Gguf,
    table: &Matrix,
    tokens: &[u32],
    stride: usize,
    rows: &mut [f32],
    write: impl Fn(&[f32], &mut [f32]) + Sync,
) -> Result<(), Error> {
    let write = &write;
    let threads =
        if tokens.len() < MIN_PARALLEL_ROWS { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) };
    let per_thread = tokens.len().div_ceil(threads.min(MAX_THREADS)).max(1);
    if per_thread == tokens.len() {
        return rows_of(file, table, tokens, stride, rows, write);
    }
    std::thread::scope(|scope| {
        let parts = tokens.chunks(per_thread).zip(rows.chunks_mut(per_thread * stride));
        let running: Vec<_> = parts
            .map(|(tokens, rows)| scope.spawn(move || rows_of(file, table, tokens, stride, rows, write)))
            .collect();
        running.into_iter().try_for_each(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

fn rows_of(
    file: &Gguf,
    table: &Matrix,
    tokens: &[u32],
    stride: usize,
    rows: &mut [f32],
    write: &impl Fn(&[f32], &mut [f32]),
) -> Result<(), Error> {
    let tensor = file.expect_tensor(&table.tensor)?;
    let kind = tensor.info().kind();
    let row_bytes = kind.bytes(table.columns as u64).unwrap_or(0) as usize;
    let mut values = vec![0.0; table.columns];
    for (row, token) in rows.chunks_exact_mut(stride).zip(tokens) {
        let start = (table.rows.start + *token as usize) * row_bytes;
        let bytes = tensor.bytes().get(start..start + row_bytes).filter(|_| (*token as usize) < table.outputs());
        let bytes = bytes.ok_or_else(|| Error::file(format!("token {token} is not in the vocabulary")))?;
        kind.dequantize(bytes, &mut values)?;
        write(&values, row);
    }
    Ok(())
}
