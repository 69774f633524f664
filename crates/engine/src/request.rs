//! What people ask for.

use roci_llm::grammar::Grammar;
use roci_llm::sample;

/// A text to be continued.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The text so far, as tokens.
    pub prompt: Vec<u32>,
    /// The most tokens to write; as many as the context has room for if `None`.
    pub most: Option<usize>,
    /// How tokens are chosen.
    pub sampling: sample::Settings,
    /// Texts that end the answer; they are not part of it.
    pub stop: Vec<String>,
    /// What the answer must look like.
    pub grammar: Option<Grammar>,
    /// Whether control tokens are shown in the text.
    pub show_special: bool,
    /// Whether a token that ends the model's text is passed over, as benchmarks need it.
    pub ignore_end: bool,
    /// How many of the likeliest tokens are told with each token; `None` tells no probability at all.
    pub likeliest: Option<usize>,
}
