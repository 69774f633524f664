//! Constrained generation by a GBNF grammar or a JSON schema.
//!
//! A [`Grammar`] is parsed once. A [`Matcher`] tracks it over the tokens of one request and is a
//! [`Constraint`](crate::sample::Constraint) for sampling.
//!
//! Grammars are untrusted, so each step is bounded: the size of a grammar, the number and depth of
//! parallel parse stacks, and the work per token. Left recursion is rejected.

mod class;
mod error;
mod gbnf;
mod machine;
mod matcher;
mod rules;
mod schema;
mod vocabulary;

use std::sync::Arc;

pub use error::GrammarError;
pub use matcher::Matcher;
pub use schema::SchemaGrammar;
pub use vocabulary::Vocabulary;

use crate::json::Json;
use machine::{LOST, Machine};
use rules::Rules;

/// A parsed grammar.
#[derive(Clone, Debug)]
pub struct Grammar {
    rules: Arc<Rules>,
}

impl Grammar {
    /// Parses a grammar in llama.cpp's notation, GBNF.
    pub fn parse(text: &str) -> Result<Self, GrammarError> {
        let rules = Arc::new(gbnf::parse(text)?);
        let (_, start) = Machine::new(Arc::clone(&rules));
        if start == LOST { Err(GrammarError::TooManyStacks) } else { Ok(Self { rules }) }
    }

    /// Converts a JSON schema to a grammar. Also returns the keywords that the grammar does not
    /// enforce.
    pub fn of_schema(schema: &Json) -> Result<(Self, SchemaGrammar), GrammarError> {
        let written = schema::write(schema)?;
        Ok((Self::parse(&written.text)?, written))
    }

    /// The grammar of any JSON object.
    pub fn json_object() -> Self {
        let schema = Json::Object(vec![("type".to_owned(), Json::from("object"))]);
        match Self::of_schema(&schema) {
            Ok((grammar, _)) => grammar,
            Err(error) => unreachable!("the built-in schema is valid: {error}"),
        }
    }

    /// Whether a complete text matches the grammar.
    pub fn matches(&self, text: &[u8]) -> Result<bool, GrammarError> {
        let (mut machine, mut state) = Machine::new(Arc::clone(&self.rules));
        for &byte in text {
            machine.refill();
            state = machine.step(state, byte);
            if machine.needs_collection() {
                machine.collect_garbage(std::slice::from_mut(&mut state));
            }
            if state == LOST {
                return Err(GrammarError::TooManyStacks);
            }
        }
        Ok(machine.may_end(state))
    }
}

#[cfg(test)]
mod tests;
