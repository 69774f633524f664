//! Runs a test on a model, without the engine and its scheduler.

use std::time::{Duration, Instant};

use roci_engine::{Chunk, Forward, ForwardError, OutputKind, StateSlots};

use super::plan::{Phase, Test};
use super::samples::Samples;

/// A model with a token sequence for it.
pub struct Runner<'a> {
    forward: &'a mut dyn Forward,
    /// Whether to stop, polled between two forward passes.
    stop: &'a dyn Fn() -> bool,
    tokens: Vec<u32>,
    pages: Vec<u32>,
    /// Tokens of the sequence in the KV cache.
    filled: usize,
}

impl std::fmt::Debug for Runner<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner")
            .field("tokens", &self.tokens.len())
            .field("filled", &self.filled)
            .finish_non_exhaustive()
    }
}

/// Result of a test.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The completed runs: fewer than requested, or none, after an interrupt.
    Measured(Samples),
    /// The logits are invalid, for this reason.
    Wrong(&'static str),
}

impl<'a> Runner<'a> {
    /// Creates a runner with arbitrary tokens, since they do not affect the speed.
    pub fn new(forward: &'a mut dyn Forward, stop: &'a dyn Fn() -> bool) -> Self {
        let limits = forward.limits();
        let vocabulary = limits.vocabulary.max(1) as u64;
        let tokens = (0..limits.context as u64).map(|at| (at * 7919 % vocabulary) as u32).collect();
        let pages = (0..limits.pages as u32).collect();
        Self { forward, stop, tokens, pages, filled: 0 }
    }

    /// Runs a test `repeats` times after a warm-up run, in which devices compile kernels and record
    /// commands. Calls `tell` after each run.
    pub fn measure(&mut self, test: &Test, repeats: u32, mut tell: impl FnMut()) -> Result<Outcome, ForwardError> {
        let mut samples = Samples { tokens: test.tokens, runs: Vec::new() };
        // All tests evaluate the same sequence, so each reuses the KV cache of the previous one.
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

    /// The last logits; `None` if interrupted.
    fn once(&mut self, test: &Test) -> Result<Option<Vec<f32>>, ForwardError> {
        match test.phase {
            Phase::Prefill => self.read(test.depth, test.context()),
            Phase::Decode => {
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

    /// Evaluates tokens in passes of the batch size; only the last token has logits.
    fn read(&mut self, start: usize, end: usize) -> Result<Option<Vec<f32>>, ForwardError> {
        let batch = self.forward.limits().max_batch_tokens.max(1);
        let mut last = Vec::new();
        for at in (start..end).step_by(batch) {
            if (self.stop)() {
                return Ok(None);
            }
            let until = end.min(at + batch);
            let output = if until == end { OutputKind::LastLogits } else { OutputKind::None };
            let state = StateSlots::of_only_sequence(self.forward.limits(), at);
            let chunk = Chunk { tokens: &self.tokens[at..until], start: at, pages: &self.pages, state, output };
            let outputs = self.forward.evaluate(&[chunk])?;
            last = outputs.into_iter().next().and_then(|output| output.rows.into_iter().next()).unwrap_or_default();
        }
        Ok(Some(last))
    }
}

/// Checks logits for obvious faults: a device that computes nothing would be the fastest.
fn fault(logits: &[f32]) -> Option<&'static str> {
    let first = logits.first();
    if !logits.iter().all(|logit| logit.is_finite()) {
        Some("include NaN or infinity")
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
    use roci_lm::architecture::Pooling;

    use super::*;

    /// Records its calls.
    struct FakeModel {
        limits: Limits,
        calls: Vec<(usize, usize, OutputKind)>,
        logits: Vec<f32>,
    }

    impl Forward for FakeModel {
        fn limits(&self) -> &Limits {
            &self.limits
        }

        fn evaluate(&mut self, chunks: &[Chunk<'_>]) -> Result<Vec<Output>, ForwardError> {
            self.calls.extend(chunks.iter().map(|chunk| (chunk.start, chunk.tokens.len(), chunk.output)));
            Ok(chunks.iter().map(|_| Output { rows: vec![self.logits.clone()] }).collect())
        }
    }

    fn example(logits: &[f32]) -> FakeModel {
        let limits = Limits {
            context: 64,
            page_size: 8,
            pages: 8,
            max_batch_tokens: 16,
            max_chunks: 1,
            vocabulary: logits.len(),
            embedding: 4,
            pooling: Pooling::Unspecified,
            pooled: None,
            outputs: None,
            causal: true,
            state_slots: 0,
        };
        FakeModel { limits, calls: Vec::new(), logits: logits.to_vec() }
    }

    fn test(phase: Phase, tokens: usize, depth: usize) -> Test {
        Test { phase, tokens, depth }
    }

    #[test]
    fn prefill_is_batched_and_decode_is_token_by_token() {
        let mut model = example(&[1.0, 2.0]);
        let never = || false;
        let mut progress_calls = 0;
        let outcome = Runner::new(&mut model, &never).measure(&test(Phase::Prefill, 20, 0), 2, || progress_calls += 1);
        let Ok(Outcome::Measured(samples)) = outcome else { panic!("{outcome:?}") };
        assert_eq!((samples.tokens, samples.runs.len(), progress_calls), (20, 2, 3));
        assert_eq!(model.calls, [(0, 16, OutputKind::None), (16, 4, OutputKind::LastLogits)].repeat(3));
        model.calls.clear();
        let outcome = Runner::new(&mut model, &never).measure(&test(Phase::Decode, 2, 0), 1, || ());
        assert!(matches!(outcome, Ok(Outcome::Measured(_))));
        assert_eq!(model.calls, [(0, 1, OutputKind::LastLogits), (1, 1, OutputKind::LastLogits)].repeat(2));
    }

    #[test]
    fn tests_of_the_same_depth_share_one_prefill() {
        let mut model = example(&[1.0, 2.0]);
        let never = || false;
        let mut runner = Runner::new(&mut model, &never);
        runner.measure(&test(Phase::Decode, 1, 10), 1, || ()).expect("the test succeeds");
        runner.measure(&test(Phase::Prefill, 4, 10), 1, || ()).expect("the test succeeds");
        let last = OutputKind::LastLogits;
        assert_eq!(model.calls, [(0, 10, last), (10, 1, last), (10, 1, last), (10, 4, last), (10, 4, last)]);
    }

    #[test]
    fn an_interrupted_test_keeps_its_complete_runs() {
        let mut model = example(&[1.0, 2.0]);
        let calls = Cell::new(0);
        // Each run polls twice: the warm-up, two complete runs, and one that is interrupted.
        let stop = || calls.replace(calls.get() + 1) >= 7;
        let outcome = Runner::new(&mut model, &stop).measure(&test(Phase::Decode, 2, 0), 9, || ());
        let Ok(Outcome::Measured(samples)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(samples.runs.len(), 2);
    }

    #[test]
    fn invalid_logits_have_no_speed() {
        let never = || false;
        for (logits, fault) in [
            (&[0.0, 0.0][..], "are all the same"),
            (&[][..], "are all the same"),
            (&[1.0, f32::NAN][..], "include NaN or infinity"),
            (&[1.0, f32::INFINITY][..], "include NaN or infinity"),
        ] {
            let mut model = example(logits);
            let outcome = Runner::new(&mut model, &never).measure(&test(Phase::Prefill, 1, 0), 1, || ());
            assert_eq!(outcome, Ok(Outcome::Wrong(fault)));
        }
    }
}
