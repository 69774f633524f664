//! What the rows of the table of architectures consist of.

use super::blocks::{Activation, ExpertScores, HeadOrder, NormKind, RopeStyle};

/// Traits of one architecture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ArchitectureTraits {
    /// Name in the metadata.
    pub(super) name: &'static str,
    pub(super) rope: RopeStyle,
    pub(super) nope: Nope,
    /// Kind of all norms.
    pub(super) norm: NormKind,
    /// Norms have weights.
    pub(super) norm_weights: bool,
    /// Blocks normalize their input.
    pub(super) pre_norms: bool,
    /// Blocks normalize their output.
    pub(super) post_norms: bool,
    pub(super) head_norms: HeadNormTraits,
    /// Values are normalized too, per head and without weights. Layers without a value projection
    /// use the result of the key projection.
    pub(super) value_norm: bool,
    /// Layers with a window have heads of different lengths than those with full attention.
    pub(super) window_heads: bool,
    /// The last layers may read keys and values of earlier ones.
    pub(super) shared_kv: bool,
    /// Layers may have per-layer embeddings.
    pub(super) per_layer_embedding: bool,
    /// Rows of an image attend to later ones only in layers with a window, and in no layer of
    /// models with per-layer embeddings.
    pub(super) windowed_images: bool,
    /// There are several residual streams, and low-rank branches parallel to attention.
    pub(super) streams: bool,
    /// Query, key and value projections have biases.
    pub(super) biases: bool,
    /// Attention has sinks.
    pub(super) sinks: bool,
    pub(super) parallel: Parallel,
    /// Feed-forward networks have a gate.
    pub(super) gated: bool,
    /// Feed-forward blocks are mixtures of experts.
    pub(super) experts: bool,
    pub(super) scores: ExpertScores,
    /// Whether weights of experts are normalized, unless the file says.
    pub(super) normalized: bool,
    /// Weights of experts multiply their inputs.
    pub(super) weighted_input: bool,
    pub(super) shared_expert: SharedExpertTraits,
    /// Attention is multi-head latent attention.
    pub(super) latent: bool,
    pub(super) output_gate: AttentionGate,
    /// Most layers are gated delta nets with this order of heads.
    pub(super) delta_net: Option<HeadOrder>,
    pub(super) hybrid: HybridTraits,
    /// Name of the norm of feed-forward blocks.
    pub(super) feed_forward_norm: &'static str,
    /// Name of the final norm.
    pub(super) output_norm: &'static str,
    pub(super) rope_sections: RopeSections,
    pub(super) activation: Activation,
    /// Some layers have sparse activations.
    pub(super) sparse: bool,
    /// Default scales if the file has none.
    pub(super) usual_scales: UsualScales,
    pub(super) logit_scale: LogitScale,
    pub(super) temperature: TemperatureTraits,
    pub(super) windows: Windows,
    /// Default soft caps of attention scores and of logits.
    pub(super) soft_caps: (Option<f32>, Option<f32>),
    pub(super) score_scale: ScoreScale,
    /// Number of layers of the model size whose scores are scaled by embedding length / heads
    /// instead of the head length.
    pub(super) scaled_by_embedding: Option<usize>,
    /// Whether attention is causal if the file does not say.
    pub(super) causal: bool,
    /// Default maximum bias of ALiBi. 0: no ALiBi unless the file sets one.
    pub(super) alibi: Option<f32>,
    /// The residual stream is normalized after each block, instead of a final norm.
    pub(super) stream_norms: bool,
    /// The file may select another activation.
    pub(super) declared_activation: bool,
    pub(super) input: InputTraits,
    pub(super) rank: RankTraits,
}

/// Applied to token embeddings before the first layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct InputTraits {
    /// Position embeddings are added.
    pub(super) positions: bool,
    /// Embeddings of token types are added, if the file has them.
    pub(super) token_types: bool,
    /// Embeddings are normalized.
    pub(super) norm: bool,
    /// The first layer has an input norm only if the file has it.
    pub(super) first_norm_optional: bool,
}

/// What the classification head of a reranker reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RankTraits {
    /// The first token.
    First,
    /// The last token; the result is a softmax over the labels.
    LastSoftmax,
    /// The mean of all tokens; the first layer has GELU.
    Mean,
}

/// Which layers have recurrent blocks other than gated delta nets, and which lack a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum HybridTraits {
    /// All layers have attention and feed-forward.
    None,
    /// Layers without key and value heads have a short convolution between gates.
    GatedConvolutions,
    /// Layers without key and value heads have a state space.
    StateSpaces,
    /// Each layer has a single block: feed-forward if it has a length, else attention if it has key
    /// and value heads, else a state space.
    SingleBlocks,
    /// Layers without key and value heads have a selective scan. Layers with a router have experts.
    SelectiveScans,
    /// Layers may lack attention (no heads) or feed-forward (length 0).
    MissingBlocks,
    /// Each layer is a state space.
    OnlyStateSpaces,
    /// Each layer is a selective scan.
    OnlySelectiveScans,
    /// Each layer has time mixing and feed-forward.
    TimeMixes {
        /// Feed-forward is the channel mixing of RWKV, with a token shift.
        channel_mix: bool,
    },
    /// The same with the time mixing of RWKV 6.
    DynamicTimeMixes {
        /// Feed-forward is the channel mixing of RWKV, with token shifts and a gate.
        channel_mix: bool,
    },
    /// Each layer has a state space parallel to attention.
    Beside,
}

/// Gate of the outputs of attention.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum AttentionGate {
    None,
    /// In the query projection, after each query head.
    InQueryProjection,
    /// A separate projection.
    Separate,
}

/// Which layers have no position embedding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Nope {
    Never,
    /// All.
    Always,
    /// All if `rope.scaling.finetuned` is false, otherwise none.
    UnlessFinetuned,
    /// Those that `attention.rope_pattern` declares.
    Declared,
    /// Those with full attention, in models that also have windows.
    FullAttention,
    /// Every n-th.
    Every(usize),
}

/// Norms of queries and keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum HeadNormTraits {
    None,
    /// Of each head, before RoPE.
    Head,
    /// As `Head` if the file has them; a matrix has weights for each head.
    Optional,
    /// Of all heads of a token together, before RoPE.
    Row,
    /// Of each head, after RoPE.
    AfterRope,
    /// Of each head, after RoPE and without weights, in layers that have RoPE. Models of 128
    /// experts have none.
    Unweighted,
}

/// Whether both blocks of a layer read the same residual stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Parallel {
    Never,
    /// In layers whose feed-forward block has no norm of its own; it shares that of attention.
    WithoutNorm,
    /// As `use_parallel_residual` says; both blocks have norms.
    Declared,
}

/// The expert for all tokens in mixtures of experts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SharedExpertTraits {
    None,
    /// With a gate.
    Gated,
    /// Without a gate, if the file has one.
    Plain,
    /// The dense network that other layers have alone. Both networks have norms of their inputs and
    /// outputs, and so has the router of its input.
    Dense,
}

/// Sections of RoPE for several positions of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RopeSections {
    None,
    /// Interleaved MRoPE.
    Interleaved,
    /// Files with sections have MRoPE, whose pairs are those of `Neox`; others have plain RoPE.
    Optional,
}

/// Default scales of embeddings, blocks and logits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum UsualScales {
    None,
    /// Embeddings are scaled by the square root of their length.
    Gemma,
    /// Embeddings by 12, blocks by 1.4 / √layers, logits by the embedding length / 256.
    MiniCpm,
}

/// Scale of attention scores, unless the file sets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ScoreScale {
    /// 1 / √length of a head.
    Root,
    /// 1 / length of a head.
    Length,
    None,
}

/// What `logit_scale` is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LogitScale {
    None,
    Factor,
    /// Required, unless there is a usual one.
    Divisor,
    OptionalDivisor,
}

/// Attention temperature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TemperatureTraits {
    None,
    /// `attention.temperature_scale`, with the original context length as interval.
    Declared,
    /// `attention.temperature_scale`, with `attention.temperature_length` as interval.
    DeclaredInterval,
    /// In layers without position embedding, and not declared.
    NopeLayers {
        scale: f32,
        interval: u32,
        offset: u32,
    },
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
        rope: WindowRope,
    },
    /// All except the first and every n-th after it, if the file has a window.
    DenseFirst { period: usize, rope: WindowRope },
    /// All except every n-th, and chunks of this length instead of windows.
    Chunks { period: usize, length: u32 },
}

/// RoPE of layers with a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WindowRope {
    /// That of the other layers.
    Same,
    /// That of the other layers with the base `rope.freq_base_swa`, if the file has it.
    Base,
    /// Not scaled, with the base `rope.freq_base_swa`, or else this one, or else that of the other
    /// layers.
    Unscaled(Option<f32>),
}
