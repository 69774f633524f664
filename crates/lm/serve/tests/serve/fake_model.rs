//! A fake model with predictable answers.
//!
//! It answers a conversation with its last message, and continues any other text with the next
//! letters of the alphabet. `forever` is answered without end; `fail` and `lose` make its device
//! fail or get lost. If a grammar excludes its answer, it closes open structures as soon as
//! possible.

use std::sync::Arc;
use std::time::Duration;

use roci_engine::{AdapterSetting, Chunk, Forward, ForwardError, Limits, Output, OutputKind};
use roci_lm::architecture::Pooling;
use roci_lm::architecture::blocks::PooledTokens;
use roci_lm::synthetic::talking;
use roci_tokenizer::Tokenizer;

pub(crate) const EMBEDDING: usize = 8;
const PAGE: usize = 16;

/// The vocabulary of all fake models that generate text.
pub(crate) fn tokenizer() -> Arc<Tokenizer> {
    let file = talking().open().expect("the synthetic file is valid");
    Arc::new(Tokenizer::from_metadata(file.metadata()).expect("the vocabulary is valid"))
}

/// The hidden state of a token, which depends on that token alone.
pub(crate) fn hidden(token: u32) -> [f32; EMBEDDING] {
    std::array::from_fn(|at| ((token >> at) & 1) as f32 + 0.5)
}

pub(crate) struct FakeModel {
    limits: Limits,
    tokenizer: Arc<Tokenizer>,
    /// The tokens in each KV page.
    pages: Vec<[Option<u32>; PAGE]>,
    /// Duration of each call.
    delay: Duration,
    start: u32,
    end: u32,
    line: u32,
    /// Letters that continuations skip, for each chunk of the next call: the scale of the second
    /// adapter.
    skipped: Vec<u8>,
}

impl FakeModel {
    pub(crate) fn new(context: usize, texts: usize, delay: Duration, pooling: Pooling) -> Self {
        let tokenizer = tokenizer();
        let pages = context.div_ceil(PAGE) * texts;
        let limits = Limits {
            context,
            page_size: PAGE,
            pages,
            max_batch_tokens: 256,
            max_chunks: 32,
            vocabulary: tokenizer.len(),
            embedding: EMBEDDING,
            pooling,
            // The score of a fake reranker is the first value of its mean.
            pooled: pooling.tokens().or((pooling == Pooling::Rank).then_some(PooledTokens::Mean)),
            outputs: None,
            causal: true,
            state_slots: 0,
        };
        let id = |text| tokenizer.id(text).expect("the vocabulary has it");
        let (start, end, line) = (id("<|im_start|>"), id("<|im_end|>"), id("\n"));
        Self { limits, pages: vec![[None; PAGE]; pages], delay, start, end, line, skipped: Vec::new(), tokenizer }
    }

    fn slot(&mut self, chunk: &Chunk<'_>, position: usize) -> &mut Option<u32> {
        &mut self.pages[chunk.pages[position / PAGE] as usize][position % PAGE]
    }

    /// The next token; `None` if the model has no answer of its own.
    fn next(&self, text: &[u32], skipped: u8) -> Result<Option<u32>, ForwardError> {
        let mut parts = text.split(|token| *token == self.start).rev();
        let after_line = |part: &'_ [u32]| part.iter().position(|token| *token == self.line).map(|place| place + 1);
        let (Some(mine), Some(last)) = (parts.next(), parts.next()) else {
            return Ok(Some(self.letter(text, skipped)));
        };
        let (Some(from), Some(to)) = (after_line(mine), after_line(last)) else { return Ok(Some(self.end)) };
        let prompt = last[to..].split(|token| *token == self.end).next().unwrap_or_default();
        let lost = match self.tokenizer.decode(prompt).as_str() {
            "forever" => return Ok(self.tokenizer.id("x")),
            "fail" => Some(false),
            "lose" => Some(true),
            _ => None,
        };
        if let Some(lost) = lost {
            return Err(ForwardError { message: "the card fell off".into(), hint: Some("push it".into()), lost });
        }
        let answer = &mine[from..];
        match prompt.starts_with(answer) {
            true => Ok(Some(prompt.get(answer.len()).copied().unwrap_or(self.end))),
            false => Ok(None),
        }
    }

    /// The letter after the last one and those skipped; end of sequence after `z` and non-letters.
    fn letter(&self, text: &[u32], skipped: u8) -> u32 {
        let last = text.last().and_then(|token| self.tokenizer.piece(*token, false).last()).copied().unwrap_or(b' ');
        let letter = matches!(last, b'a'..=b'y').then(|| char::from(last + 1 + skipped).to_string());
        letter.and_then(|letter| self.tokenizer.id(&letter)).unwrap_or(self.end)
    }

    fn logits(&self, text: &[u32], skipped: u8) -> Result<Vec<f32>, ForwardError> {
        let mut logits = vec![0.0; self.limits.vocabulary];
        for (text, logit) in [("\"", 9.0), ("}", 8.0), ("]", 7.0), ("0", 6.0)] {
            logits[self.tokenizer.id(text).expect("the vocabulary has it") as usize] = logit;
        }
        if let Some(next) = self.next(text, skipped)? {
            logits[next as usize] = 40.0;
        }
        Ok(logits)
    }
}

impl Forward for FakeModel {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn adapters(&self) -> Vec<AdapterSetting> {
        ["one", "two"].map(|name| AdapterSetting { name: name.to_owned(), scale: 0.0 }).to_vec()
    }

    fn set_adapter_scales(&mut self, scales: &[Arc<[f32]>]) {
        self.skipped = scales.iter().map(|scales| scales[1] as u8).collect();
    }

    fn evaluate(&mut self, chunks: &[Chunk<'_>]) -> Result<Vec<Output>, ForwardError> {
        std::thread::sleep(self.delay);
        let mut outputs = Vec::new();
        let skipped = std::mem::take(&mut self.skipped);
        for (index, chunk) in chunks.iter().enumerate() {
            let skipped = skipped.get(index).copied().unwrap_or(0);
            for (at, token) in chunk.tokens.iter().enumerate() {
                *self.slot(chunk, chunk.start + at) = Some(*token);
            }
            let length = chunk.start + chunk.tokens.len();
            let text: Vec<u32> =
                (0..length).map(|position| self.slot(chunk, position).expect("the position was evaluated")).collect();
            let rows = match chunk.output {
                OutputKind::None => Vec::new(),
                OutputKind::LastLogits => vec![self.logits(&text, skipped)?],
                OutputKind::AllLogits => {
                    (chunk.start..length).map(|at| self.logits(&text[..=at], skipped)).collect::<Result<_, _>>()?
                }
                OutputKind::HiddenStates => chunk.tokens.iter().map(|token| hidden(*token).to_vec()).collect(),
            };
            outputs.push(Output { rows });
        }
        Ok(outputs)
    }
}
