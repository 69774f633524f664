//! Runs on a real Slurm.

use std::time::Duration;

use roci_lab::Outcome;
use roci_lab::executor::slurm::Slurm;
use roci_lab::executor::{Executor, Exit, JobState};
use roci_lab::experiment::{ExecutorKind, ExecutorOptions, SlurmOptions};
use roci_testkit::require;

use crate::common;
use crate::drive::{DrivenJob, eventually, spec};
use crate::slurm_cluster::Cluster;

fn options(cluster: &Cluster) -> SlurmOptions {
    SlurmOptions {
        configuration: Some(cluster.configuration()),
        folder: Some(cluster.runs()),
        partition: Some("lab".into()),
        ..SlurmOptions::default()
    }
}

fn all(slurm: SlurmOptions) -> ExecutorOptions {
    ExecutorOptions { kind: ExecutorKind::Slurm, slurm, ..ExecutorOptions::default() }
}

/// One test, since the daemons take longer to start than the jobs to run; the jobs run
/// concurrently.
#[test]
fn slurm_jobs_end_as_expected_and_leave_nothing() {
    let Some(cluster) = require("slurm", Cluster::start()) else { return };
    let slurm = Slurm::new(options(&cluster));
    let start = |command: &[&str]| {
        let spec = spec(all(options(&cluster)), command);
        (spec.mark.clone(), DrivenJob::new(slurm.start(&spec).expect("it is submitted")))
    };

    // All properties in one run.
    let gres = SlurmOptions { gres: Some("gpu:1".into()), cpus: Some(2), ..options(&cluster) };
    let script = "echo out $HSA_ENABLE_SDMA $ROCR_VISIBLE_DEVICES $SLURM_CPUS_PER_TASK; echo err >&2; exit 7";
    let fails = slurm.start(&spec(all(gres), &["sh", "-c", script])).expect("it is submitted");
    let mut fails = DrivenJob::new(fails);
    let (_, mut faults) = start(&["sh", "-c", "kill -SEGV $$"]);
    let (_, mut passes) = start(&["true"]);
    let (hanging, mut hangs) = start(&["sh", "-c", "echo begun; trap '' TERM; sleep 100000 & wait; sleep 100000"]);
    let (abandoned, mut lost) = start(&["sh", "-c", "echo begun; sleep 100000"]);
    let (dropped, mut unwanted) = start(&["sh", "-c", "echo begun; sleep 100000"]);

    // More GPUs than exist.
    let greedy = SlurmOptions { gres: Some("gpu:99".into()), ..options(&cluster) };
    let error = slurm.start(&spec(all(greedy), &["true"])).err().expect("it is refused");
    assert!(error.reason.starts_with("Slurm refuses the job: ") && error.hint.is_some(), "{error:?}");

    let JobState::Exited(exit) = fails.end() else { panic!("it ended") };
    assert_eq!((exit.code, exit.signal), (Some(7), None));
    assert_eq!((fails.out.as_str(), fails.err.as_str()), ("out it's 0 0 2\n", "err\n"));
    let JobState::Exited(exit) = faults.end() else { panic!("it ended") };
    assert_eq!((exit.code, exit.signal), (None, Some(11)));
    assert_eq!(passes.end(), JobState::Exited(Exit { code: Some(0), ..Exit::default() }));
    assert_eq!(passes.job.kill(Duration::ZERO).terminated, 0, "nothing is left of a run that has ended");

    // A hung run that ignores SIGTERM.
    hangs.until_written("begun");
    hangs.until("counted", |job, _| job.job.usage().is_some_and(|usage| usage.memory > 0));
    let termination = hangs.job.kill(Duration::from_secs(1));
    assert_eq!((termination.terminated, termination.survivors.len()), (1, 0), "{termination:?}");
    let JobState::Exited(exit) = hangs.end() else { panic!("it ended") };
    assert!(exit.signal.is_some() && exit.note.is_some(), "{exit:?}");

    // A run whose roci was killed before it recorded anything.
    lost.until_written("begun");
    let folder = cluster.runs().join(&abandoned);
    assert!(folder.is_dir());
    std::mem::forget(lost);
    let termination = slurm.recover(&abandoned, "").expect("Slurm can be asked");
    assert_eq!(
        (termination.terminated, termination.survivors.len(), folder.exists()),
        (1, 0, false),
        "{termination:?}"
    );
    assert_eq!(slurm.recover(&abandoned, "").expect("Slurm can be asked").terminated, 0, "nothing is left");

    // A dropped run.
    unwanted.until_written("begun");
    drop(unwanted);
    let queued = || cluster.ask("squeue", &["--noheader", "--format=%j"]);
    eventually("all jobs are over", || !queued().contains(&dropped) && !queued().contains(&hanging));
    drop((fails, faults, passes, hangs));
    let folders = std::fs::read_dir(cluster.runs()).expect("it exists").count();
    assert_eq!(folders, 0, "folders of runs remain");

    a_whole_experiment(&cluster);
}

/// From the file to the stored outcomes.
fn a_whole_experiment(cluster: &Cluster) {
    let folder = tempfile::tempdir().expect("a folder");
    let (runs, configuration) = (cluster.runs(), cluster.configuration());
    let file = common::write(
        folder.path(),
        &format!(
            r#"
name = "on-slurm"
title = "On Slurm"
command = ["sh", "-c", "echo loading; echo speed: 42 t/s; echo done"]
[limits]
deadline = "1h"
stall = "never"
[executor]
kind = "slurm"
[executor.slurm]
folder = '{}'
configuration = '{}'
gres = "gpu:1"
[[phase]]
name = "done"
pattern = "^done"
[[metric]]
name = "speed"
pattern = 'speed: ([\d.]+) t/s'
unit = "t/s"
[success]
phase = "done"
[[strategy]]
name = "passes"
[[strategy]]
name = "hangs"
command = ["sleep", "100000"]
limits = {{ deadline = "2s" }}
[[strategy]]
name = "greedy"
executor = {{ kind = "slurm", slurm = {{ folder = '{0}', configuration = '{1}', gres = "gpu:99" }} }}
"#,
            runs.display(),
            configuration.display(),
        ),
    );
    let db = folder.path().join("lab.db");
    let (result, output) = common::lab(&common::arguments(&db, file.to_str()));
    assert!(result.is_ok(), "{result:?}: {output}");
    let words: Vec<_> =
        common::runs(&db).iter().map(|run| run.outcome.as_ref().map_or("none", Outcome::word)).collect();
    assert_eq!(words, ["PASS", "HANG", "BLOCKED"], "{output}");
    assert_eq!(std::fs::read_dir(runs).expect("it exists").count(), 0, "folders of runs remain");
}

#[test]
fn missing_slurm_is_an_error_with_a_remedy() {
    // A configuration that names no cluster: for an unreachable one Slurm's programs wait a minute.
    let configuration = tempfile::NamedTempFile::new().expect("a file");
    let folder = tempfile::tempdir().expect("a folder");
    let nowhere = SlurmOptions {
        configuration: Some(configuration.path().to_owned()),
        folder: Some(folder.path().to_owned()),
        ..SlurmOptions::default()
    };
    let error =
        Slurm::new(nowhere.clone()).start(&spec(all(nowhere), &["true"])).err().expect("there is no such cluster");
    assert!(error.hint.is_some() && !error.reason.contains('\n'), "{error:?}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("it exists").count(), 0, "its folder is left");
}
