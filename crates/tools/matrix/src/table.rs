//! The matrix as a table for terminals.

use anstyle::Style;
use roci_probe::{Outcome, Verdict, units};

use super::report::{DeviceReport, Report};

/// Styles of the table.
#[derive(Clone, Copy, Debug)]
pub struct Styles {
    /// Probes that work.
    pub good: Style,
    /// Probes that are broken.
    pub bad: Style,
    /// Probes that are unsupported or skipped.
    pub faint: Style,
}

/// Renders the table, with styles as ANSI escape sequences.
pub fn render(report: &Report, styles: &Styles) -> String {
    let mut text = String::new();
    let used: Vec<_> = report.devices.iter().filter(|device| device.error.is_none()).collect();
    legend(report, styles, &mut text);
    if !used.is_empty() {
        grid(report, &used, styles, &mut text);
    }
    reasons(report, styles, &mut text);
    text
}

fn legend(report: &Report, styles: &Styles, text: &mut String) {
    let bad = styles.bad;
    let width = report.devices.iter().map(|device| device.label.chars().count()).max().unwrap_or(0);
    for device in &report.devices {
        let label = format!("{:width$}", device.label);
        if let Some(error) = &device.error {
            text.push_str(&format!("{label}  {bad}not usable{bad:#}: {error}\n"));
            continue;
        }
        let shown = |part: &Option<String>| part.clone().unwrap_or_default();
        text.push_str(&format!(
            "{label}  {}, {}, {}\n",
            shown(&device.name),
            shown(&device.kind),
            shown(&device.driver)
        ));
    }
    text.push('\n');
}

fn grid(report: &Report, devices: &[&DeviceReport], styles: &Styles, text: &mut String) {
    let names = report.probes.iter().map(|probe| probe.name.chars().count() + 2);
    let first = names.max().unwrap_or(0).max(8);
    let widths: Vec<usize> = devices.iter().map(|device| device.label.chars().count().max(5)).collect();
    let head: Vec<_> = devices.iter().zip(&widths).map(|(device, width)| format!("{:width$}", device.label)).collect();
    text.push_str(format!("{:first$}  {}", "", head.join("  ")).trim_end());
    text.push('\n');
    for (group, probes) in report.groups() {
        text.push_str(&format!("{group}\n"));
        for probe in probes {
            let cell = |(device, width): (&&DeviceReport, &usize)| match report.result(device, probe) {
                Some(result) => marked(&result.verdict, *width, styles),
                None => " ".repeat(*width),
            };
            let cells: Vec<_> = devices.iter().zip(&widths).map(cell).collect();
            text.push_str(format!("  {:width$}  {}", probe.name, cells.join("  "), width = first - 2).trim_end());
            text.push('\n');
        }
    }
    let total = |device: &&DeviceReport| {
        let counts = report.counts(device);
        let count: Vec<_> = counts.iter().map(|(outcome, count)| format!("{count} {}", outcome.name())).collect();
        format!("{}: {}", device.label, count.join(", "))
    };
    text.push('\n');
    for device in devices {
        text.push_str(&format!("{}\n", total(device)));
    }
}

/// A colored mark, padded to the column width.
fn marked(verdict: &Verdict, width: usize, styles: &Styles) -> String {
    let mark = verdict.mark();
    let style = match verdict.outcome {
        Outcome::Works => styles.good,
        Outcome::Unsupported | Outcome::NotTried => styles.faint,
        Outcome::Wrong | Outcome::Crashes | Outcome::Hangs => styles.bad,
    };
    // Padding follows the color codes, so that trailing spaces can be trimmed.
    format!("{style}{mark}{style:#}{}", " ".repeat(width.saturating_sub(mark.len())))
}

fn reasons(report: &Report, styles: &Styles, text: &mut String) {
    let (bad, faint) = (styles.bad, styles.faint);
    let failures: Vec<_> = report.failures().collect();
    if !failures.is_empty() {
        text.push_str("\nFailures\n");
    }
    for (device, result) in failures {
        let (outcome, detail) = (result.verdict.outcome.name(), result.verdict.detail.as_deref().unwrap_or_default());
        text.push_str(&format!("  {}: {} {bad}{outcome}{bad:#}: {detail}\n", device.label, result.probe));
    }
    let refusals = report.refusals();
    if !refusals.is_empty() {
        text.push_str("\nNot supported\n");
    }
    for refusal in refusals {
        let (probes, reason) = (refusal.probes.join("; "), refusal.reason);
        text.push_str(&format!("  {}: {probes} {faint}({reason}){faint:#}\n", refusal.device));
    }
    if !report.changes.is_empty() {
        text.push_str("\nChanges since the last run\n");
    }
    for change in &report.changes {
        text.push_str(&format!("  {}: {}\n", report.label(&change.device), change.describe()));
    }
    if report.has_starred_results() {
        text.push_str(&format!("\n{faint}* right, without a kernel of its own{faint:#}\n"));
    }
    text.push_str(&format!("\n{} probes, {}\n", report.results.len(), units::seconds(report.seconds)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example;

    #[test]
    fn rows_are_probes_and_columns_devices() {
        let plain = Style::new();
        let text = render(&example(), &Styles { good: plain, bad: plain, faint: plain });
        assert!(
            text.contains("\ncasts\n  cast f32 to f16  ok     -\nproducts\n  a<b>             ok*    WRONG\n"),
            "{text}"
        );
        assert!(text.contains("x         not usable: gone\n"), "{text}");
        assert!(text.contains("  vulkan:0: mm hangs: no response within 60 s\n"), "{text}");
        assert!(text.contains("  vulkan:0: mm: works -> hangs (before: Mesa 24)\n"), "{text}");
        assert!(text.contains("vulkan:0: 1 unsupported, 1 hangs, 1 wrong\n"), "{text}");
    }
}
