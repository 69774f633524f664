//! Descriptions of models: what they say, and what of a file they refuse.

use proptest::prelude::*;
use roci_gguf::{Gguf, Metadata, TensorInfo, Type, Value, Writer};
use roci_llm::architecture::blocks::{Activation, FeedForwardKind, RopeStyle};
use roci_llm::architecture::{Config, Model, ModelError, Pooling};
use roci_llm::reference::{Reference, Text};
use roci_llm::synthetic::{Case, Recipe, architectures};

fn case(name: &str) -> Case {
    architectures().into_iter().find(|case| case.name == name).unwrap_or_else(|| panic!("there is no case {name}"))
}

fn model(name: &str) -> Model {
    let case = case(name);
    Model::new(&case.open().expect("it can be made"), Some(case.context))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A file like a case's, with keys and tensors changed; a tensor whose shape becomes empty is left out.
fn changed(name: &str, key: &str, value: Option<Value>, tensor: &str, shape: &[u64]) -> Gguf {
    let file = case(name).open().expect("it can be made");
    let mut metadata = Metadata::new();
    for (other, old) in file.metadata().iter().filter(|(other, _)| *other != key) {
        metadata.insert(other, old.clone());
    }
    if let Some(value) = value {
        metadata.insert(key, value);
    }
    let infos = file.tensors().filter_map(|old| match old.info().name() == tensor {
        true if shape.is_empty() => None,
        true => Some(TensorInfo::new(tensor, shape, Type::F32).expect("a good shape")),
        false => Some(old.info().clone()),
    });
    let infos: Vec<TensorInfo> = infos.collect();
    let mut writer = Writer::start(Vec::new(), &metadata, &infos).expect("it can be written");
    for info in &infos {
        writer.write(info.name(), &vec![0; info.byte_len() as usize]).expect("it can be written");
    }
    Gguf::from_bytes(writer.finish().expect("it is complete")).expect("it can be read")
}

fn refused(file: &Gguf) -> String {
    let error = Model::new(file, None).expect_err("it is refused");
    assert!(error.hint().is_some_and(|hint| !hint.is_empty()), "{error}");
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn descriptions_say_what_sets_architectures_apart() {
    let llama = model("llama");
    assert_eq!(llama.layers[0].attention.rope.style, RopeStyle::Neighbours);
    assert_eq!(llama.output.matrix.tensor, "token_embd.weight");
    assert_eq!(llama.cached_values().collect::<Vec<_>>(), [64, 64]);
    assert_eq!(model("llama-untied").output.matrix.tensor, "output.weight");

    let qwen2 = model("qwen2");
    assert!(qwen2.layers[0].attention.query.bias.is_some() && qwen2.layers[0].attention.output.bias.is_none());
    assert_eq!(qwen2.layers[0].attention.rope.style, RopeStyle::Halves);

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
fn tensors_are_named_once() {
    for case in architectures() {
        let file = case.open().expect("it can be made");
        let model = Model::new(&file, Some(case.context)).expect("it is known");
        let used = model.tensors();
        // All but the factors of rotations, which became part of the description.
        let there = file.tensors().filter(|tensor| !tensor.info().name().starts_with("rope_")).count();
        assert_eq!(used.len(), there, "{}", case.name);
        assert!(used.iter().all(|name| file.tensor(name).is_some()));
    }
}

#[test]
fn what_is_missing_is_named() {
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
            // Chosen by the context, of which more than the short one was trained for.
            "rope_factors_short.weight" => Model::new(&file, Some(512)).expect_err("it is refused").to_string(),
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
fn wrong_shapes_are_told_with_the_right_ones() {
    let text = refused(&changed("llama", "", None, "blk.1.attn_k.weight", &[64, 33]));
    assert_eq!(text, "tensor `blk.1.attn_k.weight` has the shape [64, 33], but [64, 32] is expected");
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
    // A factor of nothing would divide by it.
    let text = refused(&changed("llama-factors", "", None, "rope_freqs.weight", &[8]));
    assert_eq!(text, "the key `rope_freqs.weight`: an angle cannot be divided by 0");
}

#[test]
fn numbers_without_sense_are_refused_with_their_keys() {
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
        // Fewer or more of something is told by the first tensor that no longer fits.
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
fn the_pooling_type_is_read_as_llama_cpp_numbers_it() {
    let read = |number: Option<u32>| {
        let file = changed("qwen3", "qwen3.pooling_type", number.map(Value::from), "", &[]);
        Model::new(&file, None).map(|model| model.config.pooling)
    };
    assert_eq!(read(None).expect("it need not be there"), Pooling::Unspecified);
    let known = [Pooling::None, Pooling::Mean, Pooling::Cls, Pooling::Last, Pooling::Rank];
    for (number, pooling) in (0..).zip(known) {
        assert_eq!(read(Some(number)).expect("it is known"), pooling);
    }
    assert_eq!(
        read(Some(5)).expect_err("it is not known").to_string(),
        "the key `qwen3.pooling_type`: 5 is an unknown pooling type; known are 0 (none), 1 (mean), 2 (cls), 3 (last), 4 (rank)"
    );
}

#[test]
fn the_pooling_type_tells_the_tokens_of_an_embedding() {
    assert_eq!(Pooling::Mean.tokens(9), Some(0..9));
    assert_eq!(Pooling::Cls.tokens(9), Some(0..1));
    assert_eq!(Pooling::Last.tokens(9), Some(8..9));
    for pooling in [Pooling::Unspecified, Pooling::None, Pooling::Rank] {
        assert_eq!(pooling.tokens(9), None, "{pooling}");
    }
}

/// With one layer and a window of three, what came four tokens ago makes no difference; without a window it does.
#[test]
fn a_window_hides_what_came_before_it() {
    let last = |window: Option<u32>, first: u32| {
        let recipe = Recipe { layers: 1, window, ..Recipe::default() };
        let case = Case { recipe, ..case("llama") };
        let file = case.open().expect("it can be made");
        let reference = Reference::new(&file, Model::new(&file, None).expect("known")).expect("it has weights");
        let mut text = Text::default();
        let tokens = [first, 5, 6, 7];
        tokens.map(|token| reference.logits(&mut text, token).expect("the token is there")).into_iter().last()
    };
    assert_eq!(last(Some(3), 1), last(Some(3), 2));
    assert_ne!(last(Some(4), 1), last(Some(4), 2));
    assert_ne!(last(None, 1), last(None, 2));
    assert_eq!(last(Some(4), 1), last(None, 1));
}

#[test]
fn a_token_that_is_not_there_is_an_error() {
    let case = case("llama");
    let file = case.open().expect("it can be made");
    let reference = Reference::new(&file, Model::new(&file, None).expect("known")).expect("it has weights");
    let error = reference.logits(&mut Text::default(), 64).expect_err("there are 64");
    assert_eq!(error.to_string(), "the model has no token 64; it has 64");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever a number of the metadata becomes, the file is described or refused, and never costs more than it has.
    #[test]
    fn any_number_is_taken_or_refused(which in 0usize..15, key in 0usize..24, value in prop_oneof![
        any::<u64>().prop_map(Value::from),
        (0u32..100).prop_map(Value::from),
        any::<f32>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        prop::collection::vec(any::<u32>(), 0..8).prop_map(Value::from),
        Just(Value::from("yarn")),
        Just(Value::from("longrope")),
    ]) {
        let case = &architectures()[which];
        let file = case.open().expect("it can be made");
        let keys: Vec<String> = file.metadata().iter().map(|(key, _)| key.to_owned()).collect();
        let key = &keys[key % keys.len()];
        let file = changed(&case.name, key, Some(value), "", &[]);
        match Model::new(&file, None) {
            Ok(model) => prop_assert_eq!(model.layers.len(), model.config.layers()),
            Err(error) => prop_assert!(!error.to_string().contains('\n') || matches!(error, ModelError::File(_))),
        }
    }
}
