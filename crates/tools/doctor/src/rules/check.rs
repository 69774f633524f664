//! Checks rules that parse: facts that nothing gathers, placeholders that nothing fills, examples
//! that do not behave as declared. A test checks the built-in rules; user rules are checked when
//! they load.

use crate::facts::{Facts, Table};
use crate::snapshot::FactNames;

use super::evaluate::fires;
use super::load::{RuleError, line_of, load, offset_of};
use super::rule::{Example, Rule};
use super::rule_set::RuleSet;

impl RuleSet {
    /// Errors in the rules of these files, which are part of the rule set.
    pub(super) fn check(&self, files: &[(String, String)]) -> Vec<RuleError> {
        let known = FactNames::new();
        let mut wrong = Vec::new();
        for (file, text) in files {
            for rule in load(file, text).into_iter().flatten() {
                let start = start_of(text, &rule.id);
                wrong.extend(self.reasons(&rule, &known).into_iter().map(|reason| RuleError {
                    file: file.clone(),
                    line: line_of(text, offset_of(&reason, text, start)),
                    reason: format!("rule {}: {reason}", rule.id),
                }));
            }
        }
        wrong
    }

    fn reasons(&self, rule: &Rule, known: &FactNames) -> Vec<String> {
        let mut reasons = Vec::new();
        let conditions = [&rule.when].into_iter().chain(&rule.any).chain(&rule.none);
        let facts = conditions.flat_map(|condition| condition.all_names()).filter(|name| !known.has(name));
        reasons.extend(facts.map(|name| format!("`{name}`: there is no such fact")));
        for other in &rule.explains {
            match self.find(other) {
                None => reasons.push(format!("`explains`: there is no rule `{other}`")),
                Some(other) if other.explains.contains(&rule.id) => {
                    reasons.push(format!("`{}` and it explain each other", other.id));
                }
                Some(_) => {}
            }
        }
        let is_filled = |word: &str| {
            if word.contains('.') { known.has(word) } else { rule.log.iter().any(|pattern| pattern.has_group(word)) }
        };
        let words = rule.words().into_iter().filter(|word| !is_filled(word));
        reasons.extend(words.map(|word| format!("`{{{word}}}` is neither a group of a `log` pattern nor a fact")));
        let Some(index) = self.rules().iter().position(|known| known.id == rule.id) else { return reasons };
        for (name, examples, expected) in [("fires", &rule.fires, true), ("silent", &rule.silent, false)] {
            let not = if expected { "does not fire it" } else { "fires it" };
            let bad = examples.iter().enumerate().filter(|(_, example)| self.fires(index, example) != expected);
            reasons.extend(bad.map(|(number, _)| format!("`{name}`: example {} {not}", number + 1)));
        }
        reasons
    }

    fn fires(&self, rule: usize, example: &Example) -> bool {
        let mut facts = Facts::complete();
        facts.gpus.push(Table::default());
        for (name, value) in &example.facts {
            let table = if name.starts_with("gpu.") { &mut facts.gpus[0] } else { &mut facts.machine };
            table.add(name, value, "the example");
        }
        fires(&self.rules()[rule], &facts, &self.scan(&example.log)[rule])
    }
}

/// Offset of a rule in its file.
fn start_of(text: &str, id: &str) -> usize {
    let is_id = |line: &str| {
        let value = line.trim().strip_prefix("id").and_then(|rest| rest.trim().strip_prefix('='));
        value.and_then(|value| value.split(['"', '\'']).nth(1)) == Some(id)
    };
    let starts: Vec<_> = text.match_indices("[[rule]]").map(|(at, _)| at).collect();
    let end = |at: usize| starts.iter().find(|next| **next > at).copied().unwrap_or(text.len());
    starts.iter().find(|&&at| text[at..end(at)].lines().any(is_id)).copied().unwrap_or(0)
}
