//! LoRA adapters on a device.
//!
//! The adapters of all projections that are one matrix become one pair of matrices: A has the rows
//! of each adapter in turn, B as many columns. Between the two products each adapter's part of a row
//! is multiplied by the scale of the adapter for the row's sequence, so that sequences with different
//! scales share a step.

use std::collections::BTreeSet;
use std::sync::Arc;

use roci_engine::Chunk;
use roci_gguf::Type;
use roci_lm::adapter::{self, Adapter};
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::Linear;

use crate::embedding::Placed;
use crate::features::Features;
use crate::layer::{DeviceLinear, LayerBuilder};
use crate::pack::GROUP;
use crate::{Error, Options};

/// Maximum number of adapters of a model.
const MAX_ADAPTERS: usize = 8;

/// A LoRA adapter of a model.
#[derive(Clone, Debug)]
pub struct ModelAdapter {
    /// Its name for users, such as the path of the file.
    pub name: String,
    /// Its matrices.
    pub adapter: Arc<Adapter>,
    /// Its scale in sequences that choose no other.
    pub scale: f32,
}

impl PartialEq for ModelAdapter {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.adapter, &other.adapter) && self.scale.to_bits() == other.scale.to_bits()
    }
}

impl Eq for ModelAdapter {}

impl ModelAdapter {
    /// Whether it changes one of these linear layers.
    pub(crate) fn changes(&self, linears: &[&Linear]) -> bool {
        linears.iter().any(|linear| self.rank(linear) > 0)
    }

    /// The rank of the change of a linear layer; 0 if it does not change it.
    fn rank(&self, linear: &Linear) -> usize {
        self.adapter.rank(&linear.matrix.tensor).unwrap_or(0)
    }
}

/// What adapters add to a product.
pub(crate) struct DeviceAdapters {
    pub(crate) a: DeviceLinear,
    pub(crate) b: DeviceLinear,
    /// Length of the part of each adapter between the products.
    pub(crate) rank: usize,
    /// Adapters.
    pub(crate) count: usize,
}

/// Length of the part of each adapter between the products, for linear layers that are one matrix.
fn padded_rank(linears: &[&Linear], adapters: &[ModelAdapter]) -> usize {
    let sum = |adapter: &ModelAdapter| linears.iter().map(|linear| adapter.rank(linear)).sum::<usize>();
    adapters.iter().map(sum).max().unwrap_or(0).next_multiple_of(GROUP)
}

/// Maximum length of a row between the products.
pub(crate) fn width(model: &Model, adapters: &[ModelAdapter]) -> usize {
    let layers = model.layers.iter().map(|layer| padded_rank(&adapter::linears(layer).collect::<Vec<_>>(), adapters));
    let others = std::iter::once(&model.output).chain(model.per_layer.iter().map(|block| &block.projection));
    let others = others.map(|linear| padded_rank(&[linear], adapters));
    adapters.len() * layers.chain(others).max().unwrap_or(0)
}

/// Bytes of the matrices of adapters of linear layers, at most.
pub(crate) fn bytes(linears: &[&Linear], adapters: &[ModelAdapter]) -> u64 {
    let width = adapters.len() * padded_rank(linears, adapters);
    let one = |linear: &Linear| (linear.matrix.columns + linear.matrix.outputs()) as u64;
    let changed = linears.iter().copied().filter(|linear| adapters.iter().any(|adapter| adapter.rank(linear) > 0));
    4 * width as u64 * changed.map(one).sum::<u64>()
}

impl LayerBuilder<'_> {
    /// What adapters add to linear layers whose rows are stacked in one matrix.
    pub(crate) fn adapters(&self, linears: &[&Linear], offset: usize) -> Result<Option<Arc<DeviceAdapters>>, Error> {
        let adapters = &self.options.adapters;
        let rank = padded_rank(linears, adapters);
        let Some(columns) = linears.first().map(|linear| linear.matrix.columns).filter(|_| rank > 0) else {
            return Ok(None);
        };
        let width = adapters.len() * rank;
        let rows: usize = linears.iter().map(|linear| linear.matrix.outputs()).sum();
        let (mut a, mut b) = (vec![0.0; width * columns], vec![0.0; rows * width]);
        for (index, ModelAdapter { adapter, .. }) in adapters.iter().enumerate() {
            // Column of B, and row of A.
            let (mut at, mut first) = (index * rank, 0);
            for Linear { matrix, .. } in linears {
                if let Some(rank) = adapter.rank(&matrix.tensor) {
                    a[at * columns..][..rank * columns].copy_from_slice(&adapter.a(&matrix.tensor)?);
                    let from = adapter.b(&matrix.tensor)?;
                    for output in 0..matrix.outputs() {
                        let row = &from[matrix.row(output) * rank..][..rank];
                        b[(first + output) * width + at..][..rank].copy_from_slice(row);
                    }
                    at += rank;
                    self.adapted.borrow_mut().insert(matrix.tensor.clone());
                }
                first += matrix.outputs();
            }
        }
        // Matrix units read 16-bit floats, and so does every product with the same input.
        let half = Features::of(self.loader.device.info(), self.options).coopmat;
        let linear = |matrix, offset| DeviceLinear { matrix, bias: None, offset, adapters: None };
        let a = self.loader.own_matrix(&a, columns, if half { Type::F16 } else { Type::F32 })?;
        let b = self.loader.own_matrix(&b, width, Type::F32)?;
        Ok(Some(Arc::new(DeviceAdapters { a: linear(a, 0), b: linear(b, offset), rank, count: adapters.len() })))
    }
}

/// Checks that there are not too many adapters, and that their scales are finite.
pub(crate) fn check(options: &Options) -> Result<(), Error> {
    let count = options.adapters.len();
    if count > MAX_ADAPTERS {
        let message = format!("{count} LoRA adapters are given, but at most {MAX_ADAPTERS} are supported");
        return Err(Error::File { message, hint: Some("give fewer adapters (`--lora`)".to_owned()) });
    }
    match options.adapters.iter().find(|one| !one.scale.is_finite()) {
        Some(one) => Err(Error::file(format!("the scale of the adapter `{}` is {}", one.name, one.scale))),
        None => Ok(()),
    }
}

/// Checks that every matrix of every adapter has been uploaded.
pub(crate) fn check_used(options: &Options, used: &BTreeSet<String>, embedding: &str) -> Result<(), Error> {
    let tensors = options.adapters.iter().flat_map(|one| one.adapter.tensors().map(move |tensor| (one, tensor)));
    let mut unused = tensors.filter(|(_, tensor)| *tensor != embedding && !used.contains(*tensor));
    match unused.next() {
        Some((one, tensor)) => Err(Error::File {
            message: format!("the adapter `{}` changes `{tensor}`, which is not supported", one.name),
            hint: Some("give an adapter of other matrices".to_owned()),
        }),
        None => Ok(()),
    }
}

/// Adapters of the embeddings, which the host looks up.
pub(crate) struct EmbeddingAdapters {
    tensor: String,
    /// For each adapter that changes embeddings, its index, and B.
    adapters: Vec<(usize, Arc<Adapter>, Vec<f32>)>,
}

impl EmbeddingAdapters {
    pub(crate) fn new(model: &Model, adapters: &[ModelAdapter]) -> Result<Self, Error> {
        let tensor = model.embedding.tensor.clone();
        let changing = adapters.iter().enumerate().filter(|(_, one)| one.adapter.rank(&tensor).is_some());
        let adapters = changing
            .map(|(index, ModelAdapter { adapter, .. })| Ok((index, Arc::clone(adapter), adapter.b(&tensor)?)))
            .collect::<Result<_, Error>>()?;
        Ok(Self { tensor, adapters })
    }

    /// Adds what adapters add to the embeddings of tokens, times a factor, to rows of `stride`
    /// floats. `scales` has the scales of all adapters for each token.
    pub(crate) fn add(
        &self,
        tokens: &[Placed],
        scales: &[&[f32]],
        factor: f32,
        stride: usize,
        rows: &mut [f32],
    ) -> Result<(), Error> {
        for (index, adapter, b) in &self.adapters {
            for ((row, &(token, _)), scales) in rows.chunks_exact_mut(stride).zip(tokens).zip(scales) {
                let scale = scales.get(*index).copied().unwrap_or(0.0) * factor;
                if scale == 0.0 {
                    continue;
                }
                let a = adapter.a_row(&self.tensor, token as usize)?;
                for (value, b) in row.iter_mut().zip(b.chunks_exact(a.len().max(1))) {
                    *value += scale * a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
                }
            }
        }
        Ok(())
    }
}

/// The scales of adapters in a step.
#[derive(Default)]
pub(crate) struct BatchAdapters {
    /// The scales of all adapters, for each chunk; empty if all are zero.
    chunks: Vec<Vec<f32>>,
}

impl BatchAdapters {
    /// `chosen` has the scales for each chunk; empty for the defaults.
    pub(crate) fn new(chunks: &[Chunk<'_>], adapters: &[ModelAdapter], chosen: Vec<Vec<f32>>) -> Result<Self, Error> {
        let defaults = || vec![adapters.iter().map(|one| one.scale).collect(); chunks.len()];
        let scales: Vec<Vec<f32>> = if chosen.is_empty() { defaults() } else { chosen };
        if scales.len() != chunks.len() || scales.iter().any(|scales| scales.len() != adapters.len()) {
            return Err(Error::file(format!("a chunk needs {} scales of adapters", adapters.len())));
        }
        let any = scales.iter().flatten().any(|scale| *scale != 0.0);
        Ok(Self { chunks: if any { scales } else { Vec::new() } })
    }

    /// The number of adapters; 0 if all scales are zero.
    pub(crate) fn count(&self) -> usize {
        self.chunks.first().map_or(0, Vec::len)
    }

    /// The scales of the adapters for a chunk.
    pub(crate) fn scales(&self, chunk: usize) -> &[f32] {
        self.chunks.get(chunk).map_or(&[], Vec::as_slice)
    }

    /// Writes the scales for rows of these chunks to the inputs of a step, from a word on.
    pub(crate) fn write(&self, chunks: impl Iterator<Item = usize>, first: usize, words: &mut [u32]) {
        let scales = chunks.flat_map(|chunk| self.scales(chunk));
        // Without adapters the inputs may end before that word.
        words.iter_mut().skip(first).zip(scales).for_each(|(word, scale)| *word = scale.to_bits());
    }
}
