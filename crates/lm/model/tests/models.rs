//! Model descriptions: their contents, and files that are rejected.

use proptest::prelude::*;
use roci_gguf::{Gguf, Metadata, TensorInfo, Type, Value, Writer};
use roci_lm::architecture::blocks::{Activation, Attention, DeltaNet, FeedForwardKind, HeadOrder, RopeStyle};
use roci_lm::architecture::{Config, Model, ModelError, Pooling};
use roci_lm::reference::{Reference, SequenceState};
use roci_lm::synthetic::{Case, Recipe, architectures, hybrids};

fn case(name: &str) -> Case {
    let mut cases = architectures().into_iter().chain(hybrids());
    cases.find(|case| case.name == name).unwrap_or_else(|| panic!("unknown case {name}"))
}

fn model(name: &str) -> Model {
    let case = case(name);
    Model::new(&case.open().expect("the synthetic file is valid"), Some(case.context))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn attention(model: &Model, layer: usize) -> &Attention {
    model.layers[layer].attention().expect("the layer has attention")
}

fn delta_net(model: &Model, layer: usize) -> &DeltaNet {
    model.layers[layer].delta_net().expect("the layer is a gated delta net")
}

/// The file of a case with a changed key and a changed tensor shape; an empty shape omits the
/// tensor.
fn changed(name: &str, key: &str, value: Option<Value>, tensor: &str, shape: &[u64]) -> Gguf {
    let file = case(name).open().expect("the synthetic file is valid");
    let mut metadata = Metadata::new();
    for (other, old) in file.metadata().iter().filter(|(other, _)| *other != key) {
        metadata.insert(other, old.clone());
    }
    if let Some(value) = value {
        metadata.insert(key, value);
    }
    let infos = file.tensors().filter_map(|old| match old.info().name() == tensor {
        true if shape.is_empty() => None,
        true => Some(TensorInfo::new(tensor, shape, Type::F32).expect("the shape is valid")),
        false => Some(old.info().clone()),
    });
    let infos: Vec<TensorInfo> = infos.collect();
    let mut writer = Writer::start(Vec::new(), &metadata, &infos).expect("the write succeeds");
    for info in &infos {
        writer.write(info.name(), &vec![0; info.byte_len() as usize]).expect("the write succeeds");
    }
    Gguf::from_bytes(writer.finish().expect("the file is complete")).expect("the file is valid")
}

fn refused(file: &Gguf) -> String {
    let error = Model::new(file, None).expect_err("the file is invalid");
    assert!(error.hint().is_some_and(|hint| !hint.is_empty()), "{error}");
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

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
    let FeedForwardKind::Experts { experts, experts_per_token, .. } = &qwen3moe.layers[1].feed_forward.kind else {
        panic!("experts")
    };
    assert_eq!((experts.len(), *experts_per_token), (8, 3));
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
fn hybrids_have_gated_delta_nets_and_attention() {
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
    assert_eq!(next.layers[0].feed_forward.norm.weight.tensor, "blk.0.post_attention_norm.weight");

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
fn missing_tensors_and_keys_are_named() {
    for (name, tensor) in [
        ("llama", "token_embd.weight"),
        ("llama", "output_norm.weight"),
        ("llama", "blk.1.attn_k.weight"),
        ("llama", "blk.0.ffn_gate.weight"),
        ("qwen2", "blk.1.attn_v.bias"),
        ("qwen3", "blk.0.attn_q_norm.weight"),
        ("qwen3moe", "blk.1.ffn_up_exps.weight"),
        ("gemma2", "blk.3.post_ffw_norm.weight"),
        ("phi3", "blk.0.ffn_down.weight"),
        ("phi3-long", "rope_factors_short.weight"),
        ("qwen3next", "blk.0.attn_gate.weight"),
        ("qwen3next", "blk.1.ssm_a"),
        ("qwen3next", "blk.2.ffn_gate_inp_shexp.weight"),
        ("qwen3next", "blk.3.post_attention_norm.weight"),
        ("qwen35", "blk.0.ssm_alpha.weight"),
        ("qwen35", "blk.2.ssm_conv1d.weight"),
    ] {
        let file = changed(name, "", None, tensor, &[]);
        let text = match tensor {
            // Used only with a context of at most the original length.
            "rope_factors_short.weight" => Model::new(&file, Some(512)).expect_err("the file is invalid").to_string(),
            _ => refused(&file),
        };
        assert_eq!(text, format!("the file lacks the tensor `{tensor}`"));
    }
    for key in [
        "llama.block_count",
        "llama.embedding_length",
        "llama.attention.head_count",
        "llama.feed_forward_length",
        "llama.vocab_size",
    ] {
        assert_eq!(refused(&changed("llama", key, None, "", &[])), format!("the file lacks the key `{key}`"));
    }
}

#[test]
fn shape_errors_state_the_expected_shape() {
    let text = refused(&changed("llama", "", None, "blk.1.attn_k.weight", &[64, 33]));
    assert_eq!(text, "tensor `blk.1.attn_k.weight` has shape [64, 33], expected [64, 32]");
    for (name, tensor, shape) in [
        ("llama", "output_norm.weight", &[65][..]),
        ("llama", "blk.0.ffn_down.weight", &[64, 96]),
        ("llama-factors", "rope_freqs.weight", &[16]),
        ("qwen3moe", "blk.0.ffn_down_exps.weight", &[96, 64, 7]),
        ("phi3", "blk.0.attn_qkv.weight", &[64, 127]),
        ("phi3", "blk.0.ffn_up.weight", &[64, 191]),
        ("qwen3next", "blk.0.attn_qkv.weight", &[64, 127]),
        ("qwen3next", "blk.0.ssm_ba.weight", &[64, 4]),
        ("qwen3next", "blk.3.attn_q.weight", &[64, 128]),
        ("qwen3next-grouped", "blk.0.ssm_in.weight", &[64, 191]),
        ("qwen35", "blk.0.ssm_conv1d.weight", &[3, 128]),
        ("qwen35", "blk.0.ssm_norm.weight", &[64]),
        ("qwen35moe", "blk.0.ffn_down_shexp.weight", &[64, 48]),
    ] {
        refused(&changed(name, "", None, tensor, shape));
    }
    // A factor of 0 would be a division by zero.
    let text = refused(&changed("llama-factors", "", None, "rope_freqs.weight", &[8]));
    assert_eq!(text, "the key `rope_freqs.weight`: the factor 0 is out of range");
}

#[test]
fn invalid_values_are_rejected_with_their_keys() {
    for (name, key, value) in [
        ("llama", "general.architecture", Value::from("mamba")),
        ("llama", "general.architecture", Value::from(3u32)),
        ("llama", "llama.block_count", Value::from(0u32)),
        ("llama", "llama.block_count", Value::from(u64::MAX)),
        ("llama", "llama.block_count", Value::from(3u32)),
        ("llama", "llama.embedding_length", Value::from("64")),
        ("llama", "llama.attention.head_count", Value::from(0u32)),
        ("llama", "llama.attention.head_count", Value::from(3u32)),
        ("llama", "llama.attention.head_count_kv", Value::from(3u32)),
        ("llama", "llama.attention.head_count_kv", Value::from(vec![2u32])),
        ("llama", "llama.rope.dimension_count", Value::from(15u32)),
        ("llama", "llama.rope.dimension_count", Value::from(18u32)),
        ("llama", "llama.rope.freq_base", Value::from(f32::NAN)),
        ("llama", "llama.rope.freq_base", Value::from(0.0f32)),
        ("llama", "llama.rope.scaling.type", Value::from("dynamic")),
        ("llama", "llama.rope.scaling.factor", Value::from(-1.0f32)),
        ("llama", "llama.attention.layer_norm_rms_epsilon", Value::from(f32::INFINITY)),
        ("llama", "llama.attention.temperature_scale", Value::from(0.1f32)),
        ("llama", "llama.pooling_type", Value::from(5u32)),
        ("llama", "llama.pooling_type", Value::from(-1i32)),
        ("llama", "llama.pooling_type", Value::from(u64::MAX)),
        ("llama", "llama.pooling_type", Value::from("mean")),
        ("llama", "tokenizer.ggml.tokens", Value::from(Vec::<String>::new())),
        ("llama-experts", "llama.expert_used_count", Value::from(5u32)),
        ("qwen3moe", "qwen3moe.expert_count", Value::from(0u32)),
        ("gemma2", "gemma2.attention.sliding_window_pattern", Value::from(vec![true])),
        ("qwen35", "qwen35.ssm.conv_kernel", Value::from(0u32)),
        ("qwen35", "qwen35.ssm.group_count", Value::from(3u32)),
        ("qwen35", "qwen35.ssm.inner_size", Value::from(63u32)),
        ("qwen35", "qwen35.ssm.state_size", Value::from(u64::MAX)),
        ("qwen35", "qwen35.ssm.time_step_rank", Value::from(0u32)),
        ("qwen35", "qwen35.full_attention_interval", Value::from(0u32)),
        ("qwen35", "qwen35.attention.value_length", Value::from(16u32)),
        ("qwen35", "qwen35.rope.dimension_sections", Value::from(vec![0u32, 0, 0, 8])),
        ("qwen35", "qwen35.rope.dimension_sections", Value::from(vec![8u32, 8, 8, 8])),
        ("qwen35", "qwen35.rope.dimension_sections", Value::from(vec![3u32, 3, 2])),
        ("qwen35-sections", "qwen35.attention.recurrent_layers", Value::from(vec![true, false])),
    ] {
        let text = refused(&changed(name, key, Some(value), "", &[]));
        // A wrong count is reported by the first tensor that does not match it.
        assert!(text.contains(key) || text.contains("tensor") || text.contains("architecture"), "{key}: {text}");
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

/// With one layer and a window of 3, the token before the window does not affect the logits;
/// without a window it does.
#[test]
fn tokens_before_the_window_have_no_effect() {
    let last = |window: Option<u32>, first: u32| {
        let recipe = Recipe { layers: 1, window, ..Recipe::default() };
        let case = Case { recipe, ..case("llama") };
        let file = case.open().expect("the synthetic file is valid");
        let reference = Reference::new(&file, Model::new(&file, None).expect("the architecture is supported"))
            .expect("the file has all weights");
        let mut text = SequenceState::default();
        let tokens = [first, 5, 6, 7];
        tokens
            .map(|token| reference.logits(&mut text, token).expect("the token is in the vocabulary"))
            .into_iter()
            .last()
    };
    assert_eq!(last(Some(3), 1), last(Some(3), 2));
    assert_ne!(last(Some(4), 1), last(Some(4), 2));
    assert_ne!(last(None, 1), last(None, 2));
    assert_eq!(last(Some(4), 1), last(None, 1));
}

#[test]
fn a_token_outside_the_vocabulary_is_an_error() {
    let case = case("llama");
    let file = case.open().expect("the synthetic file is valid");
    let reference = Reference::new(&file, Model::new(&file, None).expect("the architecture is supported"))
        .expect("the file has all weights");
    let error = reference.logits(&mut SequenceState::default(), 64).expect_err("the vocabulary has 64 tokens");
    assert_eq!(error.to_string(), "token 64 is not in the vocabulary of 64 tokens");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// With any value of any key, the file is either described or rejected, without excessive work.
    #[test]
    fn any_value_is_accepted_or_rejected(which in 0usize..20, key in 0usize..32, value in prop_oneof![
        any::<u64>().prop_map(Value::from),
        (0u32..100).prop_map(Value::from),
        any::<f32>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        prop::collection::vec(any::<u32>(), 0..8).prop_map(Value::from),
        Just(Value::from("yarn")),
        Just(Value::from("longrope")),
    ]) {
        let cases: Vec<Case> = architectures().into_iter().chain(hybrids()).collect();
        let case = &cases[which % cases.len()];
        let file = case.open().expect("the synthetic file is valid");
        let keys: Vec<String> = file.metadata().iter().map(|(key, _)| key.to_owned()).collect();
        let key = &keys[key % keys.len()];
        let file = changed(&case.name, key, Some(value), "", &[]);
        match Model::new(&file, None) {
            Ok(model) => prop_assert_eq!(model.layers.len(), model.config.layers()),
            Err(error) => prop_assert!(!error.to_string().contains('\n') || matches!(error, ModelError::File(_))),
        }
    }
}
