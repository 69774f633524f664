//! LoRA adapters: products of two narrow matrices, added to matrices of a model.
//!
//! A file has a pair of tensors, `X.lora_a` and `X.lora_b`, for each matrix `X` that it changes. The
//! output of the matrix becomes `W x + scale * alpha / rank * B (A x)`. Files may be hostile: every
//! shape is checked against the model.

use std::collections::{BTreeMap, BTreeSet};

use roci_gguf::{Gguf, TensorInfo, Type};

use crate::architecture::Model;
use crate::architecture::blocks::{
    FeedForward, FeedForwardKind, GatedFeedForward, Layer, Linear, PerLayerInput, SharedExpert,
};

/// Maximum rank. Adapters in use have up to 512.
const MAX_RANK: u64 = 4096;

/// The key of adapters that apply only after certain tokens.
const INVOCATION_TOKENS: &str = "adapter.alora.invocation_tokens";

/// Why a file is no adapter of a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdapterError {
    /// A metadata key is missing or has the wrong type.
    #[error(transparent)]
    File(#[from] roci_gguf::Error),
    /// A key has another value than that of a LoRA adapter.
    #[error("`{key}` is `{found}`, expected `{expected}`")]
    Key {
        /// Key in the metadata.
        key: &'static str,
        /// Its value.
        found: String,
        /// The value of a LoRA adapter.
        expected: &'static str,
    },
    /// The adapter is for models of another architecture.
    #[error("the adapter is for the architecture `{adapter}`, but the model is `{model}`")]
    Architecture {
        /// Architecture in the adapter.
        adapter: String,
        /// Architecture of the model.
        model: String,
    },
    /// An adapter that applies only after certain tokens.
    #[error("the adapter applies only after certain tokens (`{INVOCATION_TOKENS}`), which is not supported")]
    Invocation,
    /// The factor of the adapter is not finite.
    #[error("`adapter.lora.alpha` is {0}")]
    Alpha(f32),
    /// A tensor does not fit the model, or its pair.
    #[error("tensor `{tensor}`: {reason}")]
    Tensor {
        /// Name of the tensor.
        tensor: String,
        /// What is wrong.
        reason: String,
    },
}

impl AdapterError {
    /// What the user can do, in one sentence.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::File(error) => return error.hint(),
            Self::Key { .. } => "give a LoRA adapter in GGUF, as llama.cpp's `convert_lora_to_gguf.py` makes it".into(),
            Self::Architecture { .. } => "give the adapter of this model".into(),
            Self::Invocation => "give an adapter without such tokens".into(),
            Self::Alpha(_) => "convert the adapter again".into(),
            Self::Tensor { .. } => "give an adapter that was made for this model".into(),
        })
    }

    fn tensor(tensor: &str, reason: impl Into<String>) -> Self {
        Self::Tensor { tensor: tensor.to_owned(), reason: reason.into() }
    }
}

/// A LoRA adapter of a model.
#[derive(Debug)]
pub struct Adapter {
    file: Gguf,
    /// 0 if the products have no factor but the user's.
    alpha: f32,
    /// Ranks by the name of the model's tensor.
    ranks: BTreeMap<String, usize>,
}

impl Adapter {
    /// Reads an adapter, and checks it against the file and the description of its model.
    ///
    /// # Errors
    /// If the file is no adapter, or belongs to another model.
    pub fn new(file: Gguf, base: &Gguf, model: &Model) -> Result<Self, AdapterError> {
        let metadata = file.metadata();
        for (key, expected) in [("general.type", "adapter"), ("adapter.type", "lora")] {
            let found = metadata.get::<&str>(key)?.unwrap_or_default();
            if found != expected {
                return Err(AdapterError::Key { key, found: found.to_owned(), expected });
            }
        }
        let architecture = metadata.expect_str("general.architecture")?;
        let expected = base.metadata().expect_str("general.architecture")?;
        if architecture != expected {
            let (adapter, model) = (architecture.to_owned(), expected.to_owned());
            return Err(AdapterError::Architecture { adapter, model });
        }
        if metadata.value(INVOCATION_TOKENS).is_some() {
            return Err(AdapterError::Invocation);
        }
        let alpha = metadata.get::<f32>("adapter.lora.alpha")?.unwrap_or(0.0);
        if !alpha.is_finite() {
            return Err(AdapterError::Alpha(alpha));
        }
        let ranks = ranks(&file, base, model)?;
        Ok(Self { file, alpha, ranks })
    }

    /// The names of the model's tensors that it changes.
    pub fn tensors(&self) -> impl Iterator<Item = &str> {
        self.ranks.keys().map(String::as_str)
    }

    /// The rank of the change of a tensor; `None` if it does not change it.
    pub fn rank(&self, tensor: &str) -> Option<usize> {
        self.ranks.get(tensor).copied()
    }

    /// The matrix A of a tensor: rank rows of the length of the input. For embeddings, a row of the
    /// length of the rank for each token.
    ///
    /// # Errors
    /// If it does not change the tensor.
    pub fn a(&self, tensor: &str) -> Result<Vec<f32>, roci_gguf::Error> {
        self.file.expect_tensor(&format!("{tensor}.lora_a"))?.to_f32()
    }

    /// A row of the matrix A of a tensor.
    ///
    /// # Errors
    /// If there is no such row.
    pub fn a_row(&self, tensor: &str, row: usize) -> Result<Vec<f32>, roci_gguf::Error> {
        let name = format!("{tensor}.lora_a");
        let a = self.file.expect_tensor(&name)?;
        let rows = a.info().shape().get(1).map_or(1, |rows| *rows as usize);
        let size = a.bytes().len() / rows.max(1);
        a.info().kind().to_f32(a.bytes().get(row * size..(row + 1) * size).unwrap_or_default())
    }

    /// The matrix B of a tensor, times `alpha / rank`: a row of the length of the rank for each
    /// output.
    ///
    /// # Errors
    /// If it does not change the tensor.
    pub fn b(&self, tensor: &str) -> Result<Vec<f32>, roci_gguf::Error> {
        let mut values = self.file.expect_tensor(&format!("{tensor}.lora_b"))?.to_f32()?;
        let rank = self.rank(tensor).unwrap_or(1) as f32;
        if self.alpha != 0.0 {
            values.iter_mut().for_each(|value| *value *= self.alpha / rank);
        }
        Ok(values)
    }
}

/// The rank of each pair of tensors.
fn ranks(file: &Gguf, base: &Gguf, model: &Model) -> Result<BTreeMap<String, usize>, AdapterError> {
    let mut pairs: BTreeMap<&str, [Option<&TensorInfo>; 2]> = BTreeMap::new();
    for tensor in file.tensors() {
        let info = tensor.info();
        let name = info.name();
        if let Some(target) = name.strip_suffix(".lora_a") {
            pairs.entry(target).or_default()[0] = Some(info);
        } else if let Some(target) = name.strip_suffix(".lora_b") {
            pairs.entry(target).or_default()[1] = Some(info);
        } else if !name.ends_with("_norm.weight") {
            // llama.cpp ignores weights of norms, too.
            return Err(AdapterError::tensor(name, "it is neither `.lora_a` nor `.lora_b` of another one"));
        }
    }
    if pairs.is_empty() {
        return Err(AdapterError::tensor("*.lora_a", "the file has none"));
    }
    let (used, carriers): (BTreeSet<&str>, _) = (model.tensors().into_iter().collect(), carriers(model));
    let mut ranks = BTreeMap::new();
    for (target, pair) in pairs {
        let [Some(a), Some(b)] = pair else {
            let missing = if pair[0].is_none() { "lora_a" } else { "lora_b" };
            return Err(AdapterError::tensor(target, format!("its `.{missing}` is missing")));
        };
        let Some(tensor) = base.tensor(target) else {
            return Err(AdapterError::tensor(target, "the model has no tensor of this name"));
        };
        // Keys of layers that read those of others, and layers that predict further tokens.
        if !used.contains(target) {
            continue;
        }
        let is_embedding = target == model.embedding.tensor;
        if is_embedding && model.output.matrix.tensor == target && model.is_causal() {
            let reason = "adapters of embeddings that are also the output matrix are not supported";
            return Err(AdapterError::tensor(target, reason));
        }
        if is_embedding && !model.input.is_empty() {
            return Err(AdapterError::tensor(target, "adapters of embeddings with a norm are not supported"));
        }
        if !is_embedding && !carriers.contains(target) {
            let kind = if target.contains("_exps.") { "experts" } else { "tensors of this kind" };
            return Err(AdapterError::tensor(target, format!("adapters of {kind} are not supported")));
        }
        for info in [a, b] {
            if matches!(info.kind(), Type::I8 | Type::I16 | Type::I32 | Type::I64) {
                return Err(AdapterError::tensor(info.name(), format!("it has type {}", info.kind())));
            }
        }
        let [columns, rows] = two(tensor.info())?;
        let ([a_length, a_rows], [b_length, _]) = (two(a)?, two(b)?);
        // Embeddings are looked up in A, so that its rows are those of tokens.
        let (rank, expected) = match is_embedding {
            true => (a_length, [[b_length, rows], [a_length, columns]]),
            false => (a_rows, [[columns, b_length], [a_rows, rows]]),
        };
        for (info, expected) in [a, b].into_iter().zip(expected) {
            let found = two(info)?;
            if found != expected {
                return Err(AdapterError::tensor(
                    info.name(),
                    format!("it has shape {found:?}, expected {expected:?}"),
                ));
            }
        }
        if rank == 0 || rank > MAX_RANK {
            return Err(AdapterError::tensor(a.name(), format!("its rank is {rank}; 1 to {MAX_RANK} are supported")));
        }
        ranks.insert(target.to_owned(), rank as usize);
    }
    Ok(ranks)
}

/// The shape of a matrix.
fn two(info: &TensorInfo) -> Result<[u64; 2], AdapterError> {
    match info.shape() {
        [columns] => Ok([*columns, 1]),
        [columns, rows, others @ ..] if others.iter().all(|size| *size == 1) => Ok([*columns, *rows]),
        shape => Err(AdapterError::tensor(info.name(), format!("it has shape {shape:?}, expected a matrix"))),
    }
}

/// The names of the matrices that an adapter may change: those of products that all tokens share.
fn carriers(model: &Model) -> BTreeSet<&str> {
    let per_layer = model.per_layer.iter().map(|block| &block.projection);
    let output = model.is_causal().then_some(&model.output);
    let linears = model.layers.iter().flat_map(linears).chain(per_layer).chain(output);
    linears.map(|linear| linear.matrix.tensor.as_str()).collect()
}

/// The linear layers of a layer that an adapter may change.
pub fn linears(layer: &Layer) -> impl Iterator<Item = &Linear> {
    let feed_forward = layer.feed_forward.iter().flat_map(feed_forward);
    let per_layer = layer.per_layer.iter().flat_map(PerLayerInput::linears);
    layer.mixer_linears().chain(feed_forward).chain(per_layer)
}

fn feed_forward(block: &FeedForward) -> impl Iterator<Item = &Linear> {
    let (router, network) = match &block.kind {
        FeedForwardKind::Dense(network) => (None, Some(network)),
        FeedForwardKind::Experts { router, .. } => (Some(router), None),
    };
    let shared = block.shared.iter().flat_map(SharedExpert::linears);
    router.into_iter().chain(network.into_iter().flat_map(GatedFeedForward::linears)).chain(shared)
}

#[cfg(test)]
mod tests;
