//! A report as one page that needs nothing else: no other file, no network, no script.

use std::fmt::Write;

use crate::outcome::Outcome;

use super::markdown::{short_image, spread_around};
use super::plot::{self, Bar, Track};
use super::text::{block, duration, html, number, percent, shell};
use super::{Report, Row, Sentence, StrategyReport, date};

const STYLE: &str = include_str!("page/style.css");
/// Strategies that have a section of their own; all are in the table.
const SECTIONS: usize = 100;

/// The page.
pub fn render(report: &Report) -> String {
    let title = html(&report.experiment.title);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    heading(report, &mut page);
    table(report, &mut page);
    plots(report, &mut page);
    if !report.findings.is_empty() {
        page.push_str("<h2>Key findings</h2>\n<ul>\n");
        for finding in &report.findings {
            let _ = writeln!(page, "<li>{}</li>", finding.html());
        }
        page.push_str("</ul>\n");
    }
    changes(report, &mut page);
    recommendation(report, &mut page);
    next(report, &mut page);
    details(report, &mut page);
    page.push_str("</body>\n</html>\n");
    page
}

fn heading(report: &Report, page: &mut String) {
    let experiment = &report.experiment;
    let (name, source, began) = (html(&experiment.name), html(&experiment.source), date::utc(experiment.created));
    let _ = writeln!(
        page,
        "<p class=\"faint\">Experiment <code>{name}</code>, number {}, {source}, begun {began}; {} done, {} open.</p>",
        experiment.id,
        crate::words::count(experiment.done, "run", "runs"),
        experiment.open
    );
    let class = if report.status.word == "WORKS" { "good" } else { "bad" };
    let _ = writeln!(
        page,
        "<p><span class=\"status {class}\">{}</span>: {}</p>",
        report.status.word,
        html(&report.status.why)
    );
    if let Some(goal) = &experiment.goal {
        let _ = writeln!(page, "<p>{}</p>", html(goal.trim()));
    }
    if !experiment.notes.is_empty() {
        let items: String = experiment.notes.iter().map(|note| format!("<li>{}</li>\n", html(note.trim()))).collect();
        let _ = writeln!(page, "<ul>\n{items}</ul>");
    }
    if let Some(baseline) = &report.baseline {
        let known = report.metrics.iter().filter_map(|metric| Some((metric, baseline.metrics.get(&metric.name)?)));
        let known: String = known
            .map(|(metric, series)| {
                format!(", {} {} {}", html(&metric.name), number(series.median), html(&metric.unit))
            })
            .collect();
        let _ = writeln!(page, "<p>Baseline: {}{known}.</p>", html(&baseline.label));
    }
}

/// The word of a result, in its colour, and what is behind it.
fn result(strategy: &StrategyReport) -> String {
    let class = match &strategy.result {
        Some(Outcome::Pass) => "good",
        Some(outcome) if outcome.ran() => "bad",
        _ => "none",
    };
    let said = strategy.result_text();
    let (word, rest) = said
        .split_once(" - ")
        .map_or((said.as_str(), String::new()), |(word, rest)| (word, format!(" {}", html(rest))));
    format!("<span class=\"tag {class}\">{}</span>{rest}", html(word))
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<code>{}</code>", html(text)) }
}

fn table(report: &Report, page: &mut String) {
    let images = report.has_images();
    let head = if images { "<th>Image</th>" } else { "" };
    let _ = writeln!(
        page,
        "<h2>Strategies</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>Strategy</th>{head}<th>Key changes</th>\
         <th>Result</th></tr></thead>\n<tbody>"
    );
    for Row { first: strategy, names } in report.rows() {
        let image = strategy.image.as_deref().map(short_image).unwrap_or_default();
        let image = if images { format!("<td>{}</td>", code(image)) } else { String::new() };
        let (name, changes) = match names.len() {
            1 => (html(&strategy.name), code(&strategy.changes)),
            _ => (Sentence::list(&names).html(), String::new()),
        };
        let _ = writeln!(page, "<tr><th>{name}</th>{image}<td>{changes}</td><td>{}</td></tr>", result(strategy));
    }
    page.push_str("</tbody>\n</table></div>\n");
}

fn plots(report: &Report, page: &mut String) {
    let is_baseline =
        |name: &str| report.baseline.as_ref().and_then(|baseline| baseline.strategy.as_deref()) == Some(name);
    for metric in &report.metrics {
        let mut rows: Vec<_> = Vec::new();
        let given = report.baseline.as_ref().filter(|baseline| baseline.strategy.is_none());
        if let Some((baseline, series)) =
            given.and_then(|baseline| Some((baseline, baseline.metrics.get(&metric.name)?)))
        {
            rows.push(Bar { name: &baseline.label, series, is_baseline: true });
        }
        rows.extend(report.strategies.iter().filter_map(|strategy| {
            let series = strategy.metrics.get(&metric.name)?;
            Some(Bar { name: &strategy.name, series, is_baseline: is_baseline(&strategy.name) })
        }));
        if rows.is_empty() {
            continue;
        }
        let better = if metric.higher_is_better { "more is better" } else { "less is better" };
        let name = html(&metric.name);
        let _ = writeln!(
            page,
            "<h2>{name} by strategy</h2>\n<p class=\"faint\">Medians, with the least and the most of several runs; {better}.{}</p>",
            left_out(rows.len())
        );
        let _ = writeln!(
            page,
            "<div class=\"scroll\">{}</div>",
            plot::bars(&format!("{} by strategy", metric.name), &metric.unit, &rows)
        );
    }
    time_line(report, page);
}

fn left_out(rows: usize) -> String {
    if rows > plot::MOST_ROWS { format!(" The first {} of {rows}.", plot::MOST_ROWS) } else { String::new() }
}

fn time_line(report: &Report, page: &mut String) {
    let phases: Vec<_> = report.phases.iter().map(String::as_str).collect();
    let track = |strategy: &'_ StrategyReport| -> Option<(Vec<(f64, usize)>, f64)> {
        let end = strategy.seconds.filter(|_| strategy.result.as_ref().is_some_and(Outcome::ran))?;
        let places = strategy
            .track
            .iter()
            .filter_map(|reached| Some((reached.at, phases.iter().position(|phase| *phase == reached.phase)?)));
        Some((places.collect(), end))
    };
    let tracks: Vec<_> = report
        .strategies
        .iter()
        .filter_map(|strategy| {
            let (phases, end) = track(strategy)?;
            let outcome = strategy.result.as_ref().map_or("", Outcome::word);
            Some(Track { name: &strategy.name, phases, end, outcome, is_bad: !strategy.passed() })
        })
        .collect();
    if phases.is_empty() || tracks.is_empty() {
        return;
    }
    let _ = writeln!(
        page,
        "<h2>Phases over time</h2>\n<p class=\"faint\">One run of each strategy, the last with its result.{}</p>",
        left_out(tracks.len())
    );
    page.push_str(&plot::legend(&phases));
    let _ = writeln!(page, "<div class=\"scroll\">{}</div>", plot::time_line("Phases over time", &phases, &tracks));
}

fn changes(report: &Report, page: &mut String) {
    let Some(baseline) = report.baseline.as_ref().filter(|_| !report.changes.is_empty()) else { return };
    let _ = writeln!(
        page,
        "<h2>Against the baseline</h2>\n<p class=\"faint\">Compared with {}. {}</p>\n<div class=\"scroll\"><table>\n<thead><tr>\
         <th>Strategy</th><th>Metric</th><th class=\"number\">Before</th><th class=\"number\">After</th>\
         <th class=\"number\">Change</th><th></th></tr></thead>\n<tbody>",
        html(&baseline.label),
        html(report.rule)
    );
    for change in &report.changes {
        let class = match change.verdict {
            super::Verdict::Better => "tag good",
            super::Verdict::Worse => "tag bad",
            _ => "tag none",
        };
        let [before, after] = change.figures();
        let _ = writeln!(
            page,
            "<tr><th>{}</th><td>{} ({})</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td><span class=\"{class}\">{}</span></td></tr>",
            html(&change.strategy),
            html(&change.metric),
            html(&change.unit),
            spread_around(&before, &change.before),
            spread_around(&after, &change.after),
            change.change.map(percent).unwrap_or_default(),
            change.word()
        );
    }
    page.push_str("</tbody>\n</table></div>\n");
}

fn recommendation(report: &Report, page: &mut String) {
    page.push_str("<h2>Recommended configuration</h2>\n");
    let Some(recommended) = &report.recommendation else {
        let keep = report.baseline.as_ref().filter(|baseline| baseline.strategy.is_none());
        let keep = keep.map(|baseline| format!(" Stay with {}.", html(&baseline.label))).unwrap_or_default();
        let _ = writeln!(page, "<p>None: no strategy passed every run.{keep}</p>");
        return;
    };
    let _ = writeln!(page, "<p>{}</p>", recommended.why.html());
    pre(page, &recommended.script);
    for (title, text) in [("For Kubernetes", &recommended.kubernetes), ("For compose", &recommended.compose)] {
        let _ = writeln!(page, "<details><summary>{title}</summary>");
        pre(page, text);
        page.push_str("</details>\n");
    }
}

fn pre(page: &mut String, text: &str) {
    let _ = writeln!(page, "<pre>{}</pre>", html(&block(text)));
}

fn next(report: &Report, page: &mut String) {
    if report.next.is_empty() {
        return;
    }
    page.push_str("<h2>Next steps</h2>\n<ol>\n");
    for step in &report.next {
        let _ = write!(page, "<li>{}", step.what.html());
        if !step.commands.is_empty() {
            pre(page, &step.commands.join("\n"));
        }
        page.push_str("</li>\n");
    }
    page.push_str("</ol>\n");
}

fn details(report: &Report, page: &mut String) {
    page.push_str("<h2>Strategies one by one</h2>\n");
    let rows = report.rows();
    for row in rows.iter().take(SECTIONS) {
        section(row.first, page);
    }
    let shown = rows.len().min(SECTIONS);
    if report.strategies.len() > shown {
        let more = report.strategies.len() - shown;
        let _ = writeln!(page, "<p>And {more} more: <code>roci lab show</code> has them.</p>");
    }
}

fn section(strategy: &StrategyReport, page: &mut String) {
    let _ = writeln!(page, "<details><summary><h3>{}</h3> {}</summary>", html(&strategy.name), result(strategy));
    if let Some(hypothesis) = &strategy.hypothesis {
        let _ = writeln!(page, "<p>Hypothesis: {}</p>", html(hypothesis.trim()));
    }
    let mut lines: Vec<_> = strategy.image.iter().map(|image| format!("image {image}")).collect();
    lines.extend(strategy.unset.iter().map(|name| format!("unset {}", shell(name))));
    lines.extend(strategy.env.iter().map(|(name, value)| format!("{name}={}", shell(value))));
    lines.push(strategy.command.iter().map(|word| shell(word)).collect::<Vec<_>>().join(" "));
    pre(page, &lines.join("\n"));
    let mut facts: Vec<String> =
        strategy.track.iter().map(|reached| format!("{} at {}", html(&reached.phase), duration(reached.at))).collect();
    facts.extend(strategy.seconds.map(|seconds| format!("Took {}", duration(seconds))));
    for line in &strategy.kernel {
        let times = if line.count > 1 { format!(" ({} times)", line.count) } else { String::new() };
        let said = line.finding.as_ref().map(|finding| format!(": {}", html(finding))).unwrap_or_default();
        facts.push(format!("Kernel{times}: {}{said}", code(&line.line)));
    }
    facts.extend(strategy.waits().iter().map(|wait| format!("Waiting: {}", code(wait))));
    if !facts.is_empty() {
        let items: String = facts.iter().map(|fact| format!("<li>{fact}</li>\n")).collect();
        let _ = writeln!(page, "<ul>\n{items}</ul>");
    }
    if !strategy.tail.is_empty() {
        page.push_str("<p class=\"faint\">The end of its output:</p>\n");
        pre(page, &strategy.tail);
    }
    page.push_str("</details>\n");
}
