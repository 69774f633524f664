//! `resume`: manual changes, and changes of the file.

#[expect(dead_code, reason = "each test uses a part of it")]
mod common;

use std::path::Path;

use common::words;
use roci_lab::Outcome;
use roci_lab::cli::CommandOutcome;

const BY_HAND: &str = "
name = 'by-hand'
command = ['/bin/sh', '-c', 'echo speed 5']
[executor.local]
stacks = 'kernel'
[[strategy]]
name = 'plain'
[[strategy]]
name = 'patched module'
needs = [{ manual = 'load the patched module' }, { file = '/' }]
[[strategy]]
name = 'patched-as-other'
extends = 'patched module'
env = { OTHER = 1 }
[[strategy]]
name = 'cable'
needs = [{ manual = 'plug the cable in' }]
";

fn outcomes(db: &Path) -> Vec<(String, &'static str)> {
    let word = |outcome: &Option<Outcome>| outcome.as_ref().map_or("open", Outcome::word);
    common::runs(db).iter().map(|run| (run.strategy.clone(), word(&run.outcome))).collect()
}

fn words_of(db: &Path) -> Vec<&'static str> {
    outcomes(db).into_iter().map(|(_, word)| word).collect()
}

#[test]
fn a_manual_change_is_confirmed_once_for_all_strategies() {
    let folder = tempfile::tempdir().expect("there is room");
    let db = folder.path().join("lab.db");
    let file = common::write(folder.path(), BY_HAND);
    let (ended, out, err) = words(&db, &["run", file.to_str().expect("a plain path")]).expect("it runs");
    assert_eq!(ended, CommandOutcome::Problems);
    assert!(
        out.contains("continue with `roci lab resume 1 --done 'patched module'`: load the patched module\n"),
        "{out}"
    );
    assert_eq!(out.matches("--done").count(), 2, "each step once: {out}");
    assert!(err.contains("2 runs: PENDING load the patched module: patched module, patched-as-other\n"), "{err}");
    assert_eq!(words_of(&db), ["PASS", "PENDING", "PENDING", "PENDING"]);
    let (_, report, _) = words(&db, &["report"]).expect("a report");
    assert!(report.contains("roci lab resume 1 --done 'patched module'\n"), "{report}");

    let wrong = |name: &str| words(&db, &["resume", "--done", name]).expect_err("no such manual change");
    assert!(wrong("plain").contains("needs no manual change\nthese need a manual change: patched module, "));
    assert!(wrong("cabel").contains("there is no strategy `cabel`\ndid you mean `cable`?"));
    assert_eq!(words_of(&db), ["PASS", "PENDING", "PENDING", "PENDING"], "a slip changes nothing");

    let (_, _, err) = words(&db, &["resume", "--done", "patched-as-other"]).expect("it runs");
    assert!(err.starts_with("marked as done: load the patched module\n"), "{err}");
    assert_eq!(words_of(&db), ["PASS", "PASS", "PASS", "PENDING"]);
    let (ended, ..) = words(&db, &["resume"]).expect("it runs");
    assert_eq!((ended, words_of(&db)), (CommandOutcome::Problems, vec!["PASS", "PASS", "PASS", "PENDING"]));
    let (ended, ..) = words(&db, &["resume", "--done", "cable"]).expect("it runs");
    assert_eq!((ended, words_of(&db)), (CommandOutcome::Fine, vec!["PASS"; 4]));
}

const BEFORE: &str = "
name = 'changing'
command = ['/bin/sh', '-c', 'echo speed $SPEED']
env = { SPEED = 5 }
[variables]
word = 'a'
[executor.local]
stacks = 'kernel'
[[strategy]]
name = 'stays'
[[strategy]]
name = 'goes'
[[strategy]]
name = 'waits'
needs = [{ file = '/nowhere/{{word}}' }]
";

#[test]
fn a_changed_file_reports_changes_and_keeps_valid_results() {
    let folder = tempfile::tempdir().expect("there is room");
    let db = folder.path().join("lab.db");
    let file = common::write(folder.path(), BEFORE);
    let path = file.to_str().expect("a plain path");
    words(&db, &["run", path, "--set", "word=b"]).expect("it runs");
    let (_, _, err) = words(&db, &["resume", path]).expect("it runs");
    assert!(err.starts_with("the file has no relevant changes\n"), "{err}");

    let renamed = BEFORE.replace("name = 'goes'", "name = 'new'\nafter = [{ strategy = 'waits' }]\nrepeats = 2");
    common::write(
        folder.path(),
        &renamed.replace("/nowhere/{{word}}", "/{{word}}/..").replace("word = 'a'", "word = 'proc'"),
    );
    let (_, _, err) = words(&db, &["resume", path, "--set", "word=proc"]).expect("it runs");
    for line in [
        "`new` is new: 2 runs\n",
        "`waits` has changed (needs)\n",
        "`goes` is gone, and reports leave it out: 1 result stays\n",
    ] {
        assert!(err.contains(line), "{line}: {err}");
    }
    let pass = |name: &str| (name.to_owned(), "PASS");
    assert_eq!(outcomes(&db), ["stays", "goes", "waits", "new", "new"].map(pass));
    let attempts = common::runs(&db)[0].attempts;
    assert_eq!(attempts, 1, "valid results were not run again");

    common::write(folder.path(), &renamed.replace("SPEED = 5", "SPEED = 6"));
    let error = words(&db, &["resume", "--file", path]).expect_err("results of something else");
    assert!(error.starts_with("`stays` has changed (env), and its 1 result is from before the change\n"), "{error}");
    assert_eq!(outcomes(&db).len(), 5, "querying loses nothing");
    let (_, _, err) = words(&db, &["resume", "1", "--file", path, "--forget"]).expect("it runs");
    assert!(err.contains("`stays` has changed (env): its 1 result is discarded\n"), "{err}");
    let run = &common::runs(&db)[0];
    assert_eq!((run.attempts, run.outcome.clone()), (2, Some(Outcome::Pass)));

    common::write(folder.path(), &BEFORE.replace("'changing'", "'another'"));
    let error = words(&db, &["resume", "1", "--file", path]).expect_err("another's");
    assert!(error.starts_with("the file belongs to another experiment: `another`, not `changing`\n"), "{error}");
    assert!(words(&db, &["resume", path]).expect_err("none yet").starts_with("there is no experiment `another`\n"));
}
