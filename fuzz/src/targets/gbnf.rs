//! Grammars in llama.cpp's notation.

use roci_lm::grammar::Grammar;

use super::text_and_rest;

/// Parses the text before the first zero byte as a grammar and matches the bytes after it.
pub fn target(data: &[u8]) {
    let Some((text, rest)) = text_and_rest(data) else { return };
    if let Ok(grammar) = Grammar::parse(text) {
        let _ = grammar.matches(rest);
    }
}
