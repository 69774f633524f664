//! A fake Kubernetes API server, written from its documentation: a pod that waits, runs and ends,
//! and a log whose connection breaks once.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};

/// Scenario of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// It writes, and exits with code 3.
    Ends,
    /// It writes, and runs until it is deleted.
    Hangs,
    /// Creating it is forbidden.
    Forbidden,
    /// Its image cannot be pulled.
    NoImage,
}

/// A fake API server.
pub(crate) struct FakeApi {
    story: Scenario,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    requests: Vec<String>,
    job: Option<Value>,
    looks: u32,
    reads: u32,
    ended: bool,
}

const LOG: [&str; 4] = [
    "2026-11-17T11:40:20.500000000Z load_all_data: using async uploads\n",
    "2026-11-17T11:40:20.500000000Z graph_reserve: reserving a graph\n",
    "2026-11-17T11:40:21.000000000Z tg128: 63.2 t/s\n",
    "2026-11-17T11:40:22.100000000Z done\n",
];

/// The log as programs wrote it.
pub(crate) const WRITTEN: &str =
    "load_all_data: using async uploads\ngraph_reserve: reserving a graph\ntg128: 63.2 t/s\ndone\n";

/// A segment of a log stream.
pub(crate) enum LogSegment {
    Bytes(&'static [u8]),
    Pause(Duration),
    /// The connection breaks.
    Lost,
}

impl FakeApi {
    pub(crate) fn new(story: Scenario) -> Self {
        Self { story, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Requests so far, as `VERB /path`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.state().requests.clone()
    }

    /// The existing job.
    pub(crate) fn job(&self) -> Option<Value> {
        self.state().job.clone()
    }

    /// Answers any request except for a log.
    pub(crate) fn answer(&self, verb: &str, path: &str, body: &Value) -> (u16, Value) {
        let mut state = self.state();
        state.requests.push(format!("{verb} {path}"));
        let status = |code: u16, reason: &str, message: &str| {
            let body = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": message, "reason": reason, "code": code });
            (code, body)
        };
        let none = || status(404, "NotFound", "not found");
        match (verb, path.split('?').next().unwrap_or_default()) {
            ("POST", "/api/v1/namespaces") => status(409, "AlreadyExists", "namespaces \"roci-lab\" already exists"),
            ("POST", "/apis/batch/v1/namespaces/roci-lab/jobs") if self.story == Scenario::Forbidden => {
                status(403, "Forbidden", "jobs.batch is forbidden: User \"me\" cannot create resource \"jobs\"")
            }
            ("POST", "/apis/batch/v1/namespaces/roci-lab/jobs") => {
                state.job = Some(body.clone());
                (201, body.clone())
            }
            ("GET", "/api/v1/namespaces/roci-lab/pods") => {
                state.looks += 1;
                let items: Vec<_> = state.job.iter().filter_map(|job| self.pod(job, &state)).collect();
                (200, json!({ "kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items }))
            }
            (verb, path) if path.starts_with("/apis/batch/v1/namespaces/roci-lab/jobs/") => {
                let name = path.rsplit('/').next().unwrap_or_default();
                let found = state.job.as_ref().filter(|job| job["metadata"]["name"] == name).cloned();
                match (verb, found) {
                    ("GET", Some(job)) => (200, job),
                    ("DELETE", Some(job)) => {
                        assert_eq!(body["propagationPolicy"], "Background", "pods would be left");
                        state.job = None;
                        (200, job)
                    }
                    _ => none(),
                }
            }
            _ => none(),
        }
    }

    /// The job's pod, which advances with each request.
    fn pod(&self, job: &Value, state: &State) -> Option<Value> {
        let container =
            |state: Value| json!({ "phase": "Pending", "containerStatuses": [{ "name": "run", "state": state }] });
        let status = match (state.looks, self.story) {
            (1, _) => return None,
            (2, _) => json!({ "phase": "Pending", "conditions": [{ "type": "PodScheduled", "status": "False",
                "reason": "Unschedulable", "message": "0/1 nodes are available: 1 Insufficient amd.com/gpu." }] }),
            (_, Scenario::NoImage) => container(json!({ "waiting": {
                "reason": "ImagePullBackOff", "message": "Back-off pulling image \"localhost/no:1\"" } })),
            (3, _) => container(json!({ "waiting": { "reason": "ContainerCreating" } })),
            _ if state.ended => container(json!({ "terminated": { "exitCode": 3, "reason": "Error",
                "startedAt": "2026-11-17T11:40:20Z", "finishedAt": "2026-11-17T11:40:22Z" } })),
            _ => container(json!({ "running": { "startedAt": "2026-11-17T11:40:20Z" } })),
        };
        let labels = &job["spec"]["template"]["metadata"]["labels"];
        Some(json!({ "metadata": { "name": "pod-1", "namespace": "roci-lab", "labels": labels }, "status": status }))
    }

    /// The next segment of a log; `None` at its end. `sent` counts the segments sent on this
    /// connection.
    pub(crate) fn log(&self, path: &str, sent: usize) -> Option<LogSegment> {
        let mut state = self.state();
        if sent == 0 {
            state.reads += 1;
            state.requests.push(format!("GET {path}"));
            assert!(path.contains("/pods/pod-1/log?container=run&follow=true&timestamps=true"), "{path}");
        }
        match (state.reads, sent, self.story) {
            (1, 0 | 1, _) => Some(LogSegment::Bytes(LOG[sent].as_bytes())),
            (1, 2, Scenario::Ends) => Some(LogSegment::Bytes(&LOG[2].as_bytes()[..35])),
            (1, _, Scenario::Ends) => Some(LogSegment::Lost),
            (_, _, Scenario::Hangs) if state.job.is_some() => Some(LogSegment::Pause(Duration::from_millis(50))),
            (1, ..) => None,
            // Starts at the requested second.
            (_, 0..4, _) => {
                assert!(path.contains("&sinceTime=2026-11-17T11:40:2"), "{path}");
                Some(LogSegment::Bytes(LOG[sent].as_bytes()))
            }
            _ => {
                state.ended = true;
                None
            }
        }
    }
}
