//! Sampling state of a generation, and the events of its tokens.

use roci_lm::grammar::Matcher;
use roci_lm::sample::{Constraint, Sampler, likeliest, log_probability};
use roci_tokenizer::Tokenizer;
use tokio::sync::mpsc;

use crate::sequence::Progress;
use crate::stop::StopFilter;
use crate::{EngineError, Event, FinishReason, Logprob, Token};

/// The sampler, grammar and stop conditions of a generation.
#[derive(Debug)]
pub(crate) struct Generator {
    pub(crate) events: mpsc::UnboundedSender<Event>,
    pub(crate) sampler: Sampler,
    pub(crate) matcher: Option<Matcher>,
    pub(crate) stop: StopFilter,
    pub(crate) max_tokens: Option<usize>,
    pub(crate) show_special: bool,
    pub(crate) ignore_eos: bool,
    pub(crate) top_logprobs: Option<usize>,
    /// Tokens generated so far.
    pub(crate) generated: usize,
}

impl Generator {
    /// Samples the next token and sends it.
    ///
    /// # Errors
    /// If no token can be sampled.
    pub(crate) fn sample(
        &mut self,
        logits: &[f32],
        tokenizer: &Tokenizer,
        tokens: &mut Vec<u32>,
        context: usize,
    ) -> Result<Progress, EngineError> {
        let constraint = self.matcher.as_mut().map(|matcher| matcher as &mut dyn Constraint);
        let chosen = self.sampler.sample(logits, constraint)?;
        // After the grammar has accepted an end token, nothing may follow.
        if tokenizer.ends_generation(chosen) && (!self.ignore_eos || self.matcher.is_some()) {
            return Ok(self.finish(FinishReason::EndOfGeneration));
        }
        tokens.push(chosen);
        self.generated += 1;
        let emitted = self.stop.push(tokenizer.piece(chosen, self.show_special));
        let entry = |token, logprob| Logprob { token, bytes: tokenizer.piece(token, true).to_vec(), logprob };
        let top = likeliest(logits, self.top_logprobs.unwrap_or(0));
        let token = Token {
            chosen: entry(chosen, self.top_logprobs.map_or(0.0, |_| log_probability(logits, chosen))),
            top_logprobs: top.into_iter().map(|one| entry(one.token, one.log_probability)).collect(),
            text: emitted.text,
        };
        let _ = self.events.send(Event::Token(token));
        if let Some(stop) = emitted.stop {
            return Ok(Progress::Finished(FinishReason::Stop(stop), String::new()));
        }
        Ok(if self.matcher.as_ref().is_some_and(Matcher::must_end) {
            self.finish(FinishReason::EndOfGeneration)
        } else if self.max_tokens.is_some_and(|max| self.generated >= max) {
            self.finish(FinishReason::Length)
        } else if tokens.len() >= context {
            self.finish(FinishReason::Context)
        } else {
            Progress::More
        })
    }

    fn finish(&mut self, reason: FinishReason) -> Progress {
        let emitted = self.stop.finish();
        Progress::Finished(emitted.stop.map_or(reason, FinishReason::Stop), emitted.text)
    }
}
