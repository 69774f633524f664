//! What a model may write, by a grammar or a JSON schema.
//!
//! A [`Grammar`] is read once; a [`Matcher`] follows it through the tokens of one request and is a
//! [`Constraint`](crate::sample::Constraint) for sampling.
//!
//! Grammars come from requests, so that each step is bounded: the size of a grammar, the ways that are followed at once, their depth, and the
//! work for a token. Rules that may start with themselves are refused.

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

/// A grammar, ready to be followed.
#[derive(Clone, Debug)]
pub struct Grammar {
    rules: Arc<Rules>,
}

impl Grammar {
    /// Reads a grammar in llama.cpp's notation.
    pub fn parse(text: &str) -> Result<Self, GrammarError> {
        let rules = Arc::new(gbnf::parse(text)?);
        let (_, start) = Machine::new(Arc::clone(&rules));
        if start == LOST { Err(GrammarError::TooManyWays) } else { Ok(Self { rules }) }
    }

    /// Makes the grammar of a JSON schema, and says which of its keywords the grammar does not hold a text to.
    pub fn of_schema(schema: &Json) -> Result<(Self, SchemaGrammar), GrammarError> {
        let written = schema::write(schema)?;
        Ok((Self::parse(&written.text)?, written))
    }

    /// The grammar of any JSON object.
    pub fn json_object() -> Self {
        let schema = Json::Object(vec![("type".to_owned(), Json::from("object"))]);
        match Self::of_schema(&schema) {
            Ok((grammar, _)) => grammar,
            Err(error) => unreachable!("the schema is our own: {error}"),
        }
    }

    /// Whether a whole text satisfies the grammar.
    pub fn matches(&self, text: &[u8]) -> Result<bool, GrammarError> {
        let (mut machine, mut state) = Machine::new(Arc::clone(&self.rules));
        for &byte in text {
            machine.refill();
            state = machine.step(state, byte);
            if machine.is_crowded() {
                machine.tidy(std::slice::from_mut(&mut state));
            }
            if state == LOST {
                return Err(GrammarError::TooManyWays);
            }
        }
        Ok(machine.may_end(state))
    }
}

#[cfg(test)]
mod tests;
