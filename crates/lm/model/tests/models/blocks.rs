//! The blocks that architectures differ in: scales, position embedding, norms, routing.

use roci_gguf::Value;
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{ExpertScores, FeedForwardKind, Norm, NormKind, NormSpan, Temperature};

use crate::{attention, case, changed, feed_forward, model, norm_tensor, refused};

#[test]
fn scales_are_read_and_that_of_blocks_becomes_part_of_the_norms() {
    let granite = model("granite");
    assert_eq!(granite.embedding_scale, 3.0 / 0.4);
    assert_eq!(granite.logit_scale, 1.0 / 0.75);
    assert_eq!(attention(&granite, 0).scale, 0.1);
    let epsilon = |norm: &Norm| norm.epsilon;
    let scaled = 1e-5 / (0.4f32 * 0.4);
    assert_eq!(epsilon(&granite.norm), scaled);
    assert_eq!(feed_forward(&granite, 1).norm.as_ref().map(epsilon), Some(scaled));
    assert_eq!(model("command-r").logit_scale, 1.5);
    let text = refused(&changed("granite", "granite.logit_scale", None, "", &[]));
    assert_eq!(text, "the file lacks the key `granite.logit_scale`");
    let text = refused(&changed("olmo2", "olmo2.residual_scale", Some(Value::from(0.5f32)), "", &[]));
    assert_eq!(text, "the key `olmo2.residual_scale`: not supported for the architecture `olmo2`");
}

#[test]
fn layers_without_position_embedding_have_no_frequencies() {
    let rotated = |name: &str| -> Vec<bool> {
        let model = model(name);
        (0..model.layers.len()).map(|layer| !attention(&model, layer).rope.frequencies.is_empty()).collect()
    };
    assert_eq!(rotated("smollm3"), [true, true, true, false, true]);
    assert_eq!(rotated("cohere2"), [true, true, true, false]);
    assert_eq!(rotated("granite"), [true, true]);
    assert_eq!(rotated("granite-nope"), [false, false]);
    // Without windows, all layers of EXAONE 4 have RoPE.
    assert_eq!(rotated("exaone4"), [true, true]);
    assert_eq!(rotated("exaone4-windows")[2..6], [true, false, true, true]);
}

#[test]
fn norms_have_their_kind_and_place() {
    let olmo2 = model("olmo2");
    assert!(attention(&olmo2, 0).norm.is_none() && feed_forward(&olmo2, 0).norm.is_none());
    assert!(attention(&olmo2, 0).post_norm.is_some() && feed_forward(&olmo2, 0).post_norm.is_some());
    let span = |name: &str| attention(&model(name), 0).head_norms.as_ref().map(|norms| (norms.span, norms.after_rope));
    assert_eq!(span("olmo2"), Some((NormSpan::Row, false)));
    assert_eq!(span("hunyuan-dense"), Some((NormSpan::Head, true)));
    assert_eq!(span("stablelm-parallel"), Some((NormSpan::EachHead, false)));
    assert_eq!((span("stablelm"), span("glm4moe")), (None, None));
    assert_eq!(span("glm4moe-norms"), Some((NormSpan::Head, false)));
    let starcoder2 = model("starcoder2");
    assert!(starcoder2.norm.kind == NormKind::Layer && starcoder2.norm.bias.is_some());
    // Only layers with RoPE have norms in Llama 4, and these have no weights.
    let llama4 = model("llama4");
    let norms = |layer| attention(&llama4, layer).head_norms.as_ref().map(|norms| norms.query.weight.is_some());
    assert_eq!((norms(0), norms(3)), (Some(false), None));
}

#[test]
fn blocks_without_a_norm_of_their_own_are_parallel() {
    let is_parallel = |name: &str| model(name).layers[0].parallel;
    for name in ["phi2", "falcon", "stablelm-parallel", "command-r", "cohere2", "gptneox"] {
        assert!(is_parallel(name), "{name}");
    }
    assert!(!is_parallel("stablelm") && !is_parallel("gptneox-sequential"));
    let norms = |name: &str| {
        let layer = model(name).layers.remove(0);
        let mixer = layer.attention().map(|block| norm_tensor(&block.norm).to_owned());
        (mixer.unwrap_or_default(), layer.feed_forward.as_ref().map_or("", |block| norm_tensor(&block.norm)).to_owned())
    };
    let (first, second) = ("blk.0.attn_norm.weight".to_owned(), "blk.0.attn_norm_2.weight".to_owned());
    assert_eq!(norms("falcon"), (first.clone(), first.clone()));
    assert_eq!(norms("falcon-norms"), (second, first));
}

#[test]
fn mixtures_are_routed_as_the_file_and_the_architecture_say() {
    let experts = |name: &str, layer: usize| {
        let block = model(name).layers.remove(layer).feed_forward.expect("the layer has feed-forward");
        let shared = block.shared.is_some();
        match block.kind {
            FeedForwardKind::Dense(_) => None,
            FeedForwardKind::Experts { routing, .. } => Some((routing, shared)),
        }
    };
    assert_eq!(experts("glm4moe", 0), None);
    let (routing, shared) = experts("glm4moe-norms", 1).expect("the layer has experts");
    assert!(routing.scores == ExpertScores::Sigmoid && routing.bias.is_some() && routing.normalized && shared);
    assert_eq!((routing.scale, routing.weighted_input), (1.5, false));
    assert!(!experts("glm4moe", 1).expect("the layer has experts").0.normalized);
    assert_eq!(experts("llama4", 0), None);
    assert!(experts("llama4", 1).expect("the layer has experts").0.weighted_input);
    let text = refused(&changed("glm4moe", "glm4moe.expert_group_count", Some(Value::from(2u32)), "", &[]));
    assert_eq!(text, "the key `glm4moe.expert_group_used_count`: 0 of 2 groups do not have 3 of 8 experts");
    let text = refused(&changed("dots1", "dots1.expert_gating_func", Some(Value::from(4u32)), "", &[]));
    assert!(text.starts_with("the key `dots1.expert_gating_func`: unknown function 4; known: "), "{text}");
}

/// Positions beyond the first step of the temperature, and chunks, matter only in longer contexts.
#[test]
fn temperatures_and_chunks_depend_on_the_context() {
    let block = |name: &str, context: u32, layer: usize| {
        let file = case(name).open().expect("the synthetic file is valid");
        let model = Model::new(&file, Some(context)).expect("the architecture is supported");
        let block = attention(&model, layer);
        (block.temperature, block.chunk)
    };
    let factor = |temperature: Option<Temperature>, position| temperature.expect("it has one").factor(position);
    let (temperature, _) = block("mistral3-temperature", 9, 0);
    assert_eq!((factor(temperature, 7), factor(temperature, 8)), (1.0, 1.0 + 0.5 * std::f32::consts::LN_2));
    assert_eq!(block("mistral3-temperature", 8, 0), (None, None));
    assert_eq!((block("llama4", 8191, 3), block("llama4", 8192, 0)), ((None, None), (None, None)));
    let (temperature, chunk) = block("llama4", 8192, 3);
    assert_eq!((factor(temperature, 8190), chunk), (1.0, None));
    assert!(factor(temperature, 8191) > 1.0);
    assert_eq!(block("llama4", 8193, 2), (None, Some(8192)));
}
