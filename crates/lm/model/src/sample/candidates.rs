//! Candidate tokens, and the filters that remove some.

use super::random::Random;

/// A token and its logit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) token: u32,
    pub(super) logit: f32,
}

/// Candidate tokens, either in order of token id, or sorted by logit.
///
/// After each step one of the two holds, so that a draw does not depend on the sorting algorithm.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    list: Vec<Candidate>,
    /// Length of the sorted prefix.
    sorted: usize,
    /// The largest logit. No filter removes its token.
    most: f32,
}

/// Higher logits first; ties by token id, so that the order is deterministic.
fn order(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.logit.total_cmp(&a.logit).then(a.token.cmp(&b.token))
}

/// The most probable token that the mask allows; the first on ties. For greedy sampling, without a
/// list.
pub(super) fn best(logits: &[f32], mask: Option<&[bool]>) -> Option<u32> {
    let Some(mask) = mask else {
        let most = most(logits);
        return logits.iter().position(|logit| *logit == most && most > f32::NEG_INFINITY).map(|token| token as u32);
    };
    let permitted = logits
        .iter()
        .zip(mask)
        .zip(0u32..)
        .filter(|((logit, permitted), _)| **permitted && **logit > f32::NEG_INFINITY);
    permitted.map(|((&logit, _), token)| Candidate { token, logit }).min_by(order).map(|best| best.token)
}

/// Tokens per block.
const BLOCK: usize = 256;

/// The largest logit.
fn most(logits: &[f32]) -> f32 {
    // Independent lanes: a single chain of comparisons would be latency-bound.
    const LANES: usize = 32;
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (whole, rest) = logits.as_chunks::<LANES>();
    for chunk in whole {
        lanes.iter_mut().zip(chunk).for_each(|(lane, logit)| *lane = larger(*lane, *logit));
    }
    lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |most, logit| larger(most, *logit))
}

impl Candidates {
    /// Takes all tokens with a logit above minus infinity that `allowed` permits.
    pub(super) fn fill(&mut self, logits: &[f32], allowed: impl Fn(u32) -> bool) {
        self.list.clear();
        self.sorted = 0;
        let all = logits.iter().zip(0u32..).map(|(&logit, token)| Candidate { token, logit });
        self.list.extend(all.filter(|candidate| candidate.logit > f32::NEG_INFINITY && allowed(candidate.token)));
        self.most = self.list.iter().fold(f32::NEG_INFINITY, |most, candidate| most.max(candidate.logit));
    }

    /// Takes the `count` most probable tokens, as [`fill`](Self::fill) and [`top_k`](Self::top_k)
    /// do, but skips most of the others.
    pub(super) fn fill_likeliest(&mut self, logits: &[f32], count: usize) {
        let highest: Vec<f32> = logits.chunks(BLOCK).map(most).collect();
        let mut sorted = highest.clone();
        let least = if (1..highest.len()).contains(&count) {
            // At least `count` blocks have a token this high, so no lower token is among the top
            // `count`.
            *sorted.select_nth_unstable_by(count - 1, |a, b| b.total_cmp(a)).1
        } else {
            f32::NEG_INFINITY
        };
        if least == f32::NEG_INFINITY {
            self.fill(logits, |_| true);
            return self.top_k(count);
        }
        self.list.clear();
        self.sorted = 0;
        let blocks = logits.chunks(BLOCK).zip((0u32..).step_by(BLOCK)).zip(&highest);
        for ((block, first), _) in blocks.filter(|(_, highest)| **highest >= least) {
            let all = block.iter().zip(first..).map(|(&logit, token)| Candidate { token, logit });
            self.list.extend(all.filter(|candidate| candidate.logit >= least));
        }
        self.sort(count);
        self.list.truncate(count);
        self.most = self.list.first().map_or(f32::NEG_INFINITY, |first| first.logit);
    }

    /// The most probable token.
    fn best(&self) -> Option<Candidate> {
        self.list.iter().copied().min_by(order)
    }

    /// Sorts at least the first `count` candidates, or all if there are fewer.
    fn sort(&mut self, count: usize) {
        let count = count.min(self.list.len());
        if count <= self.sorted {
            return;
        }
        let rest = &mut self.list[self.sorted..];
        let more = count - self.sorted;
        if more < rest.len() {
            rest.select_nth_unstable_by(more - 1, order);
        }
        rest[..more].sort_unstable_by(order);
        self.sorted = count;
    }

    pub(super) fn top_k(&mut self, count: usize) {
        if count > 0 && count < self.list.len() {
            self.sort(count);
            self.list.truncate(count);
        }
    }

    /// Top-p: keeps the smallest set of most probable tokens with a total probability of at least
    /// `share`.
    pub(super) fn top_p(&mut self, share: f32) {
        if share >= 1.0 || self.list.is_empty() {
            return;
        }
        let total = self.weight(1.0);
        let (mut sum, mut at) = (0.0, 0);
        while at < self.list.len() {
            if at == self.sorted {
                // Most of the vocabulary is never needed: sort twice as many each time.
                self.sort((2 * at).max(64));
            }
            sum += self.weight_of(at, 1.0);
            at += 1;
            if sum >= f64::from(share) * total {
                self.list.truncate(at);
                self.sorted = self.sorted.min(at);
            }
        }
    }

    /// Min-p: keeps tokens with at least `share` of the largest probability.
    pub(super) fn min_p(&mut self, share: f32) {
        if share <= 0.0 || self.list.is_empty() {
            return;
        }
        // The ratio of two probabilities is the exponential of the difference of their logits.
        let least = self.most + share.ln();
        let sorted = &self.list[..self.sorted];
        self.sorted = sorted.partition_point(|candidate| candidate.logit >= least);
        self.list.retain(|candidate| candidate.logit >= least);
    }

    /// Draws a token by its probability at `temperature`, with random number `position`.
    pub(super) fn draw(&self, temperature: f32, random: Random, position: u64) -> Option<Candidate> {
        let mut remaining = random.unit(position) * self.weight(temperature);
        for at in 0..self.list.len() {
            remaining -= self.weight_of(at, temperature);
            if remaining < 0.0 {
                return Some(self.list[at]);
            }
        }
        // Rounding may leave a remainder: take the most probable token, never one with probability
        // zero.
        self.best()
    }

    /// Weight of candidate `at` relative to the most probable one.
    fn weight_of(&self, at: usize, temperature: f32) -> f64 {
        (f64::from(self.list[at].logit - self.most) / f64::from(temperature)).exp()
    }

    /// Sum of all weights.
    fn weight(&self, temperature: f32) -> f64 {
        (0..self.list.len()).map(|at| self.weight_of(at, temperature)).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(logits: &[f32]) -> Candidates {
        let mut candidates = Candidates::default();
        candidates.fill(logits, |_| true);
        candidates
    }

    fn tokens(candidates: &Candidates) -> Vec<u32> {
        let mut tokens: Vec<u32> = candidates.list.iter().map(|candidate| candidate.token).collect();
        tokens.sort_unstable();
        tokens
    }

    /// Logits whose softmax gives these probabilities.
    fn logits(probabilities: &[f32]) -> Vec<f32> {
        probabilities.iter().map(|probability| probability.ln()).collect()
    }

    #[test]
    fn each_filter_keeps_the_expected_tokens() {
        let logits = logits(&[0.1, 0.4, 0.2, 0.3]);
        let cut = |step: &dyn Fn(&mut Candidates)| {
            let mut candidates = of(&logits);
            step(&mut candidates);
            tokens(&candidates)
        };
        assert_eq!(cut(&|c| c.top_k(0)), [0, 1, 2, 3]);
        assert_eq!(cut(&|c| c.top_k(1)), [1]);
        assert_eq!(cut(&|c| c.top_k(3)), [1, 2, 3]);
        assert_eq!(cut(&|c| c.top_k(9)), [0, 1, 2, 3]);
        assert_eq!(cut(&|c| c.top_p(1.0)), [0, 1, 2, 3]);
        assert_eq!(cut(&|c| c.top_p(0.69)), [1, 3]);
        assert_eq!(cut(&|c| c.top_p(0.71)), [1, 2, 3]);
        assert_eq!(cut(&|c| c.top_p(0.0)), [1]);
        assert_eq!(cut(&|c| c.min_p(0.0)), [0, 1, 2, 3]);
        assert_eq!(cut(&|c| c.min_p(0.6)), [1, 3]);
        assert_eq!(cut(&|c| c.min_p(0.45)), [1, 2, 3]);
        assert_eq!(cut(&|c| c.min_p(1.0)), [1]);
        // Top-p applies to the tokens that top-k kept: 0.4 and 0.3 become 4/7 and 3/7.
        assert_eq!(
            cut(&|c| {
                c.top_k(2);
                c.top_p(0.5)
            }),
            [1]
        );
        assert_eq!(
            cut(&|c| {
                c.top_k(2);
                c.top_p(0.6)
            }),
            [1, 3]
        );
    }

    #[test]
    fn ties_go_to_the_lower_token_id() {
        let mut candidates = of(&[1.0, 2.0, 2.0, 2.0]);
        assert_eq!(candidates.best().map(|best| best.token), Some(1));
        candidates.top_k(2);
        assert_eq!(tokens(&candidates), [1, 2]);
    }

    #[test]
    fn draws_follow_the_probabilities() {
        let candidates = of(&logits(&[0.1, 0.4, 0.2, 0.3]));
        let mut counts = [0usize; 4];
        for position in 0..20_000 {
            let drawn = candidates.draw(1.0, Random::new(7), position).expect("there are candidates");
            counts[drawn.token as usize] += 1;
        }
        for (count, expected) in counts.iter().zip([2_000, 8_000, 4_000, 6_000]) {
            assert!(count.abs_diff(expected) < 250, "{counts:?}");
        }
    }

    #[test]
    fn nothing_is_drawn_without_candidates() {
        let mut candidates = of(&[f32::NEG_INFINITY; 3]);
        candidates.top_k(1);
        candidates.top_p(0.5);
        candidates.min_p(0.5);
        assert!(candidates.list.is_empty() && candidates.best().is_none());
        assert_eq!(candidates.draw(1.0, Random::new(0), 0), None);
    }

    #[test]
    fn filling_by_blocks_equals_top_k() {
        let random = Random::new(11);
        for (length, count) in
            [(20_000, 40), (20_001, 1), (2_560, 9), (2_560, 10), (300, 40), (5_000, 0), (5_000, 6_000)]
        {
            for steps in [7.0, 1e6] {
                // Few distinct values, so that many are equal, and some that are forbidden.
                let value = |at: u64| (random.unit(at) * steps).round() as f32;
                let logits: Vec<f32> =
                    (0..length).map(|at| if at % 3 == 0 { f32::NEG_INFINITY } else { value(at) }).collect();
                let mut plain = of(&logits);
                plain.top_k(count);
                let mut found = Candidates::default();
                found.fill_likeliest(&logits, count);
                assert_eq!(
                    (&found.list, found.sorted, found.most),
                    (&plain.list, plain.sorted, plain.most),
                    "{length}, {count}"
                );
            }
        }
    }

    proptest! {
        /// Greedy sampling equals the first of the sorted list, with and without a mask.
        #[test]
        fn greedy_sampling_equals_the_sorted_list(
            logits in prop::collection::vec((-8i8..8, any::<bool>()), 1..300),
            impossible in any::<bool>(),
        ) {
            let value = |logit: i8| if impossible && logit < 0 { f32::NEG_INFINITY } else { f32::from(logit) + 0.5 };
            let (logits, mask): (Vec<f32>, Vec<bool>) = logits.into_iter().map(|(logit, allowed)| (value(logit), allowed)).unzip();
            let mut candidates = of(&logits);
            prop_assert_eq!(best(&logits, None), candidates.best().map(|best| best.token));
            candidates.fill(&logits, |token| mask[token as usize]);
            prop_assert_eq!(best(&logits, Some(&mask)), candidates.best().map(|best| best.token));
        }

        /// Partial sorting equals full sorting: every sequence of filters keeps the same tokens as
        /// the naive definition.
        #[test]
        fn filters_equal_their_naive_definition(
            logits in prop::collection::vec(-8i8..8, 1..300),
            top_k in 0usize..320,
            top_p in 0.0f32..1.2,
            min_p in 0.0f32..1.0,
        ) {
            let logits: Vec<f32> = logits.into_iter().map(|logit| f32::from(logit) * 0.5).collect();
            let mut candidates = of(&logits);
            candidates.top_k(top_k);
            candidates.top_p(top_p);
            candidates.min_p(min_p);

            let mut plain: Vec<(u32, f32)> = logits.iter().zip(0u32..).map(|(&logit, token)| (token, logit)).collect();
            plain.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            if top_k > 0 {
                plain.truncate(top_k);
            }
            let weight = |logit: f32| f64::from(logit - plain[0].1).exp();
            if top_p < 1.0 {
                let total: f64 = plain.iter().map(|&(_, logit)| weight(logit)).sum();
                let mut sum = 0.0;
                let mut keep = 0;
                for &(_, logit) in &plain {
                    sum += weight(logit);
                    keep += 1;
                    if sum >= f64::from(top_p) * total {
                        break;
                    }
                }
                plain.truncate(keep);
            }
            if min_p > 0.0 {
                let best = plain[0].1;
                plain.retain(|&(_, logit)| logit >= best + min_p.ln());
            }
            // A different order of summation may round across the threshold: the count may differ
            // by one.
            prop_assert!(candidates.list.len().abs_diff(plain.len()) <= 1);
            let mut remaining = candidates.list.clone();
            remaining.sort_by(order);
            for (have, want) in remaining.iter().zip(&plain) {
                prop_assert_eq!(have.token, want.0);
            }
        }
    }
}
