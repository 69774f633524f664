//! What of an answer can be shown: whole characters, and nothing that may be the beginning of a text that ends it.

use roci_tokenizer::Characters;

/// An answer as it comes.
#[derive(Debug)]
pub(crate) struct Answer {
    characters: Characters,
    stops: Vec<String>,
    /// What may turn out to be the beginning of a stop text.
    held: String,
}

/// What came of more bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// What can be shown now.
    pub(crate) text: String,
    /// Which of the stop texts came. Nothing may follow.
    pub(crate) stop: Option<usize>,
}

impl Answer {
    /// An answer that ends at any of these texts; empty ones do not count.
    pub(crate) fn new(stops: Vec<String>) -> Self {
        Self { characters: Characters::default(), stops, held: String::new() }
    }

    /// Takes the bytes of a token.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Shown {
        let text = self.characters.push(bytes);
        self.take(&text)
    }

    /// What was held back, once no more tokens come.
    pub(crate) fn finish(&mut self) -> Shown {
        let text = self.characters.finish();
        let Shown { mut text, stop } = self.take(&text);
        if stop.is_none() {
            text.push_str(&std::mem::take(&mut self.held));
        }
        Shown { text, stop }
    }

    fn take(&mut self, text: &str) -> Shown {
        let seen = self.held.len();
        self.held.push_str(text);
        // The stop text that is complete first ends the answer, wherever tokens end; of two, the one that began first.
        for (at, character) in text.char_indices() {
            let end = seen + at + character.len_utf8();
            let ends = |stop: &String| !stop.is_empty() && self.held[..end].ends_with(stop.as_str());
            let complete = self.stops.iter().enumerate().filter(|(_, stop)| ends(stop));
            let first = complete.max_by_key(|(place, stop)| (stop.len(), std::cmp::Reverse(*place)));
            if let Some((place, stop)) = first {
                let text = self.held[..end - stop.len()].to_owned();
                self.held.clear();
                return Shown { text, stop: Some(place) };
            }
        }
        let held = self.held.split_off(self.held.len() - self.doubtful());
        Shown { text: std::mem::replace(&mut self.held, held), stop: None }
    }

    /// How many bytes at the end may be the beginning of a stop text.
    fn doubtful(&self) -> usize {
        let longest = self.stops.iter().map(String::len).max().unwrap_or(0);
        let from = (self.held.len() + 1).saturating_sub(longest);
        let begins = |at: &usize| {
            self.held.is_char_boundary(*at) && self.stops.iter().any(|stop| stop.starts_with(&self.held[*at..]))
        };
        (from..self.held.len()).find(begins).map_or(0, |at| self.held.len() - at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown after each piece, which stop text came, and what is left at the end.
    fn show(stops: &[&str], pieces: &[&[u8]]) -> (Vec<String>, Option<usize>) {
        let mut answer = Answer::new(stops.iter().map(|&stop| stop.to_owned()).collect());
        let mut texts = Vec::new();
        for piece in pieces {
            let shown = answer.push(piece);
            texts.push(shown.text);
            if shown.stop.is_some() {
                return (texts, shown.stop);
            }
        }
        let shown = answer.finish();
        texts.push(shown.text);
        (texts, shown.stop)
    }

    #[test]
    fn characters_come_whole() {
        let (texts, stop) = show(&[], &[b"a\xe2", b"\x82", b"\xac!", b"\xff", b"\xe2"]);
        assert_eq!(texts, ["a", "", "€!", "\u{fffd}", "", "\u{fffd}"]);
        assert_eq!(stop, None);
    }

    #[test]
    fn stop_texts_are_held_back_across_tokens() {
        assert_eq!(show(&["END"], &[b"the E", b"N", b"D of"]), (vec!["the ".into(), "".into(), "".into()], Some(0)));
        // What was held back is shown once it is nothing.
        let (texts, stop) = show(&["END"], &[b"the E", b"N", b"Xit E"]);
        assert_eq!(texts, ["the ", "", "ENXit ", "E"]);
        assert_eq!(stop, None);
    }

    #[test]
    fn a_stop_text_may_begin_within_another_beginning() {
        assert_eq!(show(&["aab"], &[b"a", b"a", b"a", b"b"]).0.concat(), "a");
        assert_eq!(show(&["aab"], &[b"aaab"]), (vec!["a".into()], Some(0)));
    }

    #[test]
    fn where_tokens_end_makes_no_difference() {
        let text = "one xyz two éa€ xy";
        for stops in [&["yz t", "z", "xyz"][..], &["a€", "éa"], &["xy", "x"], &["never", ""], &["€ xyz"]] {
            let whole = show(stops, &[text.as_bytes()]);
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            let apart = show(stops, &bytes);
            assert_eq!((whole.0.concat(), whole.1), (apart.0.concat(), apart.1), "{stops:?}");
        }
    }

    #[test]
    fn of_two_that_end_together_the_longer_is_told() {
        assert_eq!(show(&["z", "xyz"], &[b"a xyz"]), (vec!["a ".into()], Some(1)));
        assert_eq!(show(&["xyz", "xyz"], &[b"a xyz"]).1, Some(0));
    }
}
