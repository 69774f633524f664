//! Merges and orders strategies.

use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;

use super::document::{Document, LimitsDocument, StrategyDocument};
use super::matrix::{MAX_STRATEGIES, expand};
use super::parse_error::{ParseError, no_such, unique, unknown};
use super::values::{Scalar, bytes, duration, fill};
use super::{
    Limits, MAX_NAME_LENGTH, Phase, RequiredResult, Requirement, Strategy, StrategyDependency, requirement_parser,
};
use crate::message::cut;
use crate::requirements::in_words;

/// Maximum number of repeats of a strategy.
const MAX_REPEATS: u32 = 1000;

pub(super) fn strategies(
    document: &Document,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<Strategy>, ParseError> {
    let mut built: Vec<Strategy> = Vec::new();
    let mut written: BTreeMap<&str, Vec<StrategyDocument>> = BTreeMap::new();
    for entry in &document.strategy {
        let strategy = entry.get_ref();
        let at = |fault: ParseError| fault.at(entry.span());
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
        let at = |fault: ParseError| fault.at(entry.span());
        for combination in expand(entry.get_ref()).map_err(|reason| at(ParseError::from(reason)))? {
            let mut variables = variables.clone();
            variables.extend(combination.axes.clone());
            let one = merge(document, &combination.name, &combination.parts, combination.axes, &variables);
            built.push(one.map_err(at)?);
        }
    }
    if built.is_empty() {
        // Without strategies, the command runs as it is.
        built.push(merge(document, "as-is", &[StrategyDocument::default()], BTreeMap::new(), variables)?);
    }
    if built.len() > MAX_STRATEGIES {
        let hint = "remove combinations with `exclude`, or split the experiment";
        return Err(ParseError::new(format!("there are more than {MAX_STRATEGIES} strategies")).hint(hint));
    }
    unique("strategy", built.iter().map(|strategy| strategy.name.as_str()))?;
    Ok(built)
}

/// Merges parts into a strategy, on top of the file's defaults.
fn merge(
    document: &Document,
    name: &str,
    parts: &[StrategyDocument],
    axes: BTreeMap<String, String>,
    variables: &BTreeMap<String, String>,
) -> Result<Strategy, ParseError> {
    let visible = name.chars().all(|c| !c.is_control()) && name.trim() == name;
    if name.is_empty() || name.len() > MAX_NAME_LENGTH || !visible {
        let reason = if name.is_empty() {
            "a strategy has no name".to_owned()
        } else {
            format!("`{}` is not a valid strategy name", cut(name))
        };
        let hint = format!("write `name = \"sdma-off\"`, with at most {MAX_NAME_LENGTH} characters");
        return Err(ParseError::new(reason).hint(hint));
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
            return Err(ParseError::new("there is both a `command` and a `shell`").hint("keep one of them"));
        }
        (Some(command), None) => all(command)?,
        (None, Some(script)) => vec!["/bin/sh".into(), "-c".into(), put(script)?, "sh".into()],
        (None, None) => {
            let hint = "write `command = [\"llama-bench\", \"-m\", \"model.gguf\"]`, `shell` or `workload`";
            return Err(ParseError::new("there is no command").hint(hint));
        }
    };
    if command.first().is_none_or(String::is_empty) {
        return Err(ParseError::new("the command is empty").hint("its first word is the program"));
    }
    command.extend(all(&document.arguments)?);
    let mut own_arguments = Vec::new();
    let mut env: BTreeMap<String, String> = BTreeMap::new();
    let mut own_env: BTreeMap<String, String> = BTreeMap::new();
    let variable = |(name, value): (&String, &Scalar)| -> Result<(String, String), ParseError> {
        if name.is_empty() || name.contains(['=', '\0']) {
            let reason = format!("`{}` is not a valid environment variable name", cut(name));
            return Err(ParseError::new(reason).hint("write `env = { NAME = \"value\" }`, the name without `=`"));
        }
        // An empty value is a value.
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
            wants.push(
                requirement_parser::need(need.get_ref(), &put)
                    .map_err(|reason| ParseError::from(reason).at(need.span()))?,
            );
        }
        for one in &part.after {
            after.push(
                requirement_parser::after(one.get_ref()).map_err(|reason| ParseError::from(reason).at(one.span()))?,
            );
        }
        limits = self::limits(limits, &part.limits)?;
    }
    let own_image = last(|part| &part.image).map(|image| put(&image)).transpose()?;
    let changes = last(|part| &part.changes)
        .unwrap_or_else(|| describe(&own_env, &unset, own_image.as_deref(), &own_arguments, &wants));
    env.extend(own_env);
    command.extend(own_arguments);
    let repeats = parts.iter().rev().find_map(|part| part.repeats).or(document.repeats).unwrap_or(1);
    if !(1..=MAX_REPEATS).contains(&repeats) {
        let hint = "five runs are enough to measure the noise";
        return Err(ParseError::new(format!("`repeats` must be from 1 to {MAX_REPEATS}")).hint(hint));
    }
    let mut uses = document.uses.clone();
    for part in parts {
        // A declaration about one program does not apply to another.
        let other_program = part.command.is_some() || part.shell.is_some() || part.image.is_some();
        if other_program || part.uses.is_some() {
            uses = part.uses.clone();
        }
    }
    let base = document.image.as_deref().map(put).transpose()?;
    let image = own_image.or(base);
    // No system can pass such a variable to a program.
    if let Some(text) = command.iter().chain(env.values()).chain(&unset).chain(&image).find(|text| text.contains('\0'))
    {
        return Err(ParseError::new(format!("`{}` has a zero byte in it", cut(text))).hint("remove it"));
    }
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
        image,
        uses,
        needs: wants,
        after,
        skip: last(|part| &part.skip),
        repeats,
        limits,
        executor,
        axes,
    })
}

/// Key changes of a strategy, for tables.
fn describe(
    env: &BTreeMap<String, String>,
    unset: &[String],
    image: Option<&str>,
    arguments: &[String],
    needs: &[Requirement],
) -> String {
    let set = env.iter().map(|(name, value)| format!("{name}={value}"));
    let taken = unset.iter().map(|name| format!("without {name}"));
    let image = image.map(|image| format!("image {image}"));
    let arguments = (!arguments.is_empty()).then(|| arguments.join(" "));
    let needs = needs.iter().map(|need| format!("needs {}", cut(&in_words(need))));
    set.chain(taken).chain(image).chain(arguments).chain(needs).collect::<Vec<_>>().join(", ")
}

fn limits(base: Limits, document: &LimitsDocument) -> Result<Limits, ParseError> {
    let time =
        |text: &Spanned<Scalar>| duration(&text.get_ref().0).map_err(|why| ParseError::from(why).at(text.span()));
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
    if let Some(text) = &document.queue {
        limits.queue = time(text)?;
    }
    if let Some(text) = &document.memory {
        limits.memory = Some(bytes(&text.get_ref().0).map_err(|why| ParseError::from(why).at(text.span()))?);
    }
    Ok(limits)
}

/// Checks that all dependencies exist and are not circular.
pub(super) fn check_after(strategies: &[Strategy], phases: &[Phase]) -> Result<(), ParseError> {
    let names = || strategies.iter().map(|strategy| strategy.name.as_str());
    let known: BTreeSet<&str> = names().collect();
    for strategy in strategies {
        for StrategyDependency { strategy: name, result } in &strategy.after {
            if !known.contains(name.as_str()) {
                return Err(no_such("strategy", name, names()));
            }
            if let RequiredResult::Phase(phase) | RequiredResult::Past(phase) = result
                && phases.iter().all(|known| known.name != *phase)
            {
                return Err(no_such("phase", phase, phases.iter().map(|phase| phase.name.as_str())));
            }
        }
    }
    match order(strategies, None) {
        Ok(_) => Ok(()),
        Err(circle) => {
            Err(ParseError::new(format!("these depend on each other: {}", circle.join(", ")))
                .hint("remove one `after`"))
        }
    }
}

/// Indices of the strategies in dependency order, with `first` as early as possible and the rest in
/// file order; the error has the strategies of a cycle.
pub(super) fn order(strategies: &[Strategy], first: Option<usize>) -> Result<Vec<usize>, Vec<String>> {
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
