//! Character classes as automata over UTF-8 bytes.
//!
//! Tokens may end within a character; matching bytes instead of characters handles this.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
use regex_syntax::utf8::{Utf8Range, Utf8Sequence, Utf8Sequences};

/// An automaton that accepts one character of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Class {
    /// Byte transitions of each state. State 0 is the start of a character.
    states: Vec<Vec<(Utf8Range, Next)>>,
}

/// Target of a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A state within the character.
    State(u32),
    /// The character is complete.
    Done,
}

/// The class of the characters in these ranges, or its complement.
pub(super) fn set(ranges: &[(char, char)], negated: bool) -> ClassUnicode {
    let mut set = ClassUnicode::new(ranges.iter().map(|&(first, last)| ClassUnicodeRange::new(first, last)));
    if negated {
        set.negate();
    }
    set
}

impl Class {
    pub(super) fn new(set: &ClassUnicode) -> Self {
        let mut class = Self { states: Vec::new() };
        let sequences: Vec<Utf8Sequence> =
            set.ranges().iter().flat_map(|range| Utf8Sequences::new(range.start(), range.end())).collect();
        let parts: Vec<&[Utf8Range]> = sequences.iter().map(Utf8Sequence::as_slice).collect();
        class.add(&parts);
        class
    }

    /// Adds a state for the remaining bytes of these sequences and returns its number.
    ///
    /// Leading byte ranges are equal or disjoint, never partially overlapping: a range of several
    /// bytes is only created where all continuations are allowed.
    fn add(&mut self, sequences: &[&[Utf8Range]]) -> u32 {
        let state = self.states.len();
        self.states.push(Vec::new());
        for alike in sequences.chunk_by(|a, b| a.first() == b.first()) {
            let Some((&first, rest)) = alike[0].split_first() else { continue };
            let next = if rest.is_empty() {
                Next::Done
            } else {
                let rests: Vec<&[Utf8Range]> = alike.iter().map(|sequence| &sequence[1..]).collect();
                Next::State(self.add(&rests))
            };
            self.states[state].push((first, next));
        }
        state as u32
    }

    /// The transition from `state` on `byte`.
    pub(super) fn step(&self, state: u32, byte: u8) -> Option<Next> {
        self.states[state as usize].iter().find(|(range, _)| range.matches(byte)).map(|&(_, next)| next)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn accepts(class: &Class, text: &[u8]) -> bool {
        let mut state = 0;
        for (at, &byte) in text.iter().enumerate() {
            match class.step(state, byte) {
                None => return false,
                Some(Next::State(next)) => state = next,
                Some(Next::Done) => return at + 1 == text.len(),
            }
        }
        false
    }

    #[test]
    fn no_class_accepts_invalid_utf8() {
        let any = Class::new(&set(&[], true));
        for bytes in [&b"\x80"[..], b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"ab", b""]
        {
            assert!(!accepts(&any, bytes), "{bytes:x?}");
        }
    }

    proptest! {
        #[test]
        fn a_class_accepts_only_its_characters(
            ranges in prop::collection::vec((any::<char>(), any::<char>()), 0..5),
            negated: bool,
            other in any::<char>(),
        ) {
            let ranges: Vec<(char, char)> = ranges.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
            let class = Class::new(&set(&ranges, negated));
            let edges = ranges.iter().flat_map(|&(first, last)| [first, last]);
            for character in edges.chain([other, '\0', 'a', 'é', '€', '\u{ffff}', '😀', char::MAX]) {
                let within = ranges.iter().any(|&(first, last)| (first..=last).contains(&character));
                let bytes = character.to_string();
                prop_assert_eq!(accepts(&class, bytes.as_bytes()), within != negated, "{:?}", character);
            }
        }
    }
}
