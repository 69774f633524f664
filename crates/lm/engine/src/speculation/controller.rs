//! Decides from measured times whether speculation pays off.
//!
//! A step without drafts yields one token per sequence. A step with drafts yields more tokens and
//! takes longer. The controller keeps the duration of steps without drafts for each number of
//! sequences. A window of steps with drafts must be faster than the steps without drafts that would
//! generate as many tokens. Otherwise speculation pauses, longer each time.

use std::collections::BTreeMap;

/// Steps with drafts per window.
const WINDOW: usize = 16;
/// Steps without drafts that are measured before drafting starts.
const MEASURED: u32 = 3;
/// Number of windows after which steps without drafts are measured again: their duration grows with
/// the context.
const WINDOWS_BETWEEN_MEASUREMENTS: usize = 8;
/// Length of the first pause and of the longest one, in steps.
const PAUSES: [usize; 2] = [32, 1024];
/// The measured duration of a step is limited to this many steps without drafts: the first steps
/// compile kernels and record commands.
const OUTLIER: f64 = 4.0;
/// Weight of a new measurement in the average.
const NEW: f64 = 0.25;

/// Duration of steps without drafts.
#[derive(Clone, Copy, Debug, Default)]
struct Plain {
    seconds: f64,
    /// Steps until the duration is measured again.
    missing: u32,
}

/// Pauses speculation while it makes generation slower.
#[derive(Debug)]
pub(super) struct Controller {
    /// By number of decoding sequences.
    plain: BTreeMap<usize, Plain>,
    /// Steps left of the current pause.
    pause: usize,
    /// Length of the next pause.
    next_pause: usize,
    /// Number of steps with drafts in this window, their duration, and the expected duration
    /// without drafts.
    window: (usize, f64, f64),
    windows: usize,
}

impl Controller {
    pub(super) fn new() -> Self {
        Self { plain: BTreeMap::new(), pause: 0, next_pause: PAUSES[0], window: (0, 0.0, 0.0), windows: 0 }
    }

    /// Whether a step with this many sequences should draft.
    pub(super) fn permits(&self, sequences: usize) -> bool {
        self.pause == 0 && self.plain.get(&sequences).is_some_and(|plain| plain.missing == 0)
    }

    /// Whether speculation is paused because it was slower.
    pub(super) fn is_paused(&self) -> bool {
        self.pause > 0
    }

    /// Adds a step without drafts.
    pub(super) fn add_plain(&mut self, sequences: usize, seconds: f64) {
        self.pause = self.pause.saturating_sub(1);
        let new = Plain { seconds, missing: MEASURED };
        let plain = self.plain.entry(sequences).or_insert(new);
        // The first steps may compile kernels; the shortest step does not.
        plain.seconds = match plain.missing {
            0 => (1.0 - NEW) * plain.seconds + NEW * seconds.min(OUTLIER * plain.seconds),
            _ => plain.seconds.min(seconds),
        };
        plain.missing = plain.missing.saturating_sub(1);
    }

    /// Adds a step with drafts, which generated `tokens`.
    pub(super) fn add_speculative(&mut self, sequences: usize, tokens: usize, seconds: f64) {
        let Some(plain) = self.plain.get(&sequences) else { return };
        let (steps, spent, expected) = &mut self.window;
        *steps += 1;
        *spent += seconds.min(OUTLIER * plain.seconds);
        *expected += plain.seconds * tokens as f64 / sequences.max(1) as f64;
        if *steps < WINDOW {
            return;
        }
        let is_slower = spent > expected;
        self.window = (0, 0.0, 0.0);
        self.windows += 1;
        if is_slower {
            self.pause = self.next_pause;
            self.next_pause = (2 * self.next_pause).min(PAUSES[1]);
        } else {
            self.next_pause = PAUSES[0];
            if self.windows.is_multiple_of(WINDOWS_BETWEEN_MEASUREMENTS) {
                self.plain.values_mut().for_each(|plain| *plain = Plain { seconds: f64::INFINITY, missing: 2 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates steps where a step with drafts takes `cost` times as long as one without and
    /// yields `tokens` tokens. Returns how many of the last 1000 of 4000 steps had drafts.
    fn speculative(cost: f64, tokens: usize, sequences: usize) -> usize {
        let mut controller = Controller::new();
        let mut last = 0;
        for step in 0..4000 {
            // The first steps compile kernels.
            let slow = if step == 0 { 100.0 } else { 1.0 };
            if controller.permits(sequences) {
                controller.add_speculative(sequences, tokens * sequences, cost * slow);
                last += usize::from(step >= 3000);
            } else {
                controller.add_plain(sequences, slow);
            }
        }
        last
    }

    #[test]
    fn speculation_goes_on_while_it_is_faster() {
        assert!(speculative(1.5, 2, 1) > 950);
        assert!(speculative(3.0, 4, 7) > 950);
    }

    #[test]
    fn speculation_pauses_while_it_is_slower_and_is_tried_again() {
        let tried = speculative(2.0, 1, 1);
        assert!((1..40).contains(&tried), "{tried} of 1000 steps");
        let mut controller = Controller::new();
        assert!(!controller.permits(1), "nothing is measured yet");
        while !controller.permits(1) {
            controller.add_plain(1, 1.0);
        }
        for _ in 0..WINDOW {
            assert!(controller.permits(1) && !controller.is_paused());
            controller.add_speculative(1, 1, 1.1);
        }
        assert!(!controller.permits(1) && controller.is_paused());
        (0..PAUSES[0]).for_each(|_| controller.add_plain(1, 1.0));
        assert!(controller.permits(1), "the pause is over");
    }

    #[test]
    fn a_single_slow_step_does_not_pause_it() {
        let mut controller = Controller::new();
        (0..10).for_each(|_| controller.add_plain(1, 1.0));
        controller.add_speculative(1, 2, 50.0);
        (1..WINDOW).for_each(|_| controller.add_speculative(1, 2, 1.2));
        assert!(controller.permits(1));
    }
}
