//! Sampling of the next token.
//!
//! A [`Sampler`] belongs to one request. Its inputs are the logits, the previous tokens, and a
//! [`Constraint`] such as a grammar. It is deterministic: the same settings, seed and logits give
//! the same tokens.

mod candidates;
mod penalties;
mod random;
mod settings;

use candidates::Candidates;
use penalties::Window;
pub use random::Random;
pub use settings::{Settings, SettingsError};

/// A constraint on the next token, such as a grammar.
pub trait Constraint {
    /// Whether this token may come next.
    fn allows(&mut self, token: u32) -> bool;

    /// Sets the bits of `mask` whose tokens may come next, and clears all others.
    ///
    /// Called only after [`allows`](Self::allows) has rejected a freely sampled token, since it
    /// costs more.
    fn mask(&mut self, mask: &mut [bool]);

    /// Advances the constraint by a sampled token.
    fn accept(&mut self, token: u32);
}

/// Why no token can be sampled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// A logit is NaN or infinite.
    #[error("the logit of token {token} is NaN or infinite")]
    NotANumber {
        /// First such token.
        token: usize,
    },
    /// The number of logits differs from the vocabulary size.
    #[error("there are {found} logits for a vocabulary of {expected} tokens")]
    Count {
        /// Number of logits.
        found: usize,
        /// Vocabulary size.
        expected: usize,
    },
    /// Every token is forbidden.
    #[error("the grammar and the logit biases exclude every token")]
    Nothing,
}

impl SampleError {
    /// What the user can do, in one sentence.
    pub fn hint(&self) -> String {
        match self {
            Self::NotANumber { .. } => {
                "the model file may be damaged, or the device may be faulty: `roci verify` tests the device"
            }
            Self::Count { .. } => "this is a bug in roci: please report it with the name of the model",
            Self::Nothing => "relax the grammar or the schema, or forbid fewer tokens",
        }
        .to_owned()
    }
}

/// A token with its log probability.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Choice {
    /// Token id.
    pub token: u32,
    /// Log probability of the token under the unmodified logits (natural logarithm).
    pub log_probability: f32,
}

/// Samples the tokens of one request.
#[derive(Debug)]
pub struct Sampler {
    settings: Settings,
    random: Random,
    window: Window,
    vocabulary: usize,
    /// Tokens sampled so far, which is the position in the random sequence.
    chosen: u64,
    /// Logits with biases and penalties. This and the other buffers are reused, so that a token
    /// allocates nothing.
    logits: Vec<f32>,
    candidates: Candidates,
    mask: Vec<bool>,
}

impl Sampler {
    /// Creates a sampler for a vocabulary of this size.
    pub fn new(settings: Settings, vocabulary: usize) -> Result<Self, SettingsError> {
        settings.check(vocabulary)?;
        Ok(Self {
            random: Random::new(settings.seed),
            window: Window::new(settings.penalty_window),
            settings,
            vocabulary,
            chosen: 0,
            logits: Vec::new(),
            candidates: Candidates::default(),
            mask: Vec::new(),
        })
    }

    /// A sampler that selects the same tokens from the same logits from now on, for drafting.
    pub fn fork(&self) -> Self {
        Self {
            settings: self.settings.clone(),
            random: self.random,
            window: self.window.clone(),
            vocabulary: self.vocabulary,
            chosen: self.chosen,
            logits: Vec::new(),
            candidates: Candidates::default(),
            mask: Vec::new(),
        }
    }

    /// Adds a token that was not sampled here, such as one of the prompt, to the penalty window.
    pub fn observe(&mut self, token: u32) {
        self.window.push(token);
    }

    /// Samples the next token and adds it to the penalty window. Its probability is computed by
    /// [`log_probability`], which costs more than sampling.
    pub fn sample(&mut self, logits: &[f32], mut constraint: Option<&mut dyn Constraint>) -> Result<u32, SampleError> {
        if logits.len() != self.vocabulary {
            return Err(SampleError::Count { found: logits.len(), expected: self.vocabulary });
        }
        // Plus infinity is rejected, too.
        let is_wrong = |logit: f32| logit.is_nan() | (logit == f32::INFINITY);
        // No early exit, so that the loop vectorizes.
        if logits.iter().fold(false, |wrong, logit| wrong | is_wrong(*logit)) {
            let token = logits.iter().position(|logit| is_wrong(*logit)).unwrap_or(0);
            return Err(SampleError::NotANumber { token });
        }
        let changed = self.changed(logits);
        let logits = changed.as_deref().unwrap_or(logits);

        let mut token = self.choose(logits, 0, None);
        if let Some(constraint) = &mut constraint
            && !token.is_some_and(|token| constraint.allows(token))
        {
            let mut mask = std::mem::take(&mut self.mask);
            mask.clear();
            mask.resize(self.vocabulary, false);
            constraint.mask(&mut mask);
            token = self.choose(logits, 1, Some(&mask));
            self.mask = mask;
        }
        self.logits = changed.unwrap_or_default();
        let token = token.ok_or(SampleError::Nothing)?;
        self.chosen += 1;
        self.window.push(token);
        if let Some(constraint) = constraint {
            constraint.accept(token);
        }
        Ok(token)
    }

    /// Logits with biases and penalties, if there are any.
    fn changed(&mut self, logits: &[f32]) -> Option<Vec<f32>> {
        if self.settings.logit_bias.is_empty() && !self.settings.penalizes() {
            return None;
        }
        let mut changed = std::mem::take(&mut self.logits);
        changed.clear();
        changed.extend_from_slice(logits);
        for &(token, bias) in &self.settings.logit_bias {
            changed[token as usize] += bias;
        }
        self.window.penalize(&self.settings, &mut changed);
        Some(changed)
    }

    /// Samples among the tokens that the mask allows. `attempt` distinguishes the draws for one
    /// token.
    fn choose(&mut self, logits: &[f32], attempt: u64, mask: Option<&[bool]>) -> Option<u32> {
        let Settings { top_k, top_p, min_p, temperature, .. } = self.settings;
        if temperature == 0.0 {
            return candidates::best(logits, mask);
        }
        match mask {
            None => self.candidates.fill_likeliest(logits, top_k),
            Some(mask) => {
                self.candidates.fill(logits, |token| mask[token as usize]);
                self.candidates.top_k(top_k);
            }
        }
        self.candidates.top_p(top_p);
        self.candidates.min_p(min_p);
        self.candidates.draw(temperature, self.random, 2 * self.chosen + attempt).map(|drawn| drawn.token)
    }
}

/// Natural logarithm of the probability of a token.
pub fn log_probability(logits: &[f32], token: u32) -> f32 {
    logits[token as usize] - log_sum(logits)
}

/// The `count` most probable tokens with their log probabilities, most probable first.
pub fn likeliest(logits: &[f32], count: usize) -> Vec<Choice> {
    if count == 0 {
        return Vec::new();
    }
    let sum = log_sum(logits);
    let mut all: Vec<u32> = (0u32..).take(logits.len()).collect();
    let order = |a: &u32, b: &u32| logits[*b as usize].total_cmp(&logits[*a as usize]).then(a.cmp(b));
    if count < all.len() {
        all.select_nth_unstable_by(count - 1, order);
    }
    all.truncate(count);
    all.sort_unstable_by(order);
    all.into_iter().map(|token| Choice { token, log_probability: logits[token as usize] - sum }).collect()
}

/// Logarithm of the sum of exponentials.
fn log_sum(logits: &[f32]) -> f32 {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|logit| f64::from(logit - most).exp()).sum();
    most + sum.ln() as f32
}

#[cfg(test)]
mod tests {
    use roci_testkit::Tolerance;

    use super::*;

    fn sampler(settings: Settings) -> Sampler {
        Sampler::new(settings, 4).expect("the settings are valid")
    }

    /// Allows only these tokens, and counts calls of `mask`.
    struct AllowedTokens(&'static [u32], usize);

    impl Constraint for AllowedTokens {
        fn allows(&mut self, token: u32) -> bool {
            self.0.contains(&token)
        }

        fn mask(&mut self, mask: &mut [bool]) {
            self.1 += 1;
            mask.fill(false);
            self.0.iter().for_each(|&token| mask[token as usize] = true);
        }

        fn accept(&mut self, token: u32) {
            assert!(self.0.contains(&token));
        }
    }

    #[test]
    fn greedy_takes_the_most_probable_token() {
        let logits = [0.0f32, 1.0, 3.0, 2.0];
        let token = sampler(Settings::greedy()).sample(&logits, None).expect("a token is allowed");
        assert_eq!(token, 2);
        let sum: f32 = logits.iter().map(|logit| logit.exp()).sum();
        assert!(Tolerance::ManyUlps.allows(log_probability(&logits, token), (3.0f32.exp() / sum).ln()));
    }

    #[test]
    fn the_seed_determines_the_tokens() {
        let run = |seed| -> Vec<u32> {
            let mut sampler = sampler(Settings { seed, temperature: 2.0, min_p: 0.0, ..Settings::default() });
            (0..64).map(|_| sampler.sample(&[1.0, 1.1, 0.9, 1.0], None).expect("a token is allowed")).collect()
        };
        assert_eq!(run(5), run(5));
        assert_ne!(run(5), run(6));
    }

    #[test]
    fn a_fork_takes_the_same_tokens() {
        let settings = Settings { presence_penalty: 0.5, temperature: 2.0, min_p: 0.0, ..Settings::default() };
        let mut original = sampler(settings);
        let take = |sampler: &mut Sampler, count| -> Vec<u32> {
            (0..count).map(|_| sampler.sample(&[1.0, 1.1, 0.9, 1.0], None).expect("a token is allowed")).collect()
        };
        take(&mut original, 7);
        let mut fork = original.fork();
        assert_eq!(take(&mut original, 50), take(&mut fork, 50));
    }

    #[test]
    fn penalties_favor_other_tokens() {
        let settings = |change: fn(&mut Settings)| {
            let mut settings = Settings::greedy();
            change(&mut settings);
            settings
        };
        let run = |settings: Settings| -> Vec<u32> {
            let mut sampler = sampler(settings);
            (0..4).map(|_| sampler.sample(&[1.0, 0.9, 0.8, -1.0], None).expect("a token is allowed")).collect()
        };
        assert_eq!(run(settings(|_| ())), [0, 0, 0, 0]);
        assert_eq!(run(settings(|s| s.repeat_penalty = 2.0)), [0, 1, 2, 0]);
        assert_eq!(run(settings(|s| s.presence_penalty = 5.0)), [0, 1, 2, 3]);
        assert_eq!(run(settings(|s| s.frequency_penalty = 0.15)), [0, 1, 0, 2]);
        // A window of one holds only the last token.
        assert_eq!(
            run(settings(|s| {
                s.presence_penalty = 5.0;
                s.penalty_window = 1
            })),
            [0, 1, 0, 1]
        );
        assert_eq!(
            run(settings(|s| {
                s.presence_penalty = 5.0;
                s.penalty_window = 0
            })),
            [0, 0, 0, 0]
        );
    }

    #[test]
    fn penalties_include_the_prompt() {
        let mut sampler = sampler(Settings { presence_penalty: 5.0, ..Settings::greedy() });
        sampler.observe(0);
        assert_eq!(sampler.sample(&[1.0, 0.9, 0.8, 0.0], None), Ok(1));
    }

    #[test]
    fn biases_forbid_and_prefer() {
        let biased = |bias| {
            let mut sampler = sampler(Settings { logit_bias: vec![bias], ..Settings::greedy() });
            sampler.sample(&[1.0, 0.9, 0.8, 0.0], None)
        };
        assert_eq!(biased((0, f32::NEG_INFINITY)), Ok(1));
        assert_eq!(biased((3, 100.0)), Ok(3));
    }

    #[test]
    fn the_mask_is_computed_only_after_a_rejection() {
        let logits = [1.0, 0.9, 0.8, 0.0];
        let mut open = AllowedTokens(&[0, 1], 0);
        assert_eq!(sampler(Settings::greedy()).sample(&logits, Some(&mut open)), Ok(0));
        assert_eq!(open.1, 0);
        let mut narrow = AllowedTokens(&[2, 3], 0);
        assert_eq!(sampler(Settings::greedy()).sample(&logits, Some(&mut narrow)), Ok(2));
        assert_eq!(narrow.1, 1);
        // Settings that leave one candidate must leave an allowed one.
        let one = Settings { top_k: 1, ..Settings::default() };
        assert_eq!(sampler(one).sample(&logits, Some(&mut narrow)), Ok(2));
    }

    #[test]
    fn invalid_or_excluded_logits_are_an_error() {
        let mut sampler = sampler(Settings::default());
        assert_eq!(sampler.sample(&[0.0; 3], None), Err(SampleError::Count { found: 3, expected: 4 }));
        assert_eq!(sampler.sample(&[0.0, f32::NAN, 0.0, 0.0], None), Err(SampleError::NotANumber { token: 1 }));
        assert_eq!(sampler.sample(&[0.0, 0.0, f32::INFINITY, 0.0], None), Err(SampleError::NotANumber { token: 2 }));
        assert_eq!(sampler.sample(&[f32::NEG_INFINITY; 4], None), Err(SampleError::Nothing));
        assert_eq!(sampler.sample(&[0.0; 4], Some(&mut AllowedTokens(&[], 0))), Err(SampleError::Nothing));
        assert!(!SampleError::Nothing.hint().is_empty());
    }

    #[test]
    fn the_most_probable_tokens_are_in_order() {
        let tokens = |count| likeliest(&[0.5, 2.0, 2.0, 1.0], count).iter().map(|c| c.token).collect::<Vec<_>>();
        assert_eq!(tokens(0), [0u32; 0]);
        assert_eq!(tokens(3), [1, 2, 3]);
        assert_eq!(tokens(9), [1, 2, 3, 0]);
    }
}
