//! The matrix as a self-contained HTML page: the templates are in `page`.

use std::sync::LazyLock;

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use roci_probe::Outcome;
use serde::Serialize;

use super::date;
use super::report::{DeviceReport, Report, UnsupportedProbes};

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    let syntax = minijinja::syntax::SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    templates.set_syntax(syntax.expect("the default delimiters are valid"));
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    let is_html = |name: &str| name.ends_with(".jinja");
    templates.set_auto_escape_callback(move |name| if is_html(name) { AutoEscape::Html } else { AutoEscape::None });
    for (name, source) in [
        ("style.css", include_str!("page/style.css")),
        ("filter.js", include_str!("page/filter.js")),
        ("matrix.html.jinja", include_str!("page/matrix.html.jinja")),
    ] {
        templates.add_template(name, source).expect("a test parses each template");
    }
    templates
});

/// Values of the page.
#[derive(Serialize)]
struct Page<'a> {
    roci: &'a str,
    started: String,
    interrupted: bool,
    devices: Vec<Device<'a>>,
    /// Labels of the devices that were opened, which are the columns.
    columns: Vec<&'a str>,
    groups: Vec<Group<'a>>,
    failures: Vec<Failure<'a>>,
    changes: Vec<Change<'a>>,
    refusals: Vec<UnsupportedProbes<'a>>,
    has_starred: bool,
}

#[derive(Serialize)]
struct Device<'a> {
    #[serde(flatten)]
    report: &'a DeviceReport,
    counts: String,
}

#[derive(Serialize)]
struct Group<'a> {
    name: &'a str,
    rows: Vec<Row<'a>>,
}

/// A probe with one cell per column.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    /// The text that the filter searches.
    text: String,
    is_bad: bool,
    /// Null where the probe has no result.
    cells: Vec<Option<Cell>>,
}

#[derive(Serialize)]
struct Cell {
    outcome: &'static str,
    mark: String,
    title: String,
}

#[derive(Serialize)]
struct Failure<'a> {
    device: &'a str,
    probe: &'a str,
    outcome: &'static str,
    detail: &'a str,
}

#[derive(Serialize)]
struct Change<'a> {
    device: &'a str,
    text: String,
}

/// Renders the page.
pub fn render(report: &Report) -> String {
    let page = TEMPLATES.get_template("matrix.html.jinja").and_then(|template| template.render(Serde(page(report))));
    page.unwrap_or_else(|error| panic!("the template does not match its values: {error:#}"))
}

fn page(report: &Report) -> Page<'_> {
    let opened: Vec<_> = report.devices.iter().filter(|device| device.error.is_none()).collect();
    let counts = |device: &DeviceReport| {
        let counts = report.counts(device);
        counts.iter().map(|(outcome, count)| format!("{count} {}", outcome.name())).collect::<Vec<_>>().join(", ")
    };
    let failures = report.failures().map(|(device, result)| Failure {
        device: &device.label,
        probe: &result.probe,
        outcome: result.verdict.outcome.name(),
        detail: result.verdict.detail.as_deref().unwrap_or_default(),
    });
    let change = |change: &super::OutcomeChange| change.describe();
    Page {
        roci: report.roci,
        started: date::utc(report.started),
        interrupted: report.interrupted,
        devices: report.devices.iter().map(|device| Device { report: device, counts: counts(device) }).collect(),
        columns: opened.iter().map(|device| device.label.as_str()).collect(),
        groups: groups(report, &opened),
        failures: failures.collect(),
        changes: (report.changes.iter())
            .map(|one| Change { device: report.label(&one.device), text: change(one) })
            .collect(),
        refusals: report.refusals(),
        has_starred: report.has_starred_results(),
    }
}

fn groups<'a>(report: &'a Report, devices: &[&DeviceReport]) -> Vec<Group<'a>> {
    let group = |(group, probes): (&'a str, Vec<&'a super::ProbeReport>)| {
        let row = |probe: &'a super::ProbeReport| {
            let results: Vec<_> = devices.iter().map(|device| report.result(device, probe)).collect();
            let outcomes: Vec<Outcome> = results.iter().flatten().map(|result| result.verdict.outcome).collect();
            let names: Vec<_> = outcomes.iter().map(|outcome| outcome.name()).collect();
            let cell = |result: &super::ProbeResult| {
                let (verdict, milliseconds) = (&result.verdict, result.seconds * 1e3);
                let detail = verdict.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
                Cell {
                    outcome: verdict.outcome.name(),
                    mark: verdict.mark().to_lowercase(),
                    title: format!("{}{detail} ({milliseconds:.0} ms)", verdict.outcome.name()),
                }
            };
            Row {
                name: &probe.name,
                text: format!("{group} {} {}", probe.name, names.join(" ")).to_lowercase(),
                is_bad: outcomes.iter().any(|outcome| outcome.is_bad()),
                cells: results.into_iter().map(|result| result.map(cell)).collect(),
            }
        };
        Group { name: group, rows: probes.into_iter().map(row).collect() }
    };
    report.groups().into_iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example;

    #[test]
    fn text_of_drivers_is_escaped() {
        let page = render(&example());
        for raw in ["<nan>", "<b>", "Card <1>", "Mesa & 25", "\"two\""] {
            assert!(!page.contains(raw), "{raw}");
        }
        assert!(
            page.contains(
                "<td class=\"wrong\" title=\"wrong: got &lt;nan&gt; | want 1 (250 ms)\"><span>wrong</span></td>"
            ),
            "{page}"
        );
        assert!(page.contains("<tr data-text=\"products mm works hangs\" data-bad=\"1\"><th>mm</th>"), "{page}");
        assert!(page.contains("<li>vulkan:0, mm: works -&gt; hangs (before: Mesa 24)</li>"), "{page}");
    }

    #[test]
    fn every_section_is_rendered() {
        let page = render(&example());
        for text in [
            "0.1.0 on 2026-11-17 00:00 UTC.",
            "<li><strong>x</strong><span class=\"bad-text\">not usable</span>: gone</li>",
            "<br>1 unsupported, 1 hangs, 1 wrong</li>",
            "<th>Operation</th><th>cpu</th><th>vulkan:0</th>",
            "<tr class=\"group\"><th>casts</th><th colspan=\"2\"></th></tr>",
            "<li>vulkan:0, a&lt;b&gt;: <span class=\"bad-text\">wrong</span>, got &lt;nan&gt; | want 1</li>",
            "<li>vulkan:0: cast f32 to f16 <span class=\"faint\">(no f16)</span></li>",
            "ok*: right, without a kernel of its own.",
        ] {
            assert!(page.contains(text), "{text}\n{page}");
        }
    }

    #[test]
    fn the_page_loads_nothing() {
        let page = render(&example());
        for word in ["http:", "https:", "src=", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
        assert!(page.contains("prefers-color-scheme: dark") && page.contains("width=device-width"));
        assert!(page.contains("row.dataset.bad === \"1\""), "the script is not escaped");
    }
}
