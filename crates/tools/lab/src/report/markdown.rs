//! A report as Markdown.

use std::fmt::Write;

use super::text::{code, duration, fenced, number, percent, prose, shell};
use super::{MetricChange, Report, Row, Sentence, Series, StrategyReport, date};

/// Strategies with their own section; the table lists all.
const SECTIONS: usize = 100;

/// The report as Markdown, as `roci lab report` prints it.
pub fn render(report: &Report) -> String {
    let mut page = String::new();
    heading(report, &mut page);
    table(report, &mut page);
    figures(report, &mut page);
    if !report.findings.is_empty() {
        page.push_str("\n## Key findings\n\n");
        for finding in &report.findings {
            let _ = writeln!(page, "- {}", finding.markdown());
        }
    }
    changes(report, &mut page);
    recommendation(report, &mut page);
    next(report, &mut page);
    details(report, &mut page);
    page
}

fn heading(report: &Report, page: &mut String) {
    let experiment = &report.experiment;
    let _ = writeln!(page, "# {}\n", prose(experiment.title.trim()));
    let _ = writeln!(
        page,
        "**Experiment:** {} (number {}, {})  ",
        code(&experiment.name),
        experiment.id,
        prose(&experiment.source)
    );
    let _ = writeln!(page, "**Started:** {}  ", date::utc(experiment.created));
    let _ = writeln!(page, "**Status:** {} - {}", report.status.state, prose(&report.status.why));
    if let Some(goal) = &experiment.goal {
        let _ = writeln!(page, "\n## Goal\n\n{}", prose(goal.trim()));
    }
    if !experiment.notes.is_empty() {
        page.push_str("\n## Notes\n\n");
        for note in &experiment.notes {
            let _ = writeln!(page, "- {}", prose(note.trim()));
        }
    }
    if let Some(baseline) = &report.baseline {
        let _ = write!(page, "\n## Baseline\n\n{}", prose(baseline.label.trim()));
        if let Some(name) = &baseline.strategy {
            let _ = write!(page, " (strategy {})", code(name));
        }
        let known = report.metrics.iter().filter_map(|metric| Some((metric, baseline.metrics.get(&metric.name)?)));
        let known: Vec<_> = known
            .map(|(metric, series)| {
                format!("{} {} {}", prose(&metric.name), number(series.median), prose(&metric.unit))
            })
            .collect();
        let figures = if known.is_empty() { "no measurements".to_owned() } else { known.join(", ") };
        let _ = writeln!(page, ": {figures}");
    }
}

fn table(report: &Report, page: &mut String) {
    let images = report.has_images();
    let (head, rule) = if images { (" Image |", " --- |") } else { ("", "") };
    let _ = writeln!(page, "\n## Strategies\n\n| Strategy |{head} Key changes | Result |\n| --- |{rule} --- | --- |");
    for Row { first: strategy, names } in report.rows() {
        let image = strategy.image.as_deref().map(short_image).unwrap_or_default();
        let image = if images { format!(" {} |", code(image)) } else { String::new() };
        let (name, changes) = match names.len() {
            1 => (code(&strategy.name), code(&strategy.changes)),
            _ => (Sentence::list(&names).markdown(), String::new()),
        };
        let _ = writeln!(page, "| {name} |{image} {changes} | {} |", prose(&strategy.result_text()));
    }
}

/// The distinctive part of an image name, for tables.
pub(super) fn short_image(image: &str) -> &str {
    let name = image.rsplit('/').next().unwrap_or(image);
    match name.split_once(':') {
        Some((name, "latest")) => name,
        _ => name,
    }
}

fn figures(report: &Report, page: &mut String) {
    let measured: Vec<_> = report.strategies.iter().filter(|strategy| !strategy.metrics.is_empty()).collect();
    if measured.is_empty() {
        return;
    }
    page.push_str("\n## Measurements\n\nMedian, with minimum and maximum of repeated runs.\n\n| Strategy |");
    for metric in &report.metrics {
        let _ = write!(page, " {} ({}) |", prose(&metric.name), prose(&metric.unit));
    }
    let _ = writeln!(page, " Runs |\n| --- |{} ---: |", " ---: |".repeat(report.metrics.len()));
    for strategy in measured {
        let _ = write!(page, "| {} |", code(&strategy.name));
        for metric in &report.metrics {
            let _ = write!(page, " {} |", strategy.metrics.get(&metric.name).map(spread).unwrap_or_default());
        }
        let runs = strategy.metrics.values().map(|series| series.count).max().unwrap_or(0);
        let _ = writeln!(page, " {runs} |");
    }
}

/// A series in a table cell: `721 (715 to 730)`.
pub(super) fn spread(series: &Series) -> String {
    spread_around(&number(series.median), series)
}

/// The same, with a given median.
pub(super) fn spread_around(median: &str, series: &Series) -> String {
    match series.count {
        1 => median.to_owned(),
        _ => format!("{median} ({} to {})", number(series.min), number(series.max)),
    }
}

fn changes(report: &Report, page: &mut String) {
    let Some(baseline) = report.baseline.as_ref().filter(|_| !report.changes.is_empty()) else { return };
    let _ = writeln!(
        page,
        "\n## Compared with the baseline\n\nCompared with {}. {}\n",
        prose(&baseline.label),
        prose(report.rule)
    );
    page.push_str(&change_table(&report.changes));
}

/// Changes as a table; significant ones are bold.
pub(super) fn change_table(changes: &[MetricChange]) -> String {
    let mut table =
        String::from("| Strategy | Metric | Before | After | Change | |\n| --- | --- | ---: | ---: | ---: | --- |\n");
    for change in changes {
        let by = change.change.map(percent).unwrap_or_default();
        let bold = if change.counts() { "**" } else { "" };
        let [before, after] = change.medians();
        let _ = writeln!(
            table,
            "| {} | {} ({}) | {before} | {after} | {by} | {bold}{}{bold} |",
            code(&change.strategy),
            prose(&change.metric),
            prose(&change.unit),
            change.word()
        );
    }
    table
}

fn recommendation(report: &Report, page: &mut String) {
    page.push_str("\n## Recommended configuration\n\n");
    let Some(recommended) = &report.recommendation else {
        let keep = report.baseline.as_ref().filter(|baseline| baseline.strategy.is_none());
        let keep = keep.map(|baseline| format!(" Stay with {}.", prose(&baseline.label))).unwrap_or_default();
        let _ = writeln!(page, "None: no strategy passed every run.{keep}");
        return;
    };
    let _ = writeln!(page, "{}\n", recommended.why.markdown());
    page.push_str(&fenced("sh", &recommended.script));
    let _ = writeln!(page, "\nThe same for Kubernetes:\n\n{}", fenced("yaml", &recommended.kubernetes));
    let _ = writeln!(page, "The same for compose:\n\n{}", fenced("yaml", &recommended.compose).trim_end());
}

fn next(report: &Report, page: &mut String) {
    if report.next.is_empty() {
        return;
    }
    page.push_str("\n## Next steps\n\n");
    for (index, step) in report.next.iter().enumerate() {
        let _ = writeln!(page, "{}. {}", index + 1, step.what.markdown());
        if !step.commands.is_empty() {
            // Indented to the text of the step, so that it stays part of the list.
            for line in fenced("sh", &step.commands.join("\n")).lines() {
                let _ = writeln!(page, "{}{line}", " ".repeat((index + 1).to_string().len() + 2));
            }
        }
    }
}

fn details(report: &Report, page: &mut String) {
    page.push_str("\n## Strategies one by one\n");
    let rows = report.rows();
    for row in rows.iter().take(SECTIONS) {
        section(row.first, page);
    }
    let sections = rows.len().min(SECTIONS);
    if report.strategies.len() > sections {
        let _ = writeln!(page, "\nAnd {} more: `roci lab show` lists them.", report.strategies.len() - sections);
    }
}

fn section(strategy: &StrategyReport, page: &mut String) {
    let _ = writeln!(page, "\n### {}\n", code(&strategy.name));
    if let Some(hypothesis) = &strategy.hypothesis {
        let _ = writeln!(page, "**Hypothesis:** {}\n", prose(hypothesis.trim()));
    }
    if let Some(image) = &strategy.image {
        let _ = writeln!(page, "**Image:** {}\n", code(image));
    }
    let mut lines: Vec<_> = strategy.unset.iter().map(|name| format!("unset {}", shell(name))).collect();
    lines.extend(strategy.env.iter().map(|(name, value)| format!("{name}={}", shell(value))));
    lines.push(strategy.command.iter().map(|word| shell(word)).collect::<Vec<_>>().join(" "));
    page.push_str(&fenced("", &lines.join("\n")));
    let _ = writeln!(page, "\n**Result:** {}", prose(&strategy.result_text()));
    let mut facts = Vec::new();
    if !strategy.timeline.is_empty() {
        let reached =
            strategy.timeline.iter().map(|reached| format!("{} at {}", prose(&reached.phase), duration(reached.at)));
        facts.push(format!("Reached {}", reached.collect::<Vec<_>>().join(", ")));
    }
    if let Some(seconds) = strategy.seconds {
        facts.push(format!("Took {}", duration(seconds)));
    }
    for line in &strategy.kernel {
        let times = if line.count > 1 { format!(" ({} times)", line.count) } else { String::new() };
        let finding = line.finding.as_ref().map(|finding| format!(": {}", prose(finding))).unwrap_or_default();
        facts.push(format!("Kernel{times}: {}{finding}", code(&line.line)));
    }
    facts.extend(strategy.waits().iter().map(|wait| format!("Waiting: {}", code(wait))));
    if !facts.is_empty() {
        page.push('\n');
    }
    for fact in facts {
        let _ = writeln!(page, "- {fact}");
    }
    if !strategy.tail.is_empty() {
        let _ = writeln!(page, "\nEnd of its output:\n\n{}", fenced("", &strategy.tail).trim_end());
    }
}
