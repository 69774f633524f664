//! A recorded investigation: the same strategies give the same table.

#[expect(dead_code, reason = "each test uses a part of it")]
mod common;

use roci_lab::cli::{CommandOutcome, LabCommand};
use roci_lab::store::{EventKind, Store};

#[test]
fn the_recorded_investigation_is_reproduced() {
    let folder = tempfile::tempdir().expect("there is room");
    let toml = include_str!("story/experiment.toml");
    let (db, file) = (folder.path().join("lab.db"), common::write(folder.path(), toml));
    let stand_in = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/story/llama-bench.sh");
    let mut arguments = common::arguments(&db, Some(&file.to_string_lossy()));
    if let LabCommand::Run(run) = &mut arguments.command {
        run.variables.set.push(format!("llama-bench={stand_in}"));
    }
    let (ended, output) = common::lab(&arguments);
    assert_eq!(ended, Ok(CommandOutcome::Problems), "{output}");
    let table: Vec<_> = (common::runs(&db).iter())
        .map(|run| (run.strategy.clone(), run.outcome.as_ref().map(ToString::to_string).unwrap_or_default()))
        .collect();
    let same = "PARTIAL - past async uploads, hung at graph_reserve";
    let expected = [
        ("vulkan", "PASS"),
        ("0", "HANG - hung at async uploads: no output and no CPU for 3 s"),
        ("1", same),
        ("2", same),
        ("3a", same),
        ("3b", same),
        ("4", "PENDING - boot with the kernel parameter amdgpu.cwsr_enable=0: "),
        ("5", "SKIPPED - 0 did not get past async uploads"),
    ];
    assert_eq!(table.len(), expected.len());
    for ((strategy, outcome), (name, start)) in table.iter().zip(expected) {
        assert!(strategy == name && outcome.starts_with(start), "{strategy}: {outcome}");
    }
    let store = Store::open(&db).expect("it exists");
    let runs = common::runs(&db);
    let figures: Vec<_> = store.metrics(runs[0].id).expect("they exist").iter().map(|one| one.value).collect();
    assert_eq!(figures, [63.0, 721.0], "generation, prompt");
    let phases = |at: usize| -> Vec<String> {
        let events = store.events(runs[at].id).expect("they exist");
        events.into_iter().filter(|event| event.kind == EventKind::Phase).map(|event| event.text).collect()
    };
    assert_eq!(phases(1), ["device found", "async uploads"]);
    assert_eq!(phases(2), ["device found", "async uploads", "layers loaded", "KV cache", "graph_reserve"]);
}
