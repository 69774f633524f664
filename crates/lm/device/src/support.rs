//! Which models devices can compute.

use roci_kernels::params::LmMixStreams;
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{
    Activation, Attention, FeedForward, FeedForwardKind, GatedFeedForward, Layer, Mixer, Norm, NormKind, NormSpan,
};

use crate::Error;
use crate::latent;

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
    let of_layer = |layer: &Layer| {
        mixers(&layer.mixers)
            .or_else(|| layer.attention().and_then(attention))
            .or_else(|| layer.feed_forward.as_ref().and_then(feed_forward))
            .or_else(|| branches(layer))
    };
    let most = LmMixStreams::MOST as usize;
    let streams = model.streams.as_ref().filter(|streams| streams.starts.len() >= most);
    let streams = streams.map(|_| "more than four residual streams");
    let latents = model.layers.iter().filter_map(Layer::attention).filter(|block| block.latent.is_some());
    let heads: Vec<usize> = latents.map(|block| block.heads).collect();
    let differ = heads.windows(2).any(|two| two[0] != two[1]);
    streams
        .or(differ.then_some("latents of different numbers of heads"))
        .or_else(|| model.layers.iter().find_map(of_layer))
}

/// What no device computes of a layer with branches beside attention, or with several residual
/// streams.
fn branches(layer: &Layer) -> Option<&'static str> {
    let is_plain_rms = |norm: &Norm| norm.kind == NormKind::Rms && norm.bias.is_none();
    let has_norm = matches!(&layer.mixers[..], [Mixer::Attention(Attention { norm: Some(_), .. })]);
    let coefficients = layer.streams.iter().flat_map(|mixing| [&mixing.predict, &mixing.correct]);
    first(&[
        (
            layer.low_rank.is_some() && (layer.parallel || !has_norm),
            "branches beside other blocks than a single one of attention",
        ),
        (
            layer.low_rank.as_ref().is_some_and(|block| !is_plain_rms(&block.post_norm)),
            "branches beside attention with other norms than RMS norms",
        ),
        (coefficients.into_iter().any(|linear| linear.bias.is_some()), "coefficients of residual streams with biases"),
        (layer.streams.is_some() && layer.output_scale.is_some(), "scales of layers with several residual streams"),
    ])
}

/// Combinations of mixers in a layer that no device supports.
fn mixers(mixers: &[Mixer]) -> Option<&'static str> {
    match mixers {
        [Mixer::TimeMix(_)] => Some("time mixing (RWKV)"),
        [] | [_] | [Mixer::Attention(_), Mixer::StateSpace(_)] => None,
        _ => Some("several recurrent blocks in a layer"),
    }
}

/// What no device computes of an attention block.
fn attention(block: &Attention) -> Option<&'static str> {
    if let Some(found) = block.latent.as_ref().and_then(|latent| latent::unsupported(block, latent)) {
        return Some(found);
    }
    if block.causal && block.alibi.is_some() {
        return Some("ALiBi over earlier tokens");
    }
    let of_values = |norm: &Norm| {
        let query = block.head_norms.as_ref().filter(|norms| norms.span != NormSpan::Row && !norms.after_rope);
        let same = query.is_some_and(|norms| norms.query.epsilon == norm.epsilon);
        norm.kind == NormKind::Rms && norm.vectors().next().is_none() && same
    };
    if !block.value_norm.as_ref().is_none_or(of_values) {
        return Some("norms of values unlike those of queries");
    }
    let norms = block.head_norms.as_ref()?;
    let is_rotated = 2 * block.rope.frequencies.len() == block.key_length;
    let is_rms = norms.query.kind == NormKind::Rms;
    first(&[
        (norms.query.bias.is_some() || norms.key.bias.is_some(), "norms of queries and keys with biases"),
        // Kernels divide by the root of the mean square before RoPE.
        (norms.after_rope && norms.span == NormSpan::Row, "norms of all queries and keys after RoPE"),
        (norms.after_rope && !is_rms, "layer norms of queries and keys after RoPE"),
        (
            norms.after_rope && block.rope.magnitude != 1.0 && !is_rotated,
            "norms of queries and keys after RoPE that scales a part of them",
        ),
    ])
}

/// What no device computes of a feed-forward block.
fn feed_forward(block: &FeedForward) -> Option<&'static str> {
    let experts: &[GatedFeedForward] = match &block.kind {
        FeedForwardKind::Dense(_) => &[],
        FeedForwardKind::Experts { experts, .. } => experts,
    };
    let has_shared_norm = block.shared.as_ref().is_some_and(|shared| shared.post_norm.is_some());
    first(&[
        (block.sparsity.is_some() && !experts.is_empty(), "sparse activations of experts"),
        // A shared expert with a norm moves its output to another buffer, which frees its first one
        // for the sum of the experts.
        (
            block.experts_norm.is_some() && (block.post_norm.is_none() || !has_shared_norm),
            "a norm of experts without norms of a shared expert and of the sum",
        ),
        (block.shared.is_some() && experts.is_empty(), "a shared expert beside a dense network"),
        (
            experts.iter().any(|expert| expert.up.is_some()) && block.activation == Activation::ReluSquared,
            "experts with a gate of squared ReLU",
        ),
    ])
}

/// The first feature that the block has.
fn first(found: &[(bool, &'static str)]) -> Option<&'static str> {
    found.iter().find_map(|(found, what)| found.then_some(*what))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use roci_lm::architecture::blocks::Mixer;
    use roci_lm::synthetic::{Case, architectures, embedders, hybrids};

    use super::*;

    fn described(case: &Case) -> Model {
        let file = case.open().expect("the synthetic file is valid");
        Model::new(&file, Some(case.context)).expect("the architecture is described")
    }

    /// Cases that devices refuse, and what they have.
    const REFUSED: &[(&str, &str)] = &[("rwkv7", "time mixing (RWKV)")];

    #[test]
    fn every_other_architecture_is_computed() {
        let cases: Vec<Case> = architectures().into_iter().chain(hybrids()).chain(embedders()).collect();
        let refused = cases.iter().filter_map(|case| Some((case.name.as_str(), unsupported(&described(case))?)));
        assert_eq!(refused.collect::<Vec<_>>(), REFUSED);
    }

    #[test]
    fn blocks_without_kernels_are_refused_by_name() {
        let named = |name: &str| {
            let case = architectures().into_iter().find(|case| case.name == name);
            described(&case.expect("the case exists"))
        };
        let mut experts = named("gpt-oss");
        let block = experts.layers[0].feed_forward.as_mut().expect("the layer has feed-forward");
        block.activation = Activation::ReluSquared;
        let mut norms = named("hunyuan-dense");
        let [Mixer::Attention(block)] = &mut norms.layers[0].mixers[..] else { panic!("the layer has attention") };
        block.head_norms.as_mut().expect("heads are normalized").query.kind = NormKind::Layer;
        let mut alibi = named("llama");
        let [Mixer::Attention(block)] = &mut alibi.layers[1].mixers[..] else { panic!("the layer has attention") };
        block.alibi = Some(8.0);
        let mut mixers = described(&hybrids()[0]);
        let more = mixers.layers[0].mixers.clone();
        mixers.layers[0].mixers.extend(more);
        let mut values = named("gemma4");
        let [Mixer::Attention(block)] = &mut values.layers[0].mixers[..] else { panic!("the layer has attention") };
        block.value_norm.as_mut().expect("values are normalized").epsilon = 0.5;
        let mut sparse = named("gpt-oss");
        sparse.layers[0].feed_forward.as_mut().expect("the layer has feed-forward").sparsity = Some(1.0);
        let mut streams = named("gemma3n");
        let block = streams.streams.as_mut().expect("there are several streams");
        block.starts.push(block.starts[0].clone());
        let mut branches = named("gemma3n");
        branches.layers[1].parallel = true;
        let mut scale = named("gemma3n");
        scale.layers[1].output_scale = scale.layers[1].streams.as_ref().map(|block| block.correct_scale.clone());
        for (model, what) in [
            (mixers, "several recurrent blocks in a layer"),
            (experts, "experts with a gate of squared ReLU"),
            (norms, "layer norms of queries and keys after RoPE"),
            (alibi, "ALiBi over earlier tokens"),
            (values, "norms of values unlike those of queries"),
            (sparse, "sparse activations of experts"),
            (streams, "more than four residual streams"),
            (branches, "branches beside other blocks than a single one of attention"),
            (scale, "scales of layers with several residual streams"),
        ] {
            let message = check(&model).expect_err("the model is refused").to_string();
            assert!(message.contains(&format!("has {what}, which no device computes yet")), "{message}");
        }
    }

    /// `scripts/architectures --write` writes the table.
    #[test]
    fn the_page_of_architectures_is_up_to_date() {
        let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference/architectures.md");
        let page = std::fs::read_to_string(page).expect("the page exists");
        let mut expected: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for case in architectures().into_iter().chain(hybrids()).chain(embedders()) {
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
