//! Selection of experts: how close the scores are, and the logits with another selection.
//!
//! A device that rounds chooses other experts where two scores are nearly equal. Its results are
//! those of the reference with that choice, which [`Reference::logits_with_choices`] computes.

use std::sync::{Mutex, PoisonError};

use super::{Reference, SequenceState, UnknownToken};

/// The choice of the experts of a token in one layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpertChoice {
    /// Lower bound of the difference between the score of the last selected expert and the score of
    /// the first expert that is not selected, before scores become weights.
    pub gap: f32,
    /// Root mean square of these scores over all experts.
    pub scale: f32,
}

/// The choices of a token, while they are recorded.
#[derive(Debug, Default)]
pub(super) struct Choices(Mutex<Option<Recording>>);

#[derive(Debug)]
struct Recording {
    choices: Vec<ExpertChoice>,
    /// Choices, by their indices, in which the first expert that is not chosen replaces the last.
    swapped: Vec<usize>,
}

impl Choices {
    /// Records the choice of the first `used` experts of `order`, or changes it. `gap` returns the
    /// gap between two experts.
    pub(super) fn note(&self, order: &mut [usize], used: usize, scale: f32, gap: impl Fn(usize, usize) -> f32) {
        let mut recording = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Recording { choices, swapped }) = recording.as_mut() else { return };
        let gap = match (used.checked_sub(1).and_then(|last| order.get(last)), order.get(used)) {
            (Some(last), Some(next)) => gap(*last, *next),
            _ => f32::INFINITY,
        };
        if gap.is_finite() && swapped.contains(&choices.len()) {
            order.swap(used - 1, used);
        }
        choices.push(ExpertChoice { gap, scale });
    }
}

impl Reference {
    /// [`logits`](Self::logits), and the choices of experts in all layers. In the choices with
    /// indices in `swapped`, the next best expert replaces the last one. Must not be called by
    /// several threads at once.
    ///
    /// # Errors
    /// If the token is not in the vocabulary.
    pub fn logits_with_choices(
        &self,
        sequence: &mut SequenceState,
        token: u32,
        swapped: &[usize],
    ) -> Result<(Vec<f32>, Vec<ExpertChoice>), UnknownToken> {
        let lock = || self.choices.0.lock().unwrap_or_else(PoisonError::into_inner);
        *lock() = Some(Recording { choices: Vec::new(), swapped: swapped.to_vec() });
        let logits = self.logits(sequence, token);
        let choices = lock().take().map_or_else(Vec::new, |recording| recording.choices);
        Ok((logits?, choices))
    }
}
