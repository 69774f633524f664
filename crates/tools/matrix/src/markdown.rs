//! The matrix as Markdown, for bug reports and web pages.

use roci_probe::{Outcome, Verdict};

use super::date;
use super::report::Report;

/// Renders the document.
pub fn render(report: &Report) -> String {
    let used: Vec<_> = report.devices.iter().filter(|device| device.error.is_none()).collect();
    let mut text = format!(
        "# What works where\n\nMade by `roci matrix` {} on {}. Every result was compared with a reference in double \
         precision; probes ran in processes of their own, which may crash or hang.\n\n",
        report.roci,
        date::utc(report.started),
    );
    for device in &report.devices {
        let shown = |part: &Option<String>| escaped(part.as_deref().unwrap_or_default());
        let state = match &device.error {
            Some(error) => format!("not usable: {}", escaped(error)),
            None => {
                let counts = report.counts(device);
                let counts: Vec<_> =
                    counts.iter().map(|(outcome, count)| format!("{count} {}", outcome.name())).collect();
                format!(
                    "{}, {}, {}: {}",
                    shown(&device.name),
                    shown(&device.kind),
                    shown(&device.driver),
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
            let cell = |device| report.result(device, probe).map_or("", |result| mark(&result.verdict));
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
    for (device, result) in failures {
        let detail = escaped(result.verdict.detail.as_deref().unwrap_or_default());
        let (label, probe) = (escaped(&device.label), escaped(&result.probe));
        text.push_str(&format!("- {label}, {probe}: **{}**, {detail}\n", result.verdict.outcome.name()));
    }
    let refusals = report.refusals();
    if !refusals.is_empty() {
        text.push_str("\n## Not supported\n\n");
    }
    for refusal in refusals {
        let (device, probes) = (escaped(refusal.device), escaped(&refusal.probes.join("; ")));
        text.push_str(&format!("- {device}: {probes} ({})\n", escaped(refusal.reason)));
    }
    if !report.changes.is_empty() {
        text.push_str("\n## Changes since the last run\n\n");
    }
    for change in &report.changes {
        text.push_str(&format!("- {}, {}\n", escaped(&change.device), escaped(&change.describe())));
    }
}

/// The text of a cell. Failures stand out without color.
fn mark(verdict: &Verdict) -> &'static str {
    match verdict.outcome {
        Outcome::Wrong => "**wrong**",
        Outcome::Crashes => "**crashes**",
        Outcome::Hangs => "**hangs**",
        _ => verdict.mark(),
    }
}

/// Escapes text for Markdown, including table cells.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '#' => escaped.extend(['\\', letter]),
            '\n' | '\r' => escaped.push(' '),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example;

    #[test]
    fn cells_and_reasons_are_escaped() {
        let text = render(&example());
        assert!(text.contains("| | cpu | vulkan:0 |\n|---|---|---|\n| **casts** | | |\n"), "{text}");
        assert!(text.contains("| a\\<b\\> | ok* | **wrong** |\n"), "{text}");
        assert!(text.contains("got \\<nan\\> \\| want 1"), "{text}");
        assert!(text.contains("on 2026-11-17 00:00 UTC"), "{text}");
        assert!(text.contains("- vulkan:0, mm: **hangs**, no response within 60 s\n"), "{text}");
    }
}
