//! Runs a test on a model, without the engine and its scheduler.

use std::time::{Duration, Instant};

use roci_engine::{Chunk, Forward, ForwardError, Output, OutputKind, StateSlots};

use super::plan::{Phase, Sequences, Test};
use super::samples::Samples;

/// A model with token sequences for it.
pub struct Runner<'a> {
    forward: &'a mut dyn Forward,
    /// Whether to stop, polled between two forward passes.
    stop: &'a dyn Fn() -> bool,
    sequences: Vec<Sequence>,
    /// Remaining warm-up time before the first result.
    warm_up: Duration,
}

/// A token sequence.
struct Sequence {
    tokens: Vec<u32>,
    pages: Vec<u32>,
    /// Slot of its recurrent state, for models with such layers.
    slot: Option<u32>,
    /// Tokens of the sequence in the KV cache.
    filled: usize,
}

impl Sequence {
    /// The tokens from `start` to `end`.
    fn chunk(&self, start: usize, end: usize, output: OutputKind) -> Chunk<'_> {
        let state = self.slot.map(|slot| StateSlots { read: (start > 0).then_some(slot), write: slot });
        Chunk { tokens: &self.tokens[start..end], start, pages: &self.pages, state, output }
    }
}

impl std::fmt::Debug for Runner<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("sequences", &self.sequences.len()).finish_non_exhaustive()
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
    /// Creates a runner. The tokens are arbitrary and differ between sequences: only sequences with
    /// equal tokens would select the same experts.
    pub fn new(forward: &'a mut dyn Forward, stop: &'a dyn Fn() -> bool, sequences: &Sequences) -> Self {
        let limits = forward.limits();
        let vocabulary = limits.vocabulary.max(1);
        let sequence = |index: usize| Sequence {
            tokens: (0..limits.context).map(|at| ((at + 31 * index) * 7919 % vocabulary) as u32).collect(),
            pages: sequences.pages(index, limits.page_size),
            slot: (limits.state_slots > 0).then_some(index as u32),
            filled: 0,
        };
        let sequences = (0..sequences.count.max(1)).map(sequence).collect();
        Self { forward, stop, sequences, warm_up: Duration::ZERO }
    }

    /// Repeats the warm-up of the first test for at least this long: idle GPUs raise their clocks
    /// only after some tenths of a second of work.
    #[must_use]
    pub fn with_warm_up(self, warm_up: Duration) -> Self {
        Self { warm_up, ..self }
    }

    /// Runs a test `repeats` times after a warm-up run, in which devices compile kernels and record
    /// commands. Calls `tell` after each run.
    pub fn measure(&mut self, test: &Test, repeats: u32, mut tell: impl FnMut()) -> Result<Outcome, ForwardError> {
        let mut samples = Samples { tokens: test.run_tokens(), runs: Vec::new() };
        self.check_limits(test)?;
        // All tests evaluate the same sequences, so each reuses the KV cache of the previous one.
        for sequence in 0..test.parallel {
            let filled = self.sequences[sequence].filled;
            if filled < test.depth {
                if self.prefill(sequence, filled, test.depth)?.is_none() {
                    return Ok(Outcome::Measured(samples));
                }
                self.sequences[sequence].filled = test.depth;
            }
        }
        for run in 0..=repeats {
            let started = Instant::now();
            let Some(outputs) = self.once(test)? else { break };
            let took = started.elapsed();
            if run == 0 {
                let logits = |output: &Output| output.rows.last().map_or_else(|| fault(&[]), |row| fault(row));
                if let Some(fault) = outputs.iter().find_map(logits) {
                    return Ok(Outcome::Wrong(fault));
                }
            } else {
                samples.runs.push(took.max(Duration::from_nanos(1)));
            }
            self.forward.recycle(outputs);
            if run == 0 && !self.finish_warm_up(test, took)? {
                break;
            }
            tell();
        }
        Ok(Outcome::Measured(samples))
    }

    /// Repeats a test, whose first run took `first`, for the rest of the warm-up; false if
    /// interrupted.
    fn finish_warm_up(&mut self, test: &Test, first: Duration) -> Result<bool, ForwardError> {
        self.warm_up = self.warm_up.saturating_sub(first);
        while !self.warm_up.is_zero() {
            let started = Instant::now();
            let Some(outputs) = self.once(test)? else { return Ok(false) };
            self.forward.recycle(outputs);
            self.warm_up = self.warm_up.saturating_sub(started.elapsed().max(Duration::from_nanos(1)));
        }
        Ok(true)
    }

    /// Rejects a test with more sequences than the model supports.
    fn check_limits(&self, test: &Test) -> Result<(), ForwardError> {
        let limits = self.forward.limits();
        let slots = if limits.state_slots > 0 { limits.state_slots } else { usize::MAX };
        let most = limits.max_chunks.min(limits.max_batch_tokens).min(slots).min(self.sequences.len());
        if test.parallel <= most {
            return Ok(());
        }
        Err(ForwardError {
            message: format!("{test} has {} sequences, and a forward pass takes {most} here", test.parallel),
            hint: Some("use fewer sequences (`--parallel`), or a larger `--ubatch-size`".to_owned()),
            lost: false,
        })
    }

    /// The last outputs of each sequence; `None` if interrupted.
    fn once(&mut self, test: &Test) -> Result<Option<Vec<Output>>, ForwardError> {
        match test.phase {
            Phase::Prefill => self.prefill(0, test.depth, test.context()),
            Phase::Decode => {
                let mut last = Vec::new();
                for at in test.depth..test.context() {
                    if (self.stop)() {
                        return Ok(None);
                    }
                    let sequences = self.sequences[..test.parallel].iter();
                    let chunks: Vec<_> =
                        sequences.map(|sequence| sequence.chunk(at, at + 1, OutputKind::LastLogits)).collect();
                    self.forward.recycle(std::mem::take(&mut last));
                    last = self.forward.evaluate(&chunks)?;
                }
                Ok(Some(last))
            }
        }
    }

    /// Evaluates tokens of a sequence in passes of the batch size; only the last token has logits.
    fn prefill(&mut self, sequence: usize, start: usize, end: usize) -> Result<Option<Vec<Output>>, ForwardError> {
        let batch = self.forward.limits().max_batch_tokens.max(1);
        let mut last = Vec::new();
        for at in (start..end).step_by(batch) {
            if (self.stop)() {
                return Ok(None);
            }
            let until = end.min(at + batch);
            let output = if until == end { OutputKind::LastLogits } else { OutputKind::None };
            let chunk = self.sequences[sequence].chunk(at, until, output);
            self.forward.recycle(std::mem::take(&mut last));
            last = self.forward.evaluate(&[chunk])?;
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

    use roci_engine::Limits;
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
        Test { phase, tokens, depth, parallel: 1 }
    }

    /// KV cache that any of these tests needs.
    const ALONE: Sequences = Sequences { first: 64, others: 0, count: 1 };

    #[test]
    fn prefill_is_batched_and_decode_is_token_by_token() {
        let mut model = example(&[1.0, 2.0]);
        let never = || false;
        let mut progress_calls = 0;
        let outcome =
            Runner::new(&mut model, &never, &ALONE).measure(&test(Phase::Prefill, 20, 0), 2, || progress_calls += 1);
        let Ok(Outcome::Measured(samples)) = outcome else { panic!("{outcome:?}") };
        assert_eq!((samples.tokens, samples.runs.len(), progress_calls), (20, 2, 3));
        assert_eq!(model.calls, [(0, 16, OutputKind::None), (16, 4, OutputKind::LastLogits)].repeat(3));
        model.calls.clear();
        let outcome = Runner::new(&mut model, &never, &ALONE).measure(&test(Phase::Decode, 2, 0), 1, || ());
        assert!(matches!(outcome, Ok(Outcome::Measured(_))));
        assert_eq!(model.calls, [(0, 1, OutputKind::LastLogits), (1, 1, OutputKind::LastLogits)].repeat(2));
    }

    #[test]
    fn only_the_first_test_has_a_long_warm_up() {
        let mut model = example(&[1.0, 2.0]);
        let never = || false;
        let mut runner = Runner::new(&mut model, &never, &ALONE).with_warm_up(Duration::from_millis(1));
        let started = Instant::now();
        runner.measure(&test(Phase::Prefill, 1, 0), 1, || ()).expect("the test succeeds");
        assert!(started.elapsed() >= Duration::from_millis(1));
        assert_eq!(runner.warm_up, Duration::ZERO);
        runner.measure(&test(Phase::Prefill, 2, 0), 1, || ()).expect("the test succeeds");
        assert_eq!(model.calls.iter().filter(|(_, tokens, _)| *tokens == 2).count(), 2);
        assert!(model.calls.len() > 4, "{} calls", model.calls.len());
    }

    #[test]
    fn tests_of_the_same_depth_share_one_prefill() {
        let mut model = example(&[1.0, 2.0]);
        let never = || false;
        let mut runner = Runner::new(&mut model, &never, &ALONE);
        runner.measure(&test(Phase::Decode, 1, 10), 1, || ()).expect("the test succeeds");
        runner.measure(&test(Phase::Prefill, 4, 10), 1, || ()).expect("the test succeeds");
        let last = OutputKind::LastLogits;
        assert_eq!(model.calls, [(0, 10, last), (10, 1, last), (10, 1, last), (10, 4, last), (10, 4, last)]);
    }

    #[test]
    fn parallel_sequences_decode_in_one_pass() {
        let mut model = example(&[1.0, 2.0]);
        model.limits.max_chunks = 3;
        let never = || false;
        let test = Test { parallel: 3, ..test(Phase::Decode, 2, 4) };
        let mut runner = Runner::new(&mut model, &never, &Sequences::of(&[test]));
        let outcome = runner.measure(&test, 2, || ());
        let Ok(Outcome::Measured(samples)) = outcome else { panic!("{outcome:?}") };
        assert_eq!((samples.tokens, samples.runs.len()), (6, 2));
        let last = OutputKind::LastLogits;
        // Each sequence is filled to its depth; then three runs follow, including the warm-up.
        let runs = [[(4, 1, last); 3], [(5, 1, last); 3]].concat().repeat(3);
        assert_eq!(model.calls, [vec![(0, 4, last); 3], runs].concat());
    }

    #[test]
    fn more_sequences_than_a_pass_takes_are_refused() {
        let mut model = example(&[1.0, 2.0]);
        let never = || false;
        let test = Test { parallel: 2, ..test(Phase::Decode, 1, 0) };
        let outcome = Runner::new(&mut model, &never, &Sequences::of(&[test])).measure(&test, 1, || ());
        let error = outcome.expect_err("the model takes one chunk");
        assert_eq!(error.message, "tg1 x2 has 2 sequences, and a forward pass takes 1 here");
    }

    #[test]
    fn an_interrupted_test_keeps_its_complete_runs() {
        let mut model = example(&[1.0, 2.0]);
        let calls = Cell::new(0);
        // Each run polls twice: the warm-up, two complete runs, and one that is interrupted.
        let stop = || calls.replace(calls.get() + 1) >= 7;
        let outcome = Runner::new(&mut model, &stop, &ALONE).measure(&test(Phase::Decode, 2, 0), 9, || ());
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
            let outcome = Runner::new(&mut model, &never, &ALONE).measure(&test(Phase::Prefill, 1, 0), 1, || ());
            assert_eq!(outcome, Ok(Outcome::Wrong(fault)));
        }
    }
}
