//! Golden files: generated code changes only on purpose.
//!
//! `golden/MANIFEST` has a fingerprint of every generated source, so a change to one kernel is a
//! diff of a few lines. The full sources next to it show the effect of a change to a writer or to
//! naga: together they cover every feature (`features.rs`) that any kernel uses (`cover.rs`).
//! `ROCI_BLESS=1` rewrites both.

mod cover;
mod features;
mod files;
#[path = "../lowerings/mod.rs"]
mod lowerings;
mod report;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use files::{Golden, Problem};
use source::{Code, Id, Source};

#[test]
fn golden_files_match_the_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let sources = source::generate();
    let golden = Golden::read(&root).expect("the golden files are readable");
    if roci_testkit::bless() {
        let chosen = cover::complete(&sources, golden.chosen(&sources));
        Golden::new(&sources, &chosen).write(&root).expect("the golden files are writable");
        return;
    }
    let problems = golden.compare(&sources);
    if !problems.is_empty() {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the folder has a parent");
        let report = report::report(&problems, &target.join("golden")).expect("the sources are written");
        panic!("{report}");
    }
}

#[test]
fn generation_is_deterministic() {
    assert!(source::generate() == source::generate(), "a writer depends on more than its input");
}

/// Three sources with three features; the two shortest cover all of them.
fn samples() -> BTreeMap<Id, Source> {
    let sample = |kernel, source: &str, features: &[&str]| {
        let features = features.iter().map(ToString::to_string).collect();
        (Id::new(kernel, "opencl", "full"), Source { code: Code::C(source.to_owned()), features })
    };
    BTreeMap::from([
        sample("long", "one\ntwo\nthree\n", &["loop", "switch"]),
        sample("other", "one\n", &["atomic"]),
        sample("short", "one\ntwo\n", &["loop", "switch"]),
    ])
}

fn id(kernel: &str) -> Id {
    Id::new(kernel, "opencl", "full")
}

/// The golden files of `sources`.
fn golden(sources: &BTreeMap<Id, Source>) -> Golden {
    Golden::new(sources, &cover::complete(sources, BTreeSet::new()))
}

#[test]
fn the_full_sources_cover_every_feature_and_selections_are_kept() {
    let sources = samples();
    assert_eq!(cover::complete(&sources, BTreeSet::new()), BTreeSet::from([id("other"), id("short")]));
    assert_eq!(cover::complete(&sources, BTreeSet::from([id("long")])), BTreeSet::from([id("long"), id("other")]));
}

#[test]
fn a_changed_source_is_detected_written_and_printed() {
    let golden = golden(&samples());
    assert_eq!(golden.compare(&samples()), []);
    let mut sources = samples();
    for source in sources.values_mut() {
        source.code = Code::C(source.code.source().replace("two", "2"));
    }
    let problems = golden.compare(&sources);
    let [Problem::Changed { id: long, old: None, .. }, Problem::Changed { id: short, old: Some("one\ntwo\n"), .. }] =
        problems[..]
    else {
        panic!("{problems:?}");
    };
    assert_eq!((long, short), (&id("long"), &id("short")));

    let folder = tempfile::tempdir().expect("a temporary folder");
    let report = report::report(&problems, folder.path()).expect("the sources are written");
    assert!(report.contains("changed: long opencl full\nchanged: short opencl full\n"), "{report}");
    assert!(report.contains("@@ -1,2 +1,2 @@\n one\n-two\n+2\n"), "{report}");
    let read = |path| std::fs::read_to_string(folder.path().join(path)).ok();
    assert_eq!(read("old/opencl/short.cl").as_deref(), Some("one\ntwo\n"));
    assert_eq!(read("new/opencl/short.cl").as_deref(), Some("one\n2\n"));
    assert_eq!(read("new/opencl/long.cl").as_deref(), Some("one\n2\nthree\n"));
    assert_eq!(read("old/opencl/long.cl"), None, "the manifest has only the fingerprint");
}

#[test]
fn an_edited_full_source_is_detected() {
    let sources = samples();
    let mut golden = golden(&sources);
    golden.full.insert(id("short").path(), "one\ntwo \n".to_owned());
    assert!(matches!(golden.compare(&sources)[..], [Problem::Changed { old: Some("one\ntwo \n"), .. }]));
}

#[test]
fn added_and_removed_kernels_are_detected() {
    let (sources, mut fewer) = (samples(), samples());
    fewer.remove(&id("long"));
    let [before, after] = [golden(&fewer), golden(&sources)];
    assert!(matches!(before.compare(&sources)[..], [Problem::Added { id: new, .. }] if *new == id("long")));
    assert_eq!(after.compare(&fewer), [Problem::Removed(id("long"))]);

    fewer.remove(&id("other"));
    let stale = id("other").path();
    let removed = [id("long"), id("other")].map(Problem::Removed);
    assert_eq!(after.compare(&fewer), removed.into_iter().chain([Problem::Stale(&stale)]).collect::<Vec<_>>());
}

#[test]
fn an_uncovered_feature_is_named_with_a_source_that_has_it() {
    let golden = golden(&samples());
    let mut sources = samples();
    sources.values_mut().next().expect("there are samples").features.insert("barrier".to_owned());
    let problems = golden.compare(&sources);
    assert_eq!(problems, [Problem::Uncovered { feature: "barrier", id: &id("long") }]);
}

#[test]
fn unknown_manifest_lines_are_detected() {
    let sources = samples();
    for edit in ["<<<<<<< HEAD\n", "\n"] {
        let mut golden = golden(&sources);
        golden.manifest.push_str(edit);
        assert_eq!(golden.compare(&sources), [Problem::Form]);
    }
}

#[test]
fn golden_files_round_trip_and_stale_ones_are_removed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sources = samples();
    let all = Golden::new(&sources, &sources.keys().cloned().collect());
    for files in [Golden::default(), all, golden(&sources)] {
        files.write(folder.path()).expect("the files are writable");
        assert_eq!(Golden::read(folder.path()).expect("the files are readable"), files);
    }
}
