//! A generation request.

use std::sync::Arc;

use roci_lm::grammar::Grammar;
use roci_lm::sample;

use crate::Image;

/// A prompt to continue, with its sampling parameters.
// Not `#[non_exhaustive]`, so that callers can write `Request { prompt, ..Request::default() }`.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Prompt token ids.
    pub prompt: Vec<u32>,
    /// Images whose rows the prompt contains: [`Image::tokens`].
    pub images: Vec<Arc<Image>>,
    /// Maximum number of generated tokens; `None` for as many as the context holds.
    pub max_tokens: Option<usize>,
    /// Sampling parameters.
    pub sampling: sample::Settings,
    /// Stop strings: generation ends at the first that appears, which is not part of the output.
    pub stop: Vec<String>,
    /// Grammar that the output must match.
    pub grammar: Option<Grammar>,
    /// Whether control tokens appear in the text.
    pub show_special: bool,
    /// Whether generation continues past end-of-generation tokens, as benchmarks need. A grammar
    /// takes precedence.
    pub ignore_eos: bool,
    /// How many of the most probable tokens are reported at each position; `None` computes no
    /// probabilities.
    pub top_logprobs: Option<usize>,
    /// Numbers and scales of LoRA adapters; the others have scale 0. `None` for the default scales.
    pub adapters: Option<Vec<(usize, f32)>>,
}
