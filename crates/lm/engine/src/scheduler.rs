//! The scheduler: which sequences run, and when a sequence is preempted.
//!
//! Each iteration of the thread receives commands, removes canceled requests, admits waiting ones,
//! allocates pages, and makes one call of the device. A call advances every decoding sequence by
//! one token, or by several with speculation, and splits the remaining tokens evenly among prompts.
//! At most as many sequences run as a call has tokens and chunks, so none starves.
//!
//! A sequence is admitted when there are pages for all of its tokens so far. Sequences grow, and
//! when pages run out the youngest is preempted: it loses its pages, returns to the queue, and is
//! evaluated again later. The oldest is never preempted, which guarantees progress.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Instant;

use crate::adapters::PrefixRoots;
use crate::advance::advance;
use crate::batch::{BatchEntry, compose};
use crate::call;
use crate::pages::Pages;
use crate::sequence::{FinalMessage, Progress, Sequence};
use crate::speculation::{Speculation, Speculator};
use crate::state::{EngineState, Statistics};
use crate::{Chunk, EngineError, FinishReason, Forward, ForwardError, Output, States};

/// A command to the scheduler's thread.
#[derive(Debug)]
pub(crate) enum Command {
    /// Runs a request, which holds a slot.
    Run(Box<Sequence>),
    /// Ends the thread when all requests are complete, or at the deadline. The last command.
    ShutDown(Option<Instant>),
}

pub(crate) struct Scheduler {
    forward: Box<dyn Forward>,
    state: Arc<EngineState>,
    commands: Receiver<Command>,
    pages: Pages,
    /// Of the prefix cache.
    roots: PrefixRoots,
    speculator: Speculator,
    /// Oldest first. All are younger than the running sequences.
    waiting: VecDeque<Sequence>,
    /// Oldest first.
    running: Vec<Sequence>,
    statistics: Statistics,
    /// Sent after the statistics are published.
    final_messages: Vec<FinalMessage>,
    /// Set once a shutdown was requested: its deadline, if any.
    shutdown: Option<Option<Instant>>,
}

impl Scheduler {
    pub(crate) fn new(
        forward: Box<dyn Forward>,
        speculation: Speculation,
        state: Arc<EngineState>,
        commands: Receiver<Command>,
    ) -> Self {
        let pages = Pages::new(state.limits.page_size, state.limits.pages).with_slots(state.limits.state_slots);
        let statistics = *state.statistics.lock();
        Self {
            forward,
            state,
            commands,
            pages,
            roots: PrefixRoots::default(),
            speculator: Speculator::new(speculation),
            waiting: VecDeque::new(),
            running: Vec::new(),
            statistics,
            final_messages: Vec::new(),
            shutdown: None,
        }
    }

    /// Runs until all handles are dropped or the engine is shut down.
    pub(crate) fn run(mut self) {
        while self.receive() {
            self.remove_canceled();
            self.admit();
            self.allocate_pages();
            self.step();
            self.publish();
        }
        self.fail_all(&EngineError::Closed);
        self.publish();
    }

    /// Receives commands, and blocks while there is nothing to do. Returns `false` when the thread
    /// should end.
    fn receive(&mut self) -> bool {
        loop {
            let idle = self.running.is_empty() && self.waiting.is_empty();
            if let Some(deadline) = self.shutdown {
                let expired = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                return !idle && !expired;
            }
            let command = if idle {
                // Final messages must not wait while the thread blocks.
                self.publish();
                self.commands.recv().map_err(|_| TryRecvError::Disconnected)
            } else {
                self.commands.try_recv()
            };
            match command {
                Ok(Command::Run(sequence)) => self.enqueue(*sequence),
                Ok(Command::ShutDown(deadline)) => self.shutdown = Some(deadline),
                Err(TryRecvError::Empty) => return true,
                // Active requests are completed first.
                Err(TryRecvError::Disconnected) => return !idle,
            }
        }
    }

    fn enqueue(&mut self, mut sequence: Sequence) {
        if let Some(error) = self.state.lost.get() {
            let error = error.clone();
            self.fail(sequence, error.into());
        } else if sequence.is_complete() {
            sequence.mark_scheduled();
            self.complete(sequence, |sequence| sequence.finish(FinishReason::Length, String::new()));
        } else {
            sequence.root = self.roots.root(&sequence.adapters);
            self.waiting.push_back(sequence);
        }
    }

    /// Removes requests whose caller dropped them, and releases their pages.
    fn remove_canceled(&mut self) {
        let before = self.waiting.len() + self.running.len();
        self.waiting.retain(|sequence| !sequence.is_canceled());
        self.running.retain_mut(|sequence| {
            let canceled = sequence.is_canceled();
            if canceled {
                release(sequence, &mut self.pages);
            }
            !canceled
        });
        self.statistics.canceled += (before - self.waiting.len() - self.running.len()) as u64;
    }

    /// Admits waiting sequences in order, as long as there are pages.
    fn admit(&mut self) {
        while self.running.len() < self.state.max_batch {
            let Some(mut sequence) = self.waiting.pop_front() else { break };
            let length = sequence.tokens.len();
            let cached = self.pages.acquire_continuable(sequence.root, &sequence.tokens[..sequence.shareable()]);
            sequence.pages = cached.pages;
            let missing = length.div_ceil(self.pages.size()) - sequence.pages.len();
            // One page is left for each running sequence; otherwise one would be preempted soon.
            let mut fits = self.pages.available() >= missing + self.running.len();
            if fits && self.pages.slots.are_used() {
                sequence.state = self.pages.slots.start(cached.checkpoint);
                fits = sequence.state.is_some();
            }
            if !fits {
                release(&mut sequence, &mut self.pages);
                self.waiting.push_front(sequence);
                break;
            }
            sequence.published = sequence.pages.len();
            sequence.checkpoints = checkpoints(&sequence, cached.matching, self.pages.size());
            let cached = sequence.published * self.pages.size();
            self.statistics.cached_tokens += sequence.skip(cached) as u64;
            sequence.pages.extend((0..missing).map_while(|_| self.pages.allocate()));
            sequence.mark_scheduled();
            self.running.push(sequence);
        }
    }

    /// Allocates pages for all tokens of the running sequences, and preempts the youngest when
    /// there are none left.
    fn allocate_pages(&mut self) {
        let mut at = 0;
        while let Some(sequence) = self.running.get_mut(at) {
            if sequence.pages.len() * self.pages.size() >= sequence.tokens.len() {
                at += 1;
            } else if let Some(page) = self.pages.allocate() {
                sequence.pages.push(page);
            } else if let Some(mut youngest) = self.running.pop() {
                if self.running.is_empty() {
                    self.complete(youngest, Sequence::finish_without_pages);
                } else {
                    release(&mut youngest, &mut self.pages);
                    youngest.preempt();
                    self.statistics.preemptions += 1;
                    self.waiting.push_front(youngest);
                }
            }
        }
    }

    /// Makes one call of the device ([`Scheduler::evaluate`]) and handles its outputs.
    fn step(&mut self) {
        let max_tokens = self.state.limits.max_batch_tokens;
        let start = Instant::now();
        let drafted = self.speculator.draft(&mut self.running, &mut self.pages, &self.state);
        let start = match drafted {
            Ok(caught_up) => start + caught_up,
            Err(error) => return self.fail_call(error),
        };
        let (entries, cached) = compose(&mut self.running, &mut self.pages, max_tokens);
        self.statistics.cached_tokens += cached as u64;
        if entries.is_empty() {
            return;
        }
        let prompt: usize = entries.iter().filter(|entry| !entry.decode).map(|entry| entry.count).sum();
        let drafts = self.running.iter().map(|sequence| sequence.drafts.len()).sum();
        let outputs = self.evaluate(&entries);
        let seconds = start.elapsed().as_secs_f64();
        if prompt > 0 {
            self.statistics.prefill_seconds += seconds;
        } else {
            self.statistics.decode_seconds += seconds;
        }
        match outputs {
            Ok(outputs) => {
                self.statistics.prompt_tokens += prompt as u64;
                let generated = self.statistics.generated_tokens;
                let failed = self.advance(&entries, outputs);
                if prompt == 0 {
                    let generated = (self.statistics.generated_tokens - generated) as usize;
                    self.speculator.measured(entries.len(), drafts, generated, seconds);
                }
                if let Err(error) = failed {
                    self.fail_call(error);
                }
            }
            Err(error) => self.fail_call(error),
        }
    }

    /// Calls [`Forward::evaluate`] with one chunk per entry.
    fn evaluate(&mut self, entries: &[BatchEntry]) -> Result<Vec<(Output, States)>, ForwardError> {
        for entry in entries {
            self.running[entry.sequence].mark_submitted();
        }
        if entries.iter().any(|entry| !self.running[entry.sequence].images.is_empty()) {
            let sequences = entries.iter().map(|entry| &self.running[entry.sequence]);
            let saved = sequences.map(|sequence| sequence.images.saved_positions(sequence.evaluated));
            self.forward.set_saved_positions(&saved.collect::<Vec<u32>>());
        }
        if entries.iter().any(|entry| !self.running[entry.sequence].adapters.is_empty()) {
            let adapters = entries.iter().map(|entry| Arc::clone(&self.running[entry.sequence].adapters));
            self.forward.set_adapter_scales(&adapters.collect::<Vec<_>>());
        }
        let tokens: Vec<_> =
            entries.iter().map(|entry| self.running[entry.sequence].next_tokens(entry.count)).collect();
        let chunk = |(entry, tokens)| {
            let (entry, tokens): (&BatchEntry, &Cow<'_, [u32]>) = (entry, tokens);
            let sequence = &self.running[entry.sequence];
            Chunk {
                tokens,
                start: sequence.evaluated,
                pages: &sequence.pages,
                state: sequence.state.map(|state| state.slots(sequence.evaluated)),
                output: sequence.output_kind(entry.count),
            }
        };
        let chunks: Vec<Chunk<'_>> = entries.iter().zip(&tokens).map(chunk).collect();
        if self.speculator.needs_states() {
            return call::evaluate_with_states(self.forward.as_mut(), &chunks, None);
        }
        let outputs = call::evaluate(self.forward.as_mut(), &chunks)?;
        Ok(outputs.into_iter().map(|output| (output, States::new())).collect())
    }

    /// Passes each sequence of the batch its output. An error comes from the drafter.
    fn advance(&mut self, entries: &[BatchEntry], outputs: Vec<(Output, States)>) -> Result<(), ForwardError> {
        let before: Vec<_> = entries
            .iter()
            .map(|entry| &self.running[entry.sequence])
            .map(|sequence| (sequence.tokens.len(), sequence.drafted(), sequence.evaluated))
            .collect();
        let results = advance(&mut self.running, entries, &outputs, &self.state.tokenizer, self.state.context());
        let (mut done, mut failed) = (Vec::new(), Ok(()));
        let mut read = Vec::with_capacity(outputs.len());
        for (((entry, (output, states)), progress), before) in entries.iter().zip(outputs).zip(results).zip(before) {
            let sequence = &mut self.running[entry.sequence];
            read.push(output);
            self.statistics.generated_tokens += (sequence.tokens.len() - before.0) as u64;
            self.statistics.drafted_tokens += (sequence.drafted().0 - before.1.0) as u64;
            self.statistics.accepted_tokens += (sequence.drafted().1 - before.1.1) as u64;
            failed = failed.and(self.speculator.observe(sequence, before.2, states, self.pages.size()));
            let published = sequence.published;
            publish_pages(sequence, &mut self.pages);
            if self.speculator.needs_states() && sequence.images.is_empty() {
                // A prediction head must read each page before it is published.
                sequence.pages[published..sequence.published].iter().for_each(|&page| self.pages.note_drafted(page));
            }
            keep_state(sequence, &mut self.pages);
            if progress != Ok(Progress::More) {
                done.push((entry.sequence, progress));
            }
        }
        self.forward.recycle(read);
        // By descending index: a removal shifts later indices.
        done.sort_by_key(|(sequence, _)| std::cmp::Reverse(*sequence));
        for (sequence, progress) in done {
            let sequence = self.running.remove(sequence);
            match progress {
                Err(error) => self.fail(sequence, error),
                Ok(Progress::Finished(reason, text)) => {
                    self.complete(sequence, |sequence| sequence.finish(reason, text))
                }
                Ok(Progress::Embedded | Progress::More) => {
                    let head = self.forward.head();
                    self.complete(sequence, |sequence| sequence.finish_embedding(head.as_deref()));
                }
            }
        }
        failed
    }

    /// Fails the running requests, and all others too if the device is lost.
    fn fail_call(&mut self, error: ForwardError) {
        if error.lost {
            // The first error is kept as the cause.
            let _ = self.state.lost.set(error.clone());
            self.fail_all(&error.into());
        } else {
            let error = EngineError::from(error);
            for sequence in std::mem::take(&mut self.running) {
                self.fail(sequence, error.clone());
            }
        }
    }

    fn fail_all(&mut self, error: &EngineError) {
        let working = std::mem::take(&mut self.running);
        let waiting = std::mem::take(&mut self.waiting);
        for sequence in working.into_iter().chain(waiting) {
            self.fail(sequence, error.clone());
        }
    }

    fn fail(&mut self, mut sequence: Sequence, error: EngineError) {
        release(&mut sequence, &mut self.pages);
        self.statistics.failed += 1;
        self.final_messages.push(sequence.fail(error));
    }

    fn complete(&mut self, mut sequence: Sequence, message: impl FnOnce(Sequence) -> FinalMessage) {
        release(&mut sequence, &mut self.pages);
        self.statistics.completed += 1;
        self.final_messages.push(message(sequence));
    }

    /// Publishes the statistics, then sends the final messages.
    fn publish(&mut self) {
        self.statistics.running = self.running.len();
        self.statistics.speculation_paused = self.speculator.is_paused();
        self.statistics.pages_used = self.pages.used();
        self.statistics.pages_cached = self.pages.cached();
        *self.state.statistics.lock() = self.statistics;
        self.final_messages.drain(..).for_each(FinalMessage::send);
    }
}

/// Token counts after which the recurrent state of a sequence is worth a checkpoint: at the end of
/// its last full page, for a prompt that continues this one, and where it parts from a cached
/// prefix without a checkpoint, for other prompts with that prefix.
fn checkpoints(sequence: &Sequence, matching: usize, page: usize) -> Vec<usize> {
    let ends = [matching, sequence.shareable() / page];
    let missing = ends.into_iter().filter(|&pages| sequence.state.is_some() && pages > sequence.pages.len());
    missing.map(|pages| pages * page).collect()
}

/// Releases the pages and the recurrent state of a sequence.
fn release(sequence: &mut Sequence, pages: &mut Pages) {
    // Before the pages: a page with a checkpoint that is still read must not be evicted.
    if let Some(state) = sequence.state.take() {
        pages.slots.release(state);
    }
    pages.release_all(&mut sequence.pages);
}

/// Marks the recurrent state of a sequence as advanced, and saves a checkpoint of it at the planned
/// positions. After rejected tokens, discards it instead.
fn keep_state(sequence: &mut Sequence, pages: &mut Pages) {
    let Some(state) = &mut sequence.state else { return };
    if sequence.evaluated_again > 0 {
        return pages.slots.reject(state);
    }
    pages.slots.advance(state);
    let at_page_end = sequence.published * pages.size() == sequence.evaluated;
    if let (true, Some(&page)) = (at_page_end, sequence.pages.get(sequence.published.wrapping_sub(1)))
        && sequence.checkpoints.contains(&sequence.evaluated)
    {
        pages.slots.save(state, page);
    }
}

/// Publishes the pages that a sequence has filled.
fn publish_pages(sequence: &mut Sequence, pages: &mut Pages) {
    let size = pages.size();
    while (sequence.published + 1) * size <= sequence.evaluated {
        let index = sequence.published;
        let parent = sequence.parent(index);
        let tokens = &sequence.tokens[index * size..(index + 1) * size];
        let page = pages.publish(parent, tokens, sequence.pages[index]);
        if std::mem::replace(&mut sequence.pages[index], page) != page && !pages.is_drafted(page) {
            // The draft model has not evaluated the other page.
            sequence.draft_evaluated = sequence.draft_evaluated.min(index * size);
        }
        sequence.published += 1;
    }
}
