//! Traits of the architectures, one row each.
//!
//! Everything else is common to all, in [`blocks`](super::blocks). Features that the presence of a
//! tensor shows (a bias, a fused projection, an untied output matrix) are read from the file and
//! not listed here.

use super::blocks::{Activation, ExpertScores, HeadOrder, NormKind, RopeStyle};
use super::traits::{
    ArchitectureTraits, AttentionGate, HeadNormTraits, HybridTraits, InputTraits, LogitScale, Nope, Parallel,
    RankTraits, RopeSections, ScoreScale, SharedExpertTraits, TemperatureTraits, UsualScales, WindowRope, Windows,
};

const LLAMA: ArchitectureTraits = ArchitectureTraits {
    name: "llama",
    rope: RopeStyle::Interleaved,
    nope: Nope::Never,
    norm: NormKind::Rms,
    norm_weights: true,
    pre_norms: true,
    post_norms: false,
    head_norms: HeadNormTraits::None,
    value_norm: false,
    window_heads: false,
    shared_kv: false,
    per_layer_embedding: false,
    windowed_images: false,
    streams: false,
    biases: false,
    sinks: false,
    parallel: Parallel::Never,
    gated: true,
    experts: false,
    scores: ExpertScores::Softmax,
    normalized: true,
    weighted_input: false,
    shared_expert: SharedExpertTraits::None,
    latent: false,
    output_gate: AttentionGate::None,
    delta_net: None,
    hybrid: HybridTraits::None,
    feed_forward_norm: "ffn_norm",
    output_norm: "output_norm",
    rope_sections: RopeSections::None,
    activation: Activation::Silu,
    sparse: false,
    usual_scales: UsualScales::None,
    logit_scale: LogitScale::None,
    temperature: TemperatureTraits::None,
    windows: Windows::AsDeclared,
    soft_caps: (None, None),
    score_scale: ScoreScale::Root,
    scaled_by_embedding: None,
    causal: true,
    alibi: None,
    stream_norms: false,
    declared_activation: false,
    input: InputTraits { positions: false, token_types: false, norm: false, first_norm_optional: false },
    rank: RankTraits::First,
};

/// As `LLAMA`, but windows are ignored.
const PLAIN: ArchitectureTraits = ArchitectureTraits { windows: Windows::Never, ..LLAMA };

const QWEN: ArchitectureTraits = ArchitectureTraits { rope: RopeStyle::Neox, ..PLAIN };

const GEMMA: ArchitectureTraits = ArchitectureTraits {
    rope: RopeStyle::Neox,
    activation: Activation::Gelu,
    usual_scales: UsualScales::Gemma,
    ..LLAMA
};

const QWEN3VL: ArchitectureTraits = ArchitectureTraits {
    name: "qwen3vl",
    head_norms: HeadNormTraits::Head,
    rope_sections: RopeSections::Interleaved,
    ..QWEN
};

const GEMMA4: ArchitectureTraits = ArchitectureTraits {
    name: "gemma4",
    post_norms: true,
    head_norms: HeadNormTraits::Head,
    value_norm: true,
    window_heads: true,
    shared_kv: true,
    per_layer_embedding: true,
    windowed_images: true,
    shared_expert: SharedExpertTraits::Dense,
    windows: Windows::Alternating { period: 6, window: None, rope: WindowRope::Unscaled(Some(10_000.0)) },
    soft_caps: (None, Some(30.0)),
    score_scale: ScoreScale::None,
    ..GEMMA
};

const QWEN35: ArchitectureTraits = ArchitectureTraits {
    name: "qwen35",
    head_norms: HeadNormTraits::Head,
    output_gate: AttentionGate::InQueryProjection,
    delta_net: Some(HeadOrder::Tiled),
    feed_forward_norm: "post_attention_norm",
    rope_sections: RopeSections::Interleaved,
    ..QWEN
};

/// DeepSeek V2, V3 and R1, Kimi K2, Moonlight, GLM-4.7-Flash.
const DEEPSEEK2: ArchitectureTraits = ArchitectureTraits {
    name: "deepseek2",
    normalized: false,
    shared_expert: SharedExpertTraits::Plain,
    latent: true,
    temperature: TemperatureTraits::DeclaredInterval,
    ..PLAIN
};

const GRANITE: ArchitectureTraits = ArchitectureTraits {
    name: "granite",
    nope: Nope::UnlessFinetuned,
    shared_expert: SharedExpertTraits::Plain,
    logit_scale: LogitScale::Divisor,
    ..PLAIN
};

/// Short convolutions in most layers. The final norm has the tensor name of an embedding norm.
const LFM2: ArchitectureTraits = ArchitectureTraits {
    name: "lfm2",
    head_norms: HeadNormTraits::Head,
    hybrid: HybridTraits::GatedConvolutions,
    output_norm: "token_embd_norm",
    windows: Windows::AsDeclared,
    ..QWEN
};

/// Layers with a single block.
const NEMOTRON_H: ArchitectureTraits = ArchitectureTraits {
    name: "nemotron_h",
    nope: Nope::Always,
    gated: false,
    activation: Activation::ReluSquared,
    hybrid: HybridTraits::SingleBlocks,
    feed_forward_norm: "attn_norm",
    ..PLAIN
};

/// Blocks with norms of their outputs instead of their inputs.
const POST_NORM: ArchitectureTraits = ArchitectureTraits { pre_norms: false, post_norms: true, ..QWEN };

/// Layer norms, and feed-forward networks without a gate.
const NEOX: ArchitectureTraits =
    ArchitectureTraits { norm: NormKind::Layer, gated: false, activation: Activation::Gelu, ..QWEN };

/// Learned position embeddings instead of RoPE.
const GPT2: ArchitectureTraits = ArchitectureTraits {
    name: "gpt2",
    nope: Nope::Always,
    input: InputTraits { positions: true, ..LLAMA.input },
    ..NEOX
};

const COMMAND_R: ArchitectureTraits = ArchitectureTraits {
    name: "command-r",
    norm: NormKind::Layer,
    head_norms: HeadNormTraits::Optional,
    parallel: Parallel::WithoutNorm,
    logit_scale: LogitScale::Factor,
    ..PLAIN
};

/// BERT: non-causal, layer norms after the blocks.
const BERT: ArchitectureTraits = ArchitectureTraits {
    name: "bert",
    nope: Nope::Always,
    pre_norms: false,
    stream_norms: true,
    causal: false,
    input: InputTraits { positions: true, token_types: true, norm: true, first_norm_optional: false },
    ..NEOX
};

/// BERT with RoPE in place of position embeddings.
const NOMIC_BERT: ArchitectureTraits = ArchitectureTraits {
    name: "nomic-bert",
    nope: Nope::Never,
    gated: true,
    activation: Activation::Silu,
    input: InputTraits { positions: false, ..BERT.input },
    ..BERT
};

pub(super) const TABLE: &[ArchitectureTraits] = &[
    LLAMA,
    ArchitectureTraits { name: "mistral", ..LLAMA },
    ArchitectureTraits { name: "mistral3", temperature: TemperatureTraits::Declared, ..LLAMA },
    ArchitectureTraits {
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
    ArchitectureTraits { name: "arcee", gated: false, activation: Activation::ReluSquared, ..PLAIN },
    ArchitectureTraits { name: "ernie4_5", ..PLAIN },
    ArchitectureTraits { name: "ernie4_5-moe", experts: true, shared_expert: SharedExpertTraits::Plain, ..PLAIN },
    ArchitectureTraits { name: "internlm2", ..PLAIN },
    ArchitectureTraits { name: "xverse", ..PLAIN },
    ArchitectureTraits { name: "olmo", norm: NormKind::Layer, norm_weights: false, ..PLAIN },
    ArchitectureTraits { name: "chatglm", ..PLAIN },
    ArchitectureTraits { name: "maincoder", head_norms: HeadNormTraits::AfterRope, ..PLAIN },
    ArchitectureTraits { name: "glm4", post_norms: true, rope_sections: RopeSections::Optional, ..PLAIN },
    ArchitectureTraits { name: "smollm3", nope: Nope::Every(4), ..PLAIN },
    ArchitectureTraits {
        name: "bailingmoe",
        experts: true,
        normalized: false,
        shared_expert: SharedExpertTraits::Plain,
        ..PLAIN
    },
    ArchitectureTraits {
        name: "deepseek",
        experts: true,
        normalized: false,
        shared_expert: SharedExpertTraits::Plain,
        ..PLAIN
    },
    DEEPSEEK2,
    ArchitectureTraits { name: "mistral4", ..DEEPSEEK2 },
    ArchitectureTraits { name: "deci", hybrid: HybridTraits::MissingBlocks, ..PLAIN },
    ArchitectureTraits { name: "refact", nope: Nope::Always, alibi: Some(8.0), ..PLAIN },
    GRANITE,
    ArchitectureTraits { name: "minicpm", nope: Nope::Never, usual_scales: UsualScales::MiniCpm, ..GRANITE },
    ArchitectureTraits { name: "granitemoe", nope: Nope::Never, experts: true, ..GRANITE },
    ArchitectureTraits {
        name: "granitehybrid",
        hybrid: HybridTraits::StateSpaces,
        logit_scale: LogitScale::OptionalDivisor,
        ..GRANITE
    },
    ArchitectureTraits {
        name: "granite_swa",
        nope: Nope::Declared,
        sinks: true,
        windows: Windows::Alternating { period: 4, window: None, rope: WindowRope::Same },
        ..GRANITE
    },
    LFM2,
    ArchitectureTraits {
        name: "lfm2moe",
        experts: true,
        scores: ExpertScores::Sigmoid,
        windows: Windows::Never,
        ..LFM2
    },
    NEMOTRON_H,
    ArchitectureTraits {
        name: "nemotron_h_moe",
        experts: true,
        scores: ExpertScores::Sigmoid,
        normalized: false,
        shared_expert: SharedExpertTraits::Plain,
        ..NEMOTRON_H
    },
    ArchitectureTraits { name: "mamba2", hybrid: HybridTraits::OnlyStateSpaces, nope: Nope::Always, ..PLAIN },
    ArchitectureTraits { name: "mamba", hybrid: HybridTraits::OnlySelectiveScans, nope: Nope::Always, ..PLAIN },
    ArchitectureTraits {
        name: "jamba",
        hybrid: HybridTraits::SelectiveScans,
        nope: Nope::Always,
        normalized: false,
        ..PLAIN
    },
    ArchitectureTraits {
        name: "rwkv7",
        nope: Nope::Always,
        norm: NormKind::Layer,
        gated: false,
        activation: Activation::ReluSquared,
        hybrid: HybridTraits::TimeMixes { channel_mix: true },
        feed_forward_norm: "attn_norm_2",
        input: InputTraits { norm: true, ..LLAMA.input },
        ..PLAIN
    },
    ArchitectureTraits {
        name: "rwkv6",
        nope: Nope::Always,
        norm: NormKind::Layer,
        gated: false,
        activation: Activation::ReluSquared,
        hybrid: HybridTraits::DynamicTimeMixes { channel_mix: true },
        feed_forward_norm: "attn_norm_2",
        input: InputTraits { norm: true, ..LLAMA.input },
        ..PLAIN
    },
    // Time mixing of RWKV 6 replaces Qwen's attention.
    ArchitectureTraits {
        name: "rwkv6qwen2",
        nope: Nope::Always,
        hybrid: HybridTraits::DynamicTimeMixes { channel_mix: false },
        ..PLAIN
    },
    // Time mixing of RWKV 7 replaces Qwen's attention.
    ArchitectureTraits {
        name: "arwkv7",
        nope: Nope::Always,
        hybrid: HybridTraits::TimeMixes { channel_mix: false },
        ..PLAIN
    },
    ArchitectureTraits { name: "falcon-h1", hybrid: HybridTraits::Beside, ..QWEN },
    ArchitectureTraits { name: "qwen2", biases: true, ..QWEN },
    ArchitectureTraits {
        name: "qwen2moe",
        experts: true,
        normalized: false,
        shared_expert: SharedExpertTraits::Gated,
        ..QWEN
    },
    ArchitectureTraits { name: "qwen2vl", rope_sections: RopeSections::Optional, ..QWEN },
    ArchitectureTraits { name: "qwen3", head_norms: HeadNormTraits::Head, rank: RankTraits::LastSoftmax, ..QWEN },
    ArchitectureTraits { name: "qwen3moe", head_norms: HeadNormTraits::Head, experts: true, ..QWEN },
    QWEN3VL,
    ArchitectureTraits { name: "qwen3vlmoe", experts: true, ..QWEN3VL },
    ArchitectureTraits {
        name: "mellum",
        head_norms: HeadNormTraits::Head,
        experts: true,
        windows: Windows::Alternating { period: 4, window: None, rope: WindowRope::Unscaled(None) },
        ..QWEN
    },
    ArchitectureTraits {
        name: "qwen3next",
        experts: true,
        shared_expert: SharedExpertTraits::Gated,
        delta_net: Some(HeadOrder::Grouped),
        rope_sections: RopeSections::None,
        ..QWEN35
    },
    QWEN35,
    ArchitectureTraits { name: "qwen35moe", experts: true, shared_expert: SharedExpertTraits::Gated, ..QWEN35 },
    ArchitectureTraits { name: "exaone", ..QWEN },
    ArchitectureTraits { name: "openelm", head_norms: HeadNormTraits::Head, ..QWEN },
    ArchitectureTraits { name: "pangu-embedded", ..QWEN },
    ArchitectureTraits { name: "seed_oss", feed_forward_norm: "post_attention_norm", ..QWEN },
    ArchitectureTraits { name: "hunyuan-dense", head_norms: HeadNormTraits::AfterRope, ..QWEN },
    ArchitectureTraits {
        name: "hunyuan-moe",
        head_norms: HeadNormTraits::AfterRope,
        experts: true,
        shared_expert: SharedExpertTraits::Plain,
        ..QWEN
    },
    ArchitectureTraits {
        name: "dots1",
        head_norms: HeadNormTraits::Head,
        experts: true,
        scores: ExpertScores::Sigmoid,
        normalized: false,
        shared_expert: SharedExpertTraits::Plain,
        ..QWEN
    },
    ArchitectureTraits {
        name: "bailingmoe2",
        head_norms: HeadNormTraits::Head,
        experts: true,
        normalized: false,
        shared_expert: SharedExpertTraits::Plain,
        ..QWEN
    },
    ArchitectureTraits {
        name: "exaone-moe",
        head_norms: HeadNormTraits::Head,
        nope: Nope::FullAttention,
        experts: true,
        normalized: false,
        shared_expert: SharedExpertTraits::Plain,
        windows: Windows::Alternating { period: 4, window: None, rope: WindowRope::Base },
        ..QWEN
    },
    ArchitectureTraits {
        name: "hy_v3",
        head_norms: HeadNormTraits::Head,
        experts: true,
        scores: ExpertScores::Sigmoid,
        normalized: false,
        shared_expert: SharedExpertTraits::Plain,
        ..QWEN
    },
    ArchitectureTraits {
        name: "afmoe",
        nope: Nope::Every(4),
        post_norms: true,
        head_norms: HeadNormTraits::Head,
        output_gate: AttentionGate::Separate,
        experts: true,
        scores: ExpertScores::Sigmoid,
        normalized: false,
        shared_expert: SharedExpertTraits::Plain,
        usual_scales: UsualScales::Gemma,
        windows: Windows::Alternating { period: 4, window: None, rope: WindowRope::Base },
        ..QWEN
    },
    ArchitectureTraits {
        name: "glm4moe",
        head_norms: HeadNormTraits::Optional,
        feed_forward_norm: "post_attention_norm",
        experts: true,
        scores: ExpertScores::Sigmoid,
        normalized: false,
        shared_expert: SharedExpertTraits::Plain,
        ..QWEN
    },
    ArchitectureTraits {
        name: "minimax-m2",
        head_norms: HeadNormTraits::Row,
        experts: true,
        scores: ExpertScores::Sigmoid,
        ..QWEN
    },
    ArchitectureTraits { name: "olmoe", head_norms: HeadNormTraits::Row, experts: true, normalized: false, ..QWEN },
    ArchitectureTraits {
        name: "olmo2",
        head_norms: HeadNormTraits::Row,
        windows: Windows::Alternating { period: 4, window: None, rope: WindowRope::Unscaled(None) },
        ..POST_NORM
    },
    ArchitectureTraits {
        name: "exaone4",
        head_norms: HeadNormTraits::Head,
        nope: Nope::FullAttention,
        windows: Windows::Alternating { period: 4, window: None, rope: WindowRope::Same },
        ..POST_NORM
    },
    ArchitectureTraits {
        name: "gpt-oss",
        sinks: true,
        feed_forward_norm: "post_attention_norm",
        experts: true,
        activation: Activation::SwigluOai,
        windows: Windows::Alternating { period: 2, window: None, rope: WindowRope::Base },
        ..QWEN
    },
    ArchitectureTraits { name: "gemma", windows: Windows::Never, ..GEMMA },
    ArchitectureTraits {
        name: "gemma2",
        post_norms: true,
        windows: Windows::Alternating { period: 2, window: Some(4096), rope: WindowRope::Base },
        soft_caps: (Some(50.0), Some(30.0)),
        scaled_by_embedding: Some(46),
        ..GEMMA
    },
    ArchitectureTraits {
        name: "gemma3",
        post_norms: true,
        head_norms: HeadNormTraits::Head,
        windows: Windows::Alternating { period: 6, window: None, rope: WindowRope::Unscaled(Some(10_000.0)) },
        scaled_by_embedding: Some(62),
        ..GEMMA
    },
    ArchitectureTraits {
        name: "gemma3n",
        window_heads: false,
        streams: true,
        sparse: true,
        shared_expert: SharedExpertTraits::None,
        windows: Windows::Alternating { period: 5, window: None, rope: WindowRope::Unscaled(Some(10_000.0)) },
        ..GEMMA4
    },
    GEMMA4,
    ArchitectureTraits {
        name: "gemma-embedding",
        post_norms: true,
        head_norms: HeadNormTraits::Head,
        windows: Windows::Alternating { period: 6, window: None, rope: WindowRope::Base },
        causal: false,
        ..GEMMA
    },
    BERT,
    NOMIC_BERT,
    ArchitectureTraits {
        name: "nomic-bert-moe",
        gated: false,
        activation: Activation::Gelu,
        experts: true,
        normalized: false,
        ..NOMIC_BERT
    },
    ArchitectureTraits { name: "jina-bert-v3", gated: false, activation: Activation::Gelu, ..NOMIC_BERT },
    ArchitectureTraits {
        name: "jina-bert-v2",
        nope: Nope::Always,
        activation: Activation::Gelu,
        alibi: Some(8.0),
        ..NOMIC_BERT
    },
    ArchitectureTraits {
        name: "modern-bert",
        norm: NormKind::Layer,
        activation: Activation::Gelu,
        declared_activation: true,
        windows: Windows::DenseFirst { period: 3, rope: WindowRope::Base },
        causal: false,
        input: InputTraits { norm: true, first_norm_optional: true, ..LLAMA.input },
        rank: RankTraits::Mean,
        ..QWEN
    },
    ArchitectureTraits { name: "eurobert", causal: false, ..QWEN },
    ArchitectureTraits { name: "neo-bert", output_norm: "enc.output_norm", causal: false, ..PLAIN },
    ArchitectureTraits { name: "llama-embed", ..PLAIN },
    // llama.cpp ignores the window in these files, because they have no per-layer pattern.
    ArchitectureTraits { name: "phi3", ..QWEN },
    ArchitectureTraits { name: "phimoe", experts: true, ..QWEN },
    ArchitectureTraits { name: "phi2", parallel: Parallel::WithoutNorm, ..NEOX },
    ArchitectureTraits { name: "gptneox", parallel: Parallel::Declared, ..NEOX },
    ArchitectureTraits { name: "falcon", parallel: Parallel::WithoutNorm, ..NEOX },
    GPT2,
    // Multi-query attention: a single KV head.
    ArchitectureTraits { name: "starcoder", ..GPT2 },
    ArchitectureTraits {
        name: "jais",
        gated: true,
        activation: Activation::Silu,
        nope: Nope::Always,
        score_scale: ScoreScale::Length,
        alibi: Some(0.0),
        ..NEOX
    },
    // The file says whether it has ALiBi.
    ArchitectureTraits { name: "mpt", nope: Nope::Always, alibi: Some(0.0), ..NEOX },
    ArchitectureTraits {
        name: "bloom",
        nope: Nope::Always,
        alibi: Some(8.0),
        input: InputTraits { norm: true, ..LLAMA.input },
        ..NEOX
    },
    ArchitectureTraits { name: "starcoder2", ..NEOX },
    ArchitectureTraits { name: "codeshell", ..NEOX },
    ArchitectureTraits { name: "nemotron", activation: Activation::ReluSquared, ..NEOX },
    ArchitectureTraits { name: "jais2", activation: Activation::ReluSquared, ..NEOX },
    ArchitectureTraits { name: "orion", norm: NormKind::Layer, ..QWEN },
    ArchitectureTraits {
        name: "stablelm",
        norm: NormKind::Layer,
        head_norms: HeadNormTraits::Optional,
        parallel: Parallel::WithoutNorm,
        ..QWEN
    },
    ArchitectureTraits { name: "plamo", parallel: Parallel::WithoutNorm, ..QWEN },
    COMMAND_R,
    ArchitectureTraits {
        name: "cohere2",
        head_norms: HeadNormTraits::None,
        nope: Nope::FullAttention,
        windows: Windows::Alternating { period: 4, window: None, rope: WindowRope::Same },
        ..COMMAND_R
    },
];

pub(super) fn find(name: &str) -> Option<&'static ArchitectureTraits> {
    TABLE.iter().find(|traits| traits.name == name)
}

/// Names of all architectures.
pub(super) fn names() -> String {
    TABLE.iter().map(|traits| traits.name).collect::<Vec<_>>().join(", ")
}
