//! Texts from public issue threads whose cause is known, and how the doctor's conclusions compare.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use roci_doctor::{Cause, Conclusion, LogReader, RuleSet};
use serde::Deserialize;

/// Rules that state what happened. They are true of many causes, so naming one as the first cause
/// is neither right nor wrong.
const SYMPTOMS: &[&str] = &[
    "DSP-01", "FLT-01", "FLT-02", "FLT-03", "FLT-04", "FLT-05", "FLT-06", "FLT-07", "FLT-10", "FLT-13", "KFD-11",
    "KRN-01", "KRN-01b", "MEM-08c", "OVR-01", "OVR-01b", "PWR-10", "RST-01", "RST-02", "RST-03", "RUN-01", "TMO-03",
    "TMO-06", "TMO-07", "TMO-08", "TMO-08b", "TMO-09", "VLM-02", "WIN-02",
];

/// A cause that texts have.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct KnownCause {
    pub(crate) words: String,
    pub(crate) component: String,
    pub(crate) rules: Vec<String>,
    pub(crate) near: Vec<String>,
    pub(crate) healthy: bool,
}

/// An excerpt of a thread.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) link: String,
    pub(crate) chip: String,
    pub(crate) cause: String,
    pub(crate) log: String,
}

/// How a conclusion compares with the known cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// The first cause is right.
    Right,
    /// The failure is recognized, its cause is not named first.
    Generic,
    /// Nothing is reported.
    Silent,
    /// The first cause is wrong, or a problem is reported where none is.
    Wrong,
    /// The verdict says that there is no known problem.
    AllClear,
}

/// A conclusion, compared.
#[derive(Clone, Debug)]
pub(crate) struct Judgement {
    pub(crate) outcome: Outcome,
    /// Verdict in one line.
    pub(crate) verdict: String,
    /// IDs of the causes, in order.
    pub(crate) causes: Vec<String>,
    /// IDs under "Possible" that are right, and that are false.
    pub(crate) possible: [Vec<String>; 2],
}

/// Counts of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) texts: usize,
    pub(crate) right: usize,
    pub(crate) generic: usize,
    pub(crate) silent: usize,
    pub(crate) wrong: usize,
    pub(crate) all_clear: usize,
    pub(crate) possible: usize,
    pub(crate) false_possible: usize,
}

/// The folder with the texts.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("evidence")
}

/// Causes by name.
pub(crate) fn causes() -> BTreeMap<String, KnownCause> {
    let text = fs::read_to_string(folder().join("causes.toml")).expect("causes.toml");
    toml::from_str(&text).expect("valid causes")
}

/// Texts of a part: `tune` or `held`.
pub(crate) fn texts(part: &str) -> Vec<Text> {
    let file = fs::read_to_string(folder().join(format!("{part}.txt"))).expect("texts");
    let mut texts: Vec<Text> = Vec::new();
    for line in file.lines() {
        if let Some(head) = line.strip_prefix("@ https://") {
            let words: Vec<&str> = head.split_whitespace().take(4).collect();
            let [link, _date, chip, cause] = words[..] else { panic!("{line}") };
            let link = format!("https://{link}");
            texts.push(Text { link, chip: chip.to_owned(), cause: cause.to_owned(), log: String::new() });
        } else if let Some(text) = texts.last_mut() {
            text.log.push_str(line);
            text.log.push('\n');
        }
    }
    texts
}

/// Compares what the doctor says about a text with the cause that is known.
pub(crate) fn judge(reader: &LogReader, rules: &RuleSet, text: &Text, cause: &KnownCause) -> Judgement {
    let conclusion = Conclusion::of(reader, rules, &text.log);
    let output = conclusion.text(false);
    let problem = conclusion.problems();
    let is_right = |id: &str| cause.rules.iter().any(|rule| rule == id);
    let is_near = |id: &str| is_right(id) || cause.near.iter().any(|rule| rule == id);
    let first = conclusion.causes.first().map_or("", |cause| cause.id.as_str());
    let symptom = first.is_empty() || SYMPTOMS.contains(&first) || is_near(first);
    let outcome = match (cause.healthy, problem) {
        (true, true) => Outcome::Wrong,
        (true, false) => Outcome::Right,
        _ if is_right(first) => Outcome::Right,
        (false, true) if symptom => Outcome::Generic,
        (false, true) => Outcome::Wrong,
        (false, false) if output.to_lowercase().contains("no known problem") => Outcome::AllClear,
        (false, false) => Outcome::Silent,
    };
    let ids = |causes: &[Cause]| causes.iter().map(|cause| cause.id.clone()).collect::<Vec<_>>();
    let (right, wrong) = ids(&conclusion.possible).into_iter().partition(|id| is_near(id));
    let verdict = output.lines().next().unwrap_or_default().to_owned();
    Judgement { outcome, verdict, causes: ids(&conclusion.causes), possible: [right, wrong] }
}

/// Judges a part.
pub(crate) fn judged(part: &str) -> Vec<(Text, Judgement)> {
    let (reader, rules) = (LogReader::new().expect("tables"), RuleSet::builtin().expect("rules"));
    let causes = causes();
    let judged = |text: Text| {
        let cause = causes.get(&text.cause).unwrap_or_else(|| panic!("no cause `{}`", text.cause));
        let judgement = judge(&reader, &rules, &text, cause);
        (text, judgement)
    };
    texts(part).into_iter().map(judged).collect()
}

/// Counts outcomes.
pub(crate) fn counts(judged: &[(Text, Judgement)]) -> Counts {
    let mut counts = Counts { texts: judged.len(), ..Counts::default() };
    for (_, judgement) in judged {
        let count = match judgement.outcome {
            Outcome::Right => &mut counts.right,
            Outcome::Generic => &mut counts.generic,
            Outcome::Silent => &mut counts.silent,
            Outcome::Wrong => &mut counts.wrong,
            Outcome::AllClear => &mut counts.all_clear,
        };
        *count += 1;
        counts.possible += judgement.possible.iter().map(Vec::len).sum::<usize>();
        counts.false_possible += judgement.possible[1].len();
    }
    counts
}
