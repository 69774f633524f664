//! Conditions: names of facts with matchers.

use crate::facts::Facts;

use super::evaluate::{Evidence, Truth};
use super::matcher::Matcher;

/// Facts that must all match; for each, one of its matchers must match.
#[derive(Clone, Debug, Default)]
pub(super) struct Condition(pub(super) Vec<(String, Vec<Matcher>)>);

impl Condition {
    /// Names of the facts.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Names of the facts, and of the facts they are compared with.
    pub(super) fn all_names(&self) -> impl Iterator<Item = &str> {
        let compared = self.0.iter().flat_map(|(_, matchers)| matchers.iter().flat_map(Matcher::facts));
        self.names().chain(compared)
    }

    pub(super) fn holds(&self, facts: &Facts, gpu: Option<usize>) -> Truth {
        self.parts(facts, gpu).map(|(_, truth)| truth).fold(Truth::Yes, Truth::and)
    }

    /// Facts whose value is unknown.
    pub(super) fn unknown<'a>(&'a self, facts: &'a Facts, gpu: Option<usize>) -> impl Iterator<Item = &'a str> {
        self.parts(facts, gpu).filter(|(_, truth)| *truth == Truth::Maybe).map(|(name, _)| name)
    }

    /// Facts that contradict the condition.
    pub(super) fn against<'a>(&'a self, facts: &'a Facts, gpu: Option<usize>) -> impl Iterator<Item = Evidence> + 'a {
        let names = self.parts(facts, gpu).filter(|(_, truth)| *truth == Truth::No).map(|(name, _)| name);
        names.map(move |name| match facts.get(gpu, name).first() {
            Some(fact) => {
                Evidence { name: name.into(), value: Some(fact.value.clone()), location: fact.location.clone() }
            }
            None => Evidence { name: name.into(), value: None, location: String::new() },
        })
    }

    /// Result for each fact.
    fn parts<'a>(&'a self, facts: &'a Facts, gpu: Option<usize>) -> impl Iterator<Item = (&'a str, Truth)> {
        self.0.iter().map(move |(name, matchers)| {
            let values = facts.get(gpu, name);
            let holds = matchers.iter().map(|matcher| matcher.holds(name, values, facts, gpu));
            (name.as_str(), holds.fold(Truth::No, Truth::or))
        })
    }

    /// Facts that support the condition.
    pub(super) fn evidence(&self, facts: &Facts, gpu: Option<usize>) -> Vec<Evidence> {
        let mut found = Vec::new();
        for (name, matchers) in &self.0 {
            let values = facts.get(gpu, name);
            if values.is_empty() && facts.knows(name) {
                found.push(Evidence { name: name.clone(), value: None, location: String::new() });
            }
            let shows = |value: &str| matchers.iter().any(|matcher| matcher.is_shown_by(value, facts, gpu));
            for fact in values.iter().filter(|fact| shows(&fact.value)) {
                let (value, location) = (Some(fact.value.clone()), fact.location.clone());
                found.push(Evidence { name: name.clone(), value, location });
            }
        }
        found
    }
}
