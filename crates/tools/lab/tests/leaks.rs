//! Two hundred consecutive runs in this process: no leaked file, thread or process.

#[expect(dead_code, reason = "each test uses a part of it")]
mod common;

use std::fs;

use roci_lab::store::Store;

fn count(folder: &str) -> usize {
    fs::read_dir(folder).expect("it is mounted").count()
}

#[test]
fn two_hundred_runs_leave_nothing() {
    let folder = tempfile::tempdir().expect("there is room");
    let token = common::token();
    let toml = format!(
        "name = 'many'
repeats = 50
command = ['/bin/sh']
[limits]
grace = '1s'
[[strategy]]
name = 'passes'
shell = 'echo a; echo b >&2'
[[strategy]]
name = 'fails'
shell = 'exit 1'
[[strategy]]
name = 'leaves something'
shell = 'sleep 100000.{token} & setsid sleep 100000.{token} & exit 0'
[[strategy]]
name = 'is absent'
command = ['/nowhere/at/all']
"
    );
    let (db, file) = (folder.path().join("lab.db"), common::write(folder.path(), &toml));
    let warm = common::write(folder.path(), "name = 'warm'\ncommand = ['/bin/true']\n");
    // One-time allocations happen here.
    common::lab(&common::arguments(&db, Some(&warm.to_string_lossy()))).0.expect("it runs");
    fs::write(&file, toml).expect("the folder is ours");
    let before = (count("/proc/self/fd"), count("/proc/self/task"));
    let (ended, output) = common::lab(&common::arguments(&db, Some(&file.to_string_lossy())));
    ended.unwrap_or_else(|error| panic!("{error}: {output}"));
    let after = (count("/proc/self/fd"), count("/proc/self/task"));
    assert_eq!(before, after, "files and threads");
    let children = fs::read_to_string(format!("/proc/self/task/{}/children", std::process::id())).unwrap_or_default();
    assert_eq!(children.trim(), "", "no child is left, not even a zombie");
    assert_eq!(common::processes_with(&token), [0; 0], "something is left running");
    let store = Store::open(&db).expect("it exists");
    assert_eq!(store.experiment("many").expect("it exists").done, 200);
    let words: Vec<_> = common::runs(&db).iter().filter_map(|run| Some(run.outcome.as_ref()?.word())).collect();
    for (word, count) in [("PASS", 100), ("CRASH", 50), ("BLOCKED", 50)] {
        assert_eq!(words.iter().filter(|one| **one == word).count(), count, "{word}");
    }
}
