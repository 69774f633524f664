//! The fields that a request may have, and how the server handles each.
//!
//! No field is silently ignored. Every field of every endpoint has a row in a table (`generation`,
//! `conversation`, `embedding`, `rerank`): it is read, it has no effect on the answer, only one value is
//! accepted, or it is rejected. A field without a row is rejected by name, with the most similar
//! known field. `null` counts as absent. A test checks that docs/reference/server-fields.md lists
//! the same rows.

mod conversation;
mod embedding;
mod generation;
mod rerank;
mod spelling;
#[cfg(test)]
mod tests;

use std::fmt;

use roci_lm::json::Json;

use crate::error::ApiError;
use crate::fields::{self, Fields, shown};

pub(crate) use conversation::{MESSAGE, TOOL};

/// Fields of an object, in groups that several objects share.
pub(crate) type Table = &'static [&'static [Field]];

/// An endpoint that accepts a body.
pub(crate) struct Endpoint {
    path: &'static str,
    fields: Table,
}

pub(crate) static CHAT: Endpoint =
    Endpoint { path: "/v1/chat/completions", fields: &[generation::FIELDS, conversation::FIELDS] };
pub(crate) static COMPLETIONS: Endpoint =
    Endpoint { path: "/v1/completions", fields: &[generation::FIELDS, generation::COMPLETIONS] };
pub(crate) static EMBEDDINGS: Endpoint = Endpoint { path: "/v1/embeddings", fields: &[embedding::FIELDS] };
pub(crate) static RERANK: Endpoint = Endpoint { path: "/v1/rerank", fields: &[rerank::FIELDS] };

static ENDPOINTS: [&Endpoint; 4] = [&CHAT, &COMPLETIONS, &EMBEDDINGS, &RERANK];

/// A field and its rule.
pub(crate) struct Field {
    name: &'static str,
    rule: Rule,
}

enum Rule {
    /// The endpoint reads it and validates its value.
    Read,
    /// Like `Read`; if it is an object, it has these fields.
    Object(Table),
    /// Like `Read`; the objects in the list have these fields.
    List(Table),
    /// Accepted with any value, because the answer does not depend on it.
    NoEffect,
    /// Not supported: only the neutral value is accepted. The text says what to do instead.
    Only(Neutral, &'static str),
    /// Not supported. The text says what to do instead.
    Refused(&'static str),
}

/// A value that disables a field's feature.
#[derive(Clone, Copy)]
enum Neutral {
    Flag(bool),
    /// An empty string, list or object.
    Empty,
    Exactly(f64),
    AtLeast(f64),
    AtMost(f64),
    Below(f64),
    /// One of these strings, or a list of them.
    Words(&'static [&'static str]),
}

const fn read(name: &'static str) -> Field {
    Field { name, rule: Rule::Read }
}

const fn object(name: &'static str, fields: Table) -> Field {
    Field { name, rule: Rule::Object(fields) }
}

const fn list(name: &'static str, fields: Table) -> Field {
    Field { name, rule: Rule::List(fields) }
}

const fn no_effect(name: &'static str) -> Field {
    Field { name, rule: Rule::NoEffect }
}

const fn only(name: &'static str, neutral: Neutral, instead: &'static str) -> Field {
    Field { name, rule: Rule::Only(neutral, instead) }
}

const fn refused(name: &'static str, instead: &'static str) -> Field {
    Field { name, rule: Rule::Refused(instead) }
}

impl Endpoint {
    /// The fields of a body, after checking that none is unknown or unsupported.
    pub(crate) fn fields<'a>(&self, body: &'a Json) -> Result<Fields<'a>, ApiError> {
        let fields = Fields::of(body, "")?;
        if let Some((name, _)) = present(&fields).find(|(name, _)| find(self.fields, name).is_none()) {
            return Err(self.unknown(name));
        }
        check(self.fields, &fields)?;
        Ok(fields)
    }

    /// A field of another endpoint is reported as such, not as misspelled.
    fn unknown(&self, name: &str) -> ApiError {
        let elsewhere = ENDPOINTS.iter().find(|other| find(other.fields, name).is_some_and(Rule::is_read));
        match elsewhere {
            Some(other) => {
                let what = format!("is a field of {}, not of {}", other.path, self.path);
                ApiError::field(shown(name), what).with_code("unknown_parameter")
            }
            None => unknown(self.fields, name, shown(name)),
        }
    }
}

/// The fields of a LoRA adapter with its scale.
pub(crate) fn adapter(value: &Json, path: String) -> Result<Fields<'_>, ApiError> {
    let fields = Fields::of(value, path)?;
    check(&[generation::ADAPTER], &fields)?;
    Ok(fields)
}

impl Rule {
    fn is_read(&self) -> bool {
        matches!(self, Self::Read | Self::Object(_) | Self::List(_))
    }
}

/// The fields that a client sent; `null` counts as absent.
fn present<'a>(fields: &Fields<'a>) -> impl Iterator<Item = &'a (String, Json)> {
    fields.entries().iter().filter(|(_, value)| *value != Json::Null)
}

fn find(table: Table, name: &str) -> Option<&'static Rule> {
    table.iter().copied().flatten().find(|field| field.name == name).map(|field| &field.rule)
}

/// Checks an object and all objects in it.
fn check(table: Table, fields: &Fields<'_>) -> Result<(), ApiError> {
    for (name, value) in present(fields) {
        let path = || fields.name(&shown(name));
        let unsupported = |what: String, code| Err(ApiError::field(path(), what).with_code(code));
        match (find(table, name), value) {
            (None, _) => return Err(unknown(table, name, path())),
            (Some(Rule::Object(inner)), Json::Object(_)) => check(inner, &Fields::of(value, path())?)?,
            (Some(Rule::List(inner)), Json::Array(items)) => {
                for (place, item) in items.iter().enumerate().filter(|(_, item)| item.as_object().is_some()) {
                    check(inner, &Fields::of(item, format!("{}[{place}]", path()))?)?;
                }
            }
            (Some(Rule::Only(neutral, instead)), value) if !neutral.is(value) => {
                let what = format!("is not supported: {instead}; only {neutral} is accepted");
                return unsupported(what, "unsupported_value");
            }
            (Some(Rule::Refused(instead)), _) => {
                return unsupported(format!("is not supported: {instead}"), "unsupported_parameter");
            }
            // A value of another type than the table states is rejected by the endpoint.
            (Some(_), _) => {}
        }
    }
    Ok(())
}

fn unknown(table: Table, name: &str, path: String) -> ApiError {
    let known = table.iter().copied().flatten().filter(|field| field.rule.is_read()).map(|field| field.name);
    let what = match spelling::nearest(name, known) {
        Some(near) => format!("is unknown: did you mean `{near}`?"),
        None => "is unknown: leave it out".to_owned(),
    };
    ApiError::field(path, what).with_code("unknown_parameter")
}

/// Keeps only the fields that are read.
pub(crate) fn read_fields(table: Table, value: &Json) -> Json {
    let Json::Object(entries) = value else { return value.clone() };
    let fields = entries.iter().filter(|(_, value)| *value != Json::Null).filter_map(|(name, value)| {
        let value = match (find(table, name)?, value) {
            (Rule::Object(inner), value) => read_fields(inner, value),
            (Rule::List(inner), Json::Array(items)) => {
                Json::Array(items.iter().map(|item| read_fields(inner, item)).collect())
            }
            (rule, value) if rule.is_read() => value.clone(),
            _ => return None,
        };
        Some((name.clone(), value))
    });
    Json::Object(fields.collect())
}

impl Neutral {
    fn is(self, value: &Json) -> bool {
        let number = |holds: &dyn Fn(f64) -> bool| fields::number(value).is_some_and(holds);
        match self {
            Self::Flag(flag) => *value == Json::Bool(flag),
            Self::Empty => match value {
                Json::String(text) => text.is_empty(),
                Json::Array(items) => items.is_empty(),
                Json::Object(entries) => entries.is_empty(),
                _ => false,
            },
            Self::Exactly(expected) => number(&|number| number == expected),
            Self::AtLeast(least) => number(&|number| number >= least),
            Self::AtMost(most) => number(&|number| number <= most),
            Self::Below(limit) => number(&|number| number < limit),
            Self::Words(words) => {
                let is_word = |value: &Json| value.as_str().is_some_and(|text| words.contains(&text));
                is_word(value) || value.as_array().is_some_and(|items| items.iter().all(is_word))
            }
        }
    }
}

impl fmt::Display for Neutral {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(formatter, "`{flag}`"),
            Self::Empty => formatter.write_str("an empty value"),
            Self::Exactly(value) => write!(formatter, "{value}"),
            Self::AtLeast(least) => write!(formatter, "{least} or more"),
            Self::AtMost(most) => write!(formatter, "{most} or less"),
            Self::Below(limit) => write!(formatter, "a number below {limit}"),
            Self::Words(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                formatter.write_str(&words.join(" or "))
            }
        }
    }
}
