//! The tests of a language model, named as in llama-bench.

use std::fmt;

/// The phase that a test measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Prefill of a prompt, in chunks of the batch size.
    Prefill,
    /// Decode, one token of each sequence at a time.
    Decode,
}

/// One test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    /// The phase that it measures.
    pub phase: Phase,
    /// Tokens of the prompt, or tokens to generate per sequence; at least 1.
    pub tokens: usize,
    /// Tokens of each sequence in the KV cache before the test.
    pub depth: usize,
    /// Sequences that decode together; 1 for prefill.
    pub parallel: usize,
}

impl Test {
    /// Tokens of context that each sequence of the test needs.
    pub fn context(&self) -> usize {
        self.depth + self.tokens
    }

    /// Tokens of one run, summed over its sequences.
    pub fn run_tokens(&self) -> usize {
        self.tokens * self.parallel
    }
}

impl fmt::Display for Test {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.phase {
            Phase::Prefill => "pp",
            Phase::Decode => "tg",
        };
        write!(formatter, "{kind}{}", self.tokens)?;
        if self.parallel > 1 {
            write!(formatter, " x{}", self.parallel)?;
        }
        if self.depth > 0 { write!(formatter, " @ d{}", self.depth) } else { Ok(()) }
    }
}

/// All tests, grouped by depth, without duplicates and without tests of zero tokens. `parallel`
/// lists the numbers of sequences for decode tests.
pub fn plan(prompts: &[u32], generated: &[u32], depths: &[u32], parallel: &[u32]) -> Vec<Test> {
    let mut tests = Vec::new();
    for &depth in depths {
        let prefill = prompts.iter().map(|&tokens| (Phase::Prefill, tokens, 1));
        let decode = generated
            .iter()
            .flat_map(|&tokens| parallel.iter().map(move |&parallel| (Phase::Decode, tokens, parallel)));
        for (phase, tokens, parallel) in prefill.chain(decode) {
            let test = Test { phase, tokens: tokens as usize, depth: depth as usize, parallel: parallel as usize };
            if test.tokens > 0 && !tests.contains(&test) {
                tests.push(test);
            }
        }
    }
    tests
}

/// KV cache that some tests need: the first sequence has room for the longest test, the others for
/// the longest test with several sequences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequences {
    /// Tokens of the first sequence.
    pub first: usize,
    /// Tokens of each other sequence.
    pub others: usize,
    /// Number of sequences.
    pub count: usize,
}

impl Sequences {
    /// The sequences that the tests need.
    pub fn of(tests: &[Test]) -> Self {
        let several = tests.iter().filter(|test| test.parallel > 1);
        Self {
            first: tests.iter().map(Test::context).max().unwrap_or(0),
            others: several.map(Test::context).max().unwrap_or(0),
            count: tests.iter().map(|test| test.parallel).max().unwrap_or(0),
        }
    }

    /// Capacity of the KV cache in tokens. Sequences do not share pages.
    pub fn cache_tokens(&self, page_size: usize) -> usize {
        let others = self.count.saturating_sub(1) * self.others.next_multiple_of(page_size);
        self.first.next_multiple_of(page_size) + others
    }

    /// The pages of a sequence.
    pub(crate) fn pages(&self, sequence: usize, page_size: usize) -> Vec<u32> {
        let (first, others) = (self.first.div_ceil(page_size), self.others.div_ceil(page_size));
        let range = match sequence {
            0 => 0..first,
            _ => first + (sequence - 1) * others..first + sequence * others,
        };
        range.map(|page| page as u32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_decode_tests_have_several_sequences() {
        let tests = plan(&[16], &[8, 4], &[0, 9], &[1, 3]);
        let names: Vec<_> = tests.iter().map(ToString::to_string).collect();
        let shallow = ["pp16", "tg8", "tg8 x3", "tg4", "tg4 x3"];
        let deep = ["pp16 @ d9", "tg8 @ d9", "tg8 x3 @ d9", "tg4 @ d9", "tg4 x3 @ d9"];
        assert_eq!(names, [shallow, deep].concat());
        assert_eq!((tests[2].context(), tests[2].run_tokens()), (8, 24));
    }

    #[test]
    fn sequences_have_pages_of_their_own() {
        let sequences = Sequences::of(&plan(&[70], &[20], &[0], &[1, 3]));
        assert_eq!(sequences, Sequences { first: 70, others: 20, count: 3 });
        let pages: Vec<Vec<u32>> = (0..3).map(|sequence| sequences.pages(sequence, 16)).collect();
        assert_eq!(pages, [vec![0, 1, 2, 3, 4], vec![5, 6], vec![7, 8]]);
        assert_eq!(sequences.cache_tokens(16), 9 * 16);
        let single = Sequences::of(&plan(&[70], &[20], &[0], &[1]));
        assert_eq!(single.cache_tokens(16), 5 * 16);
    }
}
