//! Runs on a fake cluster: scenarios for any connection, and a direct connection without a network.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use roci_lab::executor::kubernetes::{ApiResponse, Cluster, Kubernetes, Verb};
use roci_lab::executor::{Executor, Exit, JobState, RunSpec, StartError};
use roci_lab::experiment::{ExecutorKind, ExecutorOptions, KubernetesOptions};
use serde_json::Value;

use crate::drive::{DrivenJob, eventually, spec};
use crate::fake_api::{FakeApi, LogSegment, Scenario, WRITTEN};

pub(crate) type Connect = dyn Fn(Arc<FakeApi>) -> Arc<dyn Cluster>;

fn executor(story: Scenario, connect: &Connect) -> (Arc<FakeApi>, Kubernetes) {
    let api = Arc::new(FakeApi::new(story));
    (Arc::clone(&api), Kubernetes::new(KubernetesOptions::default(), connect(api)))
}

fn run() -> RunSpec {
    let options = ExecutorOptions { kind: ExecutorKind::Kubernetes, ..ExecutorOptions::default() };
    let mut spec = spec(options, &["llama-bench"]);
    spec.image = Some("localhost/llama:rocm".into());
    spec
}

/// It waits, runs, writes and ends; its log is complete although the connection broke; nothing is
/// left.
pub(crate) fn a_run_completes(connect: &Connect) {
    let (api, executor) = executor(Scenario::Ends, connect);
    let spec = run();
    let mut job = DrivenJob::new(executor.start(&spec).expect("it starts"));
    assert_eq!(api.job().expect("it was made")["metadata"]["name"], spec.mark.as_str());
    let mut waited = String::new();
    let state = job.until("over", |_, state| {
        if let JobState::Queued(what) = state {
            waited = format!("{waited}{what}\n");
        }
        !matches!(state, JobState::Queued(_) | JobState::Running)
    });
    assert_eq!(state, JobState::Exited(Exit { code: Some(3), ..Exit::default() }));
    assert_eq!(job.out, WRITTEN);
    assert!(waited.contains("Insufficient amd.com/gpu"), "{waited}");
    assert_eq!(job.job.handle(), "roci-lab");
    drop(job);
    assert_eq!(api.job(), None, "{:?}", api.requests());
}

/// A hung run is deleted with its pod.
pub(crate) fn a_run_that_hangs_is_removed(connect: &Connect) {
    let (api, executor) = executor(Scenario::Hangs, connect);
    let mut job = DrivenJob::new(executor.start(&run()).expect("it starts"));
    job.until_written("graph_reserve");
    assert_eq!(job.job.poll(), JobState::Running);
    let termination = job.job.kill(Duration::from_secs(1));
    assert_eq!((termination.terminated, termination.survivors.len()), (1, 0), "{termination:?}");
    assert_eq!(api.job(), None);
    assert!(matches!(job.end(), JobState::Gone(_)));
}

/// A run of a killed roci is found by its mark; a dropped job is deleted.
pub(crate) fn leftover_runs_are_found(connect: &Connect) {
    let (api, executor) = executor(Scenario::Hangs, connect);
    let spec = run();
    let mut job = DrivenJob::new(executor.start(&spec).expect("it starts"));
    job.until_written("graph_reserve");
    let termination = executor.recover(&spec.mark, "").expect("it can be asked");
    assert_eq!((termination.terminated, api.job()), (1, None));
    assert_eq!(executor.recover(&spec.mark, "roci-lab").expect("it can be asked").terminated, 0, "nothing is left");
    drop(job);

    let (api, executor) = self::executor(Scenario::Hangs, connect);
    let mut job = DrivenJob::new(executor.start(&run()).expect("it starts"));
    job.until_written("graph_reserve");
    drop(job);
    eventually("it is gone", || api.job().is_none());
}

/// Refusals of the cluster are reported with a remedy.
pub(crate) fn refusals_are_reported(connect: &Connect) {
    let (_, executor) = executor(Scenario::Forbidden, connect);
    let error = executor.start(&run()).err().expect("it is forbidden");
    assert!(error.reason.contains("cannot create resource \"jobs\""), "{error:?}");
    assert!(error.hint.is_some_and(|hint| hint.contains("kubectl auth can-i")));
    let (_, executor) = self::executor(Scenario::NoImage, connect);
    let state = DrivenJob::new(executor.start(&run()).expect("it starts")).end();
    assert!(matches!(&state, JobState::Refused(why) if why.contains("ImagePullBackOff")), "{state:?}");
}

/// A connection without a network.
struct Direct(Arc<FakeApi>);

impl Cluster for Direct {
    fn call(&self, verb: Verb, path: &str, body: Option<&Value>) -> Result<ApiResponse, StartError> {
        let verb = match verb {
            Verb::Get => "GET",
            Verb::Post => "POST",
            Verb::Delete => "DELETE",
        };
        let (status, body) = self.0.answer(verb, path, body.unwrap_or(&Value::Null));
        Ok(ApiResponse { status, body })
    }

    fn follow(&self, path: &str, take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), StartError> {
        let mut sent = 0;
        while let Some(part) = self.0.log(path, sent) {
            let bytes = match part {
                LogSegment::Bytes(bytes) => bytes,
                LogSegment::Pause(time) => {
                    std::thread::sleep(time);
                    &[]
                }
                LogSegment::Lost => return Err(StartError::new("the connection is lost", "wait")),
            };
            if take(bytes).is_break() {
                return Ok(());
            }
            sent += 1;
        }
        Ok(())
    }
}

fn direct(api: Arc<FakeApi>) -> Arc<dyn Cluster> {
    Arc::new(Direct(api))
}

#[test]
fn a_run_completes_without_a_network() {
    a_run_completes(&direct);
}

#[test]
fn a_run_that_hangs_is_removed_without_a_network() {
    a_run_that_hangs_is_removed(&direct);
}

#[test]
fn leftover_runs_are_found_without_a_network() {
    leftover_runs_are_found(&direct);
}

#[test]
fn refusals_are_reported_without_a_network() {
    refusals_are_reported(&direct);
}

#[cfg(not(feature = "kubernetes"))]
#[test]
fn missing_kubernetes_support_is_reported() {
    let error = Kubernetes::connect(KubernetesOptions::default()).expect_err("it is not built in");
    assert_eq!(error.reason, "this roci was built without Kubernetes");
}
