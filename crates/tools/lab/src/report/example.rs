//! Experiments for the tests of reports: a realistic one, and one in which every text is hostile.

use std::collections::BTreeMap;

use regex::Regex;

use crate::experiment::{
    Baseline, ExecutorKind, ExecutorOptions, Experiment, Limits, Metric, MetricAggregation, MetricDirection, Phase,
    Requirement, Strategy, SuccessCriteria,
};
use crate::outcome::{Outcome, Stack};
use crate::store::{
    Event, EventKind, ExperimentRow, Finished, KernelLine, MetricValue, NewExperiment, Output, PlannedRun, Store,
};

use super::Report;

const ROCM: &str = "kyuz0/amd-strix-halo-toolboxes:rocm-7.1.1";
const START: i64 = 1_766_916_000_000;

/// A container strategy with an image.
pub(super) fn strategy(name: &str, image: &str, env: &[(&str, &str)], command: &[&str]) -> Strategy {
    let env: BTreeMap<_, _> = env.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    Strategy {
        name: name.into(),
        hypothesis: None,
        changes: env.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "),
        command: command.iter().map(ToString::to_string).collect(),
        env,
        unset: Vec::new(),
        directory: None,
        image: Some(image.into()),
        uses: None,
        needs: Vec::new(),
        after: Vec::new(),
        skip: None,
        repeats: 1,
        limits: Limits::default(),
        executor: ExecutorOptions { kind: ExecutorKind::Container, ..ExecutorOptions::default() },
        axes: BTreeMap::new(),
    }
}

/// An experiment with these strategies and llama.cpp's phases.
pub(super) fn experiment(name: &str, strategies: Vec<Strategy>) -> Experiment {
    let any = || Regex::new("x").expect("a pattern");
    let metric = |name: &str| Metric {
        name: name.into(),
        pattern: any(),
        unit: "t/s".into(),
        direction: MetricDirection::Higher,
        aggregation: MetricAggregation::Last,
    };
    Experiment {
        name: name.into(),
        title: "ROCm on Strix Halo".into(),
        goal: Some("ROCm beside Vulkan for llama.cpp on gfx1151.".into()),
        targets: vec!["gfx1151".into()],
        notes: vec!["Watch ROCm issue 5534.".into()],
        phases: ["load", "async uploads", "graph_reserve", "generate"]
            .map(|name| Phase { name: name.into(), pattern: any() })
            .into(),
        metrics: vec![metric("prompt"), metric("generation")],
        success: SuccessCriteria::default(),
        baseline: None,
        strategies,
        toml: String::new(),
        variables: BTreeMap::new(),
    }
}

pub(super) fn phase(at: i64, name: &str) -> Event {
    Event { at, kind: EventKind::Phase, text: name.into() }
}

pub(super) fn hang(at: &str) -> Outcome {
    Outcome::Hang {
        phase: Some(at.into()),
        why: "no output and no CPU for 60 s".into(),
        stack: vec![],
        survivors: vec![],
    }
}

pub(super) fn finished(outcome: Outcome, seconds: i64, events: Vec<Event>) -> Finished {
    Finished { started: Some(START), ended: START + seconds * 1000, events, ..Finished::bare(outcome) }
}

pub(super) fn passed(prompt: f64, generation: f64) -> Finished {
    let metric = |name: &str, value: f64| MetricValue { name: name.into(), value, unit: "t/s".into() };
    let events =
        vec![phase(500, "load"), phase(1500, "async uploads"), phase(4000, "graph_reserve"), phase(4200, "generate")];
    Finished {
        metrics: vec![metric("prompt", prompt), metric("generation", generation)],
        ..finished(Outcome::Pass, 12, events)
    }
}

/// Stores the results and returns the report.
pub(super) fn report(experiment: &Experiment, results: Vec<(&str, Finished)>) -> Report {
    let (store, row) = stored(experiment, results);
    Report::read(&store, &row, experiment).expect("a report")
}

pub(super) fn stored(experiment: &Experiment, results: Vec<(&str, Finished)>) -> (Store, ExperimentRow) {
    let mut store = Store::in_memory().expect("a store");
    let new =
        NewExperiment { name: &experiment.name, toml: "", variables: &BTreeMap::new(), source: "run", snapshot: None };
    let mut repeats: BTreeMap<&str, u32> = BTreeMap::new();
    let mut planned = |strategy: &'static str| {
        let repeat = repeats.entry(strategy).or_default();
        *repeat += 1;
        PlannedRun { strategy: strategy.into(), repeat: *repeat, executor: "local".into() }
    };
    let results: Vec<_> =
        results.into_iter().map(|(strategy, finished)| (planned(String::from(strategy).leak()), finished)).collect();
    let id = store.import(&new, &results).expect("stored");
    let row = store.experiment(&id.to_string()).expect("it exists");
    (store, row)
}

/// A realistic investigation: `HSA_ENABLE_SDMA=0` gets past the first hang, nothing gets past the
/// second.
pub(super) fn story() -> Report {
    let sdma = ("HSA_ENABLE_SDMA", "0");
    let server = ["llama-server", "-ngl", "99"];
    let mut experiment = experiment(
        "gfx1151-rocm",
        vec![
            strategy("vulkan", "kyuz0/amd-strix-halo-toolboxes:vulkan-radv", &[], &server),
            strategy("stock", ROCM, &[], &server),
            strategy("sdma-off", ROCM, &[sdma], &server),
            strategy("minimal", "introprose/llamacpp_rocm_minimal:latest", &[sdma], &server),
            strategy("gfx1100", ROCM, &[sdma, ("HSA_OVERRIDE_GFX_VERSION", "11.0.0")], &server),
            strategy("flash-off", ROCM, &[sdma], &["llama-server", "-ngl", "99", "-fa", "off"]),
            strategy("cwsr-off", ROCM, &[sdma], &server),
        ],
    );
    experiment.baseline =
        Some(Baseline { label: "Vulkan RADV".into(), strategy: Some("vulkan".into()), values: BTreeMap::new() });
    experiment.strategies[2].hypothesis = Some("Disabling the SDMA engine may fix transfers on APUs.".into());
    experiment.strategies[6].needs =
        vec![Requirement::KernelParameter { name: "amdgpu.cwsr_enable".into(), value: Some("0".into()) }];
    let partial = || {
        let stack = Stack {
            process: 7,
            thread: 8,
            name: "llama-server".into(),
            state: "S".into(),
            source: "gdb".into(),
            frames: vec!["ioctl".into(), "hsaKmtWaitOnMultipleEvents".into()],
        };
        let end = Outcome::Hang {
            phase: Some("graph_reserve".into()),
            why: "no output".into(),
            stack: vec![stack],
            survivors: vec![],
        };
        let outcome = Outcome::Partial {
            phase: Some("graph_reserve".into()),
            why: "past async uploads, hung at graph_reserve".into(),
            end: Some(Box::new(end)),
        };
        let mut finished_run =
            finished(outcome, 64, vec![phase(600, "load"), phase(1700, "async uploads"), phase(3900, "graph_reserve")]);
        let bytes = b"llama_context: graph_reserve: reserving a graph for ubatch\n".to_vec();
        finished_run.output = vec![Output { stream: crate::executor::Stream::Err, at: 3900, bytes, omitted: 0 }];
        let line = "amdgpu 0000:c5:00.0: MES failed to respond to msg=REMOVE_QUEUE".to_owned();
        finished_run.kernel_lines =
            vec![KernelLine { line, finding: Some("the firmware of the scheduler hangs".into()) }];
        finished_run
    };
    let change = "add `amdgpu.cwsr_enable=0` to the kernel's command line and restart".to_owned();
    let stock = finished(hang("async uploads"), 62, vec![phase(600, "load"), phase(1700, "async uploads")]);
    let results = vec![
        ("vulkan", passed(721.0, 63.0)),
        ("vulkan", passed(718.0, 63.4)),
        ("vulkan", passed(724.0, 62.8)),
        ("stock", stock),
        ("sdma-off", partial()),
        ("minimal", partial()),
        ("gfx1100", partial()),
        ("flash-off", partial()),
        ("cwsr-off", Finished { started: None, ..Finished::bare(Outcome::Pending { changes: vec![change] }) }),
    ];
    report(&experiment, results)
}

/// Text that breaks out of Markdown, HTML, YAML, shells and terminals if escaping fails.
pub(super) const HOSTILE: &str = "</pre></td><script>alert(1)</script>\u{1b}[2J|`` ` \\| **x** [a](javascript:x) ![i](http://e/) \u{202e}\"'$(id)${HOME}{}#: &amp;\n```\n---\n# h";

/// An experiment in which every text is hostile.
pub(super) fn hostile() -> Report {
    let mut odd = strategy(HOSTILE, HOSTILE, &[("A", HOSTILE), (HOSTILE, "b")], &["sh", HOSTILE]);
    odd.hypothesis = Some(HOSTILE.into());
    odd.changes = HOSTILE.into();
    odd.unset = vec![HOSTILE.into()];
    odd.needs = vec![Requirement::KernelParameter { name: HOSTILE.into(), value: Some(HOSTILE.into()) }];
    odd.directory = Some(HOSTILE.into());
    let other = strategy(&format!("b{HOSTILE}"), HOSTILE, &[("A", "0")], &[HOSTILE]);
    let third = strategy(&format!("c{HOSTILE}"), HOSTILE, &[("A", "1")], &[HOSTILE]);
    let names = [odd.name.clone(), other.name.clone(), third.name.clone()];
    let mut experiment = experiment(HOSTILE, vec![odd, other, third]);
    experiment.title = HOSTILE.into();
    experiment.goal = Some(HOSTILE.into());
    experiment.notes = vec![HOSTILE.into()];
    experiment.phases[0].name = HOSTILE.into();
    experiment.metrics[0].name = HOSTILE.into();
    experiment.metrics[0].unit = HOSTILE.into();
    experiment.baseline =
        Some(Baseline { label: HOSTILE.into(), strategy: None, values: BTreeMap::from([(HOSTILE.into(), 5.0)]) });
    let fails = || {
        let outcome = Outcome::Crash {
            phase: Some(HOSTILE.into()),
            signal: None,
            code: Some(3),
            fault: Some(HOSTILE.into()),
            last_line: None,
        };
        let mut finished_run = finished(outcome, 5, vec![phase(100, HOSTILE)]);
        finished_run.kernel_lines = vec![KernelLine { line: HOSTILE.into(), finding: Some(HOSTILE.into()) }];
        let mut bytes = HOSTILE.as_bytes().to_vec();
        bytes.extend([0xff, 0xfe, 0, b'\n']);
        finished_run.output = vec![Output { stream: crate::executor::Stream::Out, at: 0, bytes, omitted: 0 }];
        finished_run
    };
    let mut works = finished(Outcome::Pass, 5, vec![phase(100, HOSTILE)]);
    works.metrics = vec![MetricValue { name: HOSTILE.into(), value: 7.0, unit: HOSTILE.into() }];
    report(
        &experiment,
        vec![(&names[0], works.clone()), (&names[0], works), (&names[1], fails()), (&names[2], fails())],
    )
}
