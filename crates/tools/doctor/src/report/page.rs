//! The report as a page: one file without scripts, readable on a phone and in the dark.

use std::sync::LazyLock;

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use crate::conclusion::Cause;
use crate::diagnosis::{Diagnosis, GpuDiagnosis};
use crate::finding_text;
use crate::rules::{Reboot, Step};
use crate::snapshot::Snapshot;

use super::{LINES, SECTIONS, in_section, joined, shown};

const TEMPLATE: &str = "report.html.jinja";

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    let syntax = minijinja::syntax::SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    templates.set_syntax(syntax.expect("the default delimiters are valid"));
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    let is_html = |name: &str| name.ends_with(".jinja");
    templates.set_auto_escape_callback(move |name| if is_html(name) { AutoEscape::Html } else { AutoEscape::None });
    for (name, source) in [("style.css", include_str!("style.css")), (TEMPLATE, include_str!("report.html.jinja"))] {
        templates.add_template(name, source).expect("a test parses each template");
    }
    templates
});

/// Values of the page.
#[derive(Serialize)]
struct Page<'a> {
    program: &'a str,
    healthy: bool,
    verdict: &'a str,
    gpus: Vec<Card<'a>>,
    findings: Vec<Finding<'a>>,
    /// Null if nothing was computed.
    computed: Option<&'a [String]>,
    failed_probes: Vec<Row>,
    sections: Vec<Section>,
    /// Null if the log could not be read.
    log: Option<LogTail>,
    unreadable: &'a [String],
}

#[derive(Serialize)]
struct Card<'a> {
    name: String,
    pci: &'a str,
    route: &'static str,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Finding<'a> {
    id: &'a str,
    title: &'a str,
    severity: &'static str,
    gpus: String,
    meaning: &'a str,
    evidence: Vec<Row>,
    lines: Vec<&'a str>,
    steps: Vec<StepRow<'a>>,
    then: &'static str,
    sources: Vec<&'a str>,
}

#[derive(Serialize)]
struct StepRow<'a> {
    is_command: bool,
    text: &'a str,
}

#[derive(Serialize)]
struct Section {
    title: &'static str,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    value: String,
}

#[derive(Serialize)]
struct LogTail {
    shown: usize,
    all: usize,
    text: String,
}

/// The report as a page. All input is masked already; `computed` has one line per tested device.
pub fn html(snapshot: &Snapshot, diagnosis: &Diagnosis, computed: Option<&[String]>, program: &str) -> String {
    let page = page(snapshot, diagnosis, computed, program);
    let text = TEMPLATES.get_template(TEMPLATE).and_then(|template| template.render(Serde(page)));
    text.unwrap_or_else(|error| panic!("the template does not match its values: {error:#}")) + "\n"
}

fn page<'a>(
    snapshot: &'a Snapshot,
    diagnosis: &'a Diagnosis,
    computed: Option<&'a [String]>,
    program: &'a str,
) -> Page<'a> {
    let facts = snapshot.facts();
    let row = |name: &str, value: String| Row { name: name.to_owned(), value };
    let card = |card: &'a GpuDiagnosis| {
        let known = snapshot.gpus.iter().position(|gpu| gpu.pci == card.pci).and_then(|at| facts.gpus.get(at));
        let obstacles = card.routes.iter().filter_map(|route| {
            let not = if route.unknown { "perhaps" } else { "not" };
            Some(row(&format!("{not} by {}", route.kind.describe()), route.obstacle.clone()?))
        });
        let values = known.into_iter().flat_map(|table| table.iter());
        let values = values.map(|(name, facts)| row(name.trim_start_matches("gpu."), shown(name, facts)));
        Card { name: card.name(), pci: &card.pci, route: card.best(), rows: obstacles.chain(values).collect() }
    };
    let section = |(title, words): &(&'static str, &'static [&'static str])| Section {
        title,
        rows: in_section(&facts, words).map(|(name, values)| row(name, joined(values))).collect(),
    };
    let log = snapshot.kernel_log.as_ref().map(|log| {
        let lines: Vec<_> = log.lines().collect();
        let tail = &lines[lines.len().saturating_sub(LINES)..];
        LogTail { shown: tail.len(), all: lines.len(), text: tail.join("\n") }
    });
    let failed = diagnosis.failed_probes.iter().map(|probe| row(probe.driver, probe.reason.clone()));
    Page {
        program,
        healthy: diagnosis.healthy,
        verdict: &diagnosis.verdict,
        gpus: diagnosis.gpus.iter().map(card).collect(),
        findings: diagnosis.findings.iter().map(finding).collect(),
        computed,
        failed_probes: failed.collect(),
        sections: SECTIONS.iter().map(section).collect(),
        log,
        unreadable: &diagnosis.unreadable,
    }
}

fn finding(cause: &Cause) -> Finding<'_> {
    let evidence = cause.evidence.iter().map(|evidence| Row {
        name: evidence.name.clone(),
        value: evidence.value.clone().unwrap_or_else(|| "absent".to_owned()),
    });
    // A rule of a user could have an address that runs a script.
    let is_page = |source: &&String| source.starts_with("https://");
    Finding {
        id: &cause.id,
        title: &cause.title,
        severity: finding_text::severity(cause.severity),
        gpus: cause.gpus.join(", "),
        meaning: &cause.meaning,
        evidence: evidence.collect(),
        lines: cause.lines.iter().map(|line| line.text.trim()).collect(),
        steps: cause.steps_here.iter().map(step).collect(),
        then: match cause.reboot {
            Reboot::None => "",
            Reboot::Login => "Log out and in again.",
            Reboot::Module => "Load the module again, or reboot.",
            Reboot::Reboot => "Reboot.",
        },
        sources: cause.sources.iter().filter(is_page).map(String::as_str).collect(),
    }
}

fn step(step: &Step) -> StepRow<'_> {
    match step {
        Step::Run(text) => StepRow { is_command: true, text },
        Step::Say(text) => StepRow { is_command: false, text },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gpu, LogReader, RuleSet};

    fn rendered(snapshot: &Snapshot) -> String {
        let (rule_set, reader) =
            (RuleSet::builtin().expect("the rules are right"), LogReader::new().expect("the file is right"));
        let computed = ["vulkan:0: <b>crashes</b>".to_owned()];
        html(snapshot, &Diagnosis::new(&rule_set, &reader, snapshot), Some(&computed), "roci 0")
    }

    #[test]
    fn text_is_escaped_and_the_page_loads_nothing() {
        let name = Some("</h3><script>alert(1)</script> \" onload='x'".to_owned());
        let gpu = Gpu { pci: "0000:03:00.0".into(), pci_id: "1002:731f".into(), name, ..Gpu::default() };
        let mut snapshot = Snapshot::default();
        snapshot.gpus.push(gpu);
        snapshot.kernel_log = Some("</pre><img src=x onerror=alert(1)>\namdgpu: ring gfx_0.0.0 timeout".into());
        let text = rendered(&snapshot);
        for wrong in ["<script", "<img", "<b>crashes", "src=", "@import", "url(", "<link", " onload='"] {
            let at = text.find(wrong).map(|at| &text[at.saturating_sub(60)..(at + 40).min(text.len())]);
            assert!(at.is_none() || at.is_some_and(|text| text.contains("&lt;")), "{wrong}: {at:?}");
        }
        for expected in ["&lt;script&gt;", "ring gfx_0.0.0 timeout", "name=\"viewport\"", "prefers-color-scheme: dark"]
        {
            assert!(text.contains(expected), "{expected} is missing:\n{text}");
        }
        assert!(!text.contains("{{") && !text.contains("{%"), "{text}");
    }

    #[test]
    fn a_machine_without_a_gpu_has_a_page() {
        let text = rendered(&Snapshot::default());
        assert!(text.contains("sees no AMD GPU") && text.contains("could not be read"), "{text}");
    }
}
