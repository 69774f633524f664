//! Batch composition: which tokens one call evaluates.

use crate::pages::Pages;
use crate::sequence::Sequence;

/// Tokens of one sequence in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchEntry {
    /// Index of the sequence.
    pub(crate) sequence: usize,
    /// Number of tokens to evaluate: pending tokens, followed by drafts after all of them.
    pub(crate) count: usize,
    /// Whether this is a decode step rather than prefill.
    pub(crate) decode: bool,
}

/// Selects at most `max_tokens` tokens: one for each decoding sequence plus its drafts, the rest
/// for prompts. There are at most `max_tokens` sequences.
///
/// A prefix that several prompts share is evaluated once: one sequence fills the page while the
/// others wait for it. Sequences with recurrent states do not wait, since they could not continue
/// from the page. Also returns how many prompt tokens came from the prefix cache.
pub(crate) fn compose(sequences: &mut [Sequence], pages: &mut Pages, max_tokens: usize) -> (Vec<BatchEntry>, usize) {
    let (decoding, mut prefilling): (Vec<usize>, Vec<usize>) =
        (0..sequences.len()).partition(|&index| sequences[index].is_decoding());
    let mut entries: Vec<BatchEntry> = decoding.into_iter().map(|sequence| decode_entry(sequences, sequence)).collect();
    let recurrent = pages.slots.are_used();
    let cached = match recurrent {
        true => 0,
        false => prefilling.iter().map(|&index| adopt_cached_pages(&mut sequences[index], pages)).sum(),
    };

    // Pages that this batch begins to fill, by parent page and tokens.
    let mut started: Vec<(Option<u32>, &[u32])> = Vec::new();
    prefilling.retain(|&index| {
        if recurrent {
            return true;
        }
        let Some(page) = next_page(&sequences[index], pages.size()) else { return true };
        let at_page_start = sequences[index].evaluated.is_multiple_of(pages.size());
        if at_page_start && sequences[index].may_share(pages.size()) && started.contains(&page) {
            return false;
        }
        started.push(page);
        true
    });

    let mut tokens_left = max_tokens.saturating_sub(entries.iter().map(|entry| entry.count).sum());
    // Oldest first for non-causal sequences and bidirectional images, so that short prompts do not
    // delay a long one forever.
    prefilling.retain(|&index| {
        let sequence = &sequences[index];
        let count = match sequence.is_whole() {
            true => sequence.prefill_length(),
            false => sequence.images.least(sequence.evaluated),
        };
        if count == 0 {
            return true;
        }
        if count <= tokens_left {
            tokens_left -= count;
            entries.push(BatchEntry { sequence: index, count, decode: false });
        }
        false
    });
    // Shortest first: what they leave of their share goes to the longer ones.
    prefilling.sort_by_key(|&index| (sequences[index].prefill_length(), index));
    let mut sequences_left = prefilling.len();
    for sequence in prefilling {
        let count = sequences[sequence].prefill_length().min(tokens_left / sequences_left);
        let count = sequences[sequence].images.cut(sequences[sequence].evaluated, count);
        sequences_left -= 1;
        tokens_left -= count;
        if count > 0 {
            entries.push(BatchEntry { sequence, count, decode: false });
        }
    }
    (entries, cached)
}

/// A decode step of a sequence: its pending tokens, then its drafts.
fn decode_entry(sequences: &[Sequence], sequence: usize) -> BatchEntry {
    let count = sequences[sequence].pending().len() + sequences[sequence].drafts.len();
    BatchEntry { sequence, count, decode: true }
}

/// The parent and the tokens of the page that a sequence fills next, if all of its tokens exist
/// already.
fn next_page(sequence: &Sequence, size: usize) -> Option<(Option<u32>, &[u32])> {
    let index = sequence.published;
    let tokens = sequence.tokens.get(index * size..(index + 1) * size)?;
    Some((sequence.parent(index), tokens))
}

/// Replaces empty pages by cached ones that other sequences have filled since; returns the prompt
/// tokens that this saves.
fn adopt_cached_pages(sequence: &mut Sequence, pages: &mut Pages) -> usize {
    let size = pages.size();
    let mut cached = 0;
    while sequence.published * size == sequence.evaluated && sequence.may_share(size) {
        let Some((parent, tokens)) = next_page(sequence, size) else { break };
        let Some(page) = pages.acquire_cached(parent, tokens) else { break };
        let own = std::mem::replace(&mut sequence.pages[sequence.published], page);
        pages.release(own);
        sequence.published += 1;
        cached += sequence.skip(size);
    }
    cached
}
