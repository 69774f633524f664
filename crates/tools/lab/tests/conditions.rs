//! Conditions around a run: kernel log, missing requirements, foreign files.

#[expect(dead_code, reason = "each test uses a part of it")]
mod common;

use std::collections::{BTreeMap, VecDeque};

use roci_doctor::{RuleSet, Snapshot};
use roci_lab::Outcome;
use roci_lab::engine::{self, Completion, EngineContext};
use roci_lab::executor::local::Local;
use roci_lab::experiment::Experiment;
use roci_lab::guard::RuleGuard;
use roci_lab::kernel_log::KernelLog;
use roci_lab::progress_display::NoProgress;
use roci_lab::store::{EventKind, RunRow, Store};

/// A scripted kernel log: lines before a run, during it, and so on.
struct ScriptedLog(VecDeque<Vec<String>>);

impl KernelLog for ScriptedLog {
    fn new_lines(&mut self) -> Vec<String> {
        self.0.pop_front().unwrap_or_default()
    }
}

fn run(store: &mut Store, toml: &str, log: &[&[&str]], machine: Snapshot) -> Vec<RunRow> {
    let experiment = Experiment::parse("test", toml, &BTreeMap::new()).unwrap_or_else(|error| panic!("{error}"));
    let id = engine::create(store, &experiment, Some(&machine)).expect("the store is fine");
    let log = log.iter().map(|lines| lines.iter().map(|&line| line.to_owned()).collect()).collect();
    let around = EngineContext {
        open: &|options| Ok(Box::new(Local::new(options.local))),
        log: Box::new(ScriptedLog(log)),
        stop: &|| false,
        observer: &mut NoProgress,
        guard: RuleGuard::new(RuleSet::builtin().expect("the rules are right"), &[]).expect("nothing is allowed"),
        facts: None,
        machine: Some(machine),
        assume_needs: false,
        steal: false,
    };
    assert_eq!(engine::continue_experiment(store, id, around).expect("it runs"), Completion::Complete);
    store.runs(id).expect("they exist")
}

const FAULTY: &str = "
name = 'faulty'
command = ['/bin/sh', '-c', 'kill -ABRT $$']
[executor.local]
stacks = 'kernel'
[[strategy]]
name = 'first'
[[strategy]]
name = 'second'
shell = 'echo fine'
[[strategy]]
name = 'third'
shell = 'echo fine'
";

#[test]
fn kernel_log_lines_belong_to_the_run_in_progress() {
    let fault = "amdgpu 0000:03:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32770)";
    let reset = "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!";
    let reset_failed = "amdgpu 0000:03:00.0: amdgpu: GPU reset end with ret = -62";
    let log: &[&[&str]] = &[&["older"], &["usb 1-1: new device", fault, reset], &[], &[reset_failed]];
    let mut store = Store::in_memory().expect("there is memory");
    let runs = run(&mut store, FAULTY, log, Snapshot::default());
    let Some(Outcome::Crash { signal: Some(6), fault: Some(line), .. }) = &runs[0].outcome else {
        panic!("{:?}", runs[0].outcome)
    };
    assert_eq!(line, fault);
    let lines = store.kernel_lines(runs[0].id).expect("they exist");
    assert_eq!(lines.len(), 2, "earlier lines do not belong to the run, and a cable is unrelated to a GPU: {lines:?}");
    assert!(lines[0].finding.is_some() && lines[1].finding.is_some(), "{lines:?}");
    let has_reset = |run: &RunRow| {
        let events = store.events(run.id).expect("they exist");
        events.iter().any(|event| event.kind == EventKind::Reset)
    };
    assert!(has_reset(&runs[0]) && has_reset(&runs[1]) && !has_reset(&runs[2]));
    assert_eq!(runs[1].outcome, Some(Outcome::Pass));
    let Some(Outcome::Blocked { why, .. }) = &runs[2].outcome else { panic!("{:?}", runs[2].outcome) };
    assert!(why.starts_with("the GPU is lost until a reboot") && why.contains("-62"), "{why}");
}

#[test]
fn unmet_needs_are_pending_until_they_are_met() {
    let toml = "
name = 'needy'
command = ['/bin/true']
[[strategy]]
name = 'parameter'
needs = [{ kernel-parameter = 'amdgpu.cwsr_enable=0' }, { kernel = '>=6.10' }]
[[strategy]]
name = 'depends'
after = [{ strategy = 'parameter', result = 'passed' }]
[[strategy]]
name = 'far away'
executor = { kind = 'slurm' }
needs = [{ file = '/' }]
";
    let machine = |json: &str| Snapshot::parse(json.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let old =
        r#"{ "schema": "roci.snapshot", "version": 1, "kernel": { "release": "6.8.0" }, "os": { "id": "fedora" } }"#;
    let mut store = Store::in_memory().expect("there is memory");
    let runs = run(&mut store, toml, &[], machine(old));
    let Some(Outcome::Pending { changes }) = &runs[0].outcome else { panic!("{:?}", runs[0].outcome) };
    assert!(changes[0].contains("sudo grubby --update-kernel=ALL --args=amdgpu.cwsr_enable=0"), "{changes:?}");
    assert!(changes[1].contains(">=6.10") && changes[1].contains("6.8.0"), "{changes:?}");
    assert_eq!(runs[1].outcome, Some(Outcome::Skipped { why: "parameter is PENDING".into() }));
    let Some(Outcome::Pending { changes }) = &runs[2].outcome else { panic!("{:?}", runs[2].outcome) };
    assert!(changes[0].contains("--facts FILE"), "nodes cannot be inspected from here: {changes:?}");
    let new = r#"{ "schema": "roci.snapshot", "version": 1, "kernel": { "release": "6.17.1" }, "cmdline": { "amdgpu.cwsr_enable": "0" } }"#;
    let runs = run(&mut store, toml, &[], machine(new));
    assert_eq!((&runs[0].outcome, &runs[1].outcome), (&Some(Outcome::Pass), &Some(Outcome::Pass)));
}

#[test]
fn command_line_errors_are_reported() {
    let folder = tempfile::tempdir().expect("there is room");
    let db = folder.path().join("lab.db");
    let says = |run: &str| common::lab(&common::arguments(&db, Some(run))).0.expect_err(run);
    assert!(says("nonsense").starts_with("there is no file or built-in experiment `nonsense`"));
    assert!(says("/nowhere/a.toml").starts_with("cannot read `/nowhere/a.toml`"));
    assert!(says("gfx1151-rocm").contains("the variable `model` has no value"));
    let file = folder.path().join("binary.toml");
    std::fs::write(&file, [0xff, 0xfe, 0x00]).expect("the folder is ours");
    assert!(says(&file.to_string_lossy()).ends_with("it is not UTF-8 text"));
    assert!(common::lab(&common::arguments(&db, None)).0.expect_err("there is none").contains("no experiment"));
    assert!(!db.exists() || Store::open(&db).is_ok());
}
