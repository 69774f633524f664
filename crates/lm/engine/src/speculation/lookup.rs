//! N-gram lookup, also known as prompt lookup: drafts are copied from the sequence's own text.

/// Lengths of the n-grams that are looked up, longest first. Shorter ones recur by chance.
const LENGTHS: std::ops::RangeInclusive<usize> = 2..=4;

/// The tokens that followed the last earlier occurrence of the final n-gram of `tokens`, for the
/// longest n-gram that recurs; at most `count`. If the copy reaches the end of the text, it
/// continues with its own tokens, which extends a repetition.
pub(super) fn draft(tokens: &[u32], count: usize) -> Vec<u32> {
    let Some(from) = continuation(tokens).filter(|_| count > 0) else { return Vec::new() };
    let period = tokens.len() - from;
    (0..count).map(|at| tokens[from + at % period]).collect()
}

/// The position after the last earlier occurrence of the longest n-gram that recurs.
fn continuation(tokens: &[u32]) -> Option<usize> {
    let (shortest, longest) = (*LENGTHS.start(), *LENGTHS.end());
    let mut best = (0, 0);
    for end in (shortest..tokens.len()).rev() {
        let pairs = tokens[..end].iter().rev().zip(tokens.iter().rev());
        let common = pairs.take(longest).take_while(|(earlier, last)| earlier == last).count();
        if common > best.0 {
            best = (common, end);
        }
        if common == longest {
            break;
        }
    }
    (best.0 >= shortest).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::draft;

    #[test]
    fn the_continuation_of_the_longest_n_gram_is_copied() {
        // The pair (2, 3) recurs; the final three tokens do not.
        assert_eq!(draft(&[1, 2, 3, 4, 9, 2, 3, 5, 1, 2, 3], 2), [4, 9]);
        // Of several occurrences, the last one counts.
        assert_eq!(draft(&[2, 3, 4, 2, 3, 5, 6, 2, 3], 3), [5, 6, 2]);
    }

    #[test]
    fn a_repetition_goes_on() {
        assert_eq!(draft(&[7, 1, 2, 1, 2], 5), [1, 2, 1, 2, 1]);
        assert_eq!(draft(&[5, 5, 5], 3), [5, 5, 5]);
    }

    #[test]
    fn nothing_is_drafted_without_a_match() {
        assert_eq!(draft(&[], 3), [0u32; 0]);
        assert_eq!(draft(&[1, 2, 3, 4], 3), [0u32; 0]);
        // A single token recurs by chance.
        assert_eq!(draft(&[1, 2, 3, 1], 3), [0u32; 0]);
        assert_eq!(draft(&[1, 2, 1, 2], 0), [0u32; 0]);
    }
}
