//! Order of causes: the most likely first, with its consequences below it.

use crate::rules::{Finding, Severity, Truth};

use super::{Cause, Certainty, ExplainedCause};

/// Turns findings into causes, the most likely first. A finding that a more certain one explains is
/// listed below it.
pub(crate) fn ranked(findings: &[Finding<'_>], address: &dyn Fn(usize) -> String) -> Vec<Cause> {
    let mut findings: Vec<&Finding<'_>> = findings.iter().collect();
    let found = findings.clone();
    findings.sort_by_key(|finding| {
        // A cause that depends on the machine is more specific than one that depends on a line
        // alone.
        let general = finding.evidence.is_empty();
        // One that no line shows is a fact of the machine, perhaps without a part in the failure.
        let unseen = finding.lines.is_empty() && found.iter().any(|other| shows_a_failure(other));
        let is_info = finding.rule.severity == Severity::Info;
        let certainty = certainty(finding);
        let possible = certainty == Certainty::Possible;
        let open = if possible { finding.unknown.len() } else { 0 };
        // A certain blocker comes before every cause that is only likely.
        let lesser = !(certainty == Certainty::Certain && finding.rule.severity == Severity::Blocker);
        (possible, is_info, open, lesser, unseen, general, finding.rule.severity, certainty, finding.rule.confidence)
    });
    let mut causes: Vec<Cause> = Vec::new();
    for finding in &findings {
        if let Some(same) = causes.iter_mut().find(|cause| cause.id == finding.rule.id) {
            same.gpus.extend(finding.gpu.map(address));
            continue;
        }
        let explains = |other: &&&Finding<'_>| {
            certainty(other) <= Certainty::Likely
                && other.rule.severity != Severity::Info
                && other.rule.explains.contains(&finding.rule.id)
        };
        match findings.iter().find(explains) {
            Some(_) => {}
            None => causes.push(cause_of(finding, address)),
        }
    }
    for cause in &mut causes {
        let Some(rule) = findings.iter().find(|finding| finding.rule.id == cause.id).map(|finding| finding.rule) else {
            continue;
        };
        let follows = |finding: &&&Finding<'_>| {
            rule.explains.contains(&finding.rule.id) && certainty(finding) <= Certainty::Likely
        };
        for finding in findings.iter().filter(follows) {
            let explained = ExplainedCause { id: finding.rule.id.clone(), title: finding.title() };
            if !cause.explains.contains(&explained) {
                cause.explains.push(explained);
            }
        }
    }
    causes
}

/// Whether a line of the log shows a problem, and the cause is not in question.
fn shows_a_failure(finding: &Finding<'_>) -> bool {
    !finding.lines.is_empty() && finding.rule.severity <= Severity::Medium && certainty(finding) <= Certainty::Likely
}

fn certainty(finding: &Finding<'_>) -> Certainty {
    match finding.truth {
        Truth::Yes => Certainty::Certain,
        _ if finding.likely => Certainty::Likely,
        _ => Certainty::Possible,
    }
}

fn cause_of(finding: &Finding<'_>, address: &dyn Fn(usize) -> String) -> Cause {
    let rule = finding.rule;
    Cause {
        id: rule.id.clone(),
        title: finding.title(),
        gpus: finding.gpu.map(address).into_iter().collect(),
        certainty: certainty(finding),
        severity: rule.severity,
        confidence: rule.confidence,
        lines: finding.lines.clone(),
        count: finding.count,
        evidence: finding.evidence.clone(),
        unknown: finding.unknown.clone(),
        meaning: finding.meaning(),
        steps: finding.steps(),
        steps_here: finding.steps_here(),
        fix: finding.fix(),
        reboot: rule.reboot,
        persistence: finding.persistence(),
        outdated_advice: rule.outdated_advice.clone(),
        sources: rule.sources.clone(),
        explains: Vec::new(),
    }
}
