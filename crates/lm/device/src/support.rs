//! Which models devices can compute.

use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{
    Activation, Attention, FeedForward, FeedForwardKind, Layer, Norm, NormKind, NormSpan,
};

use crate::Error;

/// Refuses a model with blocks that devices have no kernels for.
pub(crate) fn check(model: &Model) -> Result<(), Error> {
    let Some(found) = unsupported(model) else { return Ok(()) };
    Err(Error::File {
        message: format!("the architecture `{}` has {found}, which no device computes yet", model.config.architecture),
        hint: Some("choose a model without them".to_owned()),
    })
}

/// What a model has that no device computes, if anything.
pub fn unsupported(model: &Model) -> Option<&'static str> {
    if model.is_recurrent() {
        return Some("gated delta nets");
    }
    let of_layer = |layer: &Layer| layer.attention().and_then(attention).or_else(|| feed_forward(&layer.feed_forward));
    model.layers.iter().find_map(of_layer)
}

/// What no device computes of an attention block.
fn attention(block: &Attention) -> Option<&'static str> {
    let head_norms = block.head_norms.as_ref();
    first(&[
        (block.output_gate.is_some(), "attention with an output gate"),
        (block.chunk.is_some(), "chunks of attention in a context of this length"),
        (head_norms.is_some_and(|norms| norms.span == NormSpan::EachHead), "norms with weights for each head"),
        (head_norms.is_some_and(|norms| !is_plain_rms(&norms.query)), "layer norms of queries and keys"),
        // Kernels compute the norm before RoPE, which must keep it.
        (
            head_norms.is_some_and(|norms| norms.after_rope) && block.rope.magnitude != 1.0,
            "norms of queries and keys after scaled RoPE",
        ),
        (!block.post_norm.as_ref().is_none_or(is_plain_rms), "layer norms of outputs"),
    ])
}

/// What no device computes of a feed-forward block.
fn feed_forward(block: &FeedForward) -> Option<&'static str> {
    let routing = match &block.kind {
        FeedForwardKind::Dense(_) => None,
        FeedForwardKind::Experts { routing, .. } => Some(routing),
    };
    first(&[
        (block.shared.is_some(), "a shared expert"),
        (routing.is_some_and(|routing| routing.weighted_input), "experts with weighted inputs"),
        (routing.is_some() && block.activation == Activation::ReluSquared, "experts with squared ReLU"),
        (!block.post_norm.as_ref().is_none_or(is_plain_rms), "layer norms of outputs"),
    ])
}

fn is_plain_rms(norm: &Norm) -> bool {
    norm.kind == NormKind::Rms && norm.bias.is_none()
}

/// The first thing that is there.
fn first(things: &[(bool, &'static str)]) -> Option<&'static str> {
    things.iter().find_map(|(found, what)| found.then_some(*what))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use roci_lm::synthetic::{architectures, hybrids};

    use super::*;

    const SHARED: &str = "a shared expert";

    /// Cases that devices refuse, and what they have.
    const REFUSED: &[(&str, &str)] = &[
        ("granitemoe-shared", SHARED),
        ("qwen2moe", SHARED),
        ("deepseek", SHARED),
        ("dots1", SHARED),
        ("ernie4_5-moe", SHARED),
        ("hunyuan-moe", SHARED),
        ("glm4moe", SHARED),
        ("glm4moe-norms", SHARED),
        ("llama4", SHARED),
        ("stablelm-parallel", "norms with weights for each head"),
        ("command-r-norms", "norms with weights for each head"),
    ];

    #[test]
    fn models_with_gated_delta_nets_are_refused_and_others_are_not() {
        let described = |case: &roci_lm::synthetic::Case| {
            Model::new(&case.open().expect("the synthetic file is valid"), Some(case.context))
                .expect("the architecture is described")
        };
        let refused: Vec<(String, String)> = architectures()
            .iter()
            .filter_map(|case| Some((case.name.clone(), check(&described(case)).err()?.to_string())))
            .collect();
        let found: Vec<(&str, &str)> = refused
            .iter()
            .map(|(name, error)| {
                let (_, what) = error.split_once(" has ").expect("the message names what it has");
                (name.as_str(), what.strip_suffix(", which no device computes yet").expect("the message ends so"))
            })
            .collect();
        assert_eq!(found, REFUSED);
        for case in hybrids() {
            let error = check(&described(&case)).expect_err("no device computes it");
            let name = case.recipe.architecture;
            let expected = format!("the architecture `{name}` has gated delta nets, which no device computes yet");
            assert_eq!(error.to_string(), expected);
        }
    }

    /// `scripts/architectures --write` writes the table.
    #[test]
    fn the_page_of_architectures_is_up_to_date() {
        let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference/architectures.md");
        let page = std::fs::read_to_string(page).expect("the page exists");
        let mut expected: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for case in architectures().into_iter().chain(hybrids()) {
            let model = Model::new(&case.open().expect("the synthetic file is valid"), Some(case.context));
            let model = model.expect("the architecture is described");
            let refused = expected.entry(model.config.architecture.to_owned()).or_default();
            refused.push(unsupported(&model).unwrap_or_default());
        }
        let header = "| `general.architecture` |";
        let rows = page.lines().filter(|line| line.starts_with("| `") && !line.starts_with(header));
        let rows: Vec<&str> = rows.collect();
        for (name, refused) in &expected {
            let runs = if refused.iter().all(|what| !what.is_empty()) { "reference" } else { "every device" };
            let row = rows.iter().find(|row| row.starts_with(&format!("| `{name}` | {runs} | ")));
            let row = row.unwrap_or_else(|| panic!("the page lacks `{name}`, which runs on: {runs}"));
            assert!(refused.iter().all(|what| row.contains(what)), "{row}: {refused:?}");
        }
        let refused = rows.iter().filter(|row| row.contains("` | refused | ")).count();
        assert_eq!(rows.len(), expected.len() + refused, "the page has an architecture that no model has");
    }
}
