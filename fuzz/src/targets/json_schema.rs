//! JSON schemas of structured answers and tools.

use roci_lm::grammar::Grammar;
use roci_lm::json::Json;

use super::text_and_rest;

/// Compiles the schema before the first zero byte to a grammar and matches the bytes after it.
pub fn target(data: &[u8]) {
    let Some((text, rest)) = text_and_rest(data) else { return };
    let Ok(schema) = Json::parse(text) else { return };
    if let Ok((grammar, _)) = Grammar::of_schema(&schema) {
        let _ = grammar.matches(rest);
    }
}
