//! All rules: built-in ones and those of a user's folder.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::scan::{LogPattern, PatternMatch, Scan, Scanner};

use super::evaluate::{LogLine, RuleMatches};
use super::load::{RuleError, duplicate, load};
use super::rule::Rule;

/// A set of rules that can be applied to facts and logs.
#[derive(Debug)]
pub struct RuleSet {
    rules: Vec<Rule>,
    scanner: Scanner,
    /// For each pattern of the scanner, its rule.
    owners: Vec<usize>,
}

include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// Texts of the built-in rules.
pub(crate) fn builtin_texts() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().map(|(_, text)| *text)
}

/// Maximum size of a rule file, in bytes.
const LARGEST: u64 = 4 << 20;

fn read_text(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    crate::root::open(path)?.take(LARGEST).read_to_string(&mut text)?;
    Ok(text)
}

impl RuleSet {
    /// The built-in rules.
    ///
    /// # Errors
    /// If a built-in file is invalid; a test checks them.
    pub fn builtin() -> Result<Self, RuleError> {
        Self::read(BUILTIN.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())))
    }

    /// The built-in rules and those of the user's folder, if it exists: `roci/rules` in
    /// `XDG_CONFIG_HOME` or `~/.config`, from the given variables.
    ///
    /// # Errors
    /// As for [`Self::with_folder`].
    pub fn of_user(environment: &BTreeMap<String, String>) -> Result<Self, RuleError> {
        let config = environment.get("XDG_CONFIG_HOME").filter(|path| path.starts_with('/')).map(PathBuf::from);
        let config = config.or_else(|| Some(PathBuf::from(environment.get("HOME")?).join(".config")));
        match config.map(|config| config.join("roci/rules")).filter(|folder| folder.is_dir()) {
            Some(folder) => Self::with_folder(&folder),
            None => Self::builtin(),
        }
    }

    /// The built-in rules and those of a folder's `.toml` files. A rule with a known ID replaces
    /// the built-in one.
    ///
    /// # Errors
    /// If a folder or file cannot be read or is invalid.
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
        let mut own = Vec::new();
        for path in paths {
            let text = read_text(&path).map_err(|error| wrong(&path, error))?;
            own.push((path.display().to_string(), text));
        }
        files.extend(own.iter().cloned());
        let rule_set = Self::read(files.into_iter())?;
        match rule_set.check(&own).into_iter().next() {
            Some(error) => Err(error),
            None => Ok(rule_set),
        }
    }

    fn read(files: impl Iterator<Item = (String, String)>) -> Result<Self, RuleError> {
        let mut rules: Vec<Rule> = Vec::new();
        for (number, (file, text)) in files.enumerate() {
            for rule in load(&file, &text)? {
                match rules.iter_mut().find(|known| known.id == rule.id) {
                    // Only user files replace rules.
                    Some(_) if number < BUILTIN.len() => return Err(duplicate(&file, &text, &rule.id)),
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

    /// All rules.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule with this ID, ignoring case.
    pub fn find(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id.eq_ignore_ascii_case(id))
    }

    /// Patterns of all rules.
    pub(crate) fn patterns(&self) -> &[LogPattern] {
        self.scanner.patterns()
    }

    /// The lines that each rule's patterns match.
    pub(crate) fn scan(&self, log: &str) -> Vec<RuleMatches> {
        let mut hits = vec![RuleMatches::default(); self.rules.len()];
        // The last lines are copied once, at the end.
        let mut last: Vec<Option<PatternMatch<'_>>> = vec![None; self.rules.len()];
        self.scanner.scan(log, |hit| {
            let rule = self.owners[hit.pattern];
            let hits = &mut hits[rule];
            // Another pattern of the rule may have matched the line.
            if last[rule].is_none_or(|last| last.number != hit.number) {
                hits.numbers.push(hit.number);
                if last[rule].is_none() {
                    hits.captures = self.scanner.pattern(hit.pattern).groups(hit.line).into_iter().collect();
                    hits.lines.push(LogLine::new(hit.number, hit.line));
                }
                last[rule] = Some(hit);
            }
            Scan::Continue
        });
        for (hits, last) in hits.iter_mut().zip(last) {
            if let Some(last) = last.filter(|_| hits.numbers.len() > 1) {
                hits.lines.push(LogLine::new(last.number, last.line));
            }
        }
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::super::load::day_number;
    use super::*;

    #[test]
    fn every_rule_is_valid() {
        let rule_set = RuleSet::builtin().expect("the rules are right");
        let files: Vec<_> = BUILTIN.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
        let wrong: Vec<_> = rule_set.check(&files).iter().map(ToString::to_string).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn no_rule_needs_every_line() {
        let rule_set = RuleSet::builtin().expect("the rules are right");
        assert_eq!(rule_set.scanner.without_literals().collect::<Vec<_>>(), [""; 0], "these make a long log slow");
    }

    #[test]
    fn sources_were_checked_within_a_year() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a date after 1970");
        let today = now.as_secs() / 86_400;
        let rule_set = RuleSet::builtin().expect("the rules are right");
        let is_old = |rule: &&Rule| {
            let checked = rule.checked.as_deref().and_then(day_number);
            checked.is_none_or(|day| today > day + 366)
        };
        let old: Vec<_> = rule_set.rules().iter().filter(is_old).map(|rule| rule.id.as_str()).collect();
        assert!(
            old.is_empty(),
            "the sources of these rules were last checked more than a year ago, or never: {}. Read their sources \
             again, correct the rules, and set `checked` in their files to that day.",
            old.join(", ")
        );
    }

    #[test]
    fn the_documented_number_of_rules_exists() {
        let rule_set = RuleSet::builtin().expect("the rules are right");
        let rules = rule_set.rules().len();
        assert!(rules >= 150, "{rules} rules");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        for file in ["docs/guide/doctor.md", "CHANGELOG.md"] {
            let text = std::fs::read_to_string(root.join(file)).expect("it exists");
            assert!(text.contains(&format!(" {rules} rules")), "{file} has another number than {rules}");
        }
    }

    #[test]
    fn a_folder_adds_rules_and_replaces_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let rule = r#"[[rule]]
id = "KFD-01"
title = "mine"
severity = "low"
confidence = "D"
when = { "env.ROCI_MINE" = "1" }
meaning = "m"
steps = [{ say = "s" }]
reboot = "none"
sources = ["me"]
fires = [{ "env.ROCI_MINE" = "1" }]
silent = [{ "env.ROCI_MINE" = "2" }]
"#;
        std::fs::write(folder.path().join("mine.toml"), rule).expect("it can be written");
        let rule_set = RuleSet::with_folder(folder.path()).expect("the rules are right");
        assert_eq!(rule_set.find("kfd-01").map(|rule| rule.title.as_str()), Some("mine"));
        let wrong = |from: &str, to: &str| {
            std::fs::write(folder.path().join("mine.toml"), rule.replace(from, to)).expect("it can be written");
            let error = RuleSet::with_folder(folder.path()).expect_err("it is wrong").to_string();
            error.rsplit('/').next().unwrap_or_default().to_owned()
        };
        assert_eq!(
            wrong("when = { \"env.ROCI_MINE\"", "when = { \"gpu.targte\""),
            "mine.toml:6: rule KFD-01: `gpu.targte`: there is no such fact"
        );
        assert_eq!(
            wrong("reboot", "explains = [\"KFD-99\"]\nreboot"),
            "mine.toml:9: rule KFD-01: `explains`: there is no rule `KFD-99`"
        );
        assert_eq!(
            wrong("say = \"s\"", "say = \"{card}\""),
            "mine.toml:8: rule KFD-01: `{card}` is neither a group of a `log` pattern nor a fact"
        );
        assert_eq!(
            wrong("silent = [{ \"env.ROCI_MINE\" = \"2\"", "silent = [{ \"env.ROCI_MINE\" = \"1\""),
            "mine.toml:12: rule KFD-01: `silent`: example 1 fires it"
        );
        assert_eq!(
            wrong("fires = [{ \"env.ROCI_MINE\" = \"1\"", "fires = [{ \"env.ROCI_MINE\" = \"3\""),
            "mine.toml:11: rule KFD-01: `fires`: example 1 does not fire it"
        );
        std::fs::write(folder.path().join("mine.toml"), "[[rule]]\nid = 3\n").expect("it can be written");
        let error = RuleSet::with_folder(folder.path()).expect_err("it is wrong").to_string();
        assert!(error.contains("mine.toml:2: "), "{error}");
        std::fs::write(folder.path().join("mine.toml"), format!("{rule}{rule}")).expect("it can be written");
        let twice = RuleSet::with_folder(folder.path()).expect_err("it is there twice").to_string();
        assert!(twice.ends_with("mine.toml:14: rule KFD-01: the id is already in use"), "{twice}");
        let error = RuleSet::with_folder(&folder.path().join("gone")).expect_err("there is none").to_string();
        assert!(error.contains("it cannot be read"), "{error}");
    }
}
