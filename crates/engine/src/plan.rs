//! Which tokens go into a call.

use crate::pages::Pages;
use crate::sequence::Sequence;

/// Tokens of one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Which text, by its place in the list.
    pub(crate) sequence: usize,
    /// How many of its tokens.
    pub(crate) count: usize,
    /// Whether it is a step of writing, rather than of reading.
    pub(crate) writing: bool,
}

/// Chooses at most `batch` tokens: one of each text that is being written, and of prompts as many as there is room for. Texts are no more than
/// `batch`.
///
/// Prompts that begin alike are read once: one goes on and the others wait until its page is full, then take it up. Gives also how many tokens
/// were taken up that way.
pub(crate) fn plan(sequences: &mut [Sequence], pages: &mut Pages, batch: usize) -> (Vec<Part>, usize) {
    let (writing, mut reading): (Vec<usize>, Vec<usize>) =
        (0..sequences.len()).partition(|&at| sequences[at].is_writing());
    let mut parts: Vec<Part> = writing.into_iter().map(|sequence| Part { sequence, count: 1, writing: true }).collect();
    let shared = reading.iter().map(|&at| take_up(&mut sequences[at], pages)).sum();

    // Pages that are being filled, by the page before and their tokens.
    let mut begun: Vec<(Option<u32>, &[u32])> = Vec::new();
    reading.retain(|&at| {
        let Some(page) = next_page(&sequences[at], pages.size()) else { return true };
        let whole = sequences[at].read.is_multiple_of(pages.size());
        if whole && sequences[at].may_share(pages.size()) && begun.contains(&page) {
            return false;
        }
        begun.push(page);
        true
    });

    // Short ones first, so that what they leave goes to the others.
    reading.sort_by_key(|&at| (sequences[at].pending().len(), at));
    let mut rest = batch.saturating_sub(parts.len());
    let mut left = reading.len();
    for sequence in reading {
        let count = sequences[sequence].pending().len().min(rest / left);
        left -= 1;
        rest -= count;
        if count > 0 {
            parts.push(Part { sequence, count, writing: false });
        }
    }
    (parts, shared)
}

/// The page that a text fills next, if all of its tokens are known: the page before it and its tokens.
fn next_page(sequence: &Sequence, size: usize) -> Option<(Option<u32>, &[u32])> {
    let at = sequence.known;
    let tokens = sequence.tokens.get(at * size..(at + 1) * size)?;
    Some((at.checked_sub(1).map(|before| sequence.pages[before]), tokens))
}

/// Takes up pages that others have filled since; gives how many tokens of the prompt are in them.
fn take_up(sequence: &mut Sequence, pages: &mut Pages) -> usize {
    let size = pages.size();
    let mut shared = 0;
    while sequence.known * size == sequence.read && sequence.may_share(size) {
        let Some((before, tokens)) = next_page(sequence, size) else { break };
        let Some(page) = pages.take_known(before, tokens) else { break };
        let own = std::mem::replace(&mut sequence.pages[sequence.known], page);
        pages.release(own);
        sequence.known += 1;
        shared += sequence.skip(size);
    }
    shared
}
