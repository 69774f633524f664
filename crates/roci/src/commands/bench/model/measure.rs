//! Runs a test on a model, without an engine around it.

use std::time::{Duration, Instant};

use roci_engine::{Chunk, Forward, ForwardError, Wanted};

use super::plan::{Kind, Test};
use super::samples::Samples;

/// A model with a text for it.
pub(super) struct Runner<'a> {
    forward: &'a mut dyn Forward,
    /// Asks whether to stop, between two calls of the device.
    stop: &'a dyn Fn() -> bool,
    tokens: Vec<u32>,
    pages: Vec<u32>,
    /// How many tokens of the text have keys and values already.
    filled: usize,
}

/// What came of a test.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// The runs; fewer than were asked for, and perhaps none, if somebody asked to stop.
    Measured(Samples),
    /// The logits cannot be right, for this reason.
    Wrong(&'static str),
}

impl<'a> Runner<'a> {
    /// Tokens are any: a model takes as long for nonsense.
    pub(super) fn new(forward: &'a mut dyn Forward, stop: &'a dyn Fn() -> bool) -> Self {
        let limits = forward.limits();
        let vocabulary = limits.vocabulary.max(1) as u64;
        let tokens = (0..limits.context as u64).map(|at| (at * 7919 % vocabulary) as u32).collect();
        let pages = (0..limits.pages as u32).collect();
        Self { forward, stop, tokens, pages, filled: 0 }
    }

    /// Runs a test so often after a run that does not count: in that one, devices make ready what they keep. `tell` hears of each run.
    pub(super) fn measure(
        &mut self,
        test: &Test,
        repeats: u32,
        mut tell: impl FnMut(),
    ) -> Result<Outcome, ForwardError> {
        let mut samples = Samples { tokens: test.tokens, runs: Vec::new() };
        // All tests have the same text, so what one has read is there for the next.
        if self.filled < test.depth {
            if self.read(self.filled, test.depth)?.is_none() {
                return Ok(Outcome::Measured(samples));
            }
            self.filled = test.depth;
        }
        for run in 0..=repeats {
            let started = Instant::now();
            let Some(logits) = self.once(test)? else { break };
            let took = started.elapsed();
            if run == 0 {
                if let Some(fault) = fault(&logits) {
                    return Ok(Outcome::Wrong(fault));
                }
            } else {
                samples.runs.push(took.max(Duration::from_nanos(1)));
            }
            tell();
        }
        Ok(Outcome::Measured(samples))
    }

    /// The last logits; `None` if it was stopped.
    fn once(&mut self, test: &Test) -> Result<Option<Vec<f32>>, ForwardError> {
        match test.kind {
            Kind::Prompt => self.read(test.depth, test.context()),
            Kind::Written => {
                let mut logits = None;
                for at in test.depth..test.context() {
                    logits = self.read(at, at + 1)?;
                    if logits.is_none() {
                        break;
                    }
                }
                Ok(logits)
            }
        }
    }

    /// Reads a part of the text, in calls as long as the device takes them; logits come of the last alone.
    fn read(&mut self, start: usize, end: usize) -> Result<Option<Vec<f32>>, ForwardError> {
        let batch = self.forward.limits().batch.max(1);
        let mut last = Vec::new();
        for at in (start..end).step_by(batch) {
            if (self.stop)() {
                return Ok(None);
            }
            let until = end.min(at + batch);
            let wanted = if until == end { Wanted::Last } else { Wanted::Nothing };
            let chunk = Chunk { tokens: &self.tokens[at..until], start: at, pages: &self.pages, wanted };
            let outputs = self.forward.evaluate(&[chunk])?;
            last = outputs.into_iter().next().and_then(|output| output.rows.into_iter().next()).unwrap_or_default();
        }
        Ok(Some(last))
    }
}

/// What shows at a glance that logits are wrong: a device that computes nothing would be the fastest of all.
fn fault(logits: &[f32]) -> Option<&'static str> {
    let first = logits.first();
    if !logits.iter().all(|logit| logit.is_finite()) {
        Some("are not all numbers")
    } else if logits.len() > 1 && logits.iter().all(|logit| Some(logit) == first) || logits.is_empty() {
        Some("are all the same")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use roci_engine::{Limits, Output};
    use roci_llm::architecture::Pooling;

    use super::*;

    /// Remembers what it was asked.
    struct Played {
        limits: Limits,
        calls: Vec<(usize, usize, Wanted)>,
        logits: Vec<f32>,
    }

    impl Forward for Played {
        fn limits(&self) -> &Limits {
            &self.limits
        }

        fn evaluate(&mut self, chunks: &[Chunk<'_>]) -> Result<Vec<Output>, ForwardError> {
            self.calls.extend(chunks.iter().map(|chunk| (chunk.start, chunk.tokens.len(), chunk.wanted)));
            Ok(chunks.iter().map(|_| Output { rows: vec![self.logits.clone()] }).collect())
        }
    }

    fn played(logits: &[f32]) -> Played {
        let limits = Limits {
            context: 64,
            page: 8,
            pages: 8,
            batch: 16,
            chunks: 1,
            vocabulary: logits.len(),
            embedding: 4,
            pooling: Pooling::Unspecified,
        };
        Played { limits, calls: Vec::new(), logits: logits.to_vec() }
    }

    fn test(kind: Kind, tokens: usize, depth: usize) -> Test {
        Test { kind, tokens, depth }
    }

    #[test]
    fn prompts_go_in_calls_and_written_tokens_one_by_one() {
        let mut model = played(&[1.0, 2.0]);
        let never = || false;
        let mut told = 0;
        let outcome = Runner::new(&mut model, &never).measure(&test(Kind::Prompt, 20, 0), 2, || told += 1);
        let Ok(Outcome::Measured(samples)) = outcome else { panic!("{outcome:?}") };
        assert_eq!((samples.tokens, samples.runs.len(), told), (20, 2, 3));
        assert_eq!(model.calls, [(0, 16, Wanted::Nothing), (16, 4, Wanted::Last)].repeat(3));
        model.calls.clear();
        let outcome = Runner::new(&mut model, &never).measure(&test(Kind::Written, 2, 0), 1, || ());
        assert!(matches!(outcome, Ok(Outcome::Measured(_))));
        assert_eq!(model.calls, [(0, 1, Wanted::Last), (1, 1, Wanted::Last)].repeat(2));
    }

    #[test]
    fn what_stands_before_is_read_once() {
        let mut model = played(&[1.0, 2.0]);
        let never = || false;
        let mut runner = Runner::new(&mut model, &never);
        runner.measure(&test(Kind::Written, 1, 10), 1, || ()).expect("it works");
        runner.measure(&test(Kind::Prompt, 4, 10), 1, || ()).expect("it works");
        let last = Wanted::Last;
        assert_eq!(model.calls, [(0, 10, last), (10, 1, last), (10, 1, last), (10, 4, last), (10, 4, last)]);
    }

    #[test]
    fn a_test_that_is_stopped_keeps_whole_runs() {
        let mut model = played(&[1.0, 2.0]);
        let asked = Cell::new(0);
        // Two questions a run: the one that does not count, two that do, and one that ends in its midst.
        let stop = || asked.replace(asked.get() + 1) >= 7;
        let outcome = Runner::new(&mut model, &stop).measure(&test(Kind::Written, 2, 0), 9, || ());
        let Ok(Outcome::Measured(samples)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(samples.runs.len(), 2);
    }

    #[test]
    fn logits_that_cannot_be_right_have_no_speed() {
        let never = || false;
        for (logits, fault) in [
            (&[0.0, 0.0][..], "are all the same"),
            (&[][..], "are all the same"),
            (&[1.0, f32::NAN][..], "are not all numbers"),
            (&[1.0, f32::INFINITY][..], "are not all numbers"),
        ] {
            let mut model = played(logits);
            let outcome = Runner::new(&mut model, &never).measure(&test(Kind::Prompt, 1, 0), 1, || ());
            assert_eq!(outcome, Ok(Outcome::Wrong(fault)));
        }
    }
}
