//! The tests, with the names that llama-bench gives them.

use std::fmt;

use crate::cli::BenchTextArgs;

/// What a test does with its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Reads them as a prompt, as many at once as the device takes.
    Prompt,
    /// Writes them one by one.
    Written,
}

/// One test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) kind: Kind,
    /// How many tokens are read or written; at least one.
    pub(super) tokens: usize,
    /// How many stand before them.
    pub(super) depth: usize,
}

impl Test {
    /// The longest text that it makes.
    pub(super) fn context(&self) -> usize {
        self.depth + self.tokens
    }
}

impl fmt::Display for Test {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Prompt => "pp",
            Kind::Written => "tg",
        };
        write!(formatter, "{kind}{}", self.tokens)?;
        if self.depth > 0 { write!(formatter, " @ d{}", self.depth) } else { Ok(()) }
    }
}

/// All tests, those of one depth together, each once.
pub(super) fn plan(arguments: &BenchTextArgs) -> Vec<Test> {
    let mut tests = Vec::new();
    for depth in &arguments.depth {
        let prompts = arguments.prompt.iter().map(|tokens| (Kind::Prompt, tokens));
        let written = arguments.written.iter().map(|tokens| (Kind::Written, tokens));
        for (kind, tokens) in prompts.chain(written) {
            let test = Test { kind, tokens: *tokens as usize, depth: *depth as usize };
            if test.tokens > 0 && !tests.contains(&test) {
                tests.push(test);
            }
        }
    }
    tests
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn names(options: &str) -> Vec<String> {
        let line = format!("roci bench model.gguf {options}");
        let Command::Bench(arguments) = Cli::try_parse_from(line.split_whitespace()).expect("valid").command else {
            unreachable!("it is bench")
        };
        plan(&arguments.text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn tests_are_named_as_llama_bench_names_them() {
        assert_eq!(names(""), ["pp512", "tg128"]);
        assert_eq!(names("-p 16,32 -n 0"), ["pp16", "pp32"]);
        assert_eq!(names("-p 0 -n 8 -n 4 --depth 0,99"), ["tg8", "tg4", "tg8 @ d99", "tg4 @ d99"]);
        assert_eq!(names("--n-prompt 7 --n-gen 8 --n-depth 9 --repetitions 1"), ["pp7 @ d9", "tg8 @ d9"]);
        assert_eq!(names("-p 5,5 -n 0,0"), ["pp5"]);
        assert_eq!(names("-p 0 -n 0"), [""; 0]);
    }
}
