//! What is wrong with a file, and where.

use std::collections::BTreeSet;
use std::ops::Range as Span;

use toml::Spanned;

use super::values::near;
use crate::words::{cut, listed};

/// What is wrong, and where.
pub(super) struct Fault {
    pub(super) span: Option<Span<usize>>,
    pub(super) reason: String,
    pub(super) hint: Option<String>,
}

impl Fault {
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

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        // What is written so has its remedy behind it.
        match reason.split_once("; ") {
            Some((reason, hint)) => Self::new(reason).hint(hint),
            None => Self::new(reason),
        }
    }
}

pub(super) fn unique<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Fault> {
    let mut seen = BTreeSet::new();
    for name in names {
        if name.is_empty() {
            return Err(Fault::new(format!("a {what} has no name")).hint("write `name = \"…\"` into its table"));
        }
        if !seen.insert(name) {
            let reason = format!("there are two of the {what} `{}`", cut(name));
            return Err(Fault::new(reason).hint("give one of them another name"));
        }
    }
    Ok(())
}

pub(super) fn unknown<'a>(what: &str, name: &Spanned<String>, known: impl Iterator<Item = &'a str>) -> Fault {
    no_such(what, name.get_ref(), known).at(name.span())
}

pub(super) fn no_such<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Fault {
    let known: Vec<&str> = known.collect();
    let hint = match near(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.is_empty() => "there is none".to_owned(),
        None => format!("there are: {}", listed(&known)),
    };
    Fault::new(format!("there is no {what} `{}`", cut(name))).hint(hint)
}
