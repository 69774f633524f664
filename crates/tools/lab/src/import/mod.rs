//! Imports external results as passed runs.
//!
//! Settings that all tests share belong to the experiment; those that differ define the strategies.
//! The stored experiment is complete: `roci lab report` reads it like any other, and its text can
//! be run again.

pub mod llama_bench;
mod toml_text;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::LabError;
use crate::experiment::{ExecutorKind, Experiment};
use crate::outcome::Outcome;
use crate::store::{Event, EventKind, Finished, MetricValue, NewExperiment, PlannedRun, Store};

use llama_bench::Test;

/// Maximum size of a file in bytes.
const MAX_BYTES: u64 = 64 << 20;
/// Maximum length of a name, since tables show names.
const MAX_NAME_LENGTH: usize = 100;
const UNIT: &str = "t/s";

/// Result of an import.
#[derive(Clone, Debug, Serialize)]
pub struct ImportSummary {
    /// Number of the experiment.
    pub experiment: i64,
    /// Name of the new experiment.
    pub name: String,
    /// Number of strategies.
    pub strategies: usize,
    /// Number of runs.
    pub runs: usize,
    /// Descriptions of the parts that could not be used.
    pub notes: Vec<String>,
}

/// Samples of a strategy.
#[derive(Debug)]
struct Group {
    name: String,
    settings: BTreeMap<String, String>,
    /// Samples by metric, in file order.
    samples: Vec<(String, Vec<f64>)>,
    time: Option<String>,
}

/// Imports llama-bench files as one experiment, named `name` or after the first file.
///
/// # Errors
/// If a file cannot be read or has no results, or the store fails.
pub fn files(store: &mut Store, paths: &[PathBuf], name: Option<&str>) -> Result<ImportSummary, LabError> {
    let mut tests = Vec::new();
    let mut notes = Vec::new();
    let mut names = BTreeSet::new();
    for (path, label) in paths.iter().zip(labels(paths)) {
        if !names.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
            notes.push(format!("{label} is given twice and was imported once"));
            continue;
        }
        let read = llama_bench::read(&text_of(path)?);
        notes.extend(read.notes.iter().map(|note| format!("{label}: {note}")));
        if read.tests.is_empty() {
            return Err(LabError::Usage {
                reason: format!("`{}` has no llama-bench results", path.display()),
                hint: "create it with `llama-bench -o jsonl`; `-o json` and the Markdown table also work".into(),
            });
        }
        // Two files with the same settings are still two strategies.
        tests.extend(read.tests.into_iter().map(|mut test| {
            test.settings.insert("file".to_owned(), label.clone());
            test
        }));
    }
    let stem = paths.first().and_then(|path| path.file_stem()).map(|stem| stem.to_string_lossy().into_owned());
    let name = experiment_name(name.or(stem.as_deref()).unwrap_or_default());
    let source =
        format!("import {}", paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" "));
    store_tests(store, &name, &source, tests, notes)
}

/// Labels of files: their names, or their paths if two have the same name.
fn labels(paths: &[PathBuf]) -> Vec<String> {
    let name = |path: &PathBuf| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let names: Vec<String> = paths.iter().map(name).collect();
    let label = |(path, own): (&PathBuf, &String)| match names.iter().filter(|name| *name == own).count() {
        1 => own.clone(),
        _ => path.to_string_lossy().into_owned(),
    };
    paths.iter().zip(&names).map(label).collect()
}

fn store_tests(
    store: &mut Store,
    name: &str,
    source: &str,
    tests: Vec<Test>,
    notes: Vec<String>,
) -> Result<ImportSummary, LabError> {
    let (common, groups) = groups(tests);
    let toml = toml_text::experiment(name, source, &common, &groups);
    let variables = BTreeMap::new();
    // Check now that the stored text parses, rather than at the first report.
    Experiment::parse(source, &toml, &variables)?;
    let mut results = Vec::new();
    for group in &groups {
        let most = group.samples.iter().map(|(_, samples)| samples.len()).max().unwrap_or(0);
        for index in 0..most {
            let metrics = group.samples.iter().filter_map(|(name, samples)| {
                Some(MetricValue { name: name.clone(), value: *samples.get(index)?, unit: UNIT.to_owned() })
            });
            let events =
                group.time.iter().map(|time| Event { at: 0, kind: EventKind::Note, text: format!("measured {time}") });
            let finished =
                Finished { metrics: metrics.collect(), events: events.collect(), ..Finished::bare(Outcome::Pass) };
            let repeat = u32::try_from(index + 1).unwrap_or(u32::MAX);
            let executor = ExecutorKind::Local.name().to_owned();
            results.push((PlannedRun { strategy: group.name.clone(), repeat, executor }, finished));
        }
    }
    let new = NewExperiment { name, toml: &toml, variables: &variables, source, snapshot: None };
    let experiment = store.import(&new, &results)?;
    Ok(ImportSummary { experiment, name: name.to_owned(), strategies: groups.len(), runs: results.len(), notes })
}

/// Text of a file; also UTF-16 from PowerShell.
fn text_of(path: &Path) -> Result<String, LabError> {
    let failed = |source| LabError::File { verb: "read", path: path.to_owned(), source };
    if path.metadata().map_err(failed)?.len() > MAX_BYTES {
        let reason = format!("`{}` is too large for llama-bench results", path.display());
        return Err(LabError::Usage { reason, hint: "name the output file of `llama-bench -o jsonl`".into() });
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    Ok(match bytes.strip_prefix(&[0xff, 0xfe]) {
        Some(wide) => {
            let words: Vec<_> = wide.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
            String::from_utf16_lossy(&words)
        }
        None => String::from_utf8_lossy(&bytes).into_owned(),
    })
}

/// Settings that all tests share, and a group for each set of the others.
fn groups(tests: Vec<Test>) -> (BTreeMap<String, String>, Vec<Group>) {
    let keys: BTreeSet<String> = tests.iter().flat_map(|test| test.settings.keys().cloned()).collect();
    let (common, varying): (Vec<_>, Vec<_>) = keys.into_iter().partition(|key| {
        let first = tests.first().and_then(|test| test.settings.get(key));
        tests.iter().all(|test| test.settings.get(key) == first)
    });
    let shared = tests.first().map(|test| test.settings.clone()).unwrap_or_default();
    let common: BTreeMap<_, _> = shared.into_iter().filter(|(key, _)| common.contains(key)).collect();
    let mut groups: Vec<Group> = Vec::new();
    let mut names = BTreeSet::new();
    for test in tests {
        let location = groups.iter().position(|group| group.settings == test.settings).unwrap_or_else(|| {
            let name = unique(strategy_name(&test.settings, &varying), &mut names);
            groups.push(Group { name, settings: test.settings, samples: Vec::new(), time: test.time });
            groups.len() - 1
        });
        let samples = &mut groups[location].samples;
        match samples.iter_mut().find(|(name, _)| *name == test.name) {
            Some((_, samples)) => samples.extend(test.samples),
            None => samples.push((test.name, test.samples)),
        }
    }
    (common, groups)
}

/// Name of a strategy: the values that vary, with names for switches and numbers.
fn strategy_name(settings: &BTreeMap<String, String>, varying: &[String]) -> String {
    // These values are unambiguous without a name.
    const SELF_EVIDENT: [&str; 8] =
        ["backend", "backends", "file", "gpu_info", "model", "model_filename", "model_type", "devices"];
    // The file name varies together with its contents.
    let varies = |key: &str| varying.iter().any(|other| other == key);
    let part = |key: &String| {
        let value = settings.get(key)?;
        let redundant = key == "model_type" && varies("model_filename");
        let value = if key == "model_filename" { value.rsplit(['/', '\\']).next().unwrap_or(value) } else { value };
        let setting = if SELF_EVIDENT.contains(&key.as_str()) { value.to_owned() } else { format!("{key}={value}") };
        (!redundant).then_some(setting)
    };
    let parts: Vec<_> = varying.iter().filter_map(part).collect();
    let name = if parts.is_empty() {
        settings.get("backends").or(settings.get("backend")).cloned().unwrap_or_default()
    } else {
        parts.join(" ")
    };
    let name: String = name.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let end =
        name.char_indices().map(|(at, letter)| at + letter.len_utf8()).take_while(|end| *end <= MAX_NAME_LENGTH).last();
    match name[..end.unwrap_or(0)].trim() {
        "" => "llama-bench".to_owned(),
        name => name.to_owned(),
    }
}

fn unique(name: String, names: &mut BTreeSet<String>) -> String {
    let mut unique = name.clone();
    let mut number = 2;
    while !names.insert(unique.clone()) {
        unique = format!("{name} ({number})");
        number += 1;
    }
    unique
}

/// A valid experiment name.
fn experiment_name(text: &str) -> String {
    let slug: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' })
        .take(MAX_NAME_LENGTH)
        .collect();
    let slug = slug.trim_matches('-');
    if slug.is_empty() || slug == "latest" || slug.parse::<i64>().is_ok() {
        format!("llama-bench-{slug}").trim_matches('-').to_owned()
    } else {
        slug.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;

    fn entry(backend: &str, flash: u8, test: &str, samples: &str) -> String {
        format!(
            r#"{{"backends": "{backend}", "model_filename": "/m/{{{{x}}}} \u007f\".gguf", "n_gpu_layers": 99, "flash_attn": {flash},
            {test}, "avg_ts": 1, "samples_ts": {samples}, "test_time": "2026-11-17T09:30:00Z"}}"#
        )
        .replace('\n', " ")
    }

    #[test]
    fn a_file_becomes_an_experiment_that_reports() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run 7.jsonl");
        let (prompt, generate) = (r#""n_prompt": 512, "n_gen": 0"#, r#""n_prompt": 0, "n_gen": 128"#);
        let lines = [
            entry("Vulkan", 0, prompt, "[700, 701, 699, 702, 698]"),
            entry("Vulkan", 0, generate, "[60, 61, 59]"),
            entry("Vulkan", 1, prompt, "[800, 801, 799, 802, 798]"),
        ];
        std::fs::write(&path, lines.join("\n")).expect("written");
        let mut store = Store::in_memory().expect("a store");
        let imported = files(&mut store, &[path], None).expect("imported");
        assert_eq!((imported.name.as_str(), imported.strategies, imported.runs), ("run-7", 2, 10));
        let report = Report::load(&store, "run-7").expect("a report");
        let names: Vec<_> = report.strategies.iter().map(|strategy| strategy.name.as_str()).collect();
        assert_eq!(names, ["flash_attn=0", "flash_attn=1"]);
        assert_eq!(report.strategies[0].metrics["tg128"].count, 3);
        assert_eq!(
            report.strategies[0].command,
            ["llama-bench", "-m", "/m/{{x}} \u{7f}\".gguf", "-fa", "0", "-ngl", "99"]
        );
        assert_eq!(report.changes.len(), 1);
        assert_eq!(
            report.findings[0].to_string(),
            "`flash_attn=1` is better than flash_attn=0 in pp512: 800 against 700 t/s (+14 %)."
        );
        assert_eq!(report.recommendation.expect("both pass").strategy, "flash_attn=1");
        // The pattern matches llama-bench's table.
        let row = store.experiment("run-7").expect("it exists");
        let experiment = Experiment::parse("x", &row.toml, &row.variables).expect("an experiment");
        let found = experiment.metrics[0].pattern.captures("| llama 7B | Vulkan | 99 |   pp512 |   721.50 ± 3.20 |");
        assert_eq!(found.expect("it matches").get(1).expect("a figure").as_str(), "721.50");
    }

    #[test]
    fn files_with_the_same_settings_are_separate_strategies() {
        let folder = tempfile::tempdir().expect("a folder");
        let paths = ["a.json", "b.json"].map(|name| folder.path().join(name));
        let text = format!("[{}]", entry("ROCm", 0, r#""n_prompt": 512, "n_gen": 0"#, "[1]"));
        std::fs::write(&paths[0], &text).expect("written");
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        std::fs::write(&paths[1], [&[0xff, 0xfe], &wide[..]].concat()).expect("written");
        let mut store = Store::in_memory().expect("a store");
        files(&mut store, &paths, Some("12")).expect("imported");
        let report = Report::load(&store, "llama-bench-12").expect("a report");
        let names: Vec<_> = report.strategies.iter().map(|strategy| strategy.name.as_str()).collect();
        assert_eq!(names, ["a.json", "b.json"]);
    }

    #[test]
    fn equal_file_names_are_distinguished_and_duplicates_ignored() {
        let folder = tempfile::tempdir().expect("a folder");
        let paths = ["old", "new"].map(|name| folder.path().join(name).join("bench.json"));
        for path in &paths {
            std::fs::create_dir(path.parent().expect("it has one")).expect("made");
            let text = entry("ROCm", 0, r#""n_prompt": 512, "n_gen": 0"#, "[1, 2]");
            std::fs::write(path, text).expect("written");
        }
        let mut store = Store::in_memory().expect("a store");
        let [old, new] = paths.clone();
        let imported = files(&mut store, &[old.clone(), new, old], None).expect("imported");
        assert_eq!((imported.strategies, imported.runs, imported.notes.len()), (2, 4, 1), "{imported:?}");
        let report = Report::load(&store, "bench").expect("a report");
        assert!(report.strategies[0].name.ends_with("old/bench.json"), "{}", report.strategies[0].name);
        assert!(report.strategies[1].name.ends_with("new/bench.json"), "{}", report.strategies[1].name);
    }

    #[test]
    fn a_table_without_a_model_file_gets_a_placeholder() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("table.md");
        let table = "| model | backend | ngl | test | t/s |\n| --- | --- | --: | ---: | ---: |\n\
                     | llama 7B Q4_0 | Vulkan | 99 | pp512 | 721.50 ± 3.20 |\n";
        std::fs::write(&path, table).expect("written");
        let mut store = Store::in_memory().expect("a store");
        files(&mut store, &[path], None).expect("imported");
        let report = Report::load(&store, "table").expect("a report");
        assert_eq!(report.strategies[0].command, ["llama-bench", "-m", "MODEL.gguf", "-ngl", "99"]);
        assert!(report.experiment.notes[0].contains("`MODEL.gguf` is a placeholder"), "{:?}", report.experiment.notes);
        let row = store.experiment("table").expect("it exists");
        let settings = BTreeMap::from([("model".to_owned(), "/m/a.gguf".to_owned())]);
        let again = Experiment::parse("x", &row.toml, &settings).expect("an experiment");
        assert_eq!(again.strategies[0].command[2], "/m/a.gguf");
    }

    #[test]
    fn files_without_results_are_rejected_with_a_remedy() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        std::fs::write(&path, "hello").expect("written");
        let mut store = Store::in_memory().expect("a store");
        let error = files(&mut store, &[path], None).expect_err("it is none");
        assert!(error.to_string().ends_with("has no llama-bench results"), "{error}");
        assert!(files(&mut store, &[folder.path().join("none")], None).is_err());
        assert!(store.experiments().expect("readable").is_empty());
    }

    #[test]
    fn derived_names_are_valid_experiment_names() {
        let name_of =
            |value: &str| strategy_name(&BTreeMap::from([("backends".into(), value.into())]), &["backends".into()]);
        assert_eq!(name_of(" a\nb "), "a b");
        assert_eq!(name_of(""), "llama-bench");
        assert!(name_of(&"ü".repeat(99)).len() <= MAX_NAME_LENGTH);
        assert_eq!(
            [experiment_name("7"), experiment_name("a b/ü"), experiment_name("")],
            ["llama-bench-7", "a-b", "llama-bench"]
        );
        let mut names = BTreeSet::new();
        assert_eq!([unique("a".into(), &mut names), unique("a".into(), &mut names)], ["a", "a (2)"]);
    }
}
