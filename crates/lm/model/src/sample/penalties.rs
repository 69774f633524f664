//! Repetition penalties over the last tokens.

use std::collections::{HashMap, VecDeque};

use super::settings::Settings;

/// The last tokens, with the count of each.
#[derive(Clone, Debug)]
pub(super) struct Window {
    size: usize,
    last: VecDeque<u32>,
    counts: HashMap<u32, u32>,
}

impl Window {
    pub(super) fn new(size: usize) -> Self {
        Self { size, last: VecDeque::new(), counts: HashMap::new() }
    }

    pub(super) fn push(&mut self, token: u32) {
        if self.size == 0 {
            return;
        }
        if self.last.len() == self.size
            && let Some(oldest) = self.last.pop_front()
            && let Some(count) = self.counts.get_mut(&oldest)
        {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&oldest);
            }
        }
        self.last.push_back(token);
        *self.counts.entry(token).or_default() += 1;
    }

    /// Lowers the logits of the tokens in the window.
    pub(super) fn penalize(&self, settings: &Settings, logits: &mut [f32]) {
        let &Settings { repeat_penalty, frequency_penalty, presence_penalty, .. } = settings;
        #[expect(
            clippy::iter_over_hash_type,
            reason = "each token's logit is changed once, independently of all others"
        )]
        for (&token, &count) in &self.counts {
            // Observed tokens may be outside the vocabulary and have no logit.
            let Some(logit) = logits.get_mut(token as usize) else { continue };
            // Dividing a negative logit would make the token more probable.
            *logit = if *logit > 0.0 { *logit / repeat_penalty } else { *logit * repeat_penalty };
            *logit -= count as f32 * frequency_penalty + presence_penalty;
        }
    }
}
