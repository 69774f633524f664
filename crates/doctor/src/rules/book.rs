//! All rules: those that come along, and those of a folder of the user's.

use std::path::Path;

use crate::scan::{LogPattern, Scanner};

use super::judge::{Hits, LogLine};
use super::load::{RuleError, load};
use super::rule::Rule;

/// Rules, ready to be laid over facts and logs.
#[derive(Debug)]
pub struct Book {
    rules: Vec<Rule>,
    scanner: Scanner,
    /// The rule that a pattern of the scanner belongs to.
    owners: Vec<usize>,
}

include!(concat!(env!("OUT_DIR"), "/rules.rs"));

impl Book {
    /// The rules that come along.
    ///
    /// # Errors
    /// A wrong file, which the tests do not let through.
    pub fn builtin() -> Result<Self, RuleError> {
        Self::read(BUILTIN.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())))
    }

    /// The rules that come along and those of a folder: its files that end in `.toml`. One with a known name replaces it.
    ///
    /// # Errors
    /// A folder or file that cannot be read, or a wrong file.
    pub fn with_folder(folder: &Path) -> Result<Self, RuleError> {
        let wrong = |path: &Path, error: std::io::Error| RuleError {
            file: path.display().to_string(),
            line: 1,
            reason: format!("it cannot be read: {error}"),
        };
        let mut files: Vec<_> = BUILTIN.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(|error| wrong(folder, error))? {
            let path = entry.map_err(|error| wrong(folder, error))?.path();
            if path.extension().is_some_and(|ending| ending == "toml") {
                paths.push(path);
            }
        }
        paths.sort();
        for path in paths {
            let text = std::fs::read_to_string(&path).map_err(|error| wrong(&path, error))?;
            files.push((path.display().to_string(), text));
        }
        Self::read(files.into_iter())
    }

    fn read(files: impl Iterator<Item = (String, String)>) -> Result<Self, RuleError> {
        let mut rules: Vec<Rule> = Vec::new();
        for (file, text) in files {
            for rule in load(&file, &text)? {
                match rules.iter_mut().find(|known| known.id == rule.id) {
                    Some(known) => *known = rule,
                    None => rules.push(rule),
                }
            }
        }
        let patterns =
            rules.iter().enumerate().flat_map(|(index, rule)| rule.log.iter().map(move |one| (index, one.clone())));
        let (owners, patterns): (Vec<usize>, Vec<LogPattern>) = patterns.unzip();
        Ok(Self { rules, scanner: Scanner::new(patterns), owners })
    }

    /// All of them.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// One by its name, in capitals or not.
    pub fn find(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id.eq_ignore_ascii_case(id))
    }

    /// The lines that each rule's patterns match.
    pub(super) fn scan(&self, log: &str) -> Vec<Hits> {
        let mut hits = vec![Hits::default(); self.rules.len()];
        self.scanner.scan(log, |pattern, number, line, captures| {
            let hits = &mut hits[self.owners[pattern]];
            // Another pattern of the rule may have found the line.
            if hits.lines.last().is_some_and(|last| last.number == number) {
                return;
            }
            hits.count += 1;
            if hits.count == 1 {
                hits.captures = self.scanner.pattern(pattern).groups(captures).into_iter().collect();
            }
            hits.lines.truncate(1);
            hits.lines.push(LogLine { number, text: line.to_owned() });
        });
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Facts;
    use crate::rules::rule::Example;

    fn fires(book: &Book, rule: &Rule, example: &Example) -> bool {
        let mut facts = Facts::complete();
        facts.gpus.push(crate::Table::default());
        for (name, value) in &example.facts {
            let table = if name.starts_with("gpu.") { &mut facts.gpus[0] } else { &mut facts.machine };
            table.add(name, value, "the example");
        }
        book.judge(&facts, &example.log).iter().any(|finding| finding.rule.id == rule.id)
    }

    #[test]
    fn every_rule_fires_on_its_examples_and_on_no_near_miss() {
        let book = Book::builtin().expect("the rules are right");
        let mut wrong = Vec::new();
        for rule in book.rules() {
            let examples = rule.fires.iter().map(|example| (example, true));
            for (example, wanted) in examples.chain(rule.silent.iter().map(|example| (example, false))) {
                if fires(&book, rule, example) != wanted {
                    wrong.push(format!("{}: {example:?} should{} fire it", rule.id, if wanted { "" } else { " not" }));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn there_are_as_many_rules_as_are_promised() {
        let book = Book::builtin().expect("the rules are right");
        assert!(book.rules().len() >= 150, "{} rules", book.rules().len());
    }
}
