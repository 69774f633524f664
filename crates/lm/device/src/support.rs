//! Which models devices can compute.

use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{
    Activation, Attention, ExpertScores, FeedForward, FeedForwardKind, GatedFeedForward, HeadNorms, Mixer, Norm,
    NormKind, NormSpan, Routing,
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
    if !is_rms(&model.norm) {
        Some("a layer norm")
    } else {
        model.layers.iter().find_map(|layer| {
            let parallel = layer.parallel.then_some("parallel blocks");
            parallel
                .or_else(|| mixers(&layer.mixers))
                .or_else(|| layer.attention().and_then(attention))
                .or_else(|| layer.feed_forward.as_ref().and_then(feed_forward))
        })
    }
}

/// Which mixers of one layer no device computes.
fn mixers(mixers: &[Mixer]) -> Option<&'static str> {
    match mixers {
        [] | [_] | [Mixer::Attention(_), Mixer::StateSpace(_)] => None,
        _ => Some("several recurrent blocks in a layer"),
    }
}

/// What no device computes of an attention block.
fn attention(block: &Attention) -> Option<&'static str> {
    let before_rope = |norms: &HeadNorms| norms.span == NormSpan::Head && !norms.after_rope;
    [
        (block.sinks.is_some(), "attention sinks"),
        (block.chunk.is_some(), "chunks of attention in a context of this length"),
        (block.temperature.is_some(), "an attention temperature in a context of this length"),
        (!block.head_norms.as_ref().is_none_or(before_rope), "norms of queries and keys over all heads or after RoPE"),
        (!block.norms().all(is_rms), "a layer norm"),
    ]
    .into_iter()
    .find_map(|(found, what)| found.then_some(what))
}

/// What no device computes of a feed-forward block.
fn feed_forward(block: &FeedForward) -> Option<&'static str> {
    let (networks, routed) = match &block.kind {
        FeedForwardKind::Dense(network) => (std::slice::from_ref(network), true),
        FeedForwardKind::Experts { experts, routing, .. } => (experts.as_slice(), is_softmax_of_chosen(routing)),
    };
    let is_dense = matches!(block.kind, FeedForwardKind::Dense(_));
    let experts_biased =
        !is_dense && networks.iter().flat_map(GatedFeedForward::linears).any(|linear| linear.bias.is_some());
    [
        (block.shared.is_some() && is_dense, "a shared expert beside a dense network"),
        (!routed, "experts that are not weighed by the softmax of the chosen ones"),
        (experts_biased, "experts with biases"),
        (networks.iter().any(|network| network.up.is_none()), "feed-forward networks without a gate"),
        (!matches!(block.activation, Activation::Silu | Activation::Gelu), "another activation than SiLU and GELU"),
        (!block.norm.iter().chain(&block.post_norm).all(is_rms), "a layer norm"),
    ]
    .into_iter()
    .find_map(|(found, what)| found.then_some(what))
}

fn is_rms(norm: &Norm) -> bool {
    norm.kind == NormKind::Rms && norm.weight.is_some() && norm.bias.is_none()
}

fn is_softmax_of_chosen(routing: &Routing) -> bool {
    let Routing { scores, bias, normalized, scale, weighted_input, .. } = routing;
    *scores == ExpertScores::Softmax && bias.is_none() && *normalized && *scale == 1.0 && !weighted_input
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use roci_lm::synthetic::{architectures, hybrids};

    use super::*;

    const LAYER_NORM: &str = "a layer norm";
    const HEAD_NORMS: &str = "norms of queries and keys over all heads or after RoPE";
    const ROUTING: &str = "experts that are not weighed by the softmax of the chosen ones";

    /// Cases that devices refuse, and what they have.
    const REFUSED: &[(&str, &str)] = &[
        ("arcee", "feed-forward networks without a gate"),
        ("hunyuan-dense", HEAD_NORMS),
        ("mistral3-temperature", "an attention temperature in a context of this length"),
        ("phimoe", LAYER_NORM),
        ("olmoe", HEAD_NORMS),
        ("qwen2moe", ROUTING),
        ("deepseek", ROUTING),
        ("dots1", ROUTING),
        ("hunyuan-moe", HEAD_NORMS),
        ("glm4moe", ROUTING),
        ("glm4moe-norms", ROUTING),
        ("minimax-m2", HEAD_NORMS),
        ("llama4", HEAD_NORMS),
        ("orion", LAYER_NORM),
        ("starcoder2", LAYER_NORM),
        ("codeshell", LAYER_NORM),
        ("nemotron", LAYER_NORM),
        ("stablelm", LAYER_NORM),
        ("olmo2", HEAD_NORMS),
        ("olmo2-windows", HEAD_NORMS),
        ("phi2", LAYER_NORM),
        ("gptneox", LAYER_NORM),
        ("gptneox-sequential", LAYER_NORM),
        ("falcon", LAYER_NORM),
        ("falcon-norms", LAYER_NORM),
        ("stablelm-parallel", LAYER_NORM),
        ("command-r", LAYER_NORM),
        ("command-r-norms", LAYER_NORM),
        ("cohere2", LAYER_NORM),
        ("gpt-oss", "attention sinks"),
        ("gpt-oss-mxfp4", "attention sinks"),
        ("lfm2moe", ROUTING),
        ("nemotron_h", "feed-forward networks without a gate"),
        ("nemotron_h_moe", ROUTING),
    ];

    #[test]
    fn blocks_without_kernels_are_refused_by_name() {
        let described = |case: &roci_lm::synthetic::Case| {
            Model::new(&case.open().expect("the synthetic file is valid"), Some(case.context))
                .expect("the architecture is described")
        };
        let refused: Vec<(String, String)> = architectures()
            .iter()
            .chain(&hybrids())
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
