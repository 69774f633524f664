//! Parses rules from TOML. Errors have file, line and reason.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use crate::fix::Change;
use crate::scan::LogPattern;

use super::condition::Condition;
use super::forbid::Api;
use super::matcher::Matcher;
use super::rule::{Confidence, Example, Reboot, Rule, Severity, Step};

/// An invalid rule file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {reason}")]
#[non_exhaustive]
pub struct RuleError {
    /// Path of the file, as given.
    pub file: String,
    /// Line number, from 1.
    pub line: usize,
    /// Description of the error.
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesDocument {
    /// Day when the sources of the rules in this file were last checked.
    checked: Option<String>,
    #[serde(default)]
    rule: Vec<Spanned<RuleDocument>>,
}

/// A scalar in a condition or an example.
#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Text(String),
    Whole(i64),
    Bool(bool),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Scalars {
    One(Scalar),
    Several(Vec<Scalar>),
}

type Conditions = BTreeMap<String, Scalars>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleDocument {
    id: String,
    title: String,
    severity: Severity,
    confidence: Confidence,
    #[serde(default)]
    when: Conditions,
    #[serde(default)]
    any: Vec<Conditions>,
    #[serde(default)]
    none: Vec<Conditions>,
    #[serde(default)]
    log: Vec<String>,
    #[serde(default)]
    likely: bool,
    #[serde(default)]
    strong: bool,
    since: Option<String>,
    until: Option<String>,
    checked: Option<String>,
    meaning: String,
    steps: Vec<Step>,
    reboot: Reboot,
    #[serde(alias = "lasts")]
    persistence: Option<String>,
    #[serde(alias = "expired")]
    outdated_advice: Option<String>,
    #[serde(default)]
    explains: Vec<String>,
    #[serde(default)]
    forbids: Vec<Api>,
    #[serde(default)]
    fix: Vec<Change>,
    sources: Vec<String>,
    fires: Vec<Conditions>,
    silent: Vec<Conditions>,
}

/// Parses a rule file. The topic of its rules is the file name without extension.
pub(super) fn load(file: &str, text: &str) -> Result<Vec<Rule>, RuleError> {
    let wrong = |at: usize, reason: String| RuleError { file: file.to_owned(), line: line_of(text, at), reason };
    let document: RulesDocument = toml::from_str(text)
        .map_err(|error| wrong(error.span().map_or(0, |span| span.start), one_line_of(error.message())))?;
    let name = file.rsplit('/').next().unwrap_or(file);
    let topic = name.strip_suffix(".toml").unwrap_or(name);
    let checked = document.checked;
    let build = |written: Spanned<RuleDocument>| {
        let at = written.span().start;
        let written = written.into_inner();
        let id = written.id.clone();
        rule(topic, written, checked.clone())
            .map_err(|reason| wrong(offset_of(&reason, text, at), format!("rule {id}: {reason}")))
    };
    let rules = document.rule.into_iter().map(build).collect::<Result<Vec<Rule>, _>>()?;
    for (index, rule) in rules.iter().enumerate() {
        if rules[..index].iter().any(|other| other.id == rule.id) {
            return Err(duplicate(file, text, &rule.id));
        }
    }
    Ok(rules)
}

/// The error for a duplicate ID, at its last occurrence in the file.
pub(super) fn duplicate(file: &str, text: &str, id: &str) -> RuleError {
    let at = text.rfind(&format!("id = \"{id}\"")).unwrap_or(0);
    let reason = format!("rule {id}: the id is already in use");
    RuleError { file: file.to_owned(), line: line_of(text, at), reason }
}

fn rule(topic: &str, written: RuleDocument, checked: Option<String>) -> Result<Rule, String> {
    if written.when.is_empty() && written.any.is_empty() && written.log.is_empty() {
        return Err("it has no condition: give `when`, `any` or `log`".into());
    }
    for (name, is_empty) in [
        ("steps", written.steps.is_empty()),
        ("sources", written.sources.is_empty()),
        ("fires", written.fires.is_empty()),
        ("silent", written.silent.is_empty()),
    ] {
        if is_empty {
            return Err(format!("`{name}` is empty"));
        }
    }
    if !written.forbids.is_empty() && written.severity > Severity::High {
        return Err("`forbids`: only a rule of severity `blocker` or `high` may forbid something".into());
    }
    // A placeholder has no value yet.
    for change in written.fix.iter().filter(|change| !change.text().contains('{')) {
        change.check().map_err(|reason| format!("`fix`: {reason}"))?;
    }
    if written.strong && written.log.is_empty() {
        return Err("`strong`: only a rule with `log` patterns can be strong".into());
    }
    let checked = written.checked.or(checked);
    if let Some(day) = checked.as_deref().filter(|day| day_number(day).is_none()) {
        return Err(format!("`checked`: {day} is no day such as 2026-11-20"));
    }
    let conditions = |tables: Vec<Conditions>| tables.into_iter().map(condition).collect::<Result<Vec<_>, _>>();
    Ok(Rule {
        id: written.id,
        topic: topic.to_owned(),
        title: written.title,
        severity: written.severity,
        confidence: written.confidence,
        meaning: written.meaning.split_whitespace().collect::<Vec<_>>().join(" "),
        steps: written.steps,
        reboot: written.reboot,
        persistence: written.persistence,
        outdated_advice: written.outdated_advice,
        explains: written.explains,
        forbids: written.forbids,
        fix: written.fix,
        sources: written.sources,
        since: written.since,
        until: written.until,
        checked,
        likely: written.likely,
        strong: written.strong,
        when: condition(written.when)?,
        any: conditions(written.any)?,
        none: conditions(written.none)?,
        log: written
            .log
            .iter()
            .map(|text| LogPattern::parse(text))
            .collect::<Result<_, _>>()
            .map_err(|reason| format!("`log`: {reason}"))?,
        fires: written.fires.into_iter().map(example).collect(),
        silent: written.silent.into_iter().map(example).collect(),
    })
}

/// Days since 1970 of a day such as `2026-11-20`.
pub(crate) fn day_number(day: &str) -> Option<u64> {
    let mut numbers = day.splitn(3, '-').map(str::parse::<u64>);
    let (Some(Ok(year)), Some(Ok(month)), Some(Ok(day))) = (numbers.next(), numbers.next(), numbers.next()) else {
        return None;
    };
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years start in March, so that the leap day is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    days.checked_sub(719_468)
}

fn condition(table: Conditions) -> Result<Condition, String> {
    let fact = |(name, words): (String, Scalars)| {
        let matchers = words.texts().iter().map(|text| Matcher::parse(text)).collect::<Result<Vec<_>, _>>();
        matchers.map(|matchers| (name.clone(), matchers)).map_err(|reason| format!("`{name}`: {reason}"))
    };
    table.into_iter().map(fact).collect::<Result<_, _>>().map(Condition)
}

fn example(table: Conditions) -> Example {
    let mut example = Example::default();
    for (name, words) in table {
        for value in words.texts() {
            if name == "log" {
                example.log = value;
            } else {
                example.facts.push((name.clone(), value));
            }
        }
    }
    example
}

impl Scalars {
    fn texts(&self) -> Vec<String> {
        let text = |word: &Scalar| match word {
            Scalar::Text(text) => text.clone(),
            Scalar::Whole(number) => number.to_string(),
            Scalar::Bool(flag) => flag.to_string(),
        };
        match self {
            Self::One(word) => vec![text(word)],
            Self::Several(words) => words.iter().map(text).collect(),
        }
    }
}

/// Offset of the key that a reason such as "`log`: …" names, within the rule at `start`; otherwise
/// `start`.
pub(super) fn offset_of(reason: &str, text: &str, start: usize) -> usize {
    let Some(word) = reason.strip_prefix('`').and_then(|rest| rest.split_once('`')).map(|(word, _)| word) else {
        return start;
    };
    let rest = text.get(start..).unwrap_or_default();
    let header = "[[rule]]";
    let end =
        rest.get(header.len()..).and_then(|behind| behind.find(header)).map_or(rest.len(), |end| end + header.len());
    let is_name =
        |at: &usize| !rest[at + word.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
    let found = rest[..end].match_indices(word).map(|(at, _)| at).find(is_name);
    found.map_or(start, |at| start + at)
}

pub(super) fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}

fn one_line_of(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;

    fn error(text: &str) -> String {
        load("rules/x.toml", text).expect_err("it is wrong").to_string()
    }

    const GOOD: &str = r#"
[[rule]]
id = "X-01"
title = "t"
severity = "low"
confidence = "C"
when = { "env.A" = "1" }
meaning = "m"
steps = [{ say = "s" }]
reboot = "none"
sources = ["u"]
fires = [{ "env.A" = "1" }]
silent = [{ "env.A" = "2" }]
"#;

    #[test]
    fn renamed_keys_are_read_under_both_names() {
        for (current, old) in [("persistence", "lasts"), ("outdated_advice", "expired")] {
            for key in [current, old] {
                let rules = load("rules/x.toml", &format!("{GOOD}{key} = \"text\"\n")).expect("it is right");
                let found = match current {
                    "persistence" => &rules[0].persistence,
                    _ => &rules[0].outdated_advice,
                };
                assert_eq!(found.as_deref(), Some("text"), "{key}");
            }
        }
    }

    #[test]
    fn a_wrong_file_gives_file_line_and_reason() {
        assert_eq!(load("rules/x.toml", GOOD).expect("it is right")[0].topic, "x");
        assert!(error("[[rule]\n").starts_with("rules/x.toml:1: "));
        let misspelt = GOOD.replace("severity = \"low\"", "severity = \"lower\"");
        assert!(error(&misspelt).starts_with("rules/x.toml:5: "), "{}", error(&misspelt));
        let unknown = format!("{GOOD}tilte = \"t\"\n");
        assert!(error(&unknown).contains("tilte"), "{}", error(&unknown));
        let order = GOOD.replace("\"env.A\" = \"1\" }\nmeaning", "\"env.A\" = \">=x\" }\nmeaning");
        assert_eq!(error(&order), "rules/x.toml:7: rule X-01: `env.A`: `x` is not a version, number or size");
        let mild = GOOD.replace("meaning", "forbids = [\"rocm\"]\nmeaning");
        assert_eq!(
            error(&mild),
            "rules/x.toml:8: rule X-01: `forbids`: only a rule of severity `blocker` or `high` may forbid something"
        );
        let api = mild.replace("\"rocm\"", "\"rocn\"").replace("\"low\"", "\"high\"");
        assert!(error(&api).contains("rocn") && error(&api).contains("opencl"), "{}", error(&api));
        let fix = GOOD.replace("meaning", "fix = [{ kernel_parameter = \"a=$(x)\" }]\nmeaning");
        assert_eq!(error(&fix), "rules/x.toml:8: rule X-01: `fix`: `a=$(x)` is not a valid value of this change");
        let kind = fix.replace("kernel_parameter", "kernel_paramter");
        assert!(error(&kind).contains("kernel_paramter"), "{}", error(&kind));
        let regex = GOOD.replace("meaning", "log = [\"(\"]\nmeaning");
        assert!(error(&regex).starts_with("rules/x.toml:8: rule X-01: `log`: "), "{}", error(&regex));
    }

    #[test]
    fn an_empty_value_is_a_value() {
        let bare = GOOD.replace("\"env.A\" = \"1\" }\nmeaning", "\"cmdline.nomodeset\" = \"\" }\nmeaning");
        assert!(load("rules/x.toml", &bare).is_ok());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn arbitrary_files_do_not_panic(
            edits in vec((any::<Index>(), 0_u8..4, "[\\[\\]{}()\"'=\\\\/!$<>,.*+?|a-z0-9 \n\u{0}é]{0,6}"), 1..5)
        ) {
            let mut text = GOOD.replace("meaning =", "log = ['a(?P<b>c+)']\nexplains = [\"X-02\"]\nmeaning =");
            for (at, how, new) in edits {
                let ends: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
                let at = ends.get(at.index(ends.len().max(1))).copied().unwrap_or(0);
                let line_end = text[at..].find('\n').map_or(text.len(), |end| at + end);
                match how {
                    0 => text.insert_str(at, &new),
                    1 => text.replace_range(at..line_end, &new),
                    2 => text.truncate(at),
                    _ => {
                        let twice = text[at..line_end].to_owned();
                        text.insert_str(at, &twice);
                    }
                }
            }
            if let Err(error) = load("rules/x.toml", &text) {
                prop_assert!(!error.reason.is_empty() && !error.reason.contains('\n'), "{error:?}");
                prop_assert!((1..=text.split('\n').count()).contains(&error.line), "{error} of {text}");
            }
        }
    }
}
