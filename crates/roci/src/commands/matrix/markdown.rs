//! The matrix as Markdown, for bug reports and pages.

use super::date;
use super::outcome::{Outcome, Verdict};
use super::report::Report;

/// The whole text.
pub(super) fn render(report: &Report) -> String {
    let used: Vec<_> = report.devices.iter().filter(|device| device.error.is_none()).collect();
    let mut text = format!(
        "# What works where\n\nMade by `roci matrix` {} on {}. Every result was compared with a reference in double \
         precision; probes ran in processes of their own, which may crash or hang.\n\n",
        report.roci,
        date::utc(report.started),
    );
    for device in &report.devices {
        let says = |part: &Option<String>| escaped(part.as_deref().unwrap_or_default());
        let state = match &device.error {
            Some(error) => format!("not usable: {}", escaped(error)),
            None => {
                let counts = report.counts(device);
                let counts: Vec<_> =
                    counts.iter().map(|(outcome, count)| format!("{count} {}", outcome.word())).collect();
                format!(
                    "{}, {}, {}: {}",
                    says(&device.name),
                    says(&device.kind),
                    says(&device.driver),
                    counts.join(", ")
                )
            }
        };
        text.push_str(&format!("- **{}**: {state}\n", escaped(&device.label)));
    }
    if !used.is_empty() {
        let heads: Vec<_> = used.iter().map(|device| format!(" {} |", escaped(&device.label))).collect();
        text.push_str(&format!("\n| |{}\n|---|{}\n", heads.concat(), "---|".repeat(used.len())));
    }
    for (group, probes) in if used.is_empty() { Vec::new() } else { report.groups() } {
        text.push_str(&format!("| **{}** |{}\n", escaped(group), " |".repeat(used.len())));
        for probe in probes {
            let cell = |device| report.finding(device, probe).map_or("", |finding| mark(&finding.verdict));
            let cells: Vec<_> = used.iter().map(|device| format!(" {} |", cell(device))).collect();
            text.push_str(&format!("| {} |{}\n", escaped(&probe.name), cells.concat()));
        }
    }
    reasons(report, &mut text);
    text
}

fn reasons(report: &Report, text: &mut String) {
    let failures: Vec<_> = report.failures().collect();
    if !failures.is_empty() {
        text.push_str("\n## Failures\n\n");
    }
    for (device, finding) in failures {
        let detail = escaped(finding.verdict.detail.as_deref().unwrap_or_default());
        let (label, probe) = (escaped(&device.label), escaped(&finding.probe));
        text.push_str(&format!("- {label}, {probe}: **{}**, {detail}\n", finding.verdict.outcome.word()));
    }
    let refusals = report.refusals();
    if !refusals.is_empty() {
        text.push_str("\n## Not supported\n\n");
    }
    for (label, reason, probes) in refusals {
        text.push_str(&format!("- {}: {} ({})\n", escaped(&label), escaped(&probes.join("; ")), escaped(&reason)));
    }
    if !report.changes.is_empty() {
        text.push_str("\n## Changes since the last run\n\n");
    }
    for change in &report.changes {
        text.push_str(&format!("- {}, {}\n", escaped(&change.device), escaped(&change.describe())));
    }
}

/// A cell. What is broken stands out without colour.
fn mark(verdict: &Verdict) -> &'static str {
    match verdict.outcome {
        Outcome::Wrong => "**wrong**",
        Outcome::Crashes => "**crashes**",
        Outcome::Hangs => "**hangs**",
        _ => verdict.mark(),
    }
}

/// Text that means itself, in a cell too.
fn escaped(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '#' => made.extend(['\\', letter]),
            '\n' | '\r' => made.push(' '),
            _ => made.push(letter),
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::matrix::report::example;

    #[test]
    fn cells_and_reasons_are_escaped() {
        let text = render(&example());
        assert!(text.contains("| | cpu | vulkan:0 |\n|---|---|---|\n| **casts** | | |\n"), "{text}");
        assert!(text.contains("| a\\<b\\> | ok* | **wrong** |\n"), "{text}");
        assert!(text.contains("got \\<nan\\> \\| want 1"), "{text}");
        assert!(text.contains("on 2026-11-17 00:00 UTC"), "{text}");
        assert!(text.contains("- vulkan:0, mm: **hangs**, no word within 60 s\n"), "{text}");
    }
}
