//! A report as one HTML page without scripts, other files or network access.
//!
//! The markup is in the templates under `page`. This file prepares the values that they print;
//! every string is escaped when it is printed.

use std::sync::LazyLock;

use minijinja::value::{Serde, ValueKind};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use crate::outcome::Outcome;

use super::markdown::{short_image, spread_around};
use super::plot::{BarChart, MetricBar, PhaseTrack, Timeline};
use super::sentence::Part;
use super::text::{self, percent, shell};
use super::{ExperimentInfo, KernelReport, ReachedPhase, Report, Row, Sentence, Status, StrategyReport, Verdict, date};

/// Strategies with their own section; the table lists all.
const MAX_SECTIONS: usize = 100;

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    let syntax = minijinja::syntax::SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    templates.set_syntax(syntax.expect("the default delimiters are valid"));
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    // The result of a macro counts as HTML only with auto-escaping on; `print` does the escaping.
    templates.set_auto_escape_callback(|name| if name.ends_with(".css") { AutoEscape::None } else { AutoEscape::Html });
    templates.set_formatter(print);
    templates.add_filter("number", text::number);
    templates.add_filter("duration", text::duration);
    templates.add_filter("block", |text: &str| text::block(text));
    for (name, source) in [
        ("style.css", include_str!("page/style.css")),
        ("macros.jinja", include_str!("page/macros.jinja")),
        ("bars.svg.jinja", include_str!("page/bars.svg.jinja")),
        ("timeline.svg.jinja", include_str!("page/timeline.svg.jinja")),
        ("report.html.jinja", include_str!("page/report.html.jinja")),
    ] {
        templates.add_template(name, source).expect("a test parses each built-in template");
    }
    templates
});

/// Prints a value of a template. Strings are escaped by [`text::html`], which also makes control
/// characters visible.
fn print(
    output: &mut minijinja::Output,
    _: &mut minijinja::State,
    value: &minijinja::Value,
) -> Result<(), minijinja::Error> {
    let printed = match value.kind() {
        ValueKind::Number => f64::try_from(value.clone())?.to_string(),
        _ if value.is_safe() => value.to_string(),
        _ => text::html(&value.to_string()),
    };
    Ok(output.write_str(&printed)?)
}

/// Renders a built-in template.
pub(super) fn render_template(name: &str, values: impl Serialize) -> String {
    let rendered = TEMPLATES.get_template(name).and_then(|template| template.render(Serde(values)));
    let mut rendered = rendered.unwrap_or_else(|error| panic!("{name} does not match its values: {error:#}"));
    rendered.push('\n');
    rendered
}

/// Values of `report.html.jinja`.
#[derive(Serialize)]
struct Page<'a> {
    experiment: &'a ExperimentInfo,
    started: String,
    done: String,
    status: &'a Status,
    baseline: Option<BaselineView<'a>>,
    has_images: bool,
    rows: Vec<TableRow<'a>>,
    charts: Vec<BarChart>,
    timeline: Option<Timeline>,
    findings: Vec<&'a [Part]>,
    rule: &'a str,
    changes: Vec<ChangeView<'a>>,
    recommendation: Option<RecommendationView<'a>>,
    next: Vec<StepView<'a>>,
    sections: Vec<Section<'a>>,
    more: usize,
}

#[derive(Serialize)]
struct BaselineView<'a> {
    label: &'a str,
    is_strategy: bool,
    values: Vec<BaselineValue<'a>>,
}

#[derive(Serialize)]
struct BaselineValue<'a> {
    metric: &'a str,
    unit: &'a str,
    median: f64,
}

/// A result as a colored tag, followed by details.
#[derive(Serialize)]
struct ResultTag {
    class: &'static str,
    word: String,
    detail: String,
}

#[derive(Serialize)]
struct TableRow<'a> {
    names: Vec<Part>,
    image: &'a str,
    changes: &'a str,
    result: ResultTag,
}

#[derive(Serialize)]
struct ChangeView<'a> {
    strategy: &'a str,
    metric: &'a str,
    unit: &'a str,
    before: String,
    after: String,
    percent: String,
    class: &'static str,
    verdict: &'static str,
}

#[derive(Serialize)]
struct RecommendationView<'a> {
    why: &'a [Part],
    script: &'a str,
    kubernetes: &'a str,
    compose: &'a str,
}

#[derive(Serialize)]
struct StepView<'a> {
    what: &'a [Part],
    commands: &'a [String],
}

#[derive(Serialize)]
struct Section<'a> {
    name: &'a str,
    result: ResultTag,
    hypothesis: Option<&'a str>,
    settings: String,
    phases: &'a [ReachedPhase],
    seconds: Option<f64>,
    kernel: &'a [KernelReport],
    waits: Vec<String>,
    tail: &'a str,
}

/// Renders the page.
///
/// # Panics
///
/// If a built-in template is faulty.
pub fn render(report: &Report) -> String {
    let rows = report.rows();
    let sections: Vec<_> = rows.iter().take(MAX_SECTIONS).map(|row| section(row.first)).collect();
    let page = Page {
        experiment: &report.experiment,
        started: date::utc(report.experiment.created),
        done: crate::message::count(report.experiment.done, "run", "runs"),
        status: &report.status,
        baseline: baseline(report),
        has_images: report.has_images(),
        rows: rows.iter().map(table_row).collect(),
        charts: charts(report),
        timeline: timeline(report),
        findings: report.findings.iter().map(Sentence::parts).collect(),
        rule: report.rule,
        changes: changes(report),
        recommendation: report.recommendation.as_ref().map(|recommended| RecommendationView {
            why: recommended.why.parts(),
            script: &recommended.script,
            kubernetes: &recommended.kubernetes,
            compose: &recommended.compose,
        }),
        next: report.next.iter().map(|step| StepView { what: step.what.parts(), commands: &step.commands }).collect(),
        more: report.strategies.len() - sections.len(),
        sections,
    };
    render_template("report.html.jinja", page)
}

fn baseline(report: &Report) -> Option<BaselineView<'_>> {
    let baseline = report.baseline.as_ref()?;
    let values = report.metrics.iter().filter_map(|metric| {
        let median = baseline.metrics.get(&metric.name)?.median;
        Some(BaselineValue { metric: &metric.name, unit: &metric.unit, median })
    });
    Some(BaselineView { label: &baseline.label, is_strategy: baseline.strategy.is_some(), values: values.collect() })
}

fn result_tag(strategy: &StrategyReport) -> ResultTag {
    let class = match &strategy.result {
        Some(Outcome::Pass) => "good",
        Some(outcome) if outcome.ran() => "bad",
        _ => "none",
    };
    let text = strategy.result_text();
    let (word, detail) = text.split_once(" - ").unwrap_or((&text, ""));
    ResultTag { class, word: word.to_owned(), detail: detail.to_owned() }
}

fn table_row<'a>(row: &Row<'a>) -> TableRow<'a> {
    let strategy = row.first;
    let (names, changes) = match row.names.len() {
        1 => (vec![Part::plain(&strategy.name)], strategy.changes.as_str()),
        _ => (Sentence::list(&row.names).parts().to_vec(), ""),
    };
    let image = strategy.image.as_deref().map(short_image).unwrap_or_default();
    TableRow { names, image, changes, result: result_tag(strategy) }
}

fn charts(report: &Report) -> Vec<BarChart> {
    let baseline = report.baseline.as_ref();
    let is_baseline = |name: &str| baseline.and_then(|baseline| baseline.strategy.as_deref()) == Some(name);
    let chart = |metric: &super::MetricReport| {
        let given = baseline.filter(|baseline| baseline.strategy.is_none()).and_then(|baseline| {
            let series = baseline.metrics.get(&metric.name)?;
            Some(MetricBar { name: &baseline.label, series, is_baseline: true })
        });
        let measured = report.strategies.iter().filter_map(|strategy| {
            let series = strategy.metrics.get(&metric.name)?;
            Some(MetricBar { name: &strategy.name, series, is_baseline: is_baseline(&strategy.name) })
        });
        let bars: Vec<_> = given.into_iter().chain(measured).collect();
        let title = format!("{} by strategy", metric.name);
        (!bars.is_empty()).then(|| BarChart::new(&title, &metric.unit, metric.higher_is_better, &bars))
    };
    report.metrics.iter().filter_map(chart).collect()
}

fn timeline(report: &Report) -> Option<Timeline> {
    let phases: Vec<_> = report.phases.iter().map(String::as_str).collect();
    let track = |strategy: &'_ StrategyReport| -> Option<(Vec<(f64, usize)>, f64)> {
        let end = strategy.seconds.filter(|_| strategy.result.as_ref().is_some_and(Outcome::ran))?;
        let starts = strategy
            .timeline
            .iter()
            .filter_map(|reached| Some((reached.at, phases.iter().position(|phase| *phase == reached.phase)?)));
        Some((starts.collect(), end))
    };
    let tracks: Vec<_> = report
        .strategies
        .iter()
        .filter_map(|strategy| {
            let (phases, end) = track(strategy)?;
            let outcome = strategy.result.as_ref().map_or("", Outcome::word);
            Some(PhaseTrack { name: &strategy.name, phases, end, outcome, is_bad: !strategy.passed() })
        })
        .collect();
    let is_empty = phases.is_empty() || tracks.is_empty();
    (!is_empty).then(|| Timeline::new("Phases over time", &phases, &tracks))
}

fn changes(report: &Report) -> Vec<ChangeView<'_>> {
    let changes = report.changes.iter().filter(|_| report.baseline.is_some());
    changes
        .map(|change| {
            let [before, after] = change.medians();
            ChangeView {
                strategy: &change.strategy,
                metric: &change.metric,
                unit: &change.unit,
                before: spread_around(&before, &change.before),
                after: spread_around(&after, &change.after),
                percent: change.change.map(percent).unwrap_or_default(),
                class: match change.verdict {
                    Verdict::Better => "good",
                    Verdict::Worse => "bad",
                    _ => "none",
                },
                verdict: change.word(),
            }
        })
        .collect()
}

fn section(strategy: &StrategyReport) -> Section<'_> {
    let mut settings: Vec<_> = strategy.image.iter().map(|image| format!("image {image}")).collect();
    settings.extend(strategy.unset.iter().map(|name| format!("unset {}", shell(name))));
    settings.extend(strategy.env.iter().map(|(name, value)| format!("{name}={}", shell(value))));
    settings.push(strategy.command.iter().map(|word| shell(word)).collect::<Vec<_>>().join(" "));
    Section {
        name: &strategy.name,
        result: result_tag(strategy),
        hypothesis: strategy.hypothesis.as_deref(),
        settings: settings.join("\n"),
        phases: &strategy.timeline,
        seconds: strategy.seconds,
        kernel: &strategy.kernel,
        waits: strategy.waits(),
        tail: &strategy.tail,
    }
}
