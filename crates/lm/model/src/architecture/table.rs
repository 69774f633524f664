//! Traits of the architectures, one row each.
//!
//! Everything else is common to all, in [`blocks`](super::blocks). Features that the presence of a
//! tensor shows (a bias, a fused projection, an untied output matrix) are read from the file and
//! not listed here.

use super::blocks::{Activation, ExpertScores, HeadOrder, NormKind, RopeStyle};
use super::traits::{
    HeadNormTraits, LogitScale, Nope, Parallel, RopeSections, SharedExpertTraits, TemperatureTraits, Traits,
    UsualScales, WindowRope, Windows,
};

const LLAMA: Traits = Traits {
    name: "llama",
    rope: RopeStyle::Interleaved,
    nope: Nope::Never,
    norm: NormKind::Rms,
    pre_norms: true,
    post_norms: false,
    head_norms: HeadNormTraits::None,
    biases: false,
    sinks: false,
    parallel: Parallel::Never,
    gated: true,
    experts: false,
    scores: ExpertScores::Softmax,
    normalized: true,
    weighted_input: false,
    shared_expert: SharedExpertTraits::None,
    output_gate: false,
    delta_net: None,
    feed_forward_norm: "ffn_norm",
    rope_sections: RopeSections::None,
    activation: Activation::Silu,
    usual_scales: UsualScales::None,
    logit_scale: LogitScale::None,
    temperature: TemperatureTraits::None,
    windows: Windows::AsDeclared,
    soft_caps: (None, None),
    scaled_by_embedding: None,
};

/// As `LLAMA`, but windows are ignored.
const PLAIN: Traits = Traits { windows: Windows::Never, ..LLAMA };

const QWEN: Traits = Traits { rope: RopeStyle::Neox, ..PLAIN };

const GEMMA: Traits =
    Traits { rope: RopeStyle::Neox, activation: Activation::Gelu, usual_scales: UsualScales::Gemma, ..LLAMA };

const QWEN3VL: Traits =
    Traits { name: "qwen3vl", head_norms: HeadNormTraits::Head, rope_sections: RopeSections::Interleaved, ..QWEN };

const QWEN35: Traits = Traits {
    name: "qwen35",
    head_norms: HeadNormTraits::Head,
    output_gate: true,
    delta_net: Some(HeadOrder::Tiled),
    feed_forward_norm: "post_attention_norm",
    rope_sections: RopeSections::Interleaved,
    ..QWEN
};

const GRANITE: Traits = Traits {
    name: "granite",
    nope: Nope::UnlessFinetuned,
    shared_expert: SharedExpertTraits::Plain,
    logit_scale: LogitScale::Divisor,
    ..PLAIN
};

/// Blocks with norms of their outputs instead of their inputs.
const POST_NORM: Traits = Traits { pre_norms: false, post_norms: true, ..QWEN };

/// Layer norms, and feed-forward networks without a gate.
const NEOX: Traits = Traits { norm: NormKind::Layer, gated: false, activation: Activation::Gelu, ..QWEN };

const COMMAND_R: Traits = Traits {
    name: "command-r",
    norm: NormKind::Layer,
    head_norms: HeadNormTraits::Optional,
    parallel: Parallel::WithoutNorm,
    logit_scale: LogitScale::Factor,
    ..PLAIN
};

pub(super) const TABLE: &[Traits] = &[
    LLAMA,
    Traits { name: "mistral", ..LLAMA },
    Traits { name: "mistral3", temperature: TemperatureTraits::Declared, ..LLAMA },
    Traits {
        name: "llama4",
        nope: Nope::Every(4),
        head_norms: HeadNormTraits::Unweighted,
        experts: true,
        scores: ExpertScores::Sigmoid,
        normalized: false,
        weighted_input: true,
        shared_expert: SharedExpertTraits::Plain,
        temperature: TemperatureTraits::NopeLayers { scale: 0.1, interval: 8192, offset: 1 },
        windows: Windows::Chunks { period: 4, length: 8192 },
        ..LLAMA
    },
    Traits { name: "arcee", gated: false, activation: Activation::ReluSquared, ..PLAIN },
    Traits { name: "ernie4_5", ..PLAIN },
    Traits { name: "ernie4_5-moe", experts: true, shared_expert: SharedExpertTraits::Plain, ..PLAIN },
    Traits { name: "internlm2", ..PLAIN },
    Traits { name: "xverse", ..PLAIN },
    Traits { name: "chatglm", ..PLAIN },
    Traits { name: "maincoder", head_norms: HeadNormTraits::AfterRope, ..PLAIN },
    Traits { name: "glm4", post_norms: true, rope_sections: RopeSections::Optional, ..PLAIN },
    Traits { name: "smollm3", nope: Nope::Every(4), ..PLAIN },
    Traits { name: "bailingmoe", experts: true, normalized: false, shared_expert: SharedExpertTraits::Plain, ..PLAIN },
    Traits { name: "deepseek", experts: true, normalized: false, shared_expert: SharedExpertTraits::Plain, ..PLAIN },
    GRANITE,
    Traits { name: "minicpm", nope: Nope::Never, usual_scales: UsualScales::MiniCpm, ..GRANITE },
    Traits { name: "granitemoe", nope: Nope::Never, experts: true, ..GRANITE },
    Traits { name: "qwen2", biases: true, ..QWEN },
    Traits { name: "qwen2moe", experts: true, normalized: false, shared_expert: SharedExpertTraits::Gated, ..QWEN },
    Traits { name: "qwen2vl", rope_sections: RopeSections::Optional, ..QWEN },
    Traits { name: "qwen3", head_norms: HeadNormTraits::Head, ..QWEN },
    Traits { name: "qwen3moe", head_norms: HeadNormTraits::Head, experts: true, ..QWEN },
    QWEN3VL,
    Traits { name: "qwen3vlmoe", experts: true, ..QWEN3VL },
    Traits {
        name: "mellum",
        head_norms: HeadNormTraits::Head,
        experts: true,
        windows: Windows::Alternating { period: 4, window: None, rope: WindowRope::Unscaled(None) },
        ..QWEN
    },
    Traits {
        name: "qwen3next",
        experts: true,
        shared_expert: SharedExpertTraits::Gated,
        delta_net: Some(HeadOrder::Grouped),
        rope_sections: RopeSections::None,
        ..QWEN35
    },
    QWEN35,
    Traits { name: "qwen35moe", experts: true, shared_expert: SharedExpertTraits::Gated, ..QWEN35 },
    Traits { name: "exaone", ..QWEN },
    Traits { name: "pangu-embedded", ..QWEN },
    Traits { name: "seed_oss", feed_forward_norm: "post_attention_norm", ..QWEN },
    Traits { name: "hunyuan-dense", head_norms: HeadNormTraits::AfterRope, ..QWEN },
    Traits {
        name: "hunyuan-moe",
        head_norms: HeadNormTraits::AfterRope,
        experts: true,
        shared_expert: SharedExpertTraits::Plain,
        ..QWEN
    },
    Traits {
        name: "dots1",
        head_norms: HeadNormTraits::Head,
        experts: true,
        scores: ExpertScores::Sigmoid,
        normalized: false,
        shared_expert: SharedExpertTraits::Plain,
        ..QWEN
    },
    Traits {
        name: "glm4moe",
        head_norms: HeadNormTraits::Optional,
        feed_forward_norm: "post_attention_norm",
        experts: true,
        scores: ExpertScores::Sigmoid,
        normalized: false,
        shared_expert: SharedExpertTraits::Plain,
        ..QWEN
    },
    Traits {
        name: "minimax-m2",
        head_norms: HeadNormTraits::Row,
        experts: true,
        scores: ExpertScores::Sigmoid,
        ..QWEN
    },
    Traits { name: "olmoe", head_norms: HeadNormTraits::Row, experts: true, normalized: false, ..QWEN },
    Traits {
        name: "olmo2",
        head_norms: HeadNormTraits::Row,
        windows: Windows::Alternating { period: 4, window: None, rope: WindowRope::Unscaled(None) },
        ..POST_NORM
    },
    Traits {
        name: "exaone4",
        head_norms: HeadNormTraits::Head,
        nope: Nope::FullAttention,
        windows: Windows::Alternating { period: 4, window: None, rope: WindowRope::Same },
        ..POST_NORM
    },
    Traits {
        name: "gpt-oss",
        sinks: true,
        feed_forward_norm: "post_attention_norm",
        experts: true,
        activation: Activation::SwigluOai,
        windows: Windows::Alternating { period: 2, window: None, rope: WindowRope::Base },
        ..QWEN
    },
    Traits { name: "gemma", windows: Windows::Never, ..GEMMA },
    Traits {
        name: "gemma2",
        post_norms: true,
        windows: Windows::Alternating { period: 2, window: Some(4096), rope: WindowRope::Base },
        soft_caps: (Some(50.0), Some(30.0)),
        scaled_by_embedding: Some(46),
        ..GEMMA
    },
    Traits {
        name: "gemma3",
        post_norms: true,
        head_norms: HeadNormTraits::Head,
        windows: Windows::Alternating { period: 6, window: None, rope: WindowRope::Unscaled(Some(10_000.0)) },
        scaled_by_embedding: Some(62),
        ..GEMMA
    },
    // llama.cpp ignores the window in these files, because they have no per-layer pattern.
    Traits { name: "phi3", ..QWEN },
    Traits { name: "phimoe", experts: true, ..QWEN },
    Traits { name: "phi2", parallel: Parallel::WithoutNorm, ..NEOX },
    Traits { name: "gptneox", parallel: Parallel::Declared, ..NEOX },
    Traits { name: "falcon", parallel: Parallel::WithoutNorm, ..NEOX },
    Traits { name: "starcoder2", ..NEOX },
    Traits { name: "codeshell", ..NEOX },
    Traits { name: "nemotron", activation: Activation::ReluSquared, ..NEOX },
    Traits { name: "jais2", activation: Activation::ReluSquared, ..NEOX },
    Traits { name: "orion", norm: NormKind::Layer, ..QWEN },
    Traits {
        name: "stablelm",
        norm: NormKind::Layer,
        head_norms: HeadNormTraits::Optional,
        parallel: Parallel::WithoutNorm,
        ..QWEN
    },
    Traits { name: "plamo", parallel: Parallel::WithoutNorm, ..QWEN },
    COMMAND_R,
    Traits {
        name: "cohere2",
        head_norms: HeadNormTraits::None,
        nope: Nope::FullAttention,
        windows: Windows::Alternating { period: 4, window: None, rope: WindowRope::Same },
        ..COMMAND_R
    },
];

pub(super) fn find(name: &str) -> Option<&'static Traits> {
    TABLE.iter().find(|traits| traits.name == name)
}

/// Names of all architectures.
pub(super) fn names() -> String {
    TABLE.iter().map(|traits| traits.name).collect::<Vec<_>>().join(", ")
}
