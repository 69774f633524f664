//! Files that are rejected, with what is wrong.

use proptest::prelude::*;
use roci_gguf::Value;
use roci_lm::architecture::{Model, ModelError};
use roci_lm::synthetic::{Case, architectures, hybrids};

use crate::{changed, refused, renamed};

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
        ("glm4moe", "blk.1.ffn_down_shexp.weight"),
        ("gpt-oss", "blk.0.attn_sinks.weight"),
        ("gptneox", "blk.0.ffn_norm.weight"),
        ("minimax-m2", "blk.1.attn_k_norm.weight"),
        ("olmo2", "blk.0.post_attention_norm.weight"),
        ("starcoder2", "blk.1.ffn_up.weight"),
        ("gemma4", "per_layer_model_proj.weight"),
        ("gemma4", "blk.3.attn_k.weight"),
        ("gemma4", "blk.4.inp_gate.weight"),
        ("gemma4-experts", "blk.0.ffn_gate_inp.scale"),
        ("gemma4-experts", "blk.1.post_ffw_norm_2.weight"),
        ("gemma3n", "altup_unembd_proj.weight"),
        ("gemma3n", "blk.2.laurel_l.weight"),
        ("bert", "position_embd.weight"),
        ("bert", "token_embd_norm.weight"),
        ("bert", "blk.0.attn_output_norm.weight"),
        ("bert", "blk.1.layer_output_norm.weight"),
        ("nomic-bert", "blk.0.ffn_gate.weight"),
        ("nomic-bert-moe", "blk.1.ffn_up_exps.weight"),
        ("modern-bert", "blk.1.attn_norm.weight"),
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
        "gemma4.attention.key_length_swa",
    ] {
        let name = key.split('.').next().unwrap_or_default();
        assert_eq!(refused(&changed(name, key, None, "", &[])), format!("the file lacks the key `{key}`"));
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
        ("gemma4", "blk.0.attn_q.weight", &[64, 128]),
        ("gemma4", "blk.1.layer_output_scale.weight", &[2]),
        ("gemma4", "per_layer_token_embd.weight", &[32, 64]),
        ("gemma4-dense", "blk.2.attn_k.weight", &[64, 64]),
        ("gemma4-experts", "blk.2.ffn_gate_inp.scale", &[8]),
        ("gemma3n", "altup_proj.weight", &[64, 64, 4]),
        ("gemma3n", "blk.0.laurel_r.weight", &[63, 64]),
        ("bert", "position_embd.weight", &[64, 255]),
        ("bert", "token_types.weight", &[64, 3]),
        ("bert-rank", "cls.weight", &[64, 1]),
        ("qwen3-rank", "cls.output.weight", &[64, 1]),
        ("gemma-embedding-dense", "dense_3.weight", &[64, 96]),
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
        ("llama", "general.architecture", Value::from("grok")),
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
        ("gemma4", "gemma4.attention.shared_kv_layers", Value::from(8u32)),
        ("gemma4", "gemma4.attention.shared_kv_layers", Value::from(7u32)),
        ("gemma4", "gemma4.rope.dimension_count_swa", Value::from(15u32)),
        ("gemma4", "gemma4.embedding_length_per_layer_input", Value::from(u64::MAX)),
        ("gemma3n", "gemma3n.altup.active_idx", Value::from(4u32)),
        ("gemma3n", "gemma3n.altup.num_inputs", Value::from(65u32)),
        ("gemma3n", "gemma3n.activation_sparsity_scale", Value::from(f32::NAN)),
        ("qwen35-sections", "qwen35.attention.recurrent_layers", Value::from(vec![true, false])),
        ("bert", "bert.context_length", Value::from(255u32)),
        ("bert", "bert.attention.causal", Value::from("no")),
        ("bert", "tokenizer.ggml.token_type_count", Value::from(3u32)),
        ("modern-bert", "modern-bert.hidden_activation", Value::from("relu")),
        ("gemma-embedding-dense", "gemma-embedding.dense_2_feat_out", Value::from(0u32)),
        ("jina-bert-v2", "jina-bert-v2.attention.max_alibi_bias", Value::from(-1.0f32)),
    ] {
        let text = refused(&changed(name, key, Some(value), "", &[]));
        // A wrong count is reported by the first tensor that does not match it.
        assert!(text.contains(key) || text.contains("tensor") || text.contains("architecture"), "{key}: {text}");
    }
}

#[test]
fn unknown_keys_are_refused_unless_they_are_off() {
    for (name, key, value) in [
        ("qwen35", "qwen35.attention.causal", Value::from(false)),
        ("llama", "llama.attention.clamp_kqv", Value::from(8.0f32)),
        ("llama", "llama.attention.max_alibi_bias", Value::from(8.0f32)),
        ("llama", "llama.attention.temperature_scale", Value::from(0.1f32)),
        ("llama", "llama.logit_scale", Value::from(2.0f32)),
        ("llama", "llama.never_heard_of", Value::from("on")),
        ("gemma3", "gemma3.attention.key_length_swa", Value::from(16u32)),
    ] {
        let text = refused(&changed(name, key, Some(value), "", &[]));
        assert_eq!(text, format!("the key `{key}`: not supported for the architecture `{name}`"));
    }
    for (key, value) in [
        ("llama.attention.causal", Value::from(true)),
        ("llama.attention.clamp_kqv", Value::from(0.0f32)),
        ("llama.logit_scale", Value::from(1.0f32)),
        ("llama.attention.temperature_scale", Value::from(0.0f32)),
        ("llama.tensor_data_layout", Value::from("reference")),
        ("llama.vision.block_count", Value::from(27u32)),
        ("general.never_heard_of", Value::from("on")),
    ] {
        let file = changed("llama", key, Some(value), "", &[]);
        assert!(Model::new(&file, None).is_ok(), "{key}");
    }
}

#[test]
fn unused_tensors_are_refused() {
    let with = |tensor: &str| renamed("llama", "blk.1.ffn_up.weight", tensor);
    let text = Model::new(&with("blk.1.ffn_gate_inp.weight"), None).expect_err("a tensor is not used").to_string();
    assert_eq!(text, "tensor `blk.1.ffn_gate_inp.weight` is not part of the architecture `llama`");
    for ignored in ["v.patch_embd.weight", "mm.0.weight", "blk.7.nextn.eh_proj.weight"] {
        assert!(Model::new(&with(ignored), None).is_ok(), "{ignored}");
    }
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
