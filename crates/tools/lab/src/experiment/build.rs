//! Builds an experiment from a file: compiles patterns, applies defaults and resolves names.

use std::collections::BTreeMap;

use regex::Regex;
use toml::Spanned;

use crate::error::LabError;
use crate::message::{cut, listed};

use super::document::{Document, SuccessDocument};
use super::parse_error::{ParseError, unique, unknown};
use super::strategies::{check_after, order, strategies};
use super::values::near;
use super::{
    Baseline, Experiment, MAX_NAME_LENGTH, Metric, MetricCriterion, Phase, Strategy, SuccessCriteria, builtin,
};

impl Experiment {
    /// Parses an experiment. `place` names the text in errors; `variables` override those in it.
    ///
    /// # Errors
    /// An error with its line.
    pub fn parse(location: &str, toml: &str, variables: &BTreeMap<String, String>) -> Result<Self, LabError> {
        build(toml, variables).map_err(|fault| {
            let line = fault.span.map(|span| toml[..span.start.min(toml.len())].matches('\n').count() + 1);
            let location = line.map_or_else(|| location.to_owned(), |line| format!("{location}, line {line}"));
            let help = || "`roci lab new` prints an example file".to_owned();
            LabError::Experiment { location, reason: fault.reason, hint: Some(fault.hint.unwrap_or_else(help)) }
        })
    }
}

impl Experiment {
    /// Indices of the strategies in execution order: each after those it depends on, the baseline
    /// as early as possible.
    pub fn order(&self) -> Vec<usize> {
        let baseline = self.baseline.as_ref().and_then(|baseline| baseline.strategy.as_deref());
        let first = baseline.and_then(|name| self.strategies.iter().position(|strategy| strategy.name == name));
        // The parser rejects cycles.
        order(&self.strategies, first).unwrap_or_default()
    }
}

fn build(toml: &str, given: &BTreeMap<String, String>) -> Result<Experiment, ParseError> {
    let mut document = read(toml)?;
    if let Some(name) = document.workload.clone() {
        inherit(&mut document, &name)?;
    }
    let variables = variables(&document, given)?;
    let name =
        document.name.clone().ok_or_else(|| ParseError::new("it has no `name`").hint("write `name = \"my-test\"`"))?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > MAX_NAME_LENGTH || !name.chars().all(is_name) {
        let hint = format!("write at most {MAX_NAME_LENGTH} letters, digits and dashes, such as `gfx1151-rocm`");
        return Err(ParseError::new(format!("`{}` cannot be the name of an experiment", cut(&name))).hint(hint));
    }
    if name.parse::<i64>().is_ok() || name == "latest" {
        let hint = "choose another name: numbers and `latest` select stored experiments";
        return Err(ParseError::new(format!("`{}` cannot be the name of an experiment", cut(&name))).hint(hint));
    }
    let phases = phases(&document)?;
    let metrics = metrics(&document)?;
    let strategies = strategies(&document, &variables)?;
    let baseline = baseline(&document, &metrics, &strategies)?;
    let success = success(document.success.as_ref(), &phases, &metrics, baseline.is_some())?;
    check_after(&strategies, &phases)?;
    Ok(Experiment {
        title: document.title.clone().unwrap_or_else(|| name.clone()),
        name,
        goal: document.goal.clone(),
        targets: targets(&document)?,
        notes: document.notes.clone(),
        phases,
        metrics,
        success,
        baseline,
        strategies,
        toml: toml.to_owned(),
        variables: given.clone(),
    })
}

/// Parses the TOML. Unknown keys are errors with a suggestion.
fn read(toml: &str) -> Result<Document, ParseError> {
    toml::from_str(toml).map_err(|error| {
        let message = error.message().lines().next().unwrap_or_default().to_owned();
        let span = error.span();
        let mut names = message.split('`').skip(1).step_by(2);
        if let (Some(name), true) = (names.next(), message.starts_with("unknown ")) {
            let known: Vec<&str> = names.collect();
            let suggestion =
                near(name, known.iter().copied()).map(|suggestion| format!("did you mean `{suggestion}`?"));
            let hint = suggestion.unwrap_or_else(|| format!("known here: {}", known.join(", ")));
            let what = if message.starts_with("unknown field") { "key" } else { "word" };
            return ParseError { span, reason: format!("unknown {what} `{}`", cut(name)), hint: Some(hint) };
        }
        ParseError { span, hint: remedy(&message), reason: in_words(&message) }
    })
}

/// Type names of the TOML parser, and their names in a file.
const TYPES: &[(&str, &str)] = &[
    ("u32", "a non-negative integer"),
    ("u64", "a non-negative integer"),
    ("i32", "a whole number"),
    ("i64", "a whole number"),
    ("f64", "a number"),
    ("a boolean", "true or false"),
    ("a sequence", "a list"),
    ("a map", "a table"),
    ("a borrowed string", "a string"),
];

/// Replaces type names in a parser message: `expected u32` does not help users.
fn in_words(message: &str) -> String {
    let Some((found, expected)) = message.rsplit_once(", expected ") else { return message.to_owned() };
    let known = TYPES.iter().find(|(name, _)| *name == expected).map(|(_, words)| *words);
    let words = known.unwrap_or(if expected.starts_with("struct ") { "a table" } else { expected });
    let found = found.replacen("invalid type: sequence", "a list", 1).replacen("invalid type: map", "a table", 1);
    let found = found.strip_prefix("invalid type: ").or(found.strip_prefix("invalid value: ")).unwrap_or(&found);
    format!("{} is not {words}", cut(found))
}

/// Remedy for a parser message.
fn remedy(message: &str) -> Option<String> {
    const REMEDIES: &[(&str, &str)] = &[
        ("struct ExecutorOptions", "write `executor = { kind = \"container\" }`, or a table `[executor]` with `kind`"),
        ("a sequence", "write a list: `[\"…\", \"…\"]`"),
        ("u32", "write a number without quotes, a fraction or a sign"),
        ("f64", "write a number without quotes"),
    ];
    let (_, hint) = REMEDIES.iter().find(|(expected, _)| message.ends_with(&format!("expected {expected}")))?;
    Some((*hint).to_owned())
}

/// Applies a workload's values that the experiment does not set.
fn inherit(document: &mut Document, name: &Spanned<String>) -> Result<(), ParseError> {
    let known = builtin::WORKLOADS.iter().find(|file| file.name == name.get_ref());
    let workload = known.ok_or_else(|| {
        let names: Vec<_> = builtin::WORKLOADS.iter().map(|file| file.name).collect();
        unknown("workload", name, names.into_iter())
    })?;
    let base = read(workload.toml)?;
    if document.command.is_none() && document.shell.is_none() {
        (document.command, document.shell) = (base.command, base.shell);
        document.uses = document.uses.take().or(base.uses);
    }
    let replace_all = document.phase.is_empty();
    if replace_all {
        document.phase = base.phase;
    }
    if document.metric.is_empty() {
        document.metric = base.metric;
    }
    if document.success.is_none() {
        document.success = base.success;
        // The workload's phase may not be among the experiment's own.
        if let (false, Some(success)) = (replace_all, &mut document.success) {
            (success.phase, success.partial) = (None, None);
        }
    }
    for (name, value) in base.variables {
        document.variables.entry(name).or_insert(value);
    }
    for (name, value) in base.env {
        document.env.entry(name).or_insert(value);
    }
    Ok(())
}

/// Variables: given ones, those of the file, and those of roci.
fn variables(document: &Document, given: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, ParseError> {
    let mut all: BTreeMap<String, String> =
        document.variables.iter().map(|(name, value)| (name.clone(), value.0.clone())).collect();
    for (name, value) in given {
        if !all.contains_key(name) {
            let hint = match near(name, all.keys().map(String::as_str)) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None if all.is_empty() => "it has no variables: declare them in `[variables]`".to_owned(),
                None => format!("it has: {}", listed(&all.keys().map(String::as_str).collect::<Vec<_>>())),
            };
            return Err(ParseError::new(format!("the experiment has no variable `{}`", cut(name))).hint(hint));
        }
        all.insert(name.clone(), value.clone());
    }
    all.entry("pytorch-script".into()).or_insert_with(|| builtin::PYTORCH.to_owned());
    Ok(all)
}

fn targets(document: &Document) -> Result<Vec<String>, ParseError> {
    let is_target = |name: &str| {
        let digits = name.strip_prefix("gfx").unwrap_or_default();
        digits.len() >= 3 && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    };
    let target = |name: &Spanned<String>| match name.get_ref() {
        target if is_target(target) => Ok(target.clone()),
        other => {
            let hint = "write ROCm's target names: `targets = [\"gfx1010\"]`";
            Err(ParseError::new(format!("`{}` is not a GPU target", cut(other))).at(name.span()).hint(hint))
        }
    };
    document.targets.iter().map(target).collect()
}

fn pattern(text: &Spanned<String>) -> Result<Regex, ParseError> {
    Regex::new(text.get_ref()).map_err(|error| {
        let why = error.to_string();
        let last = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let hint = "use single quotes, where backslashes need no escaping";
        ParseError::new(format!("the pattern `{}` is invalid: {last}", cut(text.get_ref()))).at(text.span()).hint(hint)
    })
}

fn phases(document: &Document) -> Result<Vec<Phase>, ParseError> {
    let phase = |phase: &super::document::PhaseDocument| {
        Ok(Phase { name: phase.name.clone(), pattern: pattern(&phase.pattern)? })
    };
    let phases = document.phase.iter().map(phase).collect::<Result<Vec<_>, ParseError>>()?;
    unique("phase", phases.iter().map(|phase| phase.name.as_str()))?;
    Ok(phases)
}

fn metrics(document: &Document) -> Result<Vec<Metric>, ParseError> {
    let metric = |metric: &super::document::MetricDocument| {
        let compiled = pattern(&metric.pattern)?;
        if compiled.captures_len() < 2 {
            let reason = format!("the pattern of the metric `{}` has no group for the value", metric.name);
            return Err(ParseError::new(reason)
                .at(metric.pattern.span())
                .hint("put the value in parentheses: `([\\d.]+) t/s`"));
        }
        let (name, unit) = (metric.name.clone(), metric.unit.clone());
        Ok(Metric { name, pattern: compiled, unit, direction: metric.better, aggregation: metric.take })
    };
    let metrics = document.metric.iter().map(metric).collect::<Result<Vec<_>, ParseError>>()?;
    unique("metric", metrics.iter().map(|metric| metric.name.as_str()))?;
    Ok(metrics)
}

fn success(
    document: Option<&SuccessDocument>,
    phases: &[Phase],
    metrics: &[Metric],
    has_baseline: bool,
) -> Result<SuccessCriteria, ParseError> {
    let document = document.cloned().unwrap_or_default();
    let phase = |name: &Option<Spanned<String>>| match name {
        Some(name) if phases.iter().all(|phase| phase.name != *name.get_ref()) => {
            Err(unknown("phase", name, phases.iter().map(|phase| phase.name.as_str())))
        }
        name => Ok(name.as_ref().map(|name| name.get_ref().clone())),
    };
    let patterns = |patterns: &[Spanned<String>]| patterns.iter().map(pattern).collect::<Result<Vec<_>, _>>();
    let mut criteria = Vec::new();
    for want in &document.metric {
        let name = &want.name;
        if metrics.iter().all(|metric| metric.name != *name.get_ref()) {
            return Err(unknown("metric", name, metrics.iter().map(|metric| metric.name.as_str())));
        }
        if want.ratio.is_some() && !has_baseline {
            let reason = format!("`{}` has a ratio, but there is no baseline", name.get_ref());
            return Err(ParseError::new(reason).at(name.span()).hint("add `[baseline]` with `strategy` or `values`"));
        }
        if want.ratio.is_some_and(|ratio| !(ratio.is_finite() && ratio > 0.0)) {
            return Err(ParseError::new("a ratio must be above zero").at(name.span()).hint("0.9 is 90 % as good"));
        }
        let metric = name.get_ref().clone();
        criteria.push(MetricCriterion { metric, ratio: want.ratio, min: want.min, max: want.max });
    }
    Ok(SuccessCriteria {
        exit: document.exit.unwrap_or_else(|| vec![0]),
        phase: phase(&document.phase)?,
        partial: phase(&document.partial)?,
        metrics: criteria,
        wrong: patterns(&document.wrong)?,
        right: patterns(&document.right)?,
        fault: patterns(&document.fault)?,
    })
}

fn baseline(document: &Document, metrics: &[Metric], strategies: &[Strategy]) -> Result<Option<Baseline>, ParseError> {
    let Some(baseline) = &document.baseline else { return Ok(None) };
    if let Some(name) = &baseline.strategy
        && strategies.iter().all(|strategy| strategy.name != *name.get_ref())
    {
        return Err(unknown("strategy", name, strategies.iter().map(|strategy| strategy.name.as_str())));
    }
    for name in baseline.values.keys() {
        if metrics.iter().all(|metric| metric.name != *name.get_ref()) {
            return Err(unknown("metric", name, metrics.iter().map(|metric| metric.name.as_str())));
        }
    }
    let strategy = baseline.strategy.as_ref().map(|name| name.get_ref().clone());
    let label = baseline.label.clone().or_else(|| strategy.clone()).unwrap_or_else(|| "baseline".into());
    let values = baseline.values.iter().map(|(name, value)| (name.get_ref().clone(), *value)).collect();
    Ok(Some(Baseline { label, strategy, values }))
}
