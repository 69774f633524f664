//! Checks whether the doctor's rules forbid starting a strategy on its machine.
//!
//! Rules declare what they forbid (`forbids`), strategies what they use (`uses`). Only `--allow`
//! with a rule's ID overrides this. `--assume-needs` does not, since a run that freezes the machine
//! affects more than itself.

use std::collections::{BTreeMap, BTreeSet};

use roci_doctor::{Api, Finding, RuleSet, Snapshot, Step};

use crate::engine::this_machine;
use crate::error::LabError;
use crate::experiment::{ExecutorKind, Strategy, near};
use crate::message::{cut, listed};
use crate::outcome::Outcome;
use crate::report::one_line;

/// The rules, and the IDs that this command allows.
#[derive(Debug)]
pub struct RuleGuard {
    rule_set: RuleSet,
    allowed: BTreeSet<String>,
    /// Results of the check, by APIs used and by whether the run is on this machine.
    judged: BTreeMap<(BTreeSet<Api>, bool), Vec<Forbidden>>,
}

/// A rule that forbids a run.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Forbidden {
    rule: String,
    title: String,
    /// First step of its remedy.
    remedy: String,
}

impl Forbidden {
    fn of(finding: &Finding<'_>) -> Self {
        let remedy = match finding.steps_here().into_iter().next() {
            Some(Step::Run(command)) => format!("`{command}`"),
            Some(Step::Say(text)) => text,
            None => String::new(),
        };
        let text = |text: &str| one_line(text).trim_end_matches('.').to_owned();
        Self { rule: finding.rule.id.clone(), title: text(&finding.title()), remedy: text(&remedy) }
    }
}

/// Snapshots of the machines where a strategy can run.
#[derive(Debug)]
pub struct MachineSnapshots<'a> {
    /// Snapshot given with `--facts`.
    pub given: Option<&'a Snapshot>,
    /// Snapshot of this machine, taken on first use.
    pub here: &'a mut Option<Snapshot>,
}

impl RuleGuard {
    /// A guard with these rules, except the allowed ones.
    ///
    /// # Errors
    /// An ID that does not exist, or a rule that forbids nothing.
    pub fn new(rule_set: RuleSet, allow: &[String]) -> Result<Self, LabError> {
        let forbidding =
            || rule_set.rules().iter().filter(|rule| !rule.forbids.is_empty()).map(|rule| rule.id.as_str());
        let mut allowed = BTreeSet::new();
        for name in allow {
            let reason = match rule_set.find(name) {
                Some(rule) if !rule.forbids.is_empty() => {
                    allowed.insert(rule.id.clone());
                    continue;
                }
                Some(rule) => format!("the doctor's rule `{}` does not forbid runs", rule.id),
                None => format!("the doctor has no rule `{}`", cut(name)),
            };
            let known = listed(&forbidding().collect::<Vec<_>>());
            let suggestion =
                near(&name.to_uppercase(), forbidding()).map(|suggestion| format!("did you mean `{suggestion}`? "));
            let hint = format!("{}rules that forbid runs: {known}", suggestion.unwrap_or_default());
            return Err(LabError::Usage { reason, hint });
        }
        Ok(Self { rule_set, allowed, judged: BTreeMap::new() })
    }

    /// The outcome of a strategy that must not be started.
    pub fn blocked(&mut self, strategy: &Strategy, machines: MachineSnapshots<'_>) -> Option<Outcome> {
        let mut forbidden = self.forbidden(strategy, machines);
        forbidden.retain(|forbidden| !self.allowed.contains(&forbidden.rule));
        if forbidden.is_empty() {
            return None;
        }
        let one =
            |Forbidden { rule, title, remedy }: &Forbidden| format!("forbidden by {rule} ({title}); remedy: {remedy}");
        let mut parts: Vec<String> = forbidden.iter().map(one).collect();
        if strategy.uses.is_none() {
            parts.push("the file does not declare `uses`; if it uses only Vulkan, add `uses = [\"vulkan\"]`".into());
        }
        let rules: Vec<String> = forbidden.into_iter().map(|forbidden| forbidden.rule).collect();
        let flags: Vec<String> = rules.iter().map(|rule| format!("--allow {rule}")).collect();
        parts.push(format!("`{}` starts it anyway", flags.join(" ")));
        Some(Outcome::Blocked { why: parts.join("; "), rules })
    }

    /// Rules that forbid a strategy but were allowed by ID.
    pub fn overridden(&mut self, strategy: &Strategy, machines: MachineSnapshots<'_>) -> Vec<String> {
        let rules = self.forbidden(strategy, machines).into_iter().map(|forbidden| forbidden.rule);
        rules.filter(|rule| self.allowed.contains(rule)).collect()
    }

    fn forbidden(&mut self, strategy: &Strategy, machines: MachineSnapshots<'_>) -> Vec<Forbidden> {
        let key = (may_use(strategy), strategy.executor.kind.is_here());
        let judged = self.judged.entry(key).or_insert_with_key(|(uses, is_here)| {
            let mut forbidden: Vec<Forbidden> = Vec::new();
            // Taking a snapshot of this machine takes a moment.
            if !self.rule_set.rules().iter().any(|rule| rule.can_forbid(uses)) {
                return forbidden;
            }
            let here = if *is_here { Some(&*machines.here.get_or_insert_with(this_machine)) } else { None };
            // A snapshot of another machine does not make this one safe: for a run on this machine
            // both count.
            for machine in here.into_iter().chain(machines.given) {
                let log = machine.kernel_log.as_deref().unwrap_or_default();
                let found = self.rule_set.forbidding(&machine.facts(), log, uses);
                for finding in &found {
                    if forbidden.iter().all(|known| known.rule != finding.rule.id) {
                        forbidden.push(Forbidden::of(finding));
                    }
                }
            }
            forbidden
        });
        judged.clone()
    }
}

/// APIs that a strategy may use; all if not declared.
fn may_use(strategy: &Strategy) -> BTreeSet<Api> {
    let mut uses = strategy.uses.clone().unwrap_or_else(|| Api::ALL.into());
    let has_image = matches!(strategy.executor.kind, ExecutorKind::Container | ExecutorKind::Kubernetes);
    // The OpenCL drivers in an image are unknown, and ROCm's may be one of them.
    if has_image && uses.contains(&Api::OpenCl) {
        uses.insert(Api::Rocm);
    }
    uses
}
