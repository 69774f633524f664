//! The matrix on a terminal.

use super::outcome::{Outcome, Verdict};
use super::report::{DeviceReport, Report};
use crate::printer::{BAD, FAINT, GOOD};
use crate::units;

/// The whole text.
pub(super) fn render(report: &Report) -> String {
    let mut text = String::new();
    let used: Vec<_> = report.devices.iter().filter(|device| device.error.is_none()).collect();
    legend(report, &mut text);
    if !used.is_empty() {
        grid(report, &used, &mut text);
    }
    reasons(report, &mut text);
    text
}

fn legend(report: &Report, text: &mut String) {
    let width = report.devices.iter().map(|device| device.label.chars().count()).max().unwrap_or(0);
    for device in &report.devices {
        let label = format!("{:width$}", device.label);
        if let Some(error) = &device.error {
            text.push_str(&format!("{label}  {BAD}not usable{BAD:#}: {error}\n"));
            continue;
        }
        let says = |part: &Option<String>| part.clone().unwrap_or_default();
        text.push_str(&format!("{label}  {}, {}, {}\n", says(&device.name), says(&device.kind), says(&device.driver)));
    }
    text.push('\n');
}

fn grid(report: &Report, devices: &[&DeviceReport], text: &mut String) {
    let names = report.probes.iter().map(|probe| probe.name.chars().count() + 2);
    let first = names.max().unwrap_or(0).max(8);
    let widths: Vec<usize> = devices.iter().map(|device| device.label.chars().count().max(5)).collect();
    let head: Vec<_> = devices.iter().zip(&widths).map(|(device, width)| format!("{:width$}", device.label)).collect();
    text.push_str(format!("{:first$}  {}", "", head.join("  ")).trim_end());
    text.push('\n');
    for (group, probes) in report.groups() {
        text.push_str(&format!("{group}\n"));
        for probe in probes {
            let cell = |(device, width): (&&DeviceReport, &usize)| match report.finding(device, probe) {
                Some(finding) => marked(&finding.verdict, *width),
                None => " ".repeat(*width),
            };
            let cells: Vec<_> = devices.iter().zip(&widths).map(cell).collect();
            text.push_str(format!("  {:width$}  {}", probe.name, cells.join("  "), width = first - 2).trim_end());
            text.push('\n');
        }
    }
    let total = |device: &&DeviceReport| {
        let counts = report.counts(device);
        let count: Vec<_> = counts.iter().map(|(outcome, count)| format!("{count} {}", outcome.word())).collect();
        format!("{}: {}", device.label, count.join(", "))
    };
    text.push('\n');
    for device in devices {
        text.push_str(&format!("{}\n", total(device)));
    }
}

/// A mark in its colour, as wide as its column.
fn marked(verdict: &Verdict, width: usize) -> String {
    let mark = verdict.mark();
    let style = match verdict.outcome {
        Outcome::Works => GOOD,
        Outcome::Unsupported | Outcome::NotTried => FAINT,
        Outcome::Wrong | Outcome::Crashes | Outcome::Hangs => BAD,
    };
    // Blanks stand behind the colour, so that those at the end of a line can go.
    format!("{style}{mark}{style:#}{}", " ".repeat(width.saturating_sub(mark.len())))
}

fn reasons(report: &Report, text: &mut String) {
    let failures: Vec<_> = report.failures().collect();
    if !failures.is_empty() {
        text.push_str("\nFailures\n");
    }
    for (device, finding) in failures {
        let (word, detail) = (finding.verdict.outcome.word(), finding.verdict.detail.clone().unwrap_or_default());
        text.push_str(&format!("  {}: {} {BAD}{word}{BAD:#}: {detail}\n", device.label, finding.probe));
    }
    let refusals = report.refusals();
    if !refusals.is_empty() {
        text.push_str("\nNot supported\n");
    }
    for (label, reason, probes) in refusals {
        text.push_str(&format!("  {label}: {} {FAINT}({reason}){FAINT:#}\n", probes.join("; ")));
    }
    let label = |uri: &str| {
        let found = report.devices.iter().find(|device| device.uri == uri);
        found.map_or_else(|| uri.to_owned(), |device| device.label.clone())
    };
    if !report.changes.is_empty() {
        text.push_str("\nChanges since the last run\n");
    }
    for change in &report.changes {
        text.push_str(&format!("  {}: {}\n", label(&change.device), change.describe()));
    }
    if report.results.iter().any(|finding| finding.verdict.mark().ends_with('*')) {
        text.push_str(&format!("\n{FAINT}* right, without a kernel of its own{FAINT:#}\n"));
    }
    text.push_str(&format!("\n{} probes, {}\n", report.results.len(), units::seconds(report.seconds)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::matrix::report::example;

    #[test]
    fn rows_are_probes_and_columns_devices() {
        let text = anstream::adapter::strip_str(&render(&example())).to_string();
        assert!(
            text.contains("\ncasts\n  cast f32 to f16  ok     -\nproducts\n  a<b>             ok*    WRONG\n"),
            "{text}"
        );
        assert!(text.contains("x         not usable: gone\n"), "{text}");
        assert!(text.contains("  vulkan:0: mm hangs: no word within 60 s\n"), "{text}");
        assert!(text.contains("  vulkan:0: mm: works -> hangs (before: Mesa 24)\n"), "{text}");
        assert!(text.contains("vulkan:0: 1 unsupported, 1 hangs, 1 wrong\n"), "{text}");
    }
}
