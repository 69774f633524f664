//! Conditions: names of facts with what each must be.

use crate::facts::Facts;

use super::judge::{Evidence, Truth};
use super::matcher::Matcher;

/// Facts that must be so, all of them; for each, one of the matchers must hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Condition(pub(super) Vec<(String, Vec<Matcher>)>);

impl Condition {
    /// The facts it is about.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Whether it holds.
    pub(super) fn holds(&self, facts: &Facts, gpu: Option<usize>) -> Truth {
        self.0
            .iter()
            .map(|(name, matchers)| {
                let values = facts.get(gpu, name);
                matchers.iter().map(|matcher| matcher.holds(name, values, facts, gpu)).fold(Truth::No, Truth::or)
            })
            .fold(Truth::Yes, Truth::and)
    }

    /// The facts that show it.
    pub(super) fn evidence(&self, facts: &Facts, gpu: Option<usize>) -> Vec<Evidence> {
        let mut found = Vec::new();
        for (name, matchers) in &self.0 {
            let values = facts.get(gpu, name);
            if values.is_empty() && facts.knows(name) {
                found.push(Evidence { name: name.clone(), value: None, place: String::new() });
            }
            for fact in values.iter().filter(|fact| matchers.iter().any(|matcher| matcher.is_shown_by(&fact.value))) {
                let (value, place) = (Some(fact.value.clone()), fact.place.clone());
                found.push(Evidence { name: name.clone(), value, place });
            }
        }
        found
    }
}
