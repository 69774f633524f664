//! Synthetic models with ALiBi or position embeddings in place of RoPE.

use roci_gguf::Value;

use super::architectures::{of, with};
use super::encoder::POSITIONS;
use super::{Case, EncoderRecipe, Recipe};

pub(super) fn other_positions() -> Vec<Case> {
    let plain = |architecture| Recipe {
        layer_norm: true,
        norm_bias: true,
        gated: false,
        fused: true,
        bias: true,
        output_bias: true,
        feed_forward_bias: true,
        kv_heads: 4,
        ..of(architecture)
    };
    let encoder = |encoder, architecture| Recipe { encoder: Some(encoder), ..plain(architecture) };
    let positions = || EncoderRecipe { positions: true, ..EncoderRecipe::default() };
    let input_norm = EncoderRecipe { input_norm: true, ..EncoderRecipe::default() };
    let context = || ("context_length", Value::from(POSITIONS as u32));
    vec![
        Case::new("refact", Recipe { head: 32, ..of("refact") }),
        with("gpt2", encoder(positions(), "gpt2"), &[context()]),
        with("starcoder", Recipe { kv_heads: 1, ..encoder(positions(), "starcoder") }, &[context()]),
        with(
            "jais",
            Recipe { gated: true, separate_gate: true, tied: false, head: 32, embedding: 128, ..plain("jais") },
            &[("attention.max_alibi_bias", Value::from(8.0f32))],
        ),
        Case::new("bloom", encoder(input_norm, "bloom")),
        with(
            "mpt",
            Recipe { bias: false, output_bias: false, feed_forward_bias: false, norm_bias: false, ..plain("mpt") },
            &[("attention.max_alibi_bias", Value::from(8.0f32))],
        ),
    ]
}
