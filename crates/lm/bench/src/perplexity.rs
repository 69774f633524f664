//! Perplexity of a text, as llama.cpp defines it.
//!
//! The text is cut into chunks of the context size. Each chunk starts with an empty KV cache, and
//! with BOS in the place of its first token if the model expects BOS. Only predictions in the second
//! half of a chunk count, which have half a context or more before them.

use roci_engine::{Chunk, Forward, ForwardError, OutputKind, StateSlots};

/// Bytes of logits that one call returns at most.
const LOGITS_BYTES: usize = 128 << 20;

/// The negative log-likelihoods so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Perplexity {
    /// Chunks of the text.
    pub chunks: usize,
    /// Negative log-likelihood of each token that was counted, in nats.
    pub losses: Vec<f32>,
    /// Their sum, and the sum of their squares.
    sums: [f64; 2],
}

impl Perplexity {
    /// Mean negative log-likelihood of a token, in nats.
    pub fn loss(&self) -> f64 {
        self.sums[0] / self.losses.len() as f64
    }

    /// The perplexity: the exponential of the mean negative log-likelihood.
    pub fn value(&self) -> f64 {
        self.loss().exp()
    }

    /// Standard error of the perplexity.
    pub fn standard_error(&self) -> f64 {
        let count = self.losses.len() as f64;
        let variance = (self.sums[1] / count - self.loss().powi(2)).max(0.0);
        (variance / (count - 1.0).max(1.0)).sqrt() * self.value()
    }

    fn add(&mut self, logits: &[f32], token: u32) {
        let loss = loss(logits, token);
        self.losses.push(loss as f32);
        self.sums[0] += loss;
        self.sums[1] += loss * loss;
    }
}

/// Negative log-likelihood of a token in nats; NaN if the logits have no such token.
fn loss(logits: &[f32], token: u32) -> f64 {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|&logit| f64::from(logit - largest).exp()).sum();
    let logit = logits.get(token as usize).copied().unwrap_or(f32::NAN);
    sum.ln() - f64::from(logit - largest)
}

/// Computes the perplexity of `tokens` in chunks of `context` tokens, at most `chunks` of them.
/// Calls `tell` after each chunk, and stops where it returns false.
///
/// # Errors
/// If the device fails.
pub fn perplexity(
    forward: &mut dyn Forward,
    tokens: &[u32],
    bos: Option<u32>,
    context: usize,
    chunks: usize,
    mut tell: impl FnMut(&Perplexity) -> bool,
) -> Result<Perplexity, ForwardError> {
    let limits = forward.limits();
    let pages: Vec<u32> = (0..context.div_ceil(limits.page_size.max(1)) as u32).collect();
    let batch = limits.max_batch_tokens.max(1);
    let rows = (LOGITS_BYTES / (4 * limits.vocabulary.max(1))).clamp(1, batch);
    let first = context / 2;
    let mut sum = Perplexity::default();
    for text in tokens.chunks_exact(context).take(chunks) {
        let mut read = text.to_vec();
        if let (Some(token), Some(bos)) = (read.first_mut(), bos) {
            *token = bos;
        }
        // The last token predicts one of the next chunk, which does not count.
        let end = context - 1;
        let mut at = 0;
        while at < end {
            let counts = at >= first;
            let until = if counts { end.min(at + rows) } else { first.min(end).min(at + batch) };
            let chunk = Chunk {
                tokens: &read[at..until],
                start: at,
                pages: &pages,
                state: StateSlots::of_only_sequence(forward.limits(), at),
                output: if counts { OutputKind::AllLogits } else { OutputKind::None },
            };
            let outputs = forward.evaluate(&[chunk])?;
            let logits = outputs.iter().flat_map(|output| &output.rows);
            logits.zip(&text[at + 1..]).filter(|_| counts).for_each(|(logits, &token)| sum.add(logits, token));
            forward.recycle(outputs);
            at = until;
        }
        sum.chunks += 1;
        if !tell(&sum) {
            break;
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use roci_engine::{Limits, Output};
    use roci_lm::architecture::Pooling;

    use super::*;

    /// Predicts the token after the one that it reads with a logit of 1, all others with 0.
    struct Successor {
        limits: Limits,
        read: Vec<u32>,
    }

    impl Forward for Successor {
        fn limits(&self) -> &Limits {
            &self.limits
        }

        fn evaluate(&mut self, chunks: &[Chunk<'_>]) -> Result<Vec<Output>, ForwardError> {
            let vocabulary = self.limits.vocabulary;
            let row = |token: &u32| {
                let mut row = vec![0.0; vocabulary];
                row[(*token as usize + 1) % vocabulary] = 1.0;
                row
            };
            let output = |chunk: &Chunk<'_>| Output {
                rows: match chunk.output {
                    OutputKind::AllLogits => chunk.tokens.iter().map(row).collect(),
                    _ => Vec::new(),
                },
            };
            chunks.iter().for_each(|chunk| self.read.extend(chunk.tokens));
            Ok(chunks.iter().map(output).collect())
        }
    }

    fn successor() -> Successor {
        let limits = Limits {
            context: 8,
            page_size: 4,
            pages: 2,
            max_batch_tokens: 3,
            max_chunks: 1,
            vocabulary: 10,
            embedding: 4,
            pooling: Pooling::Unspecified,
            pooled: None,
            outputs: None,
            causal: true,
            state_slots: 0,
        };
        Successor { limits, read: Vec::new() }
    }

    /// Of logits of which one is 1 and nine are 0.
    fn losses() -> (f64, f64) {
        let sum = (1f64.exp() + 9.0).ln();
        (sum - 1.0, sum)
    }

    #[test]
    fn the_second_half_of_each_chunk_counts() {
        let mut model = successor();
        // The successor rule breaks at position 6 of the first chunk, and holds in the second.
        let text = [0, 1, 2, 3, 4, 5, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 5, 5];
        let mut told = Vec::new();
        let sum = perplexity(&mut model, &text, Some(7), 8, 9, |sum| {
            told.push(sum.losses.len());
            true
        });
        let sum = sum.expect("it computes");
        assert_eq!((sum.chunks, sum.losses.len(), told), (2, 6, vec![3, 6]));
        let (right, wrong) = losses();
        assert!((sum.loss() - (5.0 * right + wrong) / 6.0).abs() < 1e-6, "{}", sum.loss());
        assert!((sum.value() - sum.loss().exp()).abs() < 1e-9);
        // The losses differ by 1 in one of six: variance 5/36, of which a fifth is the square.
        let expected = (5.0f64 / 36.0 / 5.0).sqrt() * sum.value();
        assert!((sum.standard_error() - expected).abs() < 1e-6, "{}", sum.standard_error());
        // BOS replaces the first token of a chunk, and the last token is not read.
        assert_eq!(model.read, [7, 1, 2, 3, 4, 5, 9, 7, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn it_stops_early() {
        let text: Vec<u32> = (0..64).map(|at| at % 10).collect();
        let of = |chunks: usize, stop: usize| {
            let sum = perplexity(&mut successor(), &text, None, 8, chunks, |sum| sum.chunks < stop);
            sum.expect("it computes").chunks
        };
        assert_eq!((of(3, 9), of(9, 2), of(9, 9)), (3, 2, 8));
    }
}
