//! Streaming of generated text: emits whole characters, and withholds text that may be the start of
//! a stop string.

use roci_tokenizer::Characters;

/// Decodes tokens to text and detects stop strings across token boundaries.
#[derive(Debug)]
pub(crate) struct StopFilter {
    characters: Characters,
    stops: Vec<String>,
    /// Text that may be the start of a stop string.
    withheld: String,
}

/// Output of one token.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TokenOutput {
    /// Text that is final now.
    pub(crate) text: String,
    /// Index of the stop string that was found. No more tokens may be pushed then.
    pub(crate) stop: Option<usize>,
}

impl StopFilter {
    /// Creates a filter for stop strings. Empty ones are ignored.
    pub(crate) fn new(stops: Vec<String>) -> Self {
        Self { characters: Characters::default(), stops, withheld: String::new() }
    }

    /// Adds the bytes of a token.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> TokenOutput {
        let text = self.characters.push(bytes);
        self.scan(&text)
    }

    /// Flushes the withheld text after the last token.
    pub(crate) fn finish(&mut self) -> TokenOutput {
        let text = self.characters.finish();
        let TokenOutput { mut text, stop } = self.scan(&text);
        if stop.is_none() {
            text.push_str(&std::mem::take(&mut self.withheld));
        }
        TokenOutput { text, stop }
    }

    fn scan(&mut self, text: &str) -> TokenOutput {
        let before = self.withheld.len();
        self.withheld.push_str(text);
        // The stop string that ends first wins, regardless of token boundaries; of two that end
        // together, the longer one.
        for (offset, character) in text.char_indices() {
            let end = before + offset + character.len_utf8();
            let ends = |stop: &String| !stop.is_empty() && self.withheld[..end].ends_with(stop.as_str());
            let complete = self.stops.iter().enumerate().filter(|(_, stop)| ends(stop));
            let first = complete.max_by_key(|(index, stop)| (stop.len(), std::cmp::Reverse(*index)));
            if let Some((index, stop)) = first {
                let text = self.withheld[..end - stop.len()].to_owned();
                self.withheld.clear();
                return TokenOutput { text, stop: Some(index) };
            }
        }
        let withheld = self.withheld.split_off(self.withheld.len() - self.possible_stop_bytes());
        TokenOutput { text: std::mem::replace(&mut self.withheld, withheld), stop: None }
    }

    /// Length of the longest suffix that is a prefix of a stop string.
    fn possible_stop_bytes(&self) -> usize {
        let longest = self.stops.iter().map(String::len).max().unwrap_or(0);
        let from = (self.withheld.len() + 1).saturating_sub(longest);
        let begins = |at: &usize| {
            self.withheld.is_char_boundary(*at) && self.stops.iter().any(|stop| stop.starts_with(&self.withheld[*at..]))
        };
        (from..self.withheld.len()).find(begins).map_or(0, |at| self.withheld.len() - at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text emitted for each token and at the end, and the index of the stop string that was found.
    fn emit(stops: &[&str], pieces: &[&[u8]]) -> (Vec<String>, Option<usize>) {
        let mut filter = StopFilter::new(stops.iter().map(|&stop| stop.to_owned()).collect());
        let mut texts = Vec::new();
        for piece in pieces {
            let emitted = filter.push(piece);
            texts.push(emitted.text);
            if emitted.stop.is_some() {
                return (texts, emitted.stop);
            }
        }
        let emitted = filter.finish();
        texts.push(emitted.text);
        (texts, emitted.stop)
    }

    #[test]
    fn characters_are_emitted_whole() {
        let (texts, stop) = emit(&[], &[b"a\xe2", b"\x82", b"\xac!", b"\xff", b"\xe2"]);
        assert_eq!(texts, ["a", "", "€!", "\u{fffd}", "", "\u{fffd}"]);
        assert_eq!(stop, None);
    }

    #[test]
    fn stop_strings_are_found_across_tokens() {
        assert_eq!(emit(&["END"], &[b"the E", b"N", b"D of"]), (vec!["the ".into(), "".into(), "".into()], Some(0)));
        // Withheld text is emitted once it cannot become a stop string.
        let (texts, stop) = emit(&["END"], &[b"the E", b"N", b"Xit E"]);
        assert_eq!(texts, ["the ", "", "ENXit ", "E"]);
        assert_eq!(stop, None);
    }

    #[test]
    fn a_stop_string_may_start_within_a_failed_match() {
        assert_eq!(emit(&["aab"], &[b"a", b"a", b"a", b"b"]).0.concat(), "a");
        assert_eq!(emit(&["aab"], &[b"aaab"]), (vec!["a".into()], Some(0)));
    }

    #[test]
    fn token_boundaries_do_not_change_the_result() {
        let text = "one xyz two éa€ xy";
        for stops in [&["yz t", "z", "xyz"][..], &["a€", "éa"], &["xy", "x"], &["never", ""], &["€ xyz"]] {
            let whole = emit(stops, &[text.as_bytes()]);
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            let bytewise = emit(stops, &bytes);
            assert_eq!((whole.0.concat(), whole.1), (bytewise.0.concat(), bytewise.1), "{stops:?}");
        }
    }

    #[test]
    fn of_two_stop_strings_that_end_together_the_longer_wins() {
        assert_eq!(emit(&["z", "xyz"], &[b"a xyz"]), (vec!["a ".into()], Some(1)));
        assert_eq!(emit(&["xyz", "xyz"], &[b"a xyz"]).1, Some(0));
    }
}
