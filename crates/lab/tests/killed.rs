//! Roci killed, asked to stop, and started again: no result is lost or doubled, nothing stays behind.

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

/// How long the killing may go on.
const ENOUGH: Duration = Duration::from_secs(150);

/// Not random, but without any pattern that the work could follow.
fn moments(count: usize) -> impl Iterator<Item = Duration> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    (0..count).map(move |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // To read the doctor's rules takes a good part of the first 100 ms.
        Duration::from_micros((state >> 33) % 240_000)
    })
}

#[test]
fn killed_a_hundred_times_no_result_is_lost_or_doubled() {
    let folder = tempfile::tempdir().expect("there is room");
    let token = common::token();
    let mut toml = String::from(
        "name = 'killed'\n[limits]\ngrace = '1s'\n[[metric]]\nname = 'own'\npattern = '^own (\\d+)'\n[success]\nmetric = [{ name = 'own' }]\n",
    );
    for number in 0..60 {
        // Some are over at once, some take their time, some leave a process behind.
        let work = match number % 3 {
            0 => "",
            1 => "sleep 0.05; ",
            _ => "setsid sleep 100000.TOKEN & sleep 0.02; ",
        };
        let shell = format!("{work}echo own {number}").replace("TOKEN", &token);
        // Nothing that a rule could forbid, so that no time goes into looking at the machine.
        toml.push_str(&format!("[[strategy]]\nname = 's{number}'\nshell = '{shell}'\nuses = []\nrepeats = 2\n"));
    }
    let (db, file) = (folder.path().join("lab.db"), common::write(folder.path(), &toml));
    // The plan is made whole or not at all; the killing begins when it is there.
    let mut first = common::spawn(&db, Some(&file));
    common::wait_for("the plan", || db.exists().then(|| Store::open(&db).ok()?.experiment("latest").ok()).flatten());
    first.kill().expect("it is ours");
    common::ended(&mut first);
    let mut finals: BTreeMap<i64, (Outcome, Option<i64>)> = BTreeMap::new();
    let mut grew = 0;
    // A machine that is slowed down many times does with fewer of them, and says so.
    let (begun, mut killed) = (Instant::now(), 0);
    for (number, moment) in moments(100).enumerate() {
        if begun.elapsed() > ENOUGH {
            roci_testkit::skipped("killed.rs", "the machine is too slow to kill roci 100 times");
            break;
        }
        killed += 1;
        let mut child = common::spawn(&db, None);
        // Every other one is let come to work first; the others may be killed while they still clear away.
        let starts = || common::runs(&db).iter().map(|run| run.attempts).sum::<u32>();
        let before = starts();
        if number % 2 == 0 {
            common::wait_for("work", || {
                (starts() > before || child.try_wait().expect("it is ours").is_some()).then_some(())
            });
        }
        std::thread::sleep(moment);
        // It cannot have ended by itself, unless all is done.
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
    assert_eq!(common::ended(&mut last), Some(0), "everything passes in the end");
    check(&db, &mut finals);
    assert_eq!(finals.len(), 120);
    let attempts: u32 = common::runs(&db).iter().map(|run| run.attempts).sum();
    let told =
        format!("{grew} of {killed} processes got a result before they were killed; {attempts} starts for 120 results");
    roci_testkit::note(&told);
    assert_eq!(common::processes_with(&token), [0; 0], "something is left running");
}

/// What is final stays as it is, and is right.
fn check(db: &std::path::Path, finals: &mut BTreeMap<i64, (Outcome, Option<i64>)>) {
    let store = Store::open(db).expect("a killed process leaves a whole file");
    let row = store.experiment("latest").expect("it is there");
    assert_eq!(row.id, 1, "resuming makes no new experiment");
    let metrics = store.metrics_of_experiment(row.id).expect("they are there");
    let runs = store.runs(row.id).expect("they are there");
    assert_eq!(runs.len(), 120);
    for run in &runs {
        match finals.get(&run.id) {
            Some((outcome, ended)) => assert_eq!((run.outcome.as_ref(), run.ended), (Some(outcome), *ended)),
            None if run.state == RunState::Done => {
                let own = metrics[&run.id].iter().map(|metric| format!("s{}", metric.value)).collect::<Vec<_>>();
                assert_eq!(own, std::slice::from_ref(&run.strategy), "a result that is another's");
                finals.insert(run.id, (run.outcome.clone().expect("it is done"), run.ended));
            }
            None => assert!(!metrics.contains_key(&run.id), "half a result"),
        }
    }
}

#[test]
fn asked_to_stop_it_ends_the_present_run_and_goes_on_later() {
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
        assert_eq!(common::ended(&mut child), Some(130), "interrupted, as shells say");
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
