//! Handing the sequences of a batch their outputs, on several threads where sampling takes long.

use roci_tokenizer::Tokenizer;

use crate::batch::BatchEntry;
use crate::sequence::{Progress, Sequence};
use crate::{EngineError, Output, States};

/// Logits per thread. A sampler reads 2 to 8 of them per nanosecond, so that fewer take no longer
/// than the start of a thread. Debug builds have a lower limit, so that tests with small
/// vocabularies use threads.
const MIN_THREAD_LOGITS: usize = if cfg!(debug_assertions) { 512 } else { 1 << 18 };
const MAX_THREADS: usize = 8;

/// Advances the sequence of each entry by its output. The results are in the order of the entries.
pub(crate) fn advance(
    sequences: &mut [Sequence],
    entries: &[BatchEntry],
    outputs: &[(Output, States)],
    tokenizer: &Tokenizer,
    context: usize,
) -> Vec<Result<Progress, EngineError>> {
    let mut entry_of = vec![None; sequences.len()];
    entries.iter().enumerate().for_each(|(at, entry)| entry_of[entry.sequence] = Some(at));
    let mut batch: Vec<(usize, &mut Sequence)> =
        sequences.iter_mut().zip(entry_of).filter_map(|(sequence, at)| Some((at?, sequence))).collect();
    let advance = |batch: &mut [(usize, &mut Sequence)]| -> Vec<(usize, Result<Progress, EngineError>)> {
        let one = |(at, sequence): &mut (usize, &mut Sequence)| {
            (*at, sequence.advance(entries[*at].count, &outputs[*at].0, tokenizer, context))
        };
        batch.iter_mut().map(one).collect()
    };

    let logits: usize = outputs.iter().flat_map(|(output, _)| &output.rows).map(Vec::len).sum();
    let threads = threads(logits).min(batch.len());
    let mut results = if threads > 1 {
        let each = batch.len().div_ceil(threads);
        std::thread::scope(|scope| {
            let mut parts = batch.chunks_mut(each);
            let own = parts.next();
            let parts: Vec<_> = parts.map(|part| scope.spawn(move || advance(part))).collect();
            let own = own.map(advance).unwrap_or_default();
            let join = |part: std::thread::ScopedJoinHandle<'_, _>| {
                part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            own.into_iter().chain(parts.into_iter().flat_map(join)).collect()
        })
    } else {
        advance(&mut batch)
    };
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

fn threads(logits: usize) -> usize {
    match logits / MIN_THREAD_LOGITS {
        0 | 1 => 1,
        most => most.min(MAX_THREADS).min(std::thread::available_parallelism().map_or(1, usize::from)),
    }
}
