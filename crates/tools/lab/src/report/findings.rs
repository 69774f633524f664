//! Findings: which settings made a difference, which did not, where all strategies fail, and what
//! the kernel log says about it.

use std::collections::{BTreeMap, HashMap};

use crate::outcome::Outcome;

use super::gather::{ending, failure_kind};
use super::sentence::Sentence;
use super::sentence::Word::{Name, Text};
use super::series::Verdict;
use super::{BaselineReport, MetricChange, MetricReport, StrategyReport, text};

/// Maximum number of findings of a kind.
const MAX_ENTRIES: usize = 12;
/// Separates the arguments of a command in one value; no argument contains it.
const BETWEEN: char = '\0';

/// All findings, the most important first.
pub(super) fn draw(
    phases: &[String],
    baseline: Option<&BaselineReport>,
    metrics: &[MetricReport],
    strategies: &[StrategyReport],
    changes: &[MetricChange],
) -> Vec<Sentence> {
    let mut findings = stuck(strategies);
    let pairs = pairs(strategies);
    findings.extend(differences(phases, strategies, &pairs));
    findings.extend(no_difference(strategies, &pairs));
    findings.extend(against_baseline(baseline, changes));
    findings.extend(speeds(metrics, strategies, &pairs));
    findings.extend(unstable(strategies));
    findings.extend(kernel(strategies));
    findings
}

/// Two strategies that differ in one setting, the earlier first.
struct StrategyPair {
    before: usize,
    after: usize,
    /// The setting for people: `HSA_ENABLE_SDMA=0`, `without -fa on`.
    setting: String,
}

/// All pairs that differ in one setting. Found by hashing each strategy without one of its
/// settings, in linear time.
fn pairs(strategies: &[StrategyReport]) -> Vec<StrategyPair> {
    let settings: Vec<_> = strategies.iter().map(settings).collect();
    let signature = |all: &BTreeMap<String, String>, without: Option<&str>| {
        let settings = all.iter().filter(|(key, _)| Some(key.as_str()) != without);
        settings.flat_map(|(key, value)| [key.as_str(), "\u{1}", value, "\u{2}"]).collect::<String>()
    };
    let mut whole: HashMap<String, usize> = HashMap::new();
    for (index, all) in settings.iter().enumerate() {
        whole.entry(signature(all, None)).or_insert(index);
    }
    let mut first_with: HashMap<(&str, String), usize> = HashMap::new();
    let mut pairs = Vec::new();
    for (after, all) in settings.iter().enumerate() {
        for (key, value) in all {
            let rest = signature(all, Some(key));
            let lacking = whole.get(&rest).copied();
            let other = *first_with.entry((key, rest)).or_insert(after);
            if let Some(before) = lacking {
                let (first, second) = (before.min(after), before.max(after));
                let setting_text = setting_text(key, None, value);
                let setting = if second == after { setting_text } else { format!("without {setting_text}") };
                pairs.push(StrategyPair { before: first, after: second, setting });
            } else if other != after && settings[other][key] != *value {
                pairs.push(StrategyPair {
                    before: other,
                    after,
                    setting: setting_text(key, Some(&settings[other][key]), value),
                });
            }
        }
    }
    pairs.retain(|pair| ran(&strategies[pair.before]) && ran(&strategies[pair.after]));
    pairs.sort_by_key(|pair| (pair.after, pair.before));
    pairs
}

fn ran(strategy: &StrategyReport) -> bool {
    strategy.result.as_ref().is_some_and(Outcome::ran)
}

fn settings(strategy: &StrategyReport) -> BTreeMap<String, String> {
    let mut all: BTreeMap<_, _> =
        strategy.env.iter().map(|(name, value)| (format!("env {name}"), value.clone())).collect();
    all.extend(strategy.unset.iter().map(|name| (format!("unset {name}"), String::new())));
    all.extend(strategy.image.iter().map(|image| ("image".to_owned(), image.clone())));
    all.extend(strategy.needs.iter().map(|need| (format!("need {need}"), String::new())));
    all.insert("command".to_owned(), strategy.command.join(&BETWEEN.to_string()));
    all
}

/// Description of a setting that differs.
fn setting_text(key: &str, before: Option<&str>, value: &str) -> String {
    match key.split_once(' ') {
        Some(("env", name)) => format!("{name}={value}"),
        Some(("need", need)) => need.to_owned(),
        Some((_, name)) => format!("no {name}"),
        None if key == "command" => arguments(before.unwrap_or_default(), value),
        None => value.to_owned(),
    }
}

/// Arguments that the second command adds or changes.
fn arguments(before: &str, after: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (before.split(BETWEEN).collect(), after.split(BETWEEN).collect());
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    // A changed value is understood only with the option before it.
    let option = start.checked_sub(1).map(|at| after.split(BETWEEN).nth(at).unwrap_or_default());
    let option = option.filter(|option| {
        option.starts_with('-') && !old.is_empty() && !new.first().is_some_and(|word| word.starts_with('-'))
    });
    let words: Vec<_> = option.into_iter().chain(new.iter().copied()).collect();
    if new.is_empty() { format!("without {}", old.join(" ")) } else { words.join(" ") }
}

/// Failures that several strategies share.
fn stuck(strategies: &[StrategyReport]) -> Vec<Sentence> {
    let mut ways: Vec<(String, Vec<&StrategyReport>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut all = 0;
    for strategy in strategies.iter().filter(|strategy| ran(strategy)) {
        all += 1;
        let Some(way) = strategy.result.as_ref().and_then(failure_kind) else { continue };
        let location = *places.entry(way.clone()).or_insert(ways.len());
        if location == ways.len() {
            ways.push((way, Vec::new()));
        }
        ways[location].1.push(strategy);
    }
    ways.retain(|(_, alike)| alike.len() > 1);
    ways.sort_by_key(|(_, alike)| std::cmp::Reverse(alike.len()));
    let sentence = |(_, alike): &(String, Vec<&StrategyReport>)| {
        let end = alike[0].result.as_ref().map(ending).unwrap_or_default();
        let names: Vec<_> = alike.iter().map(|strategy| strategy.name.as_str()).collect();
        let count = if alike.len() == all { format!("All {all}") } else { format!("{} of {all}", alike.len()) };
        Sentence::of(&format!("{count} strategies failed in the same way, {{}}: "), &[Text(&end)])
            .then(Sentence::list(&names))
    };
    ways.iter().take(MAX_ENTRIES).map(sentence).collect()
}

/// Progress of a strategy: its phase, then a wrong result, then a correct one.
pub(super) fn progress(phases: &[String], strategy: &StrategyReport) -> usize {
    match &strategy.result {
        Some(Outcome::Pass) => phases.len() + 2,
        Some(Outcome::Wrong { .. } | Outcome::Partial { end: None, .. }) => phases.len() + 1,
        _ => strategy
            .furthest
            .as_ref()
            .and_then(|furthest| phases.iter().position(|phase| phase == furthest))
            .map_or(0, |at| at + 1),
    }
}

/// Settings that brought a strategy further, or less far.
fn differences(phases: &[String], strategies: &[StrategyReport], pairs: &[StrategyPair]) -> Vec<Sentence> {
    let mut reported: Vec<&str> = Vec::new();
    let mut findings = Vec::new();
    for pair in pairs {
        let (before, after) = (&strategies[pair.before], &strategies[pair.after]);
        let (far, further) = (progress(phases, before), progress(phases, after));
        if far == further || reported.contains(&pair.setting.as_str()) || findings.len() == MAX_ENTRIES {
            continue;
        }
        reported.push(&pair.setting);
        let ends = [before, after].map(|strategy| strategy.result.as_ref().map(ending).unwrap_or_default());
        let template = match (further > far, after.passed()) {
            (true, true) => "{} makes it work: {} {}, {} {}.",
            (true, false) => "{} gets further: {} {}, {} {}.",
            (false, _) => "{} makes it worse: {} {}, {} {}.",
        };
        let words = [Name(&pair.setting), Name(&before.name), Text(&ends[0]), Name(&after.name), Text(&ends[1])];
        findings.push(Sentence::of(template, &words));
    }
    findings
}

/// Settings that did not change the failure.
fn no_difference(strategies: &[StrategyReport], pairs: &[StrategyPair]) -> Vec<Sentence> {
    let mut ways: Vec<(String, String, Vec<&str>)> = Vec::new();
    for pair in pairs {
        let results = [pair.before, pair.after].map(|at| strategies[at].result.as_ref());
        let [Some(before), Some(after)] = results else { continue };
        let (Some(way), Some(again)) = (failure_kind(before), failure_kind(after)) else { continue };
        if way != again {
            continue;
        }
        let location = ways.iter().position(|(known, ..)| *known == way).unwrap_or_else(|| {
            ways.push((way, ending(after), Vec::new()));
            ways.len() - 1
        });
        if !ways[location].2.contains(&pair.setting.as_str()) {
            ways[location].2.push(&pair.setting);
        }
    }
    let sentence = |(_, end, settings): &(String, String, Vec<&str>)| {
        let start = Sentence::of("These settings make no difference: ", &[]).then(Sentence::list(settings));
        start.then(Sentence::of(": still {}.", &[Text(end)]))
    };
    ways.iter().take(MAX_ENTRIES).map(sentence).collect()
}

fn against_baseline(baseline: Option<&BaselineReport>, changes: &[MetricChange]) -> Vec<Sentence> {
    let Some(baseline) = baseline else { return Vec::new() };
    let mut counted: Vec<_> = changes.iter().filter(|change| change.counts()).collect();
    counted.sort_by(|one, other| {
        let size = |change: &MetricChange| change.change.unwrap_or(0.0).abs();
        size(other).total_cmp(&size(one))
    });
    counted.iter().take(MAX_ENTRIES).map(|change| compared(change, &change.strategy, &baseline.label)).collect()
}

fn compared(change: &MetricChange, subject: &str, against: &str) -> Sentence {
    let [before, after] = change.medians();
    let by = change.change.map(|part| format!(" ({})", text::percent(part))).unwrap_or_default();
    let word = change.verdict.word();
    let words = [Name(subject), Text(against), Text(&change.metric), Text(&change.unit)];
    Sentence::of(&format!("{{}} is {word} than {{}} in {{}}: {after} against {before} {{}}{by}."), &words)
}

/// Settings that changed a metric of working strategies.
fn speeds(metrics: &[MetricReport], strategies: &[StrategyReport], pairs: &[StrategyPair]) -> Vec<Sentence> {
    let mut reported: Vec<(&str, &str)> = Vec::new();
    let mut findings = Vec::new();
    for pair in pairs {
        let (before, after) = (&strategies[pair.before], &strategies[pair.after]);
        for metric in metrics {
            let series = (before.metrics.get(&metric.name), after.metrics.get(&metric.name));
            let (Some(one), Some(other)) = series else { continue };
            let verdict = other.against(one, metric.higher_is_better);
            let key = (pair.setting.as_str(), metric.name.as_str());
            if !matches!(verdict, Verdict::Better | Verdict::Worse)
                || reported.contains(&key)
                || findings.len() == MAX_ENTRIES
            {
                continue;
            }
            reported.push(key);
            let change = MetricChange::new(&after.name, metric, one, other);
            let by = change.change.map(text::percent).unwrap_or_default();
            let word = verdict.word();
            let template = format!("{{}} changes {{}} by {by}, for the {word}: {{}} against {{}}.");
            let words = [Name(&pair.setting), Text(&metric.name), Name(&after.name), Name(&before.name)];
            findings.push(Sentence::of(&template, &words));
        }
    }
    findings
}

fn unstable(strategies: &[StrategyReport]) -> Vec<Sentence> {
    let passes = |strategy: &StrategyReport| strategy.counts.get(Outcome::Pass.word()).copied().unwrap_or(0);
    let mixed = strategies.iter().filter(|strategy| (1..strategy.done()).contains(&passes(strategy)));
    mixed
        .take(MAX_ENTRIES)
        .map(|strategy| {
            let (some, all) = (passes(strategy), strategy.done());
            Sentence::of(&format!("{{}} is not stable: {some} of {all} runs passed."), &[Name(&strategy.name)])
        })
        .collect()
}

/// The doctor's explanations of kernel log lines, and GPU resets.
fn kernel(strategies: &[StrategyReport]) -> Vec<Sentence> {
    let mut strategies_by_finding: Vec<(&str, Vec<&str>)> = Vec::new();
    for strategy in strategies {
        for finding in strategy.kernel.iter().filter_map(|line| line.finding.as_deref()) {
            match strategies_by_finding.iter_mut().find(|(known, _)| *known == finding) {
                Some((_, names)) if names.last() == Some(&strategy.name.as_str()) => {}
                Some((_, names)) => names.push(&strategy.name),
                None => strategies_by_finding.push((finding, vec![&strategy.name])),
            }
        }
    }
    let mut findings: Vec<_> = strategies_by_finding
        .iter()
        .take(MAX_ENTRIES)
        .map(|(finding, names)| {
            let start = Sentence::of("Kernel log during ", &[]).then(Sentence::list(names));
            start.then(Sentence::of(": {}", &[Text(finding)]))
        })
        .collect();
    let reset = strategies.iter().filter(|strategy| strategy.resets > 0).take(MAX_ENTRIES);
    findings.extend(reset.map(|strategy| {
        let times = if strategy.resets == 1 { "once".to_owned() } else { format!("{} times", strategy.resets) };
        Sentence::of(&format!("The GPU was reset {times} during {{}}."), &[Name(&strategy.name)])
    }));
    findings
}
