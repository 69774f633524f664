//! A rule, as people write it and read it.

use serde::{Deserialize, Serialize};

use crate::scan::LogPattern;

use super::condition::Condition;
use super::forbid::Api;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing runs.
    Blocker,
    /// Hangs, crashes or wrong results.
    High,
    /// A part does not work, or is much slower.
    Medium,
    /// Slower, or noise.
    Low,
    /// Good to know.
    Info,
}

/// How sure the sources are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub enum Confidence {
    /// Source code, documentation of the vendor, or its engineers.
    A,
    /// Measured, or reported by several people.
    B,
    /// One report.
    C,
    /// General knowledge.
    D,
}

/// What it takes for a remedy to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reboot {
    /// Nothing.
    None,
    /// Logging out and in.
    Login,
    /// Loading the module again, or a reboot.
    Module,
    /// A reboot.
    Reboot,
}

/// A step of a remedy.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Step {
    /// A command, to be typed as it is.
    Run(String),
    /// What no command does.
    Say(String),
}

/// When this is so, that is what it means and what to do.
#[derive(Clone, Debug)]
pub struct Rule {
    /// `KFD-01`.
    pub id: String,
    /// The topic: the name of its file.
    pub topic: String,
    /// One line.
    pub title: String,
    /// How bad it is.
    pub severity: Severity,
    /// How sure the sources are.
    pub confidence: Confidence,
    /// What happens and why.
    pub meaning: String,
    /// What to do, in order.
    pub steps: Vec<Step>,
    /// What it takes for the steps to work.
    pub reboot: Reboot,
    /// How to make it last.
    pub lasts: Option<String>,
    /// Old advice that this rule retires.
    pub expired: Option<String>,
    /// Rules about what this one brings about: where this one holds, they need no telling of their own.
    pub explains: Vec<String>,
    /// Programs that use one of these must not be started where it holds: that can take the machine down.
    pub forbids: Vec<Api>,
    /// Who says so.
    pub sources: Vec<String>,
    /// All of these must hold.
    pub(super) when: Condition,
    /// And one of these, if there are any.
    pub(super) any: Vec<Condition>,
    /// And none of these.
    pub(super) none: Vec<Condition>,
    /// And one of these must match a line of the log, if there are any.
    pub(super) log: Vec<LogPattern>,
    /// Whether it also speaks where it is unknown if an exception holds, without a line of a log.
    pub(super) likely: bool,
    /// Examples that fire it.
    pub(super) fires: Vec<Example>,
    /// Near misses that do not.
    pub(super) silent: Vec<Example>,
}

impl Rule {
    /// Whether it is about single GPUs.
    pub(super) fn is_about_gpus(&self) -> bool {
        let conditions = [&self.when].into_iter().chain(&self.any).chain(&self.none);
        conditions.flat_map(Condition::names).any(|name| name.starts_with("gpu."))
    }

    /// What its texts have in braces, where that is a name: of a fact, or of a group of a pattern.
    pub(super) fn words(&self) -> Vec<&str> {
        let steps = self.steps.iter().map(|step| match step {
            Step::Run(text) | Step::Say(text) => text,
        });
        let texts = [&self.title, &self.meaning].into_iter().chain(&self.lasts).chain(steps);
        let names = texts.flat_map(|text| text.split('{').skip(1)).filter_map(|rest| Some(rest.split_once('}')?.0));
        let is_name = |name: &&str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic())
                && !name.contains("..")
                && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        };
        names.filter(is_name).collect()
    }
}

/// Facts and a log that a rule is tried on.
#[derive(Clone, Debug, Default)]
pub(super) struct Example {
    pub(super) facts: Vec<(String, String)>,
    pub(super) log: String,
}
