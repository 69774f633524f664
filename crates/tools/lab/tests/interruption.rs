//! Roci is killed, asked to stop, and restarted: no result is lost or duplicated, and no process is
//! left.

#[expect(dead_code, reason = "each test uses a part of it")]
mod common;

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use roci_lab::Outcome;
use roci_lab::store::{RunState, Store};

#[test]
fn the_process_under_test() {
    common::become_lab();
}

/// How long the test kills processes.
const ENOUGH: Duration = Duration::from_secs(150);

/// Times of the kills: irregular, so that they do not correlate with the work.
fn moments(count: usize) -> impl Iterator<Item = Duration> {
    let mut random = fastrand::Rng::with_seed(1);
    // Loading the doctor's rules takes a good part of the first 100 ms.
    (0..count).map(move |_| Duration::from_micros(random.u64(..240_000)))
}

#[test]
fn a_hundred_kills_neither_lose_nor_duplicate_a_result() {
    let folder = tempfile::tempdir().expect("there is room");
    let token = common::token();
    let mut toml = String::from(
        "name = 'killed'\n[limits]\ngrace = '1s'\n[[metric]]\nname = 'own'\npattern = '^own (\\d+)'\n[success]\nmetric = [{ name = 'own' }]\n",
    );
    for number in 0..60 {
        // Some end immediately, some run for a while, some leave a process behind.
        let work = match number % 3 {
            0 => "",
            1 => "sleep 0.05; ",
            _ => "setsid sleep 100000.TOKEN & sleep 0.02; ",
        };
        let shell = format!("{work}echo own {number}").replace("TOKEN", &token);
        // Without an API that a rule could forbid, so that no time goes into a snapshot of the
        // machine.
        toml.push_str(&format!("[[strategy]]\nname = 's{number}'\nshell = '{shell}'\nuses = []\nrepeats = 2\n"));
    }
    let (db, file) = (folder.path().join("lab.db"), common::write(folder.path(), &toml));
    // The plan is stored completely or not at all; killing starts after that.
    let mut first = common::spawn(&db, Some(&file));
    common::wait_for("the plan", || db.exists().then(|| Store::open(&db).ok()?.experiment("latest").ok()).flatten());
    first.kill().expect("it is ours");
    common::ended(&mut first);
    let mut finals: BTreeMap<i64, (Outcome, Option<i64>)> = BTreeMap::new();
    let mut grew = 0;
    // A slow machine uses fewer kills, and reports that.
    let (begun, mut killed) = (Instant::now(), 0);
    for (number, moment) in moments(100).enumerate() {
        if begun.elapsed() > ENOUGH {
            roci_testkit::skipped("killed.rs", "the machine is too slow to kill roci 100 times");
            break;
        }
        killed += 1;
        let mut child = common::spawn(&db, None);
        // Every other process may start working; the others can be killed while they still clean
        // up.
        let starts = || common::runs(&db).iter().map(|run| run.attempts).sum::<u32>();
        let before = starts();
        if number % 2 == 0 {
            common::wait_for("work", || {
                (starts() > before || child.try_wait().expect("it is ours").is_some()).then_some(())
            });
        }
        std::thread::sleep(moment);
        // It cannot have exited by itself, unless everything is done.
        if let Some(status) = child.try_wait().expect("it is ours") {
            assert!(status.success(), "{status}");
        }
        child.kill().expect("it is ours");
        common::ended(&mut child);
        let before = finals.len();
        check(&db, &mut finals);
        grew += usize::from(finals.len() > before);
    }
    let mut last = common::spawn(&db, None);
    assert_eq!(common::ended(&mut last), Some(0), "everything passes at the end");
    check(&db, &mut finals);
    assert_eq!(finals.len(), 120);
    let attempts: u32 = common::runs(&db).iter().map(|run| run.attempts).sum();
    let summary =
        format!("{grew} of {killed} processes got a result before they were killed; {attempts} starts for 120 results");
    roci_testkit::note(&summary);
    assert_eq!(common::processes_with(&token), [0; 0], "something is left running");
}

/// Final results stay unchanged, and are correct.
fn check(db: &std::path::Path, finals: &mut BTreeMap<i64, (Outcome, Option<i64>)>) {
    let store = Store::open(db).expect("a killed process leaves a complete file");
    let row = store.experiment("latest").expect("it exists");
    assert_eq!(row.id, 1, "resuming makes no new experiment");
    let metrics = store.metrics_of_experiment(row.id).expect("they exist");
    let runs = store.runs(row.id).expect("they exist");
    assert_eq!(runs.len(), 120);
    for run in &runs {
        match finals.get(&run.id) {
            Some((outcome, ended)) => assert_eq!((run.outcome.as_ref(), run.ended), (Some(outcome), *ended)),
            None if run.state == RunState::Done => {
                let own = metrics[&run.id].iter().map(|metric| format!("s{}", metric.value)).collect::<Vec<_>>();
                assert_eq!(own, std::slice::from_ref(&run.strategy), "a result of another run");
                finals.insert(run.id, (run.outcome.clone().expect("it is done"), run.ended));
            }
            None => assert!(!metrics.contains_key(&run.id), "half a result"),
        }
    }
}

#[test]
fn a_stop_request_ends_the_current_run_and_resume_continues() {
    let folder = tempfile::tempdir().expect("there is room");
    let (flag, token) = (folder.path().join("flag"), common::token());
    let toml = format!(
        "name = 'asked'
command = ['/bin/sh']
[limits]
stall = 'never'
deadline = '10h'
[[strategy]]
name = 'first'
shell = 'echo one'
[[strategy]]
name = 'second'
shell = 'if [ -e {} ]; then echo two; else trap \"\" TERM; sleep 100000.{token}; fi'
[[strategy]]
name = 'third'
shell = 'echo three'
",
        flag.display()
    );
    let (db, file) = (folder.path().join("lab.db"), common::write(folder.path(), &toml));
    for (signal, begun) in [(Signal::TERM, 1), (Signal::INT, 2)] {
        let mut child = common::spawn(&db, (begun == 1).then_some(&*file));
        common::wait_for("the second run", || {
            (!common::processes_with(&format!("100000.{token}")).is_empty()).then_some(())
        });
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("it has a number");
        kill_process(pid, signal).expect("it is ours");
        assert_eq!(common::ended(&mut child), Some(130), "interrupted, as shells report it");
        let runs = common::runs(&db);
        let states: Vec<_> = runs.iter().map(|run| run.state).collect();
        assert_eq!(states, [RunState::Done, RunState::Planned, RunState::Planned]);
        assert_eq!(runs[1].attempts, begun);
        assert_eq!(common::processes_with(&format!("100000.{token}")), [0; 0]);
    }
    fs::write(&flag, "").expect("the folder is ours");
    let mut child = common::spawn(&db, None);
    assert_eq!(common::ended(&mut child), Some(0));
    let runs = common::runs(&db);
    assert!(runs.iter().all(|run| run.outcome == Some(Outcome::Pass)), "{runs:?}");
    assert_eq!(runs.iter().map(|run| run.attempts).collect::<Vec<_>>(), [1, 3, 1]);
}

#[test]
fn two_processes_do_not_do_the_same_work() {
    let folder = tempfile::tempdir().expect("there is room");
    let token = common::token();
    let toml = format!("name = 'two'\nshell = 'sleep 100000.{token}'\n[limits]\nstall = 'never'\ndeadline = '10h'\n");
    let (db, file) = (folder.path().join("lab.db"), common::write(folder.path(), &toml));
    let mut child = common::spawn(&db, Some(&file));
    common::wait_for("the run", || (!common::processes_with(&format!("100000.{token}")).is_empty()).then_some(()));
    let (ended, _) = common::lab(&common::arguments(&db, None));
    let refused = ended.expect_err("another process is at it");
    assert!(refused.contains("is being run by process"), "{refused}");
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("it has a number");
    kill_process(pid, Signal::TERM).expect("it is ours");
    assert_eq!(common::ended(&mut child), Some(130));
}
