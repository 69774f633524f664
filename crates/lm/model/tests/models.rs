//! Model descriptions: their contents, and files that are rejected.

use proptest::prelude::*;
use roci_gguf::{Gguf, Metadata, TensorInfo, Type, Value, Writer};
use roci_lm::architecture::blocks::{Activation, FeedForwardKind, RopeStyle};
use roci_lm::architecture::{Config, Model, ModelError, Pooling};
use roci_lm::reference::{Reference, SequenceState};
use roci_lm::synthetic::{Case, Recipe, architectures};

fn case(name: &str) -> Case {
    architectures().into_iter().find(|case| case.name == name).unwrap_or_else(|| panic!("unknown case {name}"))
}

fn model(name: &str) -> Model {
    let case = case(name);
    Model::new(&case.open().expect("the synthetic file is valid"), Some(case.context))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
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
    assert_eq!(llama.layers[0].attention.rope.style, RopeStyle::Interleaved);
    assert_eq!(llama.output.matrix.tensor, "token_embd.weight");
    assert_eq!(llama.cached_values().collect::<Vec<_>>(), [64, 64]);
    assert_eq!(model("llama-untied").output.matrix.tensor, "output.weight");

    let qwen2 = model("qwen2");
    assert!(qwen2.layers[0].attention.query.bias.is_some() && qwen2.layers[0].attention.output.bias.is_none());
    assert_eq!(qwen2.layers[0].attention.rope.style, RopeStyle::Neox);

    let qwen3moe = model("qwen3moe");
    assert!(qwen3moe.layers[1].attention.head_norms.is_some());
    let FeedForwardKind::Experts { experts, used, .. } = &qwen3moe.layers[1].feed_forward.kind else {
        panic!("experts")
    };
    assert_eq!((experts.len(), *used), (8, 3));
    assert_eq!(experts[2].down.matrix.rows, 128..192);

    let gemma3 = model("gemma3");
    let windows: Vec<bool> = gemma3.layers.iter().map(|layer| layer.attention.window.is_some()).collect();
    assert_eq!(windows, [true, true, true, true, true, false, true]);
    assert_ne!(gemma3.layers[0].attention.rope, gemma3.layers[5].attention.rope);
    assert_eq!(gemma3.embedding_scale, 8.0);
    assert_eq!(gemma3.layers[0].feed_forward.activation, Activation::Gelu);
    assert!(gemma3.layers[0].feed_forward.post_norm.is_some());

    let gemma2 = model("gemma2");
    assert_eq!(
        gemma2.layers.iter().map(|layer| layer.attention.window).collect::<Vec<_>>(),
        [Some(5), None, Some(5), None]
    );
    assert_eq!((gemma2.layers[0].attention.soft_cap, gemma2.logit_cap), (Some(2.0), Some(3.0)));

    let phi3 = model("phi3");
    let attention = &phi3.layers[0].attention;
    assert_eq!(attention.query.matrix.tensor, attention.value.matrix.tensor);
    assert_eq!((attention.key.matrix.rows.clone(), attention.value.matrix.rows.clone()), (64..96, 96..128));
}

#[test]
fn each_tensor_is_listed_once() {
    for case in architectures() {
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
    fn any_value_is_accepted_or_rejected(which in 0usize..15, key in 0usize..24, value in prop_oneof![
        any::<u64>().prop_map(Value::from),
        (0u32..100).prop_map(Value::from),
        any::<f32>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        prop::collection::vec(any::<u32>(), 0..8).prop_map(Value::from),
        Just(Value::from("yarn")),
        Just(Value::from("longrope")),
    ]) {
        let case = &architectures()[which];
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
