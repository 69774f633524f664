//! Traits of the architectures, one row each.
//!
//! Everything else is common to all, in [`blocks`](super::blocks). Features that the presence of a
//! tensor shows (a bias, a fused projection, an untied output matrix) are read from the file and
//! not listed here.

use super::blocks::{Activation, HeadOrder, RopeStyle};

/// Traits of one architecture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ArchitectureTraits {
    /// Name in the metadata.
    pub(super) name: &'static str,
    pub(super) rope: RopeStyle,
    /// Query and key heads have norms.
    pub(super) head_norms: bool,
    /// Blocks have post norms.
    pub(super) post_norms: bool,
    /// Query, key and value projections have biases.
    pub(super) biases: bool,
    /// Feed-forward blocks are mixtures of experts.
    pub(super) experts: bool,
    /// Mixtures of experts have a shared expert with a gate.
    pub(super) shared_expert: bool,
    /// The query projection has a gate of the output behind each query head.
    pub(super) output_gate: bool,
    /// Most layers are gated delta nets with this order of heads.
    pub(super) delta_net: Option<HeadOrder>,
    /// Name of the norm of feed-forward blocks.
    pub(super) feed_forward_norm: &'static str,
    /// RoPE has sections for several positions of a token (MRoPE, interleaved).
    pub(super) rope_sections: bool,
    pub(super) activation: Activation,
    /// Embeddings are scaled by the square root of their length.
    pub(super) scaled_embedding: bool,
    pub(super) windows: Windows,
    /// Default soft caps of attention scores and of logits.
    pub(super) soft_caps: (Option<f32>, Option<f32>),
    /// Number of layers of the model size whose scores are scaled by embedding length / heads
    /// instead of the head length.
    pub(super) scaled_by_embedding: Option<usize>,
}

/// Which layers have a sliding window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Windows {
    /// None, even if the file has a window.
    Never,
    /// All, if the file has a window.
    AsDeclared,
    /// All except every n-th.
    Alternating {
        period: usize,
        /// Default window. Without it and without one in the file, all layers have full attention.
        window: Option<u32>,
        /// Default RoPE base of layers with a window, if it differs from the others'.
        base: Option<f32>,
    },
}

const LLAMA: ArchitectureTraits = ArchitectureTraits {
    name: "llama",
    rope: RopeStyle::Interleaved,
    head_norms: false,
    post_norms: false,
    biases: false,
    experts: false,
    shared_expert: false,
    output_gate: false,
    delta_net: None,
    feed_forward_norm: "ffn_norm",
    rope_sections: false,
    activation: Activation::Silu,
    scaled_embedding: false,
    windows: Windows::AsDeclared,
    soft_caps: (None, None),
    scaled_by_embedding: None,
};

const QWEN: ArchitectureTraits = ArchitectureTraits { rope: RopeStyle::Neox, windows: Windows::Never, ..LLAMA };

const GEMMA: ArchitectureTraits = ArchitectureTraits {
    rope: RopeStyle::Neox,
    post_norms: true,
    activation: Activation::Gelu,
    scaled_embedding: true,
    ..LLAMA
};

const QWEN35: ArchitectureTraits = ArchitectureTraits {
    name: "qwen35",
    head_norms: true,
    output_gate: true,
    delta_net: Some(HeadOrder::Tiled),
    feed_forward_norm: "post_attention_norm",
    rope_sections: true,
    ..QWEN
};

pub(super) const TABLE: [ArchitectureTraits; 12] = [
    LLAMA,
    ArchitectureTraits { name: "mistral", ..LLAMA },
    ArchitectureTraits { name: "mistral3", ..LLAMA },
    ArchitectureTraits { name: "qwen2", biases: true, ..QWEN },
    ArchitectureTraits { name: "qwen3", head_norms: true, ..QWEN },
    ArchitectureTraits { name: "qwen3moe", head_norms: true, experts: true, ..QWEN },
    ArchitectureTraits {
        name: "qwen3next",
        experts: true,
        shared_expert: true,
        delta_net: Some(HeadOrder::Grouped),
        rope_sections: false,
        ..QWEN35
    },
    QWEN35,
    ArchitectureTraits { name: "qwen35moe", experts: true, shared_expert: true, ..QWEN35 },
    ArchitectureTraits {
        name: "gemma2",
        windows: Windows::Alternating { period: 2, window: Some(4096), base: None },
        soft_caps: (Some(50.0), Some(30.0)),
        scaled_by_embedding: Some(46),
        ..GEMMA
    },
    ArchitectureTraits {
        name: "gemma3",
        head_norms: true,
        windows: Windows::Alternating { period: 6, window: None, base: Some(10_000.0) },
        scaled_by_embedding: Some(62),
        ..GEMMA
    },
    // llama.cpp ignores the window in these files, because they have no per-layer pattern.
    ArchitectureTraits { name: "phi3", rope: RopeStyle::Neox, windows: Windows::Never, ..LLAMA },
];

pub(super) fn find(name: &str) -> Option<&'static ArchitectureTraits> {
    TABLE.iter().find(|traits| traits.name == name)
}

/// Names of all architectures.
pub(super) fn names() -> String {
    TABLE.iter().map(|traits| traits.name).collect::<Vec<_>>().join(", ")
}
