//! What the doctor's rules forbid is not started, on any executor on this machine, whatever the
//! other options are.

#[expect(dead_code, reason = "each test uses a part of it")]
mod common;
#[path = "../../doctor/tests/common/mod.rs"]
mod machines;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use common::words;
use roci_doctor::{Root, RuleSet, Snapshot};
use roci_lab::Outcome;
use roci_lab::cli::CommandOutcome;
use roci_lab::engine::{self, EngineContext};
use roci_lab::executor::StartError;
use roci_lab::experiment::Experiment;
use roci_lab::guard::RuleGuard;
use roci_lab::kernel_log::NoKernelLog;
use roci_lab::progress_display::NoProgress;
use roci_lab::store::Store;

/// A machine of the doctor's tests.
fn machine(name: &str) -> Snapshot {
    let folder = tempfile::tempdir().expect("there is room");
    let environment = machines::lay_out(name, folder.path());
    Snapshot::gather(&Root::at(folder.path()), environment.into_iter())
}

/// The same as a file for `--facts`.
fn facts(folder: &Path, name: &str) -> String {
    let file = folder.join(format!("{name}.json"));
    std::fs::write(&file, serde_json::to_string(&machine(name)).expect("it is JSON")).expect("the folder is ours");
    file.to_str().expect("a plain path").to_owned()
}

/// Runs an experiment on executors that cannot start anything: its results, and the number of
/// attempts.
fn run(toml: &str, here: &str, given: Option<&str>, allow: &[&str]) -> (Vec<Outcome>, usize) {
    let experiment = Experiment::parse("test", toml, &BTreeMap::new()).unwrap_or_else(|error| panic!("{error}"));
    let mut store = Store::in_memory().expect("there is memory");
    let id = engine::create(&mut store, &experiment, None).expect("the store is fine");
    let opened = Rc::new(Cell::new(0));
    let counted = opened.clone();
    let open = move |_: &_| {
        counted.set(counted.get() + 1);
        Err(StartError::new("there is none in this test", ""))
    };
    let allow: Vec<String> = allow.iter().map(|&rule| rule.to_owned()).collect();
    let around = EngineContext {
        open: &open,
        log: Box::new(NoKernelLog),
        stop: &|| false,
        observer: &mut NoProgress,
        guard: RuleGuard::new(RuleSet::builtin().expect("the rules are right"), &allow).expect("they forbid something"),
        facts: given.map(machine),
        machine: Some(machine(here)),
        assume_needs: true,
        steal: false,
    };
    engine::continue_experiment(&mut store, id, around).expect("it runs");
    let runs = store.runs(id).expect("they exist");
    (runs.into_iter().filter_map(|run| run.outcome).collect(), opened.get())
}

fn experiment(executor: &str, uses: &str) -> String {
    format!("name = 'x'\ncommand = ['/bin/true']\nimage = 'an-image'\n{uses}\n[executor]\nkind = '{executor}'\n")
}

const STOCK: &str = "bc250-stock";
const HEALTHY: &str = "rx7900xtx-healthy";

#[test]
fn every_executor_of_the_machine_is_guarded() {
    for executor in ["local", "container"] {
        let rocm = experiment(executor, "uses = ['rocm']");
        let (outcomes, opened) = run(&rocm, STOCK, None, &[]);
        assert_eq!((outcomes[0].word(), outcomes[0].rules(), opened), ("BLOCKED", &["BC-08".to_owned()][..], 0));
        assert_eq!(
            outcomes[0].detail(),
            "forbidden by BC-08 (BC-250: do not start ROCm programs on this stock driver, the machine may freeze); remedy: Use \
             Vulkan instead: llama.cpp or ollama with the Vulkan backend work; `--allow BC-08` starts it anyway"
        );
        let (outcomes, opened) = run(&rocm, STOCK, Some(HEALTHY), &[]);
        assert_eq!((outcomes[0].word(), opened), ("BLOCKED", 0), "facts of another machine do not make this one safe");
        assert_eq!(run(&rocm, HEALTHY, Some(STOCK), &[]).1, 0, "this machine does not make the given one safe either");
        assert_eq!(run(&rocm, HEALTHY, None, &[]).1, 1, "{executor}");
        assert_eq!(run(&rocm, "bc250-patched", None, &[]).1, 1, "{executor}");
        assert_eq!(run(&rocm, STOCK, None, &["bc-08"]).1, 1, "{executor}");
        assert_eq!(run(&rocm, STOCK, None, &["OCL-08"]).1, 0, "another rule's ID does not allow the run");
        assert_eq!(run(&experiment(executor, "uses = ['vulkan']"), STOCK, None, &[]).1, 1, "{executor}");
        assert_eq!(run(&experiment(executor, "uses = []"), STOCK, None, &[]).1, 1, "{executor}");
    }
}

#[test]
fn cluster_nodes_are_checked_against_their_own_facts() {
    for executor in ["slurm", "kubernetes"] {
        let rocm = experiment(executor, "uses = ['rocm']");
        assert_eq!(run(&rocm, STOCK, None, &[]).1, 1, "{executor}: this machine is not the node");
        let (outcomes, opened) = run(&rocm, HEALTHY, Some(STOCK), &[]);
        assert_eq!((outcomes[0].rules(), opened), (&["BC-08".to_owned()][..], 0), "{executor}");
        assert_eq!(run(&rocm, HEALTHY, Some(STOCK), &["BC-08"]).1, 1, "{executor}");
    }
}

#[test]
fn undeclared_programs_are_not_started() {
    let (outcomes, opened) = run(&experiment("local", ""), STOCK, None, &[]);
    let Outcome::Blocked { why, rules } = &outcomes[0] else { panic!("{outcomes:?}") };
    assert_eq!((rules.join(" "), opened), ("BC-08 OCL-08".to_owned(), 0));
    assert!(
        why.contains("add `uses = [\"vulkan\"]`") && why.ends_with("`--allow BC-08 --allow OCL-08` starts it anyway")
    );
    assert_eq!(run(&experiment("local", ""), STOCK, None, &["BC-08"]).1, 0, "each rule must be named");
    assert_eq!(run(&experiment("local", ""), HEALTHY, None, &[]).1, 1);
    let (outcomes, _) = run(&experiment("local", "uses = ['opencl']"), STOCK, None, &[]);
    assert_eq!(outcomes[0].rules(), ["OCL-08"], "OpenCL programs ask ROCm's driver too");
    let (outcomes, _) = run(&experiment("container", "uses = ['opencl']"), STOCK, None, &[]);
    assert_eq!(outcomes[0].rules(), ["BC-08", "OCL-08"], "the drivers of an image are unknown");
}

/// Three strategies, each of which creates a file with its name.
const TOUCHES: &str = "
name = 'touches'
shell = 'touch \"$NAME\"'
uses = ['rocm']
[executor.local]
stacks = 'kernel'
[[strategy]]
name = 'rocm'
env = { NAME = 'FOLDER/rocm' }
[[strategy]]
name = 'by hand'
extends = 'rocm'
env = { NAME = 'FOLDER/by-hand' }
needs = [{ manual = 'load the patched module' }]
[[strategy]]
name = 'vulkan'
uses = ['vulkan']
env = { NAME = 'FOLDER/vulkan' }
";

#[test]
fn only_the_rule_id_allows_a_forbidden_run() {
    let folder = tempfile::tempdir().expect("there is room");
    let folder = folder.path();
    let db = folder.join("lab.db");
    let file = common::write(folder, &TOUCHES.replace("FOLDER", &folder.display().to_string()));
    let (file, stock) = (file.to_str().expect("a plain path"), facts(folder, STOCK));
    let there = |name: &str| folder.join(name).exists();

    let (ended, out, _) = words(&db, &["check", file, "--facts", &stock]).expect("it is right");
    assert_eq!(ended, CommandOutcome::Fine);
    assert!(out.contains("  rocm: NAME=") && out.contains("/rocm (BLOCKED by BC-08)\n"), "{out}");
    assert!(out.contains("/vulkan\n") && out.ends_with("`--allow BC-08` starts it anyway\n"), "{out}");
    assert!(!there("rocm") && !there("vulkan") && !db.exists(), "nothing is started");
    let (_, out, _) = words(&db, &["check", file, "--facts", &stock, "--allow", "BC-08"]).expect("it is right");
    assert!(!out.contains("BLOCKED"), "{out}");

    let (ended, out, err) = words(&db, &["run", file, "--facts", &stock, "--assume-needs"]).expect("it runs");
    assert_eq!(ended, CommandOutcome::Problems);
    assert!(err.contains("2 runs: BLOCKED forbidden by BC-08 "), "{err}");
    assert!(out.contains("2 BLOCKED, 1 PASS\n") && out.contains("\nBLOCKED - forbidden by BC-08 ("), "{out}");
    assert!(!there("rocm") && !there("by-hand") && there("vulkan"));
    let (_, out, _) = words(&db, &["show", "--json"]).expect("it exists");
    let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&report["runs"][0]["outcome"], &report["runs"][0]["rules"][0]), (&"blocked".into(), &"BC-08".into()));
    let (_, report, _) = words(&db, &["report"]).expect("a report");
    assert!(report.contains("forbidden by BC-08"), "{report}");

    words(&db, &["resume", "--facts", &stock, "--done", "by hand"]).expect("it runs");
    assert!(!there("rocm") && !there("by-hand"), "a confirmed manual change does not allow the run either");
    words(&db, &["resume", "--facts", &stock, "--allow", "BC-08"]).expect("it runs");
    assert!(there("rocm") && there("by-hand"));
    let (_, out, _) = words(&db, &["show", "--run", "1"]).expect("it exists");
    assert!(out.contains("note      started although BC-08 forbids it (`--allow BC-08`)\n"), "{out}");
}

#[test]
fn ids_of_rules_that_forbid_nothing_are_refused() {
    let folder = tempfile::tempdir().expect("there is room");
    let db = folder.path().join("lab.db");
    let file = common::write(folder.path(), "name = 'x'\ncommand = ['/bin/true']\nuses = []\n");
    let file = file.to_str().expect("a plain path");
    for verb in [&["run", file][..], &["check", file], &["resume"]] {
        let wrong = |rule: &str| words(&db, &[verb, &["--allow", rule]].concat()).expect_err(rule);
        assert_eq!(
            wrong("BC-80"),
            "the doctor has no rule `BC-80`\ndid you mean `BC-08`? rules that forbid runs: BC-08, OCL-08"
        );
        assert_eq!(wrong("nonsense"), "the doctor has no rule `nonsense`\nrules that forbid runs: BC-08, OCL-08");
        assert!(
            wrong("OVR-04").starts_with("the doctor's rule `OVR-04` does not forbid runs\n"),
            "{}",
            wrong("OVR-04")
        );
    }
    assert!(!db.exists(), "nothing was begun");
}

#[test]
fn an_experiment_for_other_chips_gives_a_warning() {
    let folder = tempfile::tempdir().expect("there is room");
    let db = folder.path().join("lab.db");
    let file = common::write(folder.path(), "name = 'x'\ncommand = ['/bin/true']\nuses = []\ntargets = ['gfx1013']\n");
    let file = file.to_str().expect("a plain path");
    let (healthy, stock) = (facts(folder.path(), HEALTHY), facts(folder.path(), STOCK));
    let (ended, _, err) = words(&db, &["run", file, "--facts", &healthy]).expect("it runs");
    assert_eq!(ended, CommandOutcome::Fine);
    assert!(err.starts_with("warning: the experiment is for gfx1013, and the machine has gfx1100\n"), "{err}");
    let (_, _, err) = words(&db, &["check", file, "--facts", &stock]).expect("it is right");
    assert_eq!(err, "");
}
