//! Golden files: generated code changes only on purpose.
//!
//! `golden/MANIFEST` has a fingerprint of every text, so a change to one kernel is a diff of a few
//! lines. The full texts next to it show the effect of a change to a writer or to naga: together
//! they cover every feature (`features.rs`) that any kernel uses (`cover.rs`). `ROCI_BLESS=1`
//! rewrites both.

mod cover;
mod features;
mod files;
#[path = "../lowerings/mod.rs"]
mod lowerings;
mod report;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use files::{Golden, Problem};
use text::{Code, Id, Text};

#[test]
fn golden_files_match_the_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let texts = text::generate();
    let golden = Golden::read(&root).expect("the golden files are readable");
    if roci_testkit::bless() {
        let chosen = cover::complete(&texts, golden.chosen(&texts));
        Golden::new(&texts, &chosen).write(&root).expect("the golden files are writable");
        return;
    }
    let problems = golden.compare(&texts);
    if !problems.is_empty() {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the folder has a parent");
        let report = report::report(&problems, &target.join("golden")).expect("the texts are written");
        panic!("{report}");
    }
}

#[test]
fn generation_is_deterministic() {
    assert!(text::generate() == text::generate(), "a writer depends on more than its input");
}

/// Three texts with three features; the two shortest cover all of them.
fn samples() -> BTreeMap<Id, Text> {
    let sample = |kernel, source: &str, features: &[&str]| {
        let features = features.iter().map(ToString::to_string).collect();
        (Id::new(kernel, "opencl", "full"), Text { code: Code::C(source.to_owned()), features })
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

/// The golden files of `texts`.
fn golden(texts: &BTreeMap<Id, Text>) -> Golden {
    Golden::new(texts, &cover::complete(texts, BTreeSet::new()))
}

#[test]
fn the_full_texts_cover_every_feature_and_selections_are_kept() {
    let texts = samples();
    assert_eq!(cover::complete(&texts, BTreeSet::new()), BTreeSet::from([id("other"), id("short")]));
    assert_eq!(cover::complete(&texts, BTreeSet::from([id("long")])), BTreeSet::from([id("long"), id("other")]));
}

#[test]
fn a_changed_text_is_detected_written_and_printed() {
    let golden = golden(&samples());
    assert_eq!(golden.compare(&samples()), []);
    let mut texts = samples();
    for text in texts.values_mut() {
        text.code = Code::C(text.code.text().replace("two", "2"));
    }
    let problems = golden.compare(&texts);
    let [Problem::Changed { id: long, old: None, .. }, Problem::Changed { id: short, old: Some("one\ntwo\n"), .. }] =
        problems[..]
    else {
        panic!("{problems:?}");
    };
    assert_eq!((long, short), (&id("long"), &id("short")));

    let folder = tempfile::tempdir().expect("a temporary folder");
    let report = report::report(&problems, folder.path()).expect("the texts are written");
    assert!(report.contains("changed: long opencl full\nchanged: short opencl full\n"), "{report}");
    assert!(report.contains("@@ -1,2 +1,2 @@\n one\n-two\n+2\n"), "{report}");
    let read = |path| std::fs::read_to_string(folder.path().join(path)).ok();
    assert_eq!(read("old/opencl/short.cl").as_deref(), Some("one\ntwo\n"));
    assert_eq!(read("new/opencl/short.cl").as_deref(), Some("one\n2\n"));
    assert_eq!(read("new/opencl/long.cl").as_deref(), Some("one\n2\nthree\n"));
    assert_eq!(read("old/opencl/long.cl"), None, "the manifest has only the fingerprint");
}

#[test]
fn an_edited_full_text_is_detected() {
    let texts = samples();
    let mut golden = golden(&texts);
    golden.full.insert(id("short").path(), "one\ntwo \n".to_owned());
    assert!(matches!(golden.compare(&texts)[..], [Problem::Changed { old: Some("one\ntwo \n"), .. }]));
}

#[test]
fn added_and_removed_kernels_are_detected() {
    let (texts, mut fewer) = (samples(), samples());
    fewer.remove(&id("long"));
    let [before, after] = [golden(&fewer), golden(&texts)];
    assert!(matches!(before.compare(&texts)[..], [Problem::Added { id: new, .. }] if *new == id("long")));
    assert_eq!(after.compare(&fewer), [Problem::Removed(id("long"))]);

    fewer.remove(&id("other"));
    let stale = id("other").path();
    let removed = [id("long"), id("other")].map(Problem::Removed);
    assert_eq!(after.compare(&fewer), removed.into_iter().chain([Problem::Stale(&stale)]).collect::<Vec<_>>());
}

#[test]
fn an_uncovered_feature_is_named_with_a_text_that_has_it() {
    let golden = golden(&samples());
    let mut texts = samples();
    texts.values_mut().next().expect("there are samples").features.insert("barrier".to_owned());
    let problems = golden.compare(&texts);
    assert_eq!(problems, [Problem::Uncovered { feature: "barrier", id: &id("long") }]);
}

#[test]
fn unknown_manifest_lines_are_detected() {
    let texts = samples();
    for edit in ["<<<<<<< HEAD\n", "\n"] {
        let mut golden = golden(&texts);
        golden.manifest.push_str(edit);
        assert_eq!(golden.compare(&texts), [Problem::Form]);
    }
}

#[test]
fn golden_files_round_trip_and_stale_ones_are_removed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let texts = samples();
    let all = Golden::new(&texts, &texts.keys().cloned().collect());
    for files in [Golden::default(), all, golden(&texts)] {
        files.write(folder.path()).expect("the files are writable");
        assert_eq!(Golden::read(folder.path()).expect("the files are readable"), files);
    }
}
