//! Embeddings of tokens on the host.

use roci_gguf::Gguf;
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{Matrix, NormKind, Vector};

use crate::Error;

/// Minimum number of rows to dequantize embeddings with several threads.
const MIN_PARALLEL_ROWS: usize = 128;
/// Maximum number of threads.
const MAX_THREADS: usize = 8;

/// A token id and its position.
pub(crate) type Placed = (u32, usize);

/// Applied to token embeddings after their lookup.
#[derive(Default)]
pub(crate) struct HostInput {
    /// Added to each.
    token_type: Option<Vec<f32>>,
    norm: Option<HostNorm>,
}

struct HostNorm {
    kind: NormKind,
    weight: Option<Vec<f32>>,
    bias: Option<Vec<f32>>,
    epsilon: f32,
}

impl HostInput {
    pub(crate) fn new(file: &Gguf, model: &Model) -> Result<Self, Error> {
        let token_type = model.input.token_type.as_ref();
        let token_type = token_type.map(|matrix| {
            let mut row = vec![0.0; matrix.columns];
            read_row(file, matrix, 0, &mut row).map(|()| row)
        });
        let vector = |vector: &Vector| -> Result<Vec<f32>, Error> {
            let values = file.expect_tensor(&vector.tensor)?.to_f32()?;
            let values = values.get(vector.values.clone());
            Ok(values.ok_or_else(|| Error::file(format!("`{}` is too short", vector.tensor)))?.to_vec())
        };
        let norm = model.input.norm.as_ref().map(|norm| {
            Ok::<_, Error>(HostNorm {
                kind: norm.kind,
                weight: norm.weight.as_ref().map(vector).transpose()?,
                bias: norm.bias.as_ref().map(vector).transpose()?,
                epsilon: norm.epsilon,
            })
        });
        Ok(Self { token_type: token_type.transpose()?, norm: norm.transpose()? })
    }
}

impl HostNorm {
    fn apply(&self, row: &mut [f32]) {
        let count = row.len() as f64;
        let center = match self.kind {
            NormKind::Rms => 0.0,
            NormKind::Layer => row.iter().copied().map(f64::from).sum::<f64>() / count,
        };
        let square = row.iter().map(|value| (f64::from(*value) - center).powi(2)).sum::<f64>() / count;
        let scale = 1.0 / (square + f64::from(self.epsilon)).sqrt();
        row.iter_mut().for_each(|value| *value = ((f64::from(*value) - center) * scale) as f32);
        if let Some(weight) = &self.weight {
            row.iter_mut().zip(weight).for_each(|(value, weight)| *value *= weight);
        }
        if let Some(bias) = &self.bias {
            add(row, bias);
        }
    }
}

/// Writes the embeddings of tokens to `rows`, `stride` floats each, with zeros as padding.
pub(crate) fn embed(
    file: &Gguf,
    model: &Model,
    input: &HostInput,
    tokens: &[Placed],
    stride: usize,
    rows: &mut [f32],
) -> Result<(), Error> {
    in_parts(tokens, stride, rows, |tokens, rows| embed_rows(file, model, input, tokens, stride, rows))
}

/// Writes one row per token: `write` gets a token's row of the table and `stride` floats of `rows`.
pub(crate) fn look_up(
    file: &Gguf,
    table: &Matrix,
    tokens: &[Placed],
    stride: usize,
    rows: &mut [f32],
    write: impl Fn(&[f32], &mut [f32]) + Sync,
) -> Result<(), Error> {
    in_parts(tokens, stride, rows, |tokens, rows| {
        let mut values = vec![0.0; table.columns];
        for (row, &(token, _)) in rows.chunks_exact_mut(stride).zip(tokens) {
            read_row(file, table, token as usize, &mut values)?;
            write(&values, row);
        }
        Ok(())
    })
}

/// Calls a function for parts of the tokens and their rows, on several threads if there are many.
fn in_parts(
    tokens: &[Placed],
    stride: usize,
    rows: &mut [f32],
    run: impl Fn(&[Placed], &mut [f32]) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let threads =
        if tokens.len() < MIN_PARALLEL_ROWS { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) };
    let per_thread = tokens.len().div_ceil(threads.min(MAX_THREADS)).max(1);
    if per_thread == tokens.len() {
        return run(tokens, rows);
    }
    std::thread::scope(|scope| {
        let parts = tokens.chunks(per_thread).zip(rows.chunks_mut(per_thread * stride));
        let run = &run;
        let running: Vec<_> = parts.map(|(tokens, rows)| scope.spawn(move || run(tokens, rows))).collect();
        running.into_iter().try_for_each(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

fn embed_rows(
    file: &Gguf,
    model: &Model,
    input: &HostInput,
    tokens: &[Placed],
    stride: usize,
    rows: &mut [f32],
) -> Result<(), Error> {
    let columns = model.embedding.columns;
    let mut position_row = vec![0.0; columns];
    for (row, &(token, position)) in rows.chunks_exact_mut(stride).zip(tokens) {
        let (row, padding) = row.split_at_mut(columns);
        if token as usize >= model.embedding.outputs() {
            return Err(Error::file(format!("token {token} is not in the vocabulary")));
        }
        read_row(file, &model.embedding, token as usize, row)?;
        row.iter_mut().for_each(|value| *value *= model.embedding_scale);
        if let Some(token_type) = &input.token_type {
            add(row, token_type);
        }
        if let Some(positions) = &model.input.positions {
            read_row(file, positions, position, &mut position_row)?;
            add(row, &position_row);
        }
        if let Some(norm) = &input.norm {
            norm.apply(row);
        }
        padding.fill(0.0);
    }
    Ok(())
}

fn add(row: &mut [f32], other: &[f32]) {
    row.iter_mut().zip(other).for_each(|(value, other)| *value += other);
}

/// Dequantizes a row of a matrix.
fn read_row(file: &Gguf, matrix: &Matrix, row: usize, to: &mut [f32]) -> Result<(), Error> {
    let tensor = file.expect_tensor(&matrix.tensor)?;
    let kind = tensor.info().kind();
    let row_bytes = kind.bytes(matrix.columns as u64).unwrap_or(0) as usize;
    let start = (matrix.rows.start + row) * row_bytes;
    let bytes = tensor.bytes().get(start..start + row_bytes).filter(|_| row < matrix.outputs());
    let bytes = bytes.ok_or_else(|| Error::file(format!("`{}` has no row {row}", matrix.tensor)))?;
    Ok(kind.dequantize(bytes, to)?)
}
