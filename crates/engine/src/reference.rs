//! The slow definition of a [`Forward`].

use std::sync::Arc;

use roci_llm::reference::{Reference, Seen, Text};

use crate::{Chunk, Forward, ForwardError, Limits, Output, Wanted};

/// How much a [`ReferenceForward`] has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// How many tokens a page holds.
    pub page: usize,
    /// How many pages there are.
    pub pages: usize,
    /// The most tokens of one call.
    pub batch: usize,
    /// The most chunks of one call.
    pub chunks: usize,
}

impl Room {
    /// Room for so many texts of full length, in pages of 16 tokens.
    pub fn for_texts(context: usize, texts: usize) -> Self {
        let page = 16;
        Self { page, pages: context.div_ceil(page) * texts, batch: 64, chunks: 16 }
    }
}

/// A model evaluated by [`roci_llm::reference`], one token after the other: what devices are held to, and what the engine's tests run on.
///
/// It keeps the contract of [`Forward`] to the letter: a page that was never written, and pages that do not reach as far as
/// a chunk does, are errors.
#[derive(Debug)]
pub struct ReferenceForward {
    reference: Reference,
    limits: Limits,
    /// For each page, what the tokens in it left behind.
    pages: Vec<Vec<Option<Arc<Seen>>>>,
}

impl ReferenceForward {
    /// A model with this room.
    pub fn new(reference: Reference, room: Room) -> Self {
        let model = reference.model();
        let limits = Limits {
            context: model.context as usize,
            page: room.page,
            pages: room.pages,
            batch: room.batch,
            chunks: room.chunks,
            vocabulary: model.config.vocabulary,
            embedding: model.config.embedding,
            pooling: model.config.pooling,
        };
        Self { pages: vec![vec![None; room.page]; room.pages], reference, limits }
    }

    /// Where a position of a text lies.
    fn slot(&mut self, chunk: &Chunk<'_>, position: usize) -> Result<&mut Option<Arc<Seen>>, ForwardError> {
        let page = chunk.pages.get(position / self.limits.page).copied();
        let page = page.and_then(|page| self.pages.get_mut(page as usize));
        page.and_then(|page| page.get_mut(position % self.limits.page))
            .ok_or_else(|| fault(format!("there is no page for position {position}")))
    }

    fn read(&mut self, chunk: &Chunk<'_>) -> Result<Output, ForwardError> {
        let mut seen = Vec::with_capacity(chunk.start + chunk.tokens.len());
        for position in 0..chunk.start {
            let token = self.slot(chunk, position)?.clone();
            seen.push(token.ok_or_else(|| fault(format!("position {position} was never read")))?);
        }
        let mut text = Text::new(seen);
        let mut output = Output::default();
        for (at, &token) in chunk.tokens.iter().enumerate() {
            let logits = match chunk.wanted {
                Wanted::Nothing | Wanted::Hidden => false,
                Wanted::Last => at + 1 == chunk.tokens.len(),
                Wanted::Each => true,
            };
            let row =
                if logits { self.reference.logits(&mut text, token) } else { self.reference.hidden(&mut text, token) };
            let row = row.map_err(|error| fault(error.to_string()))?;
            if logits || chunk.wanted == Wanted::Hidden {
                output.rows.push(row);
            }
            *self.slot(chunk, chunk.start + at)? = text.seen().last().cloned();
        }
        Ok(output)
    }
}

impl Forward for ReferenceForward {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn evaluate(&mut self, chunks: &[Chunk<'_>]) -> Result<Vec<Output>, ForwardError> {
        let tokens: usize = chunks.iter().map(|chunk| chunk.tokens.len()).sum();
        if tokens > self.limits.batch || chunks.len() > self.limits.chunks {
            return Err(fault(format!("{tokens} tokens in {} chunks are too many for one call", chunks.len())));
        }
        chunks.iter().map(|chunk| self.read(chunk)).collect()
    }
}

/// What only a caller's fault brings about.
fn fault(message: String) -> ForwardError {
    let hint = Some("this is a fault of the program: please report it with the model's name".to_owned());
    ForwardError { message, hint, lost: false }
}
