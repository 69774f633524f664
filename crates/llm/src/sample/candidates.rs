//! The tokens that are still in question, and the steps that leave some out.

use super::random::Random;

/// A token and its logit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) token: u32,
    pub(super) logit: f32,
}

/// Tokens in question: either in the order of their numbers, or the likeliest first.
///
/// Never in between, once a step is done: a draw must not depend on how a library happens to sort.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    list: Vec<Candidate>,
    /// How many at the start are the likeliest, in order.
    sorted: usize,
    /// The likeliest one's logit; no step leaves that one out.
    most: f32,
}

/// The likelier first; equal ones by their number, so that a choice never depends on how sorting went.
fn order(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.logit.total_cmp(&a.logit).then(a.token.cmp(&b.token))
}

/// The likeliest token that the mask permits, of equal ones the first. For when nothing is drawn: no list is made.
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

/// Tokens that are looked at together.
const BLOCK: usize = 256;

/// The largest of some numbers.
fn most(logits: &[f32]) -> f32 {
    // So many side by side, since one chain of comparisons takes the time of each in turn.
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
    /// Takes all tokens whose logit is above minus infinity and which `allowed` permits.
    pub(super) fn fill(&mut self, logits: &[f32], allowed: impl Fn(u32) -> bool) {
        self.list.clear();
        self.sorted = 0;
        let all = logits.iter().zip(0u32..).map(|(&logit, token)| Candidate { token, logit });
        self.list.extend(all.filter(|candidate| candidate.logit > f32::NEG_INFINITY && allowed(candidate.token)));
        self.most = self.list.iter().fold(f32::NEG_INFINITY, |most, candidate| most.max(candidate.logit));
    }

    /// Takes the `count` likeliest tokens, without a look at most of the others: as [`fill`](Self::fill) and [`top_k`](Self::top_k) do.
    pub(super) fn fill_likeliest(&mut self, logits: &[f32], count: usize) {
        let highest: Vec<f32> = logits.chunks(BLOCK).map(most).collect();
        let mut sorted = highest.clone();
        let least = if (1..highest.len()).contains(&count) {
            // So many blocks have one that is as high, so that no token below it is among so many.
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

    /// The likeliest token.
    fn best(&self) -> Option<Candidate> {
        self.list.iter().copied().min_by(order)
    }

    /// Makes sure that at least `count` candidates lie in order, as far as there are so many.
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

    /// Keeps the fewest of the likeliest that have `share` of the probability together, and at least one.
    pub(super) fn top_p(&mut self, share: f32) {
        if share >= 1.0 || self.list.is_empty() {
            return;
        }
        let total = self.weight(1.0);
        let (mut sum, mut at) = (0.0, 0);
        while at < self.list.len() {
            if at == self.sorted {
                // Most of a vocabulary is never reached: sort twice as much each time rather than everything at once.
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

    /// Keeps those with at least `share` of the likeliest one's probability.
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

    /// Draws one by its probability at `temperature`, with the random number at `position`.
    pub(super) fn draw(&self, temperature: f32, random: Random, position: u64) -> Option<Candidate> {
        let mut left = random.unit(position) * self.weight(temperature);
        for at in 0..self.list.len() {
            left -= self.weight_of(at, temperature);
            if left < 0.0 {
                return Some(self.list[at]);
            }
        }
        // Rounding may leave a little over: the likeliest then, never one that has no probability.
        self.best()
    }

    /// What the candidate at `at` weighs beside the likeliest.
    fn weight_of(&self, at: usize, temperature: f32) -> f64 {
        (f64::from(self.list[at].logit - self.most) / f64::from(temperature)).exp()
    }

    /// What all weigh together.
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

    /// Logits of which a softmax gives these probabilities.
    fn logits(probabilities: &[f32]) -> Vec<f32> {
        probabilities.iter().map(|probability| probability.ln()).collect()
    }

    #[test]
    fn each_step_leaves_out_what_it_says() {
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
        // Shares are of what the step before left: 0.4 and 0.3 make 4/7 and 3/7.
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
    fn equal_logits_go_to_the_lower_number() {
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
        for (count, wanted) in counts.iter().zip([2_000, 8_000, 4_000, 6_000]) {
            assert!(count.abs_diff(wanted) < 250, "{counts:?}");
        }
    }

    #[test]
    fn nothing_is_drawn_from_nothing() {
        let mut candidates = of(&[f32::NEG_INFINITY; 3]);
        candidates.top_k(1);
        candidates.top_p(0.5);
        candidates.min_p(0.5);
        assert!(candidates.list.is_empty() && candidates.best().is_none());
        assert_eq!(candidates.draw(1.0, Random::new(0), 0), None);
    }

    #[test]
    fn the_likeliest_of_many_are_found_by_blocks() {
        let random = Random::new(11);
        for (length, count) in
            [(20_000, 40), (20_001, 1), (2_560, 9), (2_560, 10), (300, 40), (5_000, 0), (5_000, 6_000)]
        {
            for steps in [7.0, 1e6] {
                // Few different values, so that many are equal; and some that cannot be.
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
        /// The choice without a list is the list's best, with and without a mask.
        #[test]
        fn the_best_needs_no_list(
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

        /// Sorting by parts is sorting: whatever the steps, what is left is what a plain reading of them leaves.
        #[test]
        fn steps_equal_their_plain_definition(
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
            // A sum in another order may round across the share: the same number, give or take one.
            prop_assert!(candidates.list.len().abs_diff(plain.len()) <= 1);
            let mut left = candidates.list.clone();
            left.sort_by(order);
            for (have, want) in left.iter().zip(&plain) {
                prop_assert_eq!(have.token, want.0);
            }
        }
    }
}
