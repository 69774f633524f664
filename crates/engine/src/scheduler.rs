//! Who is worked on, and with how many tokens at a time.
//!
//! The thread goes round: it hears what is new, lets go of what nobody waits for, gives places and pages, and makes one call of the device. In each call
//! every text that is being written takes one step, and the rest of the call goes to prompts in equal shares. As there are never
//! more texts with a place than tokens or chunks in a call, nobody starves.
//!
//! A request has a place when there are pages for all of its text so far. Texts grow, and when pages run out the youngest is put back: it loses its
//! pages and is read again when there is room. The oldest is never put back, so that the engine always comes on.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Instant;

use crate::engine::{Shared, Statistics};
use crate::pages::Pages;
use crate::plan::{Part, plan};
use crate::sequence::{Last, Sequence, Step};
use crate::{Chunk, EngineError, Forward, ForwardError, Output, Reason, Wanted};

/// What the thread is told.
#[derive(Debug)]
pub(crate) enum Command {
    /// A request. There was a place for it.
    Work(Box<Sequence>),
    /// To end when all is done, or then. Nothing follows.
    ShutDown(Option<Instant>),
}

pub(crate) struct Scheduler {
    forward: Box<dyn Forward>,
    shared: Arc<Shared>,
    commands: Receiver<Command>,
    pages: Pages,
    /// The oldest first. All are younger than those worked on.
    waiting: VecDeque<Sequence>,
    /// The oldest first.
    working: Vec<Sequence>,
    statistics: Statistics,
    /// What is said once the statistics are up to date.
    last: Vec<Last>,
    /// Whether it shall end, and by when at the latest.
    closing: Option<Option<Instant>>,
}

impl Scheduler {
    pub(crate) fn new(forward: Box<dyn Forward>, shared: Arc<Shared>, commands: Receiver<Command>) -> Self {
        let pages = Pages::new(shared.limits.page, shared.limits.pages);
        let statistics = *shared.statistics.lock();
        Self {
            forward,
            shared,
            commands,
            pages,
            waiting: VecDeque::new(),
            working: Vec::new(),
            statistics,
            last: Vec::new(),
            closing: None,
        }
    }

    /// Works until nobody is left to ask for anything.
    pub(crate) fn run(mut self) {
        while self.listen() {
            self.let_go();
            self.admit();
            self.make_room();
            self.call();
            self.publish();
        }
        self.fail_all(&EngineError::Closed);
        self.publish();
    }

    /// Hears what is new, and waits for it if there is nothing else to do; `false` when all is done.
    fn listen(&mut self) -> bool {
        loop {
            let idle = self.working.is_empty() && self.waiting.is_empty();
            if let Some(deadline) = self.closing {
                let over = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                return !idle && !over;
            }
            let command = if idle {
                // Nothing may be left unsaid while the thread sleeps.
                self.publish();
                self.commands.recv().map_err(|_| TryRecvError::Disconnected)
            } else {
                self.commands.try_recv()
            };
            match command {
                Ok(Command::Work(sequence)) => self.take(*sequence),
                Ok(Command::ShutDown(deadline)) => self.closing = Some(deadline),
                Err(TryRecvError::Empty) => return true,
                // Those that are under way are ended first.
                Err(TryRecvError::Disconnected) => return !idle,
            }
        }
    }

    fn take(&mut self, mut sequence: Sequence) {
        if let Some(error) = self.shared.lost.get() {
            let error = error.clone();
            self.fail(sequence, error.into());
        } else if sequence.is_idle() {
            sequence.begin();
            self.end(sequence, |sequence| sequence.end(Reason::Most, String::new()));
        } else {
            self.waiting.push_back(sequence);
        }
    }

    /// Lets go of requests that were dropped.
    fn let_go(&mut self) {
        let before = self.waiting.len() + self.working.len();
        self.waiting.retain(|sequence| !sequence.is_dropped());
        self.working.retain_mut(|sequence| {
            let dropped = sequence.is_dropped();
            if dropped {
                self.pages.release_all(&mut sequence.pages);
            }
            !dropped
        });
        self.statistics.dropped += (before - self.waiting.len() - self.working.len()) as u64;
    }

    /// Gives places to those that wait, in their order, as long as there are pages.
    fn admit(&mut self) {
        while self.working.len() < self.shared.together {
            let Some(mut sequence) = self.waiting.pop_front() else { break };
            let length = sequence.tokens.len();
            sequence.pages = self.pages.take_beginning(&sequence.tokens[..sequence.shareable()]);
            let missing = length.div_ceil(self.pages.size()) - sequence.pages.len();
            // One page is left for everybody who is there, or they would be put back soon.
            if self.pages.available() < missing + self.working.len() {
                self.pages.release_all(&mut sequence.pages);
                self.waiting.push_front(sequence);
                break;
            }
            sequence.known = sequence.pages.len();
            let at_hand = sequence.known * self.pages.size();
            self.statistics.shared_tokens += sequence.skip(at_hand) as u64;
            sequence.pages.extend((0..missing).map_while(|_| self.pages.take()));
            sequence.begin();
            self.working.push(sequence);
        }
    }

    /// Sees to it that everybody has pages for all tokens.
    fn make_room(&mut self) {
        let mut at = 0;
        while let Some(sequence) = self.working.get_mut(at) {
            if sequence.pages.len() * self.pages.size() >= sequence.tokens.len() {
                at += 1;
            } else if let Some(page) = self.pages.take() {
                sequence.pages.push(page);
            } else if let Some(mut youngest) = self.working.pop() {
                if self.working.is_empty() {
                    self.end(youngest, Sequence::end_for_want_of_room);
                } else {
                    self.pages.release_all(&mut youngest.pages);
                    youngest.start_over();
                    self.statistics.put_back += 1;
                    self.waiting.push_front(youngest);
                }
            }
        }
    }

    /// Makes one call of the device, and tells what came of it.
    fn call(&mut self) {
        let limits = &self.shared.limits;
        let (parts, shared) = plan(&mut self.working, &mut self.pages, limits.batch);
        self.statistics.shared_tokens += shared as u64;
        if parts.is_empty() {
            return;
        }
        let prompt: usize = parts.iter().filter(|part| !part.writing).map(|part| part.count).sum();
        let begun = Instant::now();
        let outputs = self.evaluate(&parts);
        let seconds = begun.elapsed().as_secs_f64();
        if prompt > 0 {
            self.statistics.prompt_seconds += seconds;
        } else {
            self.statistics.generation_seconds += seconds;
        }
        match outputs {
            Ok(outputs) => {
                self.statistics.prompt_tokens += prompt as u64;
                self.advance(&parts, &outputs);
            }
            Err(error) => self.fail_call(error),
        }
    }

    fn evaluate(&mut self, parts: &[Part]) -> Result<Vec<Output>, ForwardError> {
        for part in parts {
            self.working[part.sequence].send();
        }
        let chunk = |part: &Part| {
            let sequence = &self.working[part.sequence];
            Chunk {
                tokens: &sequence.pending()[..part.count],
                start: sequence.read,
                pages: &sequence.pages,
                wanted: sequence.wanted(part.count),
            }
        };
        let chunks: Vec<Chunk<'_>> = parts.iter().map(chunk).collect();
        // What a driver does when it panics is as unknown as what a device does that is lost.
        let outputs = catch_unwind(AssertUnwindSafe(|| self.forward.evaluate(&chunks)));
        let outputs = outputs.unwrap_or_else(|panic| Err(panicked(panic.as_ref())))?;
        let rows = |chunk: &Chunk<'_>| match chunk.wanted {
            Wanted::Nothing => 0,
            Wanted::Last => 1,
            Wanted::Each | Wanted::Hidden => chunk.tokens.len(),
        };
        let wanted: Vec<usize> = chunks.iter().map(rows).collect();
        let found: Vec<usize> = outputs.iter().map(|output| output.rows.len()).collect();
        if found != wanted {
            return Err(ForwardError {
                message: format!("the device gave {found:?} rows where {wanted:?} were asked for"),
                hint: Some("this is a fault of the program: please report it with the model's name".to_owned()),
                lost: false,
            });
        }
        Ok(outputs)
    }

    /// Gives everybody who took part what came of it.
    fn advance(&mut self, parts: &[Part], outputs: &[Output]) {
        let context = self.shared.context();
        let mut over = Vec::new();
        for (part, output) in parts.iter().zip(outputs) {
            let sequence = &mut self.working[part.sequence];
            let before = sequence.tokens.len();
            let step = sequence.advance(part.count, output, &self.shared.tokenizer, context);
            self.statistics.tokens += (sequence.tokens.len() - before) as u64;
            make_known(sequence, &mut self.pages);
            if step != Ok(Step::More) {
                over.push((part.sequence, step));
            }
        }
        // From the last on, as each leaves a gap.
        over.sort_by_key(|(sequence, _)| std::cmp::Reverse(*sequence));
        for (sequence, step) in over {
            let sequence = self.working.remove(sequence);
            match step {
                Err(error) => self.fail(sequence, error),
                Ok(Step::Ended(reason, text)) => self.end(sequence, |sequence| sequence.end(reason, text)),
                Ok(Step::Embedded | Step::More) => self.end(sequence, Sequence::embedded),
            }
        }
    }

    /// Ends all requests that the device had to do with, and those to come if it is lost.
    fn fail_call(&mut self, error: ForwardError) {
        if error.lost {
            // It can only be lost once.
            let _ = self.shared.lost.set(error.clone());
            self.fail_all(&error.into());
        } else {
            let error = EngineError::from(error);
            for sequence in std::mem::take(&mut self.working) {
                self.fail(sequence, error.clone());
            }
        }
    }

    fn fail_all(&mut self, error: &EngineError) {
        let working = std::mem::take(&mut self.working);
        let waiting = std::mem::take(&mut self.waiting);
        for sequence in working.into_iter().chain(waiting) {
            self.fail(sequence, error.clone());
        }
    }

    fn fail(&mut self, mut sequence: Sequence, error: EngineError) {
        self.pages.release_all(&mut sequence.pages);
        self.statistics.failed += 1;
        self.last.push(sequence.fail(error));
    }

    fn end(&mut self, mut sequence: Sequence, last: impl FnOnce(Sequence) -> Last) {
        self.pages.release_all(&mut sequence.pages);
        self.statistics.ended += 1;
        self.last.push(last(sequence));
    }

    /// Shows the statistics, then says what is the last of requests.
    fn publish(&mut self) {
        self.statistics.working = self.working.len();
        self.statistics.pages_used = self.pages.used();
        self.statistics.pages_kept = self.pages.kept();
        *self.shared.statistics.lock() = self.statistics;
        self.last.drain(..).for_each(Last::send);
    }
}

/// Lets others know of the pages that a text has filled.
fn make_known(sequence: &mut Sequence, pages: &mut Pages) {
    let size = pages.size();
    while (sequence.known + 1) * size <= sequence.read {
        let at = sequence.known;
        let before = at.checked_sub(1).map(|before| sequence.pages[before]);
        let tokens = &sequence.tokens[at * size..(at + 1) * size];
        sequence.pages[at] = pages.complete(before, tokens, sequence.pages[at]);
        sequence.known += 1;
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> ForwardError {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    let text = text.unwrap_or_else(|| "without a word".to_owned());
    ForwardError {
        message: format!("the device's program panicked: {}", text.lines().collect::<Vec<_>>().join(" ")),
        hint: Some("this is a fault of the program: please report it with the model's name".to_owned()),
        lost: true,
    }
}
