//! The tests of a language model, named as in llama-bench.

use std::fmt;

/// The phase that a test measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Prefill of a prompt, in chunks of the batch size.
    Prefill,
    /// Decode, one token at a time.
    Decode,
}

/// One test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    /// The phase that it measures.
    pub phase: Phase,
    /// Tokens of the prompt, or tokens to generate; at least 1.
    pub tokens: usize,
    /// Tokens in the KV cache before the test.
    pub depth: usize,
}

impl Test {
    /// Tokens of context that it needs.
    pub fn context(&self) -> usize {
        self.depth + self.tokens
    }
}

impl fmt::Display for Test {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.phase {
            Phase::Prefill => "pp",
            Phase::Decode => "tg",
        };
        write!(formatter, "{kind}{}", self.tokens)?;
        if self.depth > 0 { write!(formatter, " @ d{}", self.depth) } else { Ok(()) }
    }
}

/// All tests, grouped by depth, without duplicates and without tests of zero tokens.
pub fn plan(prompts: &[u32], generated: &[u32], depths: &[u32]) -> Vec<Test> {
    let mut tests = Vec::new();
    for depth in depths {
        let prefill = prompts.iter().map(|tokens| (Phase::Prefill, tokens));
        let decode = generated.iter().map(|tokens| (Phase::Decode, tokens));
        for (phase, tokens) in prefill.chain(decode) {
            let test = Test { phase, tokens: *tokens as usize, depth: *depth as usize };
            if test.tokens > 0 && !tests.contains(&test) {
                tests.push(test);
            }
        }
    }
    tests
}
