//! A file becomes an experiment: patterns compiled, defaults put in, every name looked up.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range as Span;

use regex::Regex;
use toml::Spanned;

use crate::error::LabError;

use super::document::{Document, LimitsDocument, StrategyDocument, SuccessDocument};
use super::matrix::{MOST_STRATEGIES, expand};
use super::values::{Text, bytes, duration, fill, near};
use super::{After, Baseline, Experiment, Limits, Metric, Phase, Reached, Strategy, Success, Wanted, needs, ready};

/// No strategy is repeated more often.
const MOST_REPEATS: u32 = 1000;
/// Names are shown in tables.
const LONGEST_NAME: usize = 120;

/// What is wrong, and where.
struct Fault {
    span: Option<Span<usize>>,
    reason: String,
    hint: Option<String>,
}

impl Fault {
    fn new(reason: impl Into<String>) -> Self {
        Self { span: None, reason: reason.into(), hint: None }
    }

    fn at(mut self, span: Span<usize>) -> Self {
        self.span.get_or_insert(span);
        self
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        let hint = reason.contains("has no value").then(|| "give it: `--set NAME=VALUE`".to_owned());
        Self { span: None, reason, hint }
    }
}

impl Experiment {
    /// Reads an experiment. `place` is what to call the text in errors; `variables` count before those in it.
    ///
    /// # Errors
    /// What is wrong with it, in which line.
    pub fn parse(place: &str, toml: &str, variables: &BTreeMap<String, String>) -> Result<Self, LabError> {
        build(toml, variables).map_err(|fault| {
            let line = fault.span.map(|span| toml[..span.start.min(toml.len())].matches('\n').count() + 1);
            let place = line.map_or_else(|| place.to_owned(), |line| format!("{place}, line {line}"));
            LabError::Experiment { place, reason: fault.reason, hint: fault.hint }
        })
    }
}

impl Experiment {
    /// The strategies, by their places, in the order in which they are to be tried: none before what it waits for, the
    /// baseline as early as can be.
    pub fn order(&self) -> Vec<usize> {
        let baseline = self.baseline.as_ref().and_then(|baseline| baseline.strategy.as_deref());
        let first = baseline.and_then(|name| self.strategies.iter().position(|strategy| strategy.name == name));
        // Circles were refused when it was read.
        order(&self.strategies, first).unwrap_or_default()
    }
}

fn build(toml: &str, given: &BTreeMap<String, String>) -> Result<Experiment, Fault> {
    let mut document = read(toml)?;
    if let Some(name) = document.workload.clone() {
        inherit(&mut document, &name)?;
    }
    let variables = variables(&document, given)?;
    let name =
        document.name.clone().ok_or_else(|| Fault::new("it has no `name`").hint("write `name = \"my-test\"`"))?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_name) {
        let hint = "write letters, digits and dashes, such as `gfx1151-rocm`";
        return Err(Fault::new(format!("`{name}` cannot be the name of an experiment")).hint(hint));
    }
    if name.parse::<i64>().is_ok() || name == "latest" {
        let hint = "choose another: numbers and `latest` name experiments that were run";
        return Err(Fault::new(format!("`{name}` cannot be the name of an experiment")).hint(hint));
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

/// The file as it stands. What is not known is named, with what was perhaps meant.
fn read(toml: &str) -> Result<Document, Fault> {
    toml::from_str(toml).map_err(|error| {
        let message = error.message().lines().next().unwrap_or_default().to_owned();
        let span = error.span();
        let mut names = message.split('`').skip(1).step_by(2);
        if let (Some(name), true) = (names.next(), message.starts_with("unknown ")) {
            let known: Vec<&str> = names.collect();
            let meant = near(name, known.iter().copied()).map(|meant| format!("did you mean `{meant}`?"));
            let hint = meant.unwrap_or_else(|| format!("known here: {}", known.join(", ")));
            let what = if message.starts_with("unknown field") { "key" } else { "word" };
            return Fault { span, reason: format!("`{name}` is no known {what}"), hint: Some(hint) };
        }
        Fault { span, reason: message, hint: Some("docs/lab.md shows what an experiment looks like".into()) }
    })
}

/// Takes over from a workload what the experiment does not say itself.
fn inherit(document: &mut Document, name: &Spanned<String>) -> Result<(), Fault> {
    let known = ready::WORKLOADS.iter().find(|ready| ready.name == name.get_ref());
    let workload = known.ok_or_else(|| {
        let names: Vec<_> = ready::WORKLOADS.iter().map(|ready| ready.name).collect();
        unknown("workload", name, names.into_iter())
    })?;
    let base = read(workload.toml)?;
    if document.command.is_none() && document.shell.is_none() {
        (document.command, document.shell) = (base.command, base.shell);
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
        // Its phase may not be among the experiment's own.
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

/// The variables: those given, those of the file, those of roci.
fn variables(document: &Document, given: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Fault> {
    let mut all: BTreeMap<String, String> =
        document.variables.iter().map(|(name, value)| (name.clone(), value.0.clone())).collect();
    for (name, value) in given {
        if !all.contains_key(name) {
            let hint = match near(name, all.keys().map(String::as_str)) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None if all.is_empty() => "it has none".to_owned(),
                None => format!("it has: {}", all.keys().cloned().collect::<Vec<_>>().join(", ")),
            };
            return Err(Fault::new(format!("the experiment has no variable `{name}`")).hint(hint));
        }
        all.insert(name.clone(), value.clone());
    }
    all.entry("pytorch-script".into()).or_insert_with(|| ready::PYTORCH.to_owned());
    Ok(all)
}

fn pattern(text: &Spanned<String>) -> Result<Regex, Fault> {
    Regex::new(text.get_ref()).map_err(|error| {
        let why = error.to_string();
        let last = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let hint = "write it between single quotes, where backslashes need no doubling";
        Fault::new(format!("the pattern `{}` is wrong: {last}", text.get_ref())).at(text.span()).hint(hint)
    })
}

fn phases(document: &Document) -> Result<Vec<Phase>, Fault> {
    let phase = |phase: &super::document::PhaseDocument| {
        Ok(Phase { name: phase.name.clone(), pattern: pattern(&phase.pattern)? })
    };
    let phases = document.phase.iter().map(phase).collect::<Result<Vec<_>, Fault>>()?;
    unique("phase", phases.iter().map(|phase| phase.name.as_str()))?;
    Ok(phases)
}

fn metrics(document: &Document) -> Result<Vec<Metric>, Fault> {
    let metric = |metric: &super::document::MetricDocument| {
        let compiled = pattern(&metric.pattern)?;
        if compiled.captures_len() < 2 {
            let reason = format!("the pattern of the metric `{}` has no group for the figure", metric.name);
            return Err(Fault::new(reason)
                .at(metric.pattern.span())
                .hint("put the figure in parentheses: `([\\d.]+) t/s`"));
        }
        let (name, unit) = (metric.name.clone(), metric.unit.clone());
        Ok(Metric { name, pattern: compiled, unit, better: metric.better, take: metric.take })
    };
    let metrics = document.metric.iter().map(metric).collect::<Result<Vec<_>, Fault>>()?;
    unique("metric", metrics.iter().map(|metric| metric.name.as_str()))?;
    Ok(metrics)
}

fn success(
    document: Option<&SuccessDocument>,
    phases: &[Phase],
    metrics: &[Metric],
    has_baseline: bool,
) -> Result<Success, Fault> {
    let document = document.cloned().unwrap_or_default();
    let phase = |name: &Option<Spanned<String>>| match name {
        Some(name) if phases.iter().all(|phase| phase.name != *name.get_ref()) => {
            Err(unknown("phase", name, phases.iter().map(|phase| phase.name.as_str())))
        }
        name => Ok(name.as_ref().map(|name| name.get_ref().clone())),
    };
    let patterns = |patterns: &[Spanned<String>]| patterns.iter().map(pattern).collect::<Result<Vec<_>, _>>();
    let mut wanted = Vec::new();
    for want in &document.metric {
        let name = &want.name;
        if metrics.iter().all(|metric| metric.name != *name.get_ref()) {
            return Err(unknown("metric", name, metrics.iter().map(|metric| metric.name.as_str())));
        }
        if want.ratio.is_some() && !has_baseline {
            let reason = format!("a ratio is wanted of `{}`, and there is no baseline", name.get_ref());
            return Err(Fault::new(reason).at(name.span()).hint("add `[baseline]` with `strategy` or `values`"));
        }
        if want.ratio.is_some_and(|ratio| !(ratio.is_finite() && ratio > 0.0)) {
            return Err(Fault::new("a ratio must be above zero").at(name.span()).hint("0.9 is nine tenths as good"));
        }
        let metric = name.get_ref().clone();
        wanted.push(Wanted { metric, ratio: want.ratio, min: want.min, max: want.max });
    }
    Ok(Success {
        exit: document.exit.unwrap_or_else(|| vec![0]),
        phase: phase(&document.phase)?,
        partial: phase(&document.partial)?,
        metrics: wanted,
        wrong: patterns(&document.wrong)?,
        right: patterns(&document.right)?,
        fault: patterns(&document.fault)?,
    })
}

fn baseline(document: &Document, metrics: &[Metric], strategies: &[Strategy]) -> Result<Option<Baseline>, Fault> {
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

fn strategies(document: &Document, variables: &BTreeMap<String, String>) -> Result<Vec<Strategy>, Fault> {
    let mut built: Vec<Strategy> = Vec::new();
    let mut written: BTreeMap<&str, Vec<StrategyDocument>> = BTreeMap::new();
    for entry in &document.strategy {
        let strategy = entry.get_ref();
        let at = |fault: Fault| fault.at(entry.span());
        let mut parts = match &strategy.extends {
            Some(base) => written
                .get(base.get_ref().as_str())
                .cloned()
                .ok_or_else(|| unknown("earlier strategy", base, written.keys().copied()))?,
            None => Vec::new(),
        };
        parts.push(strategy.clone());
        let one = merge(document, &strategy.name, &parts, BTreeMap::new(), variables).map_err(at)?;
        written.insert(&strategy.name, parts);
        built.push(one);
    }
    for entry in &document.matrix {
        let at = |fault: Fault| fault.at(entry.span());
        for combination in expand(entry.get_ref()).map_err(|reason| at(Fault::from(reason)))? {
            let mut variables = variables.clone();
            variables.extend(combination.axes.clone());
            let one = merge(document, &combination.name, &combination.parts, combination.axes, &variables);
            built.push(one.map_err(at)?);
        }
    }
    if built.is_empty() {
        // Without any, the command is tried as it is.
        built.push(merge(document, "as-is", &[StrategyDocument::default()], BTreeMap::new(), variables)?);
    }
    if built.len() > MOST_STRATEGIES {
        return Err(Fault::new(format!("there are more than {MOST_STRATEGIES} strategies")));
    }
    unique("strategy", built.iter().map(|strategy| strategy.name.as_str()))?;
    Ok(built)
}

/// Makes a strategy of parts that add to each other, on top of what the file says for all.
fn merge(
    document: &Document,
    name: &str,
    parts: &[StrategyDocument],
    axes: BTreeMap<String, String>,
    variables: &BTreeMap<String, String>,
) -> Result<Strategy, Fault> {
    let visible = name.chars().all(|c| !c.is_control()) && name.trim() == name;
    if name.is_empty() || name.len() > LONGEST_NAME || !visible {
        let reason = if name.is_empty() {
            "a strategy has no name".to_owned()
        } else {
            format!("`{name}` is no name for a strategy")
        };
        return Err(Fault::new(reason).hint("write `name = \"sdma-off\"`"));
    }
    let put = |text: &str| fill(text, variables);
    let all = |texts: &[String]| texts.iter().map(|text| put(text)).collect::<Result<Vec<_>, _>>();
    let last = |of: fn(&StrategyDocument) -> &Option<String>| parts.iter().rev().find_map(|part| of(part).clone());
    let own = parts.iter().rev().find(|part| part.command.is_some() || part.shell.is_some());
    let (command, shell) = match own {
        Some(part) => (&part.command, &part.shell),
        None => (&document.command, &document.shell),
    };
    let mut command = match (command, shell) {
        (Some(_), Some(_)) => {
            return Err(Fault::new("there is both a `command` and a `shell`").hint("keep one of them"));
        }
        (Some(command), None) => all(command)?,
        (None, Some(script)) => vec!["/bin/sh".into(), "-c".into(), put(script)?, "sh".into()],
        (None, None) => {
            let hint = "write `command = [\"llama-bench\", \"-m\", \"model.gguf\"]`, `shell` or `workload`";
            return Err(Fault::new("there is no command").hint(hint));
        }
    };
    if command.first().is_none_or(String::is_empty) {
        return Err(Fault::new("the command is empty").hint("its first word is the program"));
    }
    command.extend(all(&document.arguments)?);
    let mut own_arguments = Vec::new();
    let mut env: BTreeMap<String, String> = BTreeMap::new();
    let mut own_env: BTreeMap<String, String> = BTreeMap::new();
    let variable = |(name, value): (&String, &Text)| -> Result<(String, String), Fault> {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Fault::new(format!("`{name}` is no environment variable")));
        }
        // An empty value is set, not missing.
        Ok((name.clone(), if value.0.is_empty() { String::new() } else { put(&value.0)? }))
    };
    for pair in &document.env {
        env.extend([variable(pair)?]);
    }
    let (mut unset, mut wants, mut after) = (document.unset.clone(), Vec::new(), Vec::new());
    let mut limits = limits(Limits::default(), &document.limits)?;
    for part in parts {
        own_arguments.extend(all(&part.arguments)?);
        for pair in &part.env {
            own_env.extend([variable(pair)?]);
        }
        unset.extend(part.unset.iter().cloned());
        for need in &part.needs {
            wants.push(needs::need(need.get_ref(), &put).map_err(|reason| Fault::from(reason).at(need.span()))?);
        }
        for one in &part.after {
            after.push(needs::after(one.get_ref()).map_err(|reason| Fault::from(reason).at(one.span()))?);
        }
        limits = self::limits(limits, &part.limits)?;
    }
    let own_image = last(|part| &part.image).map(|image| put(&image)).transpose()?;
    let changes =
        last(|part| &part.changes).unwrap_or_else(|| describe(&own_env, &unset, own_image.as_deref(), &own_arguments));
    env.extend(own_env);
    command.extend(own_arguments);
    let repeats = parts.iter().rev().find_map(|part| part.repeats).or(document.repeats).unwrap_or(1);
    if !(1..=MOST_REPEATS).contains(&repeats) {
        return Err(Fault::new(format!("`repeats` must be from 1 to {MOST_REPEATS}")));
    }
    let base = document.image.as_deref().map(put).transpose()?;
    let directory = last(|part| &part.directory).or_else(|| document.directory.clone());
    let executor = parts.iter().rev().find_map(|part| part.executor.clone()).or_else(|| document.executor.clone());
    let mut executor = executor.unwrap_or_default();
    executor.container.mounts = all(&executor.container.mounts)?;
    executor.kubernetes.mounts = all(&executor.kubernetes.mounts)?;
    Ok(Strategy {
        name: name.to_owned(),
        hypothesis: last(|part| &part.hypothesis),
        changes,
        command,
        env,
        unset,
        directory: directory.map(|path| put(&path)).transpose()?.map(Into::into),
        image: own_image.or(base),
        needs: wants,
        after,
        skip: last(|part| &part.skip),
        repeats,
        limits,
        executor,
        axes,
    })
}

/// What is special about a strategy, for tables.
fn describe(env: &BTreeMap<String, String>, unset: &[String], image: Option<&str>, arguments: &[String]) -> String {
    let set = env.iter().map(|(name, value)| format!("{name}={value}"));
    let taken = unset.iter().map(|name| format!("without {name}"));
    let image = image.map(|image| format!("image {image}"));
    let arguments = (!arguments.is_empty()).then(|| arguments.join(" "));
    set.chain(taken).chain(image).chain(arguments).collect::<Vec<_>>().join(", ")
}

fn limits(base: Limits, document: &LimitsDocument) -> Result<Limits, Fault> {
    let time = |text: &Spanned<Text>| duration(&text.get_ref().0).map_err(|why| Fault::new(why).at(text.span()));
    let mut limits = base;
    if let Some(text) = &document.deadline {
        limits.deadline = time(text)?;
    }
    if let Some(text) = &document.stall {
        limits.stall = if text.get_ref().0 == "never" { None } else { Some(time(text)?) };
    }
    if let Some(text) = &document.grace {
        limits.grace = time(text)?;
    }
    if let Some(text) = &document.memory {
        limits.memory = Some(bytes(&text.get_ref().0).map_err(|why| Fault::new(why).at(text.span()))?);
    }
    Ok(limits)
}

/// Every strategy that another one waits for is there, and none waits for itself.
fn check_after(strategies: &[Strategy], phases: &[Phase]) -> Result<(), Fault> {
    let names = || strategies.iter().map(|strategy| strategy.name.as_str());
    let known: BTreeSet<&str> = names().collect();
    for strategy in strategies {
        for After { strategy: wanted, what } in &strategy.after {
            if !known.contains(wanted.as_str()) {
                return Err(no_such("strategy", wanted, names()));
            }
            if let Reached::Phase(phase) | Reached::Past(phase) = what
                && phases.iter().all(|known| known.name != *phase)
            {
                return Err(no_such("phase", phase, phases.iter().map(|phase| phase.name.as_str())));
            }
        }
    }
    match order(strategies, None) {
        Ok(_) => Ok(()),
        Err(circle) => {
            Err(Fault::new(format!("these wait for each other: {}", circle.join(", "))).hint("take one `after` away"))
        }
    }
}

/// The strategies so that none comes before what it waits for, else the first one as early as can be and the others in the
/// order of the file; or those that wait for each other.
fn order(strategies: &[Strategy], first: Option<usize>) -> Result<Vec<usize>, Vec<String>> {
    let index: BTreeMap<&str, usize> =
        strategies.iter().enumerate().map(|(at, strategy)| (strategy.name.as_str(), at)).collect();
    let mut missing: Vec<usize> = Vec::with_capacity(strategies.len());
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); strategies.len()];
    for (at, strategy) in strategies.iter().enumerate() {
        let before: BTreeSet<usize> =
            strategy.after.iter().filter_map(|after| index.get(after.strategy.as_str()).copied()).collect();
        missing.push(before.len());
        before.into_iter().for_each(|before| waiting[before].push(at));
    }
    let rank = |at: usize| (Some(at) != first, at);
    let mut ready: BTreeSet<(bool, usize)> = (0..strategies.len()).filter(|at| missing[*at] == 0).map(rank).collect();
    let mut order = Vec::with_capacity(strategies.len());
    while let Some((_, at)) = ready.pop_first() {
        order.push(at);
        for &next in &waiting[at] {
            missing[next] -= 1;
            if missing[next] == 0 {
                ready.insert(rank(next));
            }
        }
    }
    if order.len() == strategies.len() {
        return Ok(order);
    }
    Err(strategies
        .iter()
        .enumerate()
        .filter(|(at, _)| missing[*at] > 0)
        .map(|(_, strategy)| strategy.name.clone())
        .collect())
}

fn unique<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Fault> {
    let mut seen = BTreeSet::new();
    for name in names {
        if name.is_empty() {
            return Err(Fault::new(format!("a {what} has no name")));
        }
        if !seen.insert(name) {
            return Err(
                Fault::new(format!("there are two of the {what} `{name}`")).hint("give one of them another name")
            );
        }
    }
    Ok(())
}

fn unknown<'a>(what: &str, name: &Spanned<String>, known: impl Iterator<Item = &'a str>) -> Fault {
    no_such(what, name.get_ref(), known).at(name.span())
}

fn no_such<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Fault {
    let known: Vec<&str> = known.collect();
    let hint = match near(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.is_empty() => "there is none".to_owned(),
        None => format!("there are: {}", known.join(", ")),
    };
    Fault::new(format!("there is no {what} `{name}`")).hint(hint)
}
