//! `roci doctor rules` and `roci doctor explain`.

use roci_base::renamed_key;
use roci_doctor::fix::Change;
use roci_doctor::{Api, Reboot, Rule, RuleSet, Severity, Step, finding_text};
use serde::Serialize;

use super::error::DoctorError;
use crate::cli::{DoctorExplainArgs, DoctorRulesArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::{Column, FAINT, Printer, one_line};

renamed_key!(persistence: "persistence", formerly "lasts");
renamed_key!(outdated_advice: "outdated_advice", formerly "expired");

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    version: u32,
    rules: Vec<RuleReport<'a>>,
}

#[derive(Serialize)]
struct RuleReport<'a> {
    id: &'a str,
    topic: &'a str,
    title: &'a str,
    severity: Severity,
    confidence: roci_doctor::Confidence,
    meaning: &'a str,
    steps: &'a [Step],
    reboot: Reboot,
    #[serde(flatten, serialize_with = "persistence::serialize")]
    persistence: Option<&'a str>,
    #[serde(flatten, serialize_with = "outdated_advice::serialize")]
    outdated_advice: Option<&'a str>,
    /// Programs that use one of these must not be started if the rule applies.
    forbids: &'a [Api],
    /// Changes that `roci doctor fix` can make.
    fix: &'a [Change],
    /// Version or day from which the problem exists.
    since: Option<&'a str>,
    /// Version or day from which it no longer exists.
    until: Option<&'a str>,
    /// Day when the sources were last checked.
    checked: Option<&'a str>,
    sources: &'a [String],
}

impl<'a> From<&'a Rule> for RuleReport<'a> {
    fn from(rule: &'a Rule) -> Self {
        Self {
            id: &rule.id,
            topic: &rule.topic,
            title: &rule.title,
            severity: rule.severity,
            confidence: rule.confidence,
            meaning: &rule.meaning,
            steps: &rule.steps,
            reboot: rule.reboot,
            persistence: rule.persistence.as_deref(),
            outdated_advice: rule.outdated_advice.as_deref(),
            forbids: &rule.forbids,
            fix: &rule.fix,
            since: rule.since.as_deref(),
            until: rule.until.as_deref(),
            checked: rule.checked.as_deref(),
            sources: &rule.sources,
        }
    }
}

/// Lists rules.
pub(super) fn list(
    rule_set: &RuleSet,
    arguments: &DoctorRulesArgs,
    json: bool,
    printer: &Printer,
) -> Result<ExitStatus, CliError> {
    let matches = |rule: &&Rule| {
        let text = arguments.word.as_deref().unwrap_or_default().to_lowercase();
        [&rule.id, &rule.topic, &rule.title].iter().any(|field| field.to_lowercase().contains(&text))
    };
    let rules: Vec<_> = rule_set.rules().iter().filter(matches).collect();
    if json {
        let status = if rules.is_empty() { ExitStatus::Problems } else { ExitStatus::Success };
        let rules = rules.into_iter().map(RuleReport::from).collect();
        printer.json(&Report { schema: "roci.doctor.rules", version: 2, rules })?;
        return Ok(status);
    }
    let columns = [Column::Text("RULE"), Column::Text("SEVERITY"), Column::Text("TOPIC"), Column::Text("TITLE")];
    if rules.is_empty() {
        let word = arguments.word.as_deref().unwrap_or_default();
        printer.note(&format!("no rule has `{}` in its name, topic or title", one_line(word)));
        return Ok(ExitStatus::Problems);
    }
    let row = |rule: &&Rule| {
        vec![rule.id.clone(), finding_text::severity(rule.severity).into(), rule.topic.clone(), rule.title.clone()]
    };
    printer.table(&columns, rules.iter().map(row).collect())?;
    printer.note(&format!("{} of {} rules", rules.len(), rule_set.rules().len()));
    Ok(ExitStatus::Success)
}

/// Explains rules.
pub(super) fn explain(
    rule_set: &RuleSet,
    arguments: &DoctorExplainArgs,
    json: bool,
    printer: &Printer,
) -> Result<ExitStatus, CliError> {
    let mut found = Vec::new();
    for id in &arguments.ids {
        found.push(rule_set.find(id).ok_or_else(|| unknown_rule(rule_set, id))?);
    }
    if json {
        let rules = found.into_iter().map(RuleReport::from).collect();
        printer.json(&Report { schema: "roci.doctor.rules", version: 2, rules })?;
        return Ok(ExitStatus::Success);
    }
    for rule in found {
        printer.data(&text(rule))?;
    }
    Ok(ExitStatus::Success)
}

/// The error of an unknown rule, with the rules of the same topic: those with the same letters
/// before the number.
pub(super) fn unknown_rule(rule_set: &RuleSet, id: &str) -> DoctorError {
    let letters = |id: &str| id.split('-').next().unwrap_or_default().to_ascii_uppercase();
    let similar = rule_set.rules().iter().filter(|rule| letters(&rule.id) == letters(id)).map(|rule| rule.id.clone());
    DoctorError::UnknownRule { id: id.into(), similar: similar.collect() }
}

fn text(rule: &Rule) -> String {
    let mut text = format!("{} {} ({}, {})\n", rule.id, rule.title, finding_text::severity(rule.severity), rule.topic);
    text.push_str(&finding_text::indented(&rule.meaning, "  "));
    text.push_str(&finding_text::remedy(&rule.steps, rule.reboot, rule.persistence.as_deref(), "  "));
    if let Some(advice) = &rule.outdated_advice {
        text.push_str(&finding_text::indented(&format!("No longer true: {advice}"), "  "));
    }
    if !rule.fix.is_empty() {
        let line = format!("`roci doctor fix {}` shows this as an exact change and can apply it", rule.id);
        text.push_str(&finding_text::indented(&line, "  "));
    }
    if !rule.forbids.is_empty() {
        let names: Vec<_> = rule.forbids.iter().map(|api| api.name()).collect();
        let line = format!("`roci lab` does not start programs that use {} if this rule applies", names.join(" or "));
        text.push_str(&finding_text::indented(&line, "  "));
    }
    let holds = [("since", &rule.since), ("until", &rule.until)];
    let holds = holds.into_iter().filter_map(|(word, version)| Some(format!("{word} {}", version.as_deref()?)));
    let holds = holds.collect::<Vec<_>>().join(", ");
    if !holds.is_empty() {
        text.push_str(&finding_text::indented(&format!("Holds {holds}."), "  "));
    }
    let checked = rule.checked.as_deref().map_or(String::new(), |day| format!(", sources checked on {day}"));
    let confidence = finding_text::confidence(rule.confidence);
    text.push_str(&format!("  {FAINT}confidence {confidence}{checked}{FAINT:#}\n"));
    for source in &rule.sources {
        text.push_str(&format!("  {FAINT}{source}{FAINT:#}\n"));
    }
    text.push('\n');
    text
}
