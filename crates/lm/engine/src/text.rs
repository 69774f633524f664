//! Requests for embeddings and scores.

use std::ops::Range;

use roci_lm::reference::PooledHead;
use tokio::sync::oneshot;

use crate::EngineError;

/// The requested result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextVector {
    /// An embedding with an L2 norm of 1.
    Embedding,
    /// The outputs of a classification head.
    Score,
}

/// A request for an embedding or a score.
#[derive(Debug)]
pub(crate) struct EmbedTask {
    /// Positions whose hidden states are averaged.
    pub(crate) pooled: Range<usize>,
    /// Sum of their hidden states so far.
    pub(crate) sum: Vec<f64>,
    pub(crate) vector: TextVector,
    /// Whether all tokens must be in one call, without the prefix cache.
    pub(crate) whole: bool,
    pub(crate) reply: oneshot::Sender<Result<Vec<f32>, EngineError>>,
}

impl EmbedTask {
    /// The result after all tokens are evaluated.
    pub(crate) fn finish(&self, head: Option<&PooledHead>) -> Vec<f32> {
        let count = self.pooled.len().max(1) as f64;
        let mean: Vec<f32> = self.sum.iter().map(|sum| (sum / count) as f32).collect();
        let vector = match head {
            Some(head) => head.apply(mean),
            None => mean,
        };
        match self.vector {
            TextVector::Score => vector,
            TextVector::Embedding => {
                let squares: f64 = vector.iter().map(|value| f64::from(*value).powi(2)).sum();
                let scale = if squares > 0.0 { 1.0 / squares.sqrt() } else { 0.0 };
                vector.into_iter().map(|value| (f64::from(value) * scale) as f32).collect()
            }
        }
    }
}
