//! A rule and its parts.

use serde::{Deserialize, Serialize};

use crate::fix::Change;
use crate::scan::LogPattern;

use super::condition::Condition;
use super::forbid::Api;

/// Severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// Compute does not work at all.
    Blocker,
    /// Hangs, crashes or wrong results.
    High,
    /// Something does not work, or is much slower.
    Medium,
    /// Slower, or harmless noise.
    Low,
    /// Information only.
    Info,
}

/// Quality of the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[non_exhaustive]
pub enum Confidence {
    /// Source code, vendor documentation or vendor engineers.
    A,
    /// Measured, or reported by several people.
    B,
    /// A single report.
    C,
    /// General knowledge.
    D,
}

/// What is needed for a remedy to take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Reboot {
    /// Nothing.
    None,
    /// Log out and in again.
    Login,
    /// Reload the module, or reboot.
    Module,
    /// The whole machine must be restarted.
    Reboot,
}

/// A step of a remedy.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Step {
    /// A command to run as is.
    Run(String),
    /// An instruction in prose.
    Say(String),
}

/// A rule: conditions, their meaning and the remedy.
#[derive(Clone, Debug)]
pub struct Rule {
    /// ID such as `KFD-01`.
    pub id: String,
    /// Topic: the name of its file.
    pub topic: String,
    /// Summary in one line.
    pub title: String,
    /// Severity of the problem.
    pub severity: Severity,
    /// Quality of the sources.
    pub confidence: Confidence,
    /// Explanation of the problem.
    pub meaning: String,
    /// Remedy, in order.
    pub steps: Vec<Step>,
    /// What is needed for the steps to take effect.
    pub reboot: Reboot,
    /// How to make the remedy permanent.
    pub persistence: Option<String>,
    /// Outdated advice that this rule replaces.
    pub outdated_advice: Option<String>,
    /// IDs of rules about consequences of this problem. If this rule fires, they are listed below
    /// it.
    pub explains: Vec<String>,
    /// APIs that must not be used while the rule holds, because that can crash the machine.
    pub forbids: Vec<Api>,
    /// Changes that `roci doctor fix` can make.
    pub fix: Vec<Change>,
    /// URLs of reports, code and documents that the rule relies on.
    pub sources: Vec<String>,
    /// First version for which it holds, such as `Linux 6.17.8`.
    pub since: Option<String>,
    /// Last version for which it holds.
    pub until: Option<String>,
    /// Day when its sources were last checked, such as `2026-11-20`.
    pub checked: Option<String>,
    /// Whether a matching line counts in the text of any program, even if the text names no GPU.
    pub(crate) strong: bool,
    /// All of these must hold.
    pub(super) when: Condition,
    /// One of these must hold, if there are any.
    pub(super) any: Vec<Condition>,
    /// None of these may hold.
    pub(super) none: Vec<Condition>,
    /// One of these must match a log line, if there are any.
    pub(super) log: Vec<LogPattern>,
    /// Whether it fires without a log line even if exceptions are unknown.
    pub(super) likely: bool,
    /// Examples that must fire.
    pub(super) fires: Vec<Example>,
    /// Near misses that must not fire.
    pub(super) silent: Vec<Example>,
}

impl Rule {
    /// Whether it applies to each GPU separately.
    pub(super) fn is_about_gpus(&self) -> bool {
        let conditions = [&self.when].into_iter().chain(&self.any).chain(&self.none);
        conditions.flat_map(Condition::names).any(|name| name.starts_with("gpu."))
    }

    /// Names of facts and groups that its texts have in braces.
    pub(super) fn words(&self) -> Vec<&str> {
        let steps = self.steps.iter().map(|step| match step {
            Step::Run(text) | Step::Say(text) => text,
        });
        let texts = [&self.title, &self.meaning].into_iter().chain(&self.persistence).chain(steps);
        let texts = texts.map(String::as_str).chain(self.fix.iter().map(Change::text));
        let names = texts.flat_map(|text| text.split('{').skip(1)).filter_map(|rest| Some(rest.split_once('}')?.0));
        let is_name = |name: &&str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic())
                && !name.contains("..")
                && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        };
        names.filter(is_name).collect()
    }
}

/// Facts and a log that a rule is tested on.
#[derive(Clone, Debug, Default)]
pub(super) struct Example {
    pub(super) facts: Vec<(String, String)>,
    pub(super) log: String,
}
