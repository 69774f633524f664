//! Errors in a file, with their position.

use std::collections::BTreeSet;
use std::ops::Range as Span;

use toml::Spanned;

use super::values::near;
use crate::message::{cut, listed};

/// An error and its position.
pub(super) struct ParseError {
    pub(super) span: Option<Span<usize>>,
    pub(super) reason: String,
    pub(super) hint: Option<String>,
}

impl ParseError {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self { span: None, reason: reason.into(), hint: None }
    }

    pub(super) fn at(mut self, span: Span<usize>) -> Self {
        self.span.get_or_insert(span);
        self
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<String> for ParseError {
    fn from(reason: String) -> Self {
        // A message in this form includes its remedy.
        match reason.split_once("; ") {
            Some((reason, hint)) => Self::new(reason).hint(hint),
            None => Self::new(reason),
        }
    }
}

pub(super) fn unique<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), ParseError> {
    let mut seen = BTreeSet::new();
    for name in names {
        if name.is_empty() {
            return Err(ParseError::new(format!("a {what} has no name")).hint("write `name = \"…\"` into its table"));
        }
        if !seen.insert(name) {
            let reason = format!("the {what} `{}` is defined twice", cut(name));
            return Err(ParseError::new(reason).hint("rename one of them"));
        }
    }
    Ok(())
}

pub(super) fn unknown<'a>(what: &str, name: &Spanned<String>, known: impl Iterator<Item = &'a str>) -> ParseError {
    no_such(what, name.get_ref(), known).at(name.span())
}

pub(super) fn no_such<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> ParseError {
    let known: Vec<&str> = known.collect();
    let hint = match near(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.is_empty() => "there is none".to_owned(),
        None => format!("there are: {}", listed(&known)),
    };
    ParseError::new(format!("there is no {what} `{}`", cut(name))).hint(hint)
}
