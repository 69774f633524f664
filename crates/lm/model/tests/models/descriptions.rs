//! What descriptions have, by architecture and by key.

use roci_gguf::Value;
use roci_lm::architecture::blocks::{Activation, FeedForwardKind, HeadOrder, RopeStyle};
use roci_lm::architecture::{Config, Model, Pooling};
use roci_lm::synthetic::{architectures, hybrids};

use crate::{attention, changed, delta_net, model, norm_tensor, refused};

#[test]
fn descriptions_have_the_traits_of_each_architecture() {
    let llama = model("llama");
    assert_eq!(attention(&llama, 0).rope.style, RopeStyle::Interleaved);
    assert_eq!(llama.output.matrix.tensor, "token_embd.weight");
    assert_eq!(llama.cached_values().collect::<Vec<_>>(), [64, 64]);
    assert_eq!(model("llama-untied").output.matrix.tensor, "output.weight");

    let qwen2 = model("qwen2");
    assert!(attention(&qwen2, 0).query.bias.is_some() && attention(&qwen2, 0).output.bias.is_none());
    assert_eq!(attention(&qwen2, 0).rope.style, RopeStyle::Neox);

    let qwen3moe = model("qwen3moe");
    assert!(attention(&qwen3moe, 1).head_norms.is_some());
    let FeedForwardKind::Experts { experts, routing, .. } = &qwen3moe.layers[1].feed_forward.kind else {
        panic!("experts")
    };
    assert_eq!((experts.len(), routing.experts_per_token, routing.normalized), (8, 3, true));
    assert_eq!(experts[2].down.matrix.rows, 128..192);

    let gemma3 = model("gemma3");
    let windows: Vec<bool> =
        gemma3.layers.iter().map(|layer| layer.attention().is_some_and(|block| block.window.is_some())).collect();
    assert_eq!(windows, [true, true, true, true, true, false, true]);
    assert_ne!(attention(&gemma3, 0).rope, attention(&gemma3, 5).rope);
    assert_eq!(gemma3.embedding_scale, 8.0);
    assert_eq!(gemma3.layers[0].feed_forward.activation, Activation::Gelu);
    assert!(gemma3.layers[0].feed_forward.post_norm.is_some());

    let gemma2 = model("gemma2");
    assert_eq!(
        gemma2.layers.iter().map(|layer| layer.attention().and_then(|block| block.window)).collect::<Vec<_>>(),
        [Some(5), None, Some(5), None]
    );
    assert_eq!((attention(&gemma2, 0).soft_cap, gemma2.logit_cap), (Some(2.0), Some(3.0)));

    let phi3 = model("phi3");
    let attention = attention(&phi3, 0);
    assert_eq!(attention.query.matrix.tensor, attention.value.matrix.tensor);
    assert_eq!((attention.key.matrix.rows.clone(), attention.value.matrix.rows.clone()), (64..96, 96..128));
}

#[test]
fn hybrids_have_gated_delta_nets_beside_attention() {
    let next = model("qwen3next");
    assert!(next.is_recurrent() && !model("qwen3").is_recurrent());
    assert_eq!(next.cached_values().collect::<Vec<_>>(), [0, 0, 0, 128]);
    let block = delta_net(&next, 0);
    assert_eq!(block.linears().map(|linear| linear.matrix.outputs()).collect::<Vec<_>>(), [32, 32, 64, 64, 4, 4, 64]);
    assert_eq!(block.state_values(), 3 * 128 + 4 * 16 * 16);
    assert_eq!((0..4).map(|head| block.key_head(head)).collect::<Vec<_>>(), [0, 0, 1, 1]);
    // Rates and decays alternate by key head.
    assert_eq!((0..4).map(|head| block.rate.matrix.row(head)).collect::<Vec<_>>(), [0, 1, 4, 5]);
    assert_eq!((0..4).map(|head| block.decay.matrix.row(head)).collect::<Vec<_>>(), [2, 3, 6, 7]);
    let gate = attention(&next, 3).output_gate.as_ref().expect("the output has a gate");
    assert_eq!((gate.matrix.outputs(), gate.matrix.row(0), gate.matrix.row(32)), (128, 32, 96));
    assert_eq!(attention(&next, 3).rope.frequencies.len(), 8);
    assert!(next.layers[0].feed_forward.shared.as_ref().is_some_and(|shared| shared.gate.is_some()));
    assert_eq!(norm_tensor(&next.layers[0].feed_forward.norm), "blk.0.post_attention_norm.weight");

    let grouped = model("qwen3next-grouped");
    let rows = |linear: &roci_lm::architecture::blocks::Linear| [0, 15, 16, 31].map(|output| linear.matrix.row(output));
    // A group has 16 rows of queries, 16 of keys, 32 of values and 32 of gates.
    assert_eq!(rows(&delta_net(&grouped, 1).key), [16, 31, 112, 127]);
    assert_eq!(rows(&delta_net(&grouped, 1).gate), [64, 79, 80, 95]);

    let qwen35 = model("qwen35");
    assert_eq!(delta_net(&qwen35, 0).order, HeadOrder::Tiled);
    assert_eq!((0..4).map(|head| delta_net(&qwen35, 0).key_head(head)).collect::<Vec<_>>(), [0, 1, 0, 1]);
    assert!(qwen35.layers[0].feed_forward.shared.is_none());
    let sections = model("qwen35-sections");
    assert_eq!(
        sections.layers.iter().map(|layer| layer.delta_net().is_some()).collect::<Vec<_>>(),
        [false, true, true, false]
    );
    // The pairs of the fourth section do not rotate.
    let still: Vec<bool> = attention(&sections, 0).rope.frequencies.iter().map(|angle| *angle == 0.0).collect();
    assert_eq!(still, [false, false, false, false, false, false, true, true]);
}

#[test]
fn layers_for_multi_token_prediction_are_not_computed() {
    let file = changed("qwen35", "qwen35.nextn_predict_layers", Some(Value::from(1u32)), "", &[]);
    let model = Model::new(&file, None).expect("the file is valid");
    assert_eq!((model.layers.len(), model.config.layers()), (3, 3));
    let text = refused(&changed("qwen35", "qwen35.nextn_predict_layers", Some(Value::from(4u32)), "", &[]));
    assert_eq!(text, "the key `qwen35.nextn_predict_layers`: 4 is out of range: 0 to 3");
}

#[test]
fn a_prediction_head_is_a_model_of_one_layer() {
    let file = roci_lm::synthetic::talking_predicting().open().expect("the file is valid");
    let model = Model::new(&file, Some(64)).expect("the file is valid");
    let head = Model::prediction_head(&file, 64).expect("the file is valid").expect("it has a head");
    assert_eq!((model.layers.len(), head.layers.len(), head.config.layers()), (2, 1, 1));
    assert!(model.is_recurrent() && !head.is_recurrent() && model.prediction_input.is_none());
    let input = head.prediction_input.as_ref().expect("it reads hidden states");
    assert_eq!(input.projection.matrix.tensor, "blk.2.nextn.eh_proj.weight");
    assert_eq!((&head.embedding, &head.output), (&model.embedding, &model.output));
    let norm = head.norm.weight.as_ref().expect("it has weights");
    assert_eq!(norm.tensor, "blk.2.nextn.shared_head_norm.weight");
    assert!(head.tensors().contains(&"blk.2.nextn.hnorm.weight"));
    let without = roci_lm::synthetic::talking_hybrid().open().expect("the file is valid");
    assert_eq!(Model::prediction_head(&without, 64).expect("the file is valid"), None);
}

#[test]
fn each_tensor_is_listed_once() {
    for case in architectures().into_iter().chain(hybrids()) {
        let file = case.open().expect("the synthetic file is valid");
        let model = Model::new(&file, Some(case.context)).expect("the architecture is supported");
        let used = model.tensors();
        // All except the RoPE factors, which are part of the description.
        let there = file.tensors().filter(|tensor| !tensor.info().name().starts_with("rope_")).count();
        assert_eq!(used.len(), there, "{}", case.name);
        assert!(used.iter().all(|name| file.tensor(name).is_some()));
    }
}

#[test]
fn per_layer_numbers_and_patterns_are_read() {
    let heads = changed("llama", "llama.attention.head_count", Some(Value::from(vec![4u32, 4])), "", &[]);
    assert_eq!(Config::new(heads.metadata()).expect("good").heads, [4, 4]);
    let pattern = Value::from(vec![false, true, true, false]);
    let file = changed("gemma2", "gemma2.attention.sliding_window_pattern", Some(pattern), "", &[]);
    assert_eq!(Config::new(file.metadata()).expect("good").windows, [None, Some(5), Some(5), None]);
    let none = changed("gemma3", "gemma3.attention.sliding_window", None, "", &[]);
    assert!(Config::new(none.metadata()).expect("good").windows.iter().all(Option::is_none));
}

#[test]
fn pooling_types_have_the_numbers_of_llama_cpp() {
    let read = |number: Option<u32>| {
        let file = changed("qwen3", "qwen3.pooling_type", number.map(Value::from), "", &[]);
        Model::new(&file, None).map(|model| model.config.pooling)
    };
    assert_eq!(read(None).expect("the key is optional"), Pooling::Unspecified);
    let known = [Pooling::None, Pooling::Mean, Pooling::Cls, Pooling::Last, Pooling::Rank];
    for (number, pooling) in (0..).zip(known) {
        assert_eq!(read(Some(number)).expect("the value is known"), pooling);
    }
    assert_eq!(
        read(Some(5)).expect_err("the value is unknown").to_string(),
        "the key `qwen3.pooling_type`: unknown pooling type 5; known types: 0 (none), 1 (mean), 2 (cls), 3 (last), 4 (rank)"
    );
}

#[test]
fn the_pooling_type_selects_the_tokens_of_an_embedding() {
    assert_eq!(Pooling::Mean.tokens(9), Some(0..9));
    assert_eq!(Pooling::Cls.tokens(9), Some(0..1));
    assert_eq!(Pooling::Last.tokens(9), Some(8..9));
    for pooling in [Pooling::Unspecified, Pooling::None, Pooling::Rank] {
        assert_eq!(pooling.tokens(9), None, "{pooling}");
    }
}
