//! The parts that models are made of.
//!
//! A [`Model`](super::Model) is a list of these: what an engine has to compute, in which order, with which tensors. Nothing in them depends on the
//! architecture's name.

use std::ops::Range;
use std::sync::Arc;

/// Rows of a tensor of the file.
///
/// A tensor may hold several matrices one below the other: fused projections, and one matrix for each expert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// The tensor's name.
    pub tensor: String,
    /// Which of its rows; a row has as many values as go in.
    pub rows: Range<usize>,
    /// How many values go in.
    pub columns: usize,
}

impl Matrix {
    /// How many values come out.
    pub fn outputs(&self) -> usize {
        self.rows.len()
    }
}

/// Values of a tensor of the file that has one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    /// The tensor's name.
    pub tensor: String,
    /// Which of its values.
    pub values: Range<usize>,
}

/// A matrix product, and perhaps a sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linear {
    /// What is multiplied by.
    pub matrix: Matrix,
    /// What is added.
    pub bias: Option<Vector>,
}

/// Division by the root of the mean square, then multiplication value by value.
#[derive(Clone, Debug, PartialEq)]
pub struct Norm {
    /// The factors.
    pub weight: Vector,
    /// Added to the mean square.
    pub epsilon: f32,
}

/// Which values are turned together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RopeStyle {
    /// Values 0 and 1, 2 and 3, and so on.
    Neighbours,
    /// Values 0 and n/2, 1 and n/2 + 1, and so on.
    Halves,
}

/// Rotations that tell a head where a token stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Rope {
    /// Which values are pairs. The first `2 * frequencies.len()` of a head are turned, the others are left alone.
    pub style: RopeStyle,
    /// The angle of each pair for one position, in radians.
    pub frequencies: Vec<f32>,
    /// What the turned values are multiplied by.
    pub magnitude: f32,
}

/// Attention, from the norm before it to the sum with what went in.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// Before the projections.
    pub norm: Norm,
    /// Queries: `heads * key_length` values.
    pub query: Linear,
    /// Keys: `kv_heads * key_length` values.
    pub key: Linear,
    /// Values: `kv_heads * value_length` values.
    pub value: Linear,
    /// Back to the embedding's length, from `heads * value_length` values.
    pub output: Linear,
    /// For each head of the queries and keys, before they are turned.
    pub head_norms: Option<(Norm, Norm)>,
    /// What is added is normed first.
    pub post_norm: Option<Norm>,
    /// How many heads ask.
    pub heads: usize,
    /// How many heads answer; each serves `heads / kv_heads` of those that ask.
    pub kv_heads: usize,
    /// The length of a head of queries and keys.
    pub key_length: usize,
    /// The length of a head of values.
    pub value_length: usize,
    /// How heads are turned. Layers that turn alike share it.
    pub rope: Arc<Rope>,
    /// What scores are multiplied by.
    pub scale: f32,
    /// Scores `s` become `c * tanh(s / c)`.
    pub soft_cap: Option<f32>,
    /// Only so many of the last tokens are seen, the present one among them.
    pub window: Option<u32>,
}

/// A function of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `x / (1 + exp(-x))`.
    Silu,
    /// `x * (1 + tanh(√(2/π) * (x + 0.044715 x³))) / 2`.
    Gelu,
}

/// `down(activation(gate(x)) * up(x))`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gated {
    /// What goes through the activation.
    pub gate: Linear,
    /// What it is multiplied with.
    pub up: Linear,
    /// Back to the embedding's length.
    pub down: Linear,
}

/// What stands between the norms of a feed-forward part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedForwardKind {
    /// One for all tokens.
    Dense(Gated),
    /// Several, of which each token takes a few.
    Experts {
        /// Gives a score for each expert.
        router: Linear,
        /// All experts.
        experts: Vec<Gated>,
        /// How many of them a token takes: those with the highest scores. Their weights are the softmax of all scores, divided by the sum of
        /// those that are taken.
        used: usize,
    },
}

/// A feed-forward part, from the norm before it to the sum with what went in.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedForward {
    /// Before the matrices.
    pub norm: Norm,
    /// What is computed.
    pub kind: FeedForwardKind,
    /// The function within.
    pub activation: Activation,
    /// What is added is normed first.
    pub post_norm: Option<Norm>,
}

/// One layer: attention, then feed-forward.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// First.
    pub attention: Attention,
    /// Then.
    pub feed_forward: FeedForward,
}
