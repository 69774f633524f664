//! What descriptions have, by architecture and by key.

use roci_gguf::Value;
use roci_lm::architecture::blocks::{
    Activation, FeedForwardKind, HeadOrder, PooledActivation, PooledTokens, RopeStyle, alibi_slope,
};
use roci_lm::architecture::{Config, Model, Pooling};
use roci_lm::synthetic::{architectures, embedders, hybrids};

use crate::{attention, changed, delta_net, feed_forward, model, norm_tensor, refused};

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
    let FeedForwardKind::Experts { experts, routing, .. } = &feed_forward(&qwen3moe, 1).kind else { panic!("experts") };
    assert_eq!((experts.len(), routing.experts_per_token, routing.normalized), (8, 3, true));
    assert_eq!(experts[2].down.matrix.rows, 128..192);

    let gemma3 = model("gemma3");
    let windows: Vec<bool> =
        gemma3.layers.iter().map(|layer| layer.attention().is_some_and(|block| block.window.is_some())).collect();
    assert_eq!(windows, [true, true, true, true, true, false, true]);
    assert_ne!(attention(&gemma3, 0).rope, attention(&gemma3, 5).rope);
    assert_eq!(gemma3.embedding_scale, 8.0);
    assert_eq!(feed_forward(&gemma3, 0).activation, Activation::Gelu);
    assert!(feed_forward(&gemma3, 0).post_norm.is_some());

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
    assert_eq!(next.layers[0].state().values(), 3 * 128 + 4 * 16 * 16);
    assert_eq!((0..4).map(|head| block.key_head(head)).collect::<Vec<_>>(), [0, 0, 1, 1]);
    // Rates and decays alternate by key head.
    assert_eq!((0..4).map(|head| block.rate.matrix.row(head)).collect::<Vec<_>>(), [0, 1, 4, 5]);
    assert_eq!((0..4).map(|head| block.decay.matrix.row(head)).collect::<Vec<_>>(), [2, 3, 6, 7]);
    let gate = attention(&next, 3).output_gate.as_ref().expect("the output has a gate");
    assert_eq!((gate.matrix.outputs(), gate.matrix.row(0), gate.matrix.row(32)), (128, 32, 96));
    assert_eq!(attention(&next, 3).rope.frequencies.len(), 8);
    assert!(feed_forward(&next, 0).shared.as_ref().is_some_and(|shared| shared.gate.is_some()));
    assert_eq!(norm_tensor(&feed_forward(&next, 0).norm), "blk.0.post_attention_norm.weight");

    let grouped = model("qwen3next-grouped");
    let rows = |linear: &roci_lm::architecture::blocks::Linear| [0, 15, 16, 31].map(|output| linear.matrix.row(output));
    // A group has 16 rows of queries, 16 of keys, 32 of values and 32 of gates.
    assert_eq!(rows(&delta_net(&grouped, 1).key), [16, 31, 112, 127]);
    assert_eq!(rows(&delta_net(&grouped, 1).gate), [64, 79, 80, 95]);

    let qwen35 = model("qwen35");
    assert_eq!(delta_net(&qwen35, 0).order, HeadOrder::Tiled);
    assert_eq!((0..4).map(|head| delta_net(&qwen35, 0).key_head(head)).collect::<Vec<_>>(), [0, 1, 0, 1]);
    assert!(feed_forward(&qwen35, 0).shared.is_none());
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
    for case in architectures().into_iter().chain(hybrids()).chain(embedders()) {
        let file = case.open().expect("the synthetic file is valid");
        let model = Model::new(&file, Some(case.context)).expect("the architecture is supported");
        let used = model.tensors();
        // All except RoPE factors, which are part of the description, factors of matrices, and keys
        // and values of layers that read those of other layers.
        let shared: Vec<String> = (0..model.layers.len())
            .filter(|&layer| model.layers[layer].attention().is_some_and(|block| block.kv_layer.is_some()))
            .flat_map(|layer| ["k", "v", "k_norm"].map(|part| format!("blk.{layer}.attn_{part}.weight")))
            .collect();
        let is_used = |name: &str| {
            !name.starts_with("rope_") && !name.ends_with("_exps.scale") && !shared.iter().any(|shared| shared == name)
        };
        let there = file.tensors().filter(|tensor| is_used(tensor.info().name())).count();
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
    assert_eq!(Pooling::Mean.tokens().map(|tokens| tokens.range(9)), Some(0..9));
    assert_eq!(Pooling::Cls.tokens().map(|tokens| tokens.range(9)), Some(0..1));
    assert_eq!(Pooling::Last.tokens().map(|tokens| tokens.range(9)), Some(8..9));
    for pooling in [Pooling::Unspecified, Pooling::None, Pooling::Rank] {
        assert_eq!(pooling.tokens(), None, "{pooling}");
    }
}

#[test]
fn models_for_embeddings_have_their_inputs_and_norms() {
    let bert = model("bert");
    assert!(!bert.is_causal() && !attention(&bert, 0).causal && attention(&bert, 0).norm.is_none());
    assert!(bert.input.positions.is_some() && bert.input.token_type.is_some() && bert.input.norm.is_some());
    assert!(attention(&bert, 0).rope.frequencies.is_empty());
    // The last norm of the residual stream is the model's final norm.
    let [first, last] = [&bert.layers[0].stream_norms, &bert.layers[1].stream_norms];
    assert_eq!(norm_tensor(&first.feed_forward), "blk.0.layer_output_norm.weight");
    assert_eq!((norm_tensor(&last.mixer), &last.feed_forward), ("blk.1.attn_output_norm.weight", &None));
    assert_eq!(norm_tensor(&Some(bert.norm.clone())), "blk.1.layer_output_norm.weight");
    assert!(model("nomic-bert").input.positions.is_none());
    assert!(!attention(&model("nomic-bert"), 0).rope.frequencies.is_empty());
    assert_eq!(attention(&model("jina-bert-v2"), 0).alibi, Some(8.0));
    let moe = model("nomic-bert-moe");
    assert_eq!(moe.config.expert_layers, [false, true, false, true]);
    // Other architectures are non-causal only if the file says so.
    assert!(model("qwen3").is_causal());
    let file = changed("qwen2", "qwen2.attention.causal", Some(Value::from(false)), "", &[]);
    assert!(!Model::new(&file, None).expect("the value is supported").is_causal());
}

#[test]
fn windows_on_both_sides_count_only_if_a_text_exceeds_them() {
    let gemma = model("gemma-embedding");
    let windows = |model: &Model| (0..7).map(|layer| attention(model, layer).window).collect::<Vec<_>>();
    let expected = [Some(12), Some(12), Some(12), Some(12), Some(12), None, Some(12)];
    assert_eq!(windows(&gemma), expected);
    assert_ne!(attention(&gemma, 0).rope, attention(&gemma, 5).rope);
    let case = crate::case("gemma-embedding").open().expect("the synthetic file is valid");
    assert_eq!(windows(&Model::new(&case, Some(7)).expect("it is supported")), [None; 7]);
    assert_eq!(windows(&Model::new(&case, Some(8)).expect("it is supported")), expected);
    let modern = model("modern-bert");
    let windows: Vec<bool> = (0..5).map(|layer| attention(&modern, layer).window.is_some()).collect();
    assert_eq!(windows, [false, true, true, false, true]);
    assert!(attention(&modern, 0).norm.is_none() && attention(&modern, 1).norm.is_some());
    assert_eq!(feed_forward(&model("modern-bert-rank"), 0).activation, Activation::Silu);
}

#[test]
fn heads_after_pooling_follow_the_tensors() {
    let pooled = |name| model(name).pooled.expect("the model pools");
    let bert = pooled("bert-rank");
    assert_eq!((bert.tokens, bert.layers.len(), bert.softmax, bert.is_score), (PooledTokens::First, 2, false, true));
    assert_eq!(bert.layers[0].activation, PooledActivation::Tanh);
    let qwen = pooled("qwen3-rank");
    assert_eq!((qwen.tokens, qwen.outputs(64), qwen.softmax), (PooledTokens::Last, 2, true));
    let gemma = pooled("gemma-embedding-dense");
    assert_eq!((gemma.layers.len(), gemma.outputs(64), gemma.is_score), (2, 64, false));
    assert_eq!(pooled("modern-bert-rank").tokens, PooledTokens::Mean);
    assert_eq!(model("bert-tokens").pooled, None);
    // A reranker without a head has no scores.
    let file = changed("qwen2", "qwen2.pooling_type", Some(Value::from(4u32)), "", &[]);
    assert_eq!(Model::new(&file, None).expect("the type is known").pooled, None);
}

#[test]
fn slopes_of_alibi_are_a_series_with_others_between() {
    assert_eq!([0, 1, 7].map(|head| alibi_slope(8.0, 8, head)), [0.5, 0.25, 1.0 / 256.0]);
    for (head, exponent) in (8..12).zip([0.5f32, 1.5, 2.5, 3.5]) {
        assert!((alibi_slope(8.0, 12, head) - (-exponent).exp2()).abs() < 1e-6, "head {head}");
    }
}
