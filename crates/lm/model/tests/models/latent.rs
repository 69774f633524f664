//! Multi-head latent attention.

use roci_gguf::{Metadata, Value};
use roci_lm::architecture::blocks::{ExpertScores, FeedForwardKind};
use roci_lm::architecture::{Config, Model};

use crate::{attention, case, changed, feed_forward, model, refused};

#[test]
fn the_cache_has_one_latent_per_token() {
    for name in ["deepseek2", "deepseek2-lite", "deepseek2-flash"] {
        let model = model(name);
        // A latent of 64 values and a rotated part of 32.
        assert_eq!(model.cached_values().collect::<Vec<_>>(), [96; 3], "{name}");
        let block = attention(&model, 1);
        assert_eq!((block.kv_heads, block.key_length, block.value_length, block.rotated_length()), (1, 96, 64, 32));
        assert_eq!(block.rope.frequencies.len(), 16);
    }
}

#[test]
fn newer_files_have_the_projections_of_heads_in_two_tensors() {
    let newer = model("deepseek2");
    let block = attention(&newer, 2);
    let latent = block.latent.as_ref().expect("the block has a latent");
    let low_rank = latent.low_rank.as_ref().expect("queries are computed from a shorter vector");
    assert_eq!((low_rank.projection.matrix.outputs(), block.query.matrix.columns), (32, 32));
    assert!(!latent.transposed_keys && latent.keys.len() == 4);
    assert_eq!(
        (&*latent.keys[1].matrix.tensor, latent.keys[1].matrix.rows.clone()),
        ("blk.2.attn_k_b.weight", 64..128)
    );
    assert_eq!((latent.keys[1].matrix.columns, latent.values[3].matrix.rows.clone()), (64, 96..128));
    assert_eq!((block.key.matrix.rows.clone(), block.value.matrix.rows.clone()), (64..96, 0..64));

    let older = model("deepseek2-lite");
    let latent = attention(&older, 0).latent.as_ref().expect("the block has a latent");
    assert!(latent.transposed_keys && latent.low_rank.is_none());
    // A head has 64 rows for keys, then 32 for values.
    assert_eq!((latent.keys[1].matrix.rows.clone(), latent.values[1].matrix.rows.clone()), (96..160, 160..192));
    assert_eq!(latent.keys[1].matrix.tensor, "blk.0.attn_kv_b.weight");
}

#[test]
fn yarn_scales_the_scores_and_not_the_rotated_values() {
    let usual = 1.0 / 96f32.sqrt();
    let growth = |multiplier: f32| (1.0 + 0.1 * multiplier * 4f32.ln()).powi(2);
    let close = |found: f32, expected: f32| assert!((found / expected - 1.0).abs() < 1e-6, "{found}, not {expected}");
    for (name, multiplier) in [("deepseek2", 1.0), ("deepseek2-lite", 0.707)] {
        let model = model(name);
        close(attention(&model, 0).scale, usual * growth(multiplier));
        close(attention(&model, 0).rope.magnitude, 1.0);
    }
    // Without the key, both are scaled.
    let file = changed("deepseek2", "deepseek2.rope.scaling.yarn_log_multiplier", None, "", &[]);
    let model = Model::new(&file, None).expect("the file is valid");
    close(attention(&model, 0).scale, usual * growth(1.0));
    close(attention(&model, 0).rope.magnitude, 1.0 + 0.1 * 4f32.ln());
}

#[test]
fn scores_of_experts_are_softmax_unless_the_file_says() {
    let scores = |name: &str| match &feed_forward(&model(name), 1).kind {
        FeedForwardKind::Experts { routing, .. } => routing.scores,
        FeedForwardKind::Dense(_) => panic!("the layer has experts"),
    };
    assert_eq!(scores("deepseek2"), ExpertScores::Sigmoid);
    assert_eq!(scores("deepseek2-lite"), ExpertScores::Softmax);
    // Files of GLM-4.7-Flash that do not say are known by their sizes.
    let file = case("deepseek2-flash").open().expect("the synthetic file is valid");
    let mut metadata = Metadata::new();
    for (key, value) in file.metadata().iter().filter(|(key, _)| *key != "deepseek2.expert_gating_func") {
        metadata.insert(key, value.clone());
    }
    metadata.insert("deepseek2.vocab_size", 154_880u32);
    for (layers, expected) in [(47u32, ExpertScores::Sigmoid), (30, ExpertScores::Softmax)] {
        metadata.insert("deepseek2.block_count", Value::from(layers));
        let config = Config::new(&metadata).expect("the metadata is valid");
        assert_eq!(config.experts.map(|experts| experts.scores), Some(expected), "{layers} layers");
    }
}

#[test]
fn wrong_sizes_are_refused() {
    let key = |key: &str| format!("deepseek2.{key}");
    let with = |name: &str, value: Option<Value>| refused(&changed("deepseek2", &key(name), value, "", &[]));
    let found = with("attention.kv_lora_rank", None);
    assert!(found.contains("`deepseek2.attention.kv_lora_rank`"), "{found}");
    let found = with("attention.value_length_mla", None);
    assert!(found.contains("`key_length_mla` and `value_length_mla` belong together"), "{found}");
    let found = with("rope.dimension_count", Some(Value::from(96u32)));
    assert!(found.contains("96 rotated values are out of range: 2 to 95"), "{found}");
    let found = with("attention.temperature_scale", Some(Value::from(0.5f32)));
    assert!(found.contains("`deepseek2.attention.temperature_length`"), "{found}");
    let found = refused(&changed("deepseek2", "", None, "blk.1.attn_k_b.weight", &[64, 64, 3]));
    assert!(found.contains("`blk.1.attn_k_b.weight`"), "{found}");
}
