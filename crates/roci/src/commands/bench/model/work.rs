//! What a token costs at the least.

use roci_gguf::Gguf;
use roci_llm::architecture::Model;
use roci_llm::architecture::blocks::{FeedForwardKind, Linear, Matrix};

/// What a token costs at the least. Keys and values are left out: they depend on the length of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work {
    /// Bytes of weights that must be read to write one token: all but an embedding of its own, of which a row is looked up, and but
    /// experts that a token does not take.
    pub(super) bytes: u64,
    /// Additions and multiplications to read one token of a prompt: two for each weight of the layers. Logits are computed for the last
    /// token alone, so that their matrix does not count.
    pub(super) operations: u64,
}

impl Work {
    /// Counts it by the model's description.
    pub(super) fn of(file: &Gguf, model: &Model) -> Self {
        let byte_len = |name: &str| file.tensor(name).map_or(0, |tensor| tensor.info().byte_len());
        let all: u64 = model.tensors().into_iter().map(byte_len).sum();
        let tied = model.embedding.tensor == model.output.matrix.tensor;
        let looked_up = if tied { 0 } else { byte_len(&model.embedding.tensor) };
        let (mut values, mut idle) = (0, 0);
        for layer in &model.layers {
            let block = &layer.attention;
            values += weights([&block.query, &block.key, &block.value, &block.output]);
            match &layer.feed_forward.kind {
                FeedForwardKind::Dense(gated) => values += weights([&gated.gate, &gated.up, &gated.down]),
                FeedForwardKind::Experts { router, experts, used } => {
                    let linears = || experts.iter().flat_map(|gated| [&gated.gate, &gated.up, &gated.down]);
                    let (used, count) = ((*used).min(experts.len()) as u64, experts.len().max(1) as u64);
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
    use roci_llm::synthetic::{Case, architectures};

    fn case(name: &str) -> Case {
        architectures().into_iter().find(|case| case.name == name).expect("it is among them")
    }

    fn work(case: &Case) -> (Work, u64) {
        let file = case.open().expect("it can be made");
        let model = Model::new(&file, Some(64)).expect("it is known");
        let all = file.tensors().map(|tensor| tensor.info().byte_len()).sum();
        (Work::of(&file, &model), all)
    }

    #[test]
    fn an_embedding_counts_where_it_gives_the_logits_too() {
        let (tied, all) = work(&case("llama"));
        assert_eq!(tied.bytes, all);
        let untied = case("llama-untied");
        let (work, all) = work(&untied);
        let file = untied.open().expect("it can be made");
        assert_eq!(work.bytes, all - file.tensor("token_embd.weight").expect("it has one").info().byte_len());
    }

    #[test]
    fn two_operations_a_weight_of_the_layers() {
        let file = case("llama").open().expect("it can be made");
        let matrices = file.tensors().filter(|tensor| tensor.info().shape().len() == 2);
        let weights: u64 = matrices
            .filter(|tensor| tensor.info().name().starts_with("blk."))
            .map(|tensor| tensor.info().values())
            .sum();
        assert_eq!(work(&case("llama")).0.operations, 2 * weights);
    }

    #[test]
    fn experts_that_a_token_does_not_take_cost_nothing() {
        let experts = case("llama-experts");
        let (work, all) = work(&experts);
        let file = experts.open().expect("it can be made");
        let of_experts: u64 = file
            .tensors()
            .filter(|tensor| tensor.info().name().contains("_exps"))
            .map(|tensor| tensor.info().byte_len())
            .sum();
        assert!(of_experts > 0);
        // Two of four.
        assert_eq!(work.bytes, all - of_experts / 2);
    }
}
