//! The minimum cost of a token.

use roci_gguf::Gguf;
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{FeedForwardKind, GatedFeedForward, Linear, Matrix, PerLayerInput, SharedExpert};

/// The minimum cost of a token. The KV cache is left out: its cost depends on the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenCost {
    /// Bytes of weights that decoding one token reads: all except token and per-layer embeddings,
    /// of which only a row is read, and experts that are not selected. Tied embeddings count, as
    /// the output matrix.
    pub bytes: u64,
    /// Additions and multiplications of one token of prefill: two for each weight of the layers.
    /// The output matrix does not count, since only the last token has logits.
    pub operations: u64,
}

impl TokenCost {
    /// Computes the cost from the model's tensors.
    pub fn of(file: &Gguf, model: &Model) -> Self {
        let byte_len = |name: &str| file.tensor(name).map_or(0, |tensor| tensor.info().byte_len());
        let all: u64 = model.tensors().into_iter().map(byte_len).sum();
        let tied = model.embedding.tensor == model.output.matrix.tensor;
        let per_layer = model.per_layer.as_ref().map_or(0, |block| byte_len(&block.embedding.tensor));
        let looked_up = if tied { 0 } else { byte_len(&model.embedding.tensor) } + per_layer;
        let (mut values, mut idle) = (0, 0);
        values += weights(model.per_layer.iter().map(|block| &block.projection));
        for layer in &model.layers {
            values += weights(layer.mixer_linears());
            values += weights(layer.per_layer.iter().flat_map(PerLayerInput::linears));
            let Some(block) = &layer.feed_forward else { continue };
            values += weights(block.shared.iter().flat_map(SharedExpert::linears));
            match &block.kind {
                FeedForwardKind::Dense(network) => values += weights(network.linears()),
                FeedForwardKind::Experts { router, experts, routing } => {
                    let linears = || experts.iter().flat_map(GatedFeedForward::linears);
                    let (used, count) =
                        (routing.experts_per_token.min(experts.len()) as u64, experts.len().max(1) as u64);
                    values += weights([router]) + weights(linears()) * used / count;
                    let bytes: u64 = linears().map(|linear| matrix_bytes(file, &linear.matrix)).sum();
                    idle += bytes * (count - used) / count;
                }
            }
        }
        Self { bytes: all.saturating_sub(looked_up + idle), operations: 2 * values }
    }
}

fn weights<'a>(linears: impl IntoIterator<Item = &'a Linear>) -> u64 {
    linears.into_iter().map(|linear| linear.matrix.outputs() as u64 * linear.matrix.columns as u64).sum()
}

fn matrix_bytes(file: &Gguf, matrix: &Matrix) -> u64 {
    let kind = file.tensor(&matrix.tensor).map(|tensor| tensor.info().kind());
    kind.and_then(|kind| kind.bytes(matrix.columns as u64)).unwrap_or(0) * matrix.outputs() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use roci_lm::synthetic::{Case, architectures};

    fn case(name: &str) -> Case {
        architectures().into_iter().find(|case| case.name == name).expect("the architecture exists")
    }

    fn work(case: &Case) -> (TokenCost, u64) {
        let file = case.open().expect("the synthetic file is valid");
        let model = Model::new(&file, Some(64)).expect("the architecture is supported");
        let all = file.tensors().map(|tensor| tensor.info().byte_len()).sum();
        (TokenCost::of(&file, &model), all)
    }

    #[test]
    fn a_tied_embedding_counts_as_the_output_matrix() {
        let (tied, all) = work(&case("llama"));
        assert_eq!(tied.bytes, all);
        let untied = case("llama-untied");
        let (work, all) = work(&untied);
        let file = untied.open().expect("the synthetic file is valid");
        assert_eq!(
            work.bytes,
            all - file.tensor("token_embd.weight").expect("the file has the tensor").info().byte_len()
        );
    }

    #[test]
    fn prefill_takes_two_operations_for_each_weight() {
        let file = case("llama").open().expect("the synthetic file is valid");
        let matrices = file.tensors().filter(|tensor| tensor.info().shape().len() == 2);
        let weights: u64 = matrices
            .filter(|tensor| tensor.info().name().starts_with("blk."))
            .map(|tensor| tensor.info().values())
            .sum();
        assert_eq!(work(&case("llama")).0.operations, 2 * weights);
    }

    #[test]
    fn unused_experts_cost_nothing() {
        let experts = case("llama-experts");
        let (work, all) = work(&experts);
        let file = experts.open().expect("the synthetic file is valid");
        let of_experts: u64 = file
            .tensors()
            .filter(|tensor| tensor.info().name().contains("_exps"))
            .map(|tensor| tensor.info().byte_len())
            .sum();
        assert!(of_experts > 0);
        // Two of the four experts are used.
        assert_eq!(work.bytes, all - of_experts / 2);
    }
}
