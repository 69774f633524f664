//! What sets architectures apart: one row each.
//!
//! Everything else is the same for all of them and stands in [`blocks`](super::blocks). What a tensor's presence tells (a bias, a
//! fused projection, an output matrix of its own) is read from the file and needs no entry here.

use super::blocks::{Activation, RopeStyle};

/// What sets an architecture apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Traits {
    /// The name in files.
    pub(super) name: &'static str,
    pub(super) rope: RopeStyle,
    /// Queries and keys are normed, head by head.
    pub(super) head_norms: bool,
    /// What a block computes is normed before it is added.
    pub(super) post_norms: bool,
    /// Queries, keys and values have biases.
    pub(super) biases: bool,
    /// Feed-forward parts are mixtures of experts.
    pub(super) experts: bool,
    pub(super) activation: Activation,
    /// Embeddings are multiplied by the square root of their length.
    pub(super) scaled_embedding: bool,
    pub(super) windows: Windows,
    /// Limits of attention scores and of logits that hold where the file names none.
    pub(super) soft_caps: (Option<f32>, Option<f32>),
    /// The number of layers of the size whose scores are scaled by embedding and heads rather than by the length of a head.
    pub(super) scaled_by_embedding: Option<usize>,
}

/// Which layers see only the last tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Windows {
    /// None, whatever the file says.
    Never,
    /// All, if the file gives a window.
    AsDeclared,
    /// All but each so-manieth.
    Alternating {
        period: usize,
        /// The window where the file gives none; without either, all layers see everything.
        window: Option<u32>,
        /// The base of their rotations where the file gives none and it is not that of all layers.
        base: Option<f32>,
    },
}

const LLAMA: Traits = Traits {
    name: "llama",
    rope: RopeStyle::Neighbours,
    head_norms: false,
    post_norms: false,
    biases: false,
    experts: false,
    activation: Activation::Silu,
    scaled_embedding: false,
    windows: Windows::AsDeclared,
    soft_caps: (None, None),
    scaled_by_embedding: None,
};

const QWEN: Traits = Traits { rope: RopeStyle::Halves, windows: Windows::Never, ..LLAMA };

const GEMMA: Traits =
    Traits { rope: RopeStyle::Halves, post_norms: true, activation: Activation::Gelu, scaled_embedding: true, ..LLAMA };

pub(super) const TABLE: [Traits; 9] = [
    LLAMA,
    Traits { name: "mistral", ..LLAMA },
    Traits { name: "mistral3", ..LLAMA },
    Traits { name: "qwen2", biases: true, ..QWEN },
    Traits { name: "qwen3", head_norms: true, ..QWEN },
    Traits { name: "qwen3moe", head_norms: true, experts: true, ..QWEN },
    Traits {
        name: "gemma2",
        windows: Windows::Alternating { period: 2, window: Some(4096), base: None },
        soft_caps: (Some(50.0), Some(30.0)),
        scaled_by_embedding: Some(46),
        ..GEMMA
    },
    Traits {
        name: "gemma3",
        head_norms: true,
        windows: Windows::Alternating { period: 6, window: None, base: Some(10_000.0) },
        scaled_by_embedding: Some(62),
        ..GEMMA
    },
    // Its files name a window that no layer's description goes with, so that it is left alone, as llama.cpp leaves it.
    Traits { name: "phi3", rope: RopeStyle::Halves, windows: Windows::Never, ..LLAMA },
];

pub(super) fn find(name: &str) -> Option<&'static Traits> {
    TABLE.iter().find(|traits| traits.name == name)
}

/// The names of all architectures.
pub(super) fn names() -> String {
    TABLE.iter().map(|traits| traits.name).collect::<Vec<_>>().join(", ")
}
