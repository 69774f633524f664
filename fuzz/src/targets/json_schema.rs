//! JSON schemas of structured answers and tools.

use roci_llm::grammar::Grammar;
use roci_llm::json::Json;

use super::text_and_rest;

/// Makes a grammar of the schema before the first zero byte and matches the bytes after it.
pub fn target(data: &[u8]) {
    let Some((text, rest)) = text_and_rest(data) else { return };
    let Ok(schema) = Json::parse(text) else { return };
    if let Ok((grammar, _)) = Grammar::of_schema(&schema) {
        let _ = grammar.matches(rest);
    }
}
