//! Runs as Jobs of a Kubernetes cluster, in their own namespace.
//!
//! Manifests (`manifest.rs`), states (`state.rs`) and log parsing (`log.rs`) are plain data and
//! always compiled. The connection is the trait [`Cluster`]; `client.rs` implements it with the
//! `kube` crate, behind the feature `kubernetes`.

#[cfg(feature = "kubernetes")]
pub mod client;
pub mod log;
pub mod manifest;
pub mod state;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::log::Cursor;
use super::state_observer::StateObserver;
use super::{Chunk, Executor, JobState, RunSpec, RunningJob, StartError, Stream, Termination, Usage};
use crate::experiment::KubernetesOptions;
use crate::outcome::{Stack, Survivor};

/// Poll interval of a job.
const INTERVAL: Duration = Duration::from_secs(1);

/// Timeout for the rest of the log after the container has ended.
const SETTLE: Duration = Duration::from_secs(60);

/// Timeout for a cluster to terminate pods, in addition to their grace period.
const CLEARING: Duration = Duration::from_secs(120);

/// Log chunks that are buffered; the connection waits when there are more.
const MAX_QUEUED_CHUNKS: usize = 64;

/// A connection to a cluster.
pub trait Cluster: Send + Sync {
    /// Sends a request, with a timeout.
    ///
    /// # Errors
    /// If there is no answer. A refusal is an [`ApiResponse`].
    fn call(&self, verb: Verb, path: &str, body: Option<&Value>) -> Result<ApiResponse, StartError>;

    /// Reads a streamed answer until its end or until `take` breaks. While nothing arrives, `take`
    /// is called without bytes about once a second.
    ///
    /// # Errors
    /// If there is no such stream, or the connection is lost.
    fn follow(&self, path: &str, take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), StartError>;
}

/// HTTP method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Read.
    Get,
    /// Create.
    Post,
    /// Delete a resource.
    Delete,
}

/// An HTTP response.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiResponse {
    /// HTTP status code.
    pub status: u16,
    /// The object, or a `Status` with the reason of a refusal.
    pub body: Value,
}

impl ApiResponse {
    /// The object, if the request succeeded.
    fn success(self, what: &str) -> Result<Value, StartError> {
        if (200..300).contains(&self.status) {
            return Ok(self.body);
        }
        let why = match self.body["message"].as_str().filter(|message| !message.is_empty()) {
            Some(message) => message.split_whitespace().collect::<Vec<_>>().join(" "),
            None => format!("HTTP status {}", self.status),
        };
        let hint = match self.status {
            401 | 403 => "check your permissions: `kubectl auth can-i create jobs.batch -n NAMESPACE`",
            404 => "create the namespace: `kubectl create namespace NAMESPACE`",
            _ => "check the cluster's events: `kubectl get events -n NAMESPACE`",
        };
        Err(StartError::new(format!("{what}: {why}"), hint))
    }
}

/// Executor for Jobs of a cluster.
pub struct Kubernetes {
    options: KubernetesOptions,
    cluster: Arc<dyn Cluster>,
}

impl std::fmt::Debug for Kubernetes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kubernetes").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Kubernetes {
    /// With an existing connection.
    pub fn new(options: KubernetesOptions, cluster: Arc<dyn Cluster>) -> Self {
        Self { options, cluster }
    }

    /// Connects to the cluster of the kubeconfig, or to the one that this process runs in.
    ///
    /// # Errors
    /// If there is none, or roci was built without the feature `kubernetes`.
    pub fn connect(options: KubernetesOptions) -> Result<Self, StartError> {
        #[cfg(feature = "kubernetes")]
        {
            let cluster = client::Client::connect(options.context.as_deref())?;
            Ok(Self::new(options, Arc::new(cluster)))
        }
        #[cfg(not(feature = "kubernetes"))]
        {
            drop(options);
            Err(StartError::new(
                "this roci was built without Kubernetes",
                "build it with `--features kubernetes`, or choose the executor `local`, `container` or `slurm`",
            ))
        }
    }

    fn location(&self, mark: &str) -> JobLocation {
        let namespace = manifest::namespace(&self.options).to_owned();
        JobLocation { cluster: Arc::clone(&self.cluster), namespace, mark: mark.to_owned() }
    }
}

impl Executor for Kubernetes {
    fn name(&self) -> &'static str {
        "kubernetes"
    }

    fn start(&self, spec: &RunSpec) -> Result<Box<dyn RunningJob>, StartError> {
        let job = manifest::job_manifest(spec)?;
        let location = self.location(&spec.mark);
        // If the namespace exists or may not be created, the Job request reports any problem.
        let namespace = manifest::namespace_manifest(&self.options);
        let _ = self.cluster.call(Verb::Post, "/api/v1/namespaces", Some(&namespace))?;
        let path = format!("/apis/batch/v1/namespaces/{}/jobs", location.namespace);
        self.cluster.call(Verb::Post, &path, Some(&job))?.success("the cluster refuses the job")?;
        Ok(Box::new(KubernetesJob::watch(location)))
    }

    fn recover(&self, mark: &str, handle: &str) -> Result<Termination, StartError> {
        let mut location = self.location(mark);
        // The handle has the namespace, even if the experiment has changed since.
        if !handle.is_empty() {
            location.namespace = handle.to_owned();
        }
        location.end(Duration::ZERO)
    }
}

/// The objects of a run.
#[derive(Clone)]
struct JobLocation {
    cluster: Arc<dyn Cluster>,
    namespace: String,
    mark: String,
}

impl JobLocation {
    fn job_path(&self) -> String {
        format!("/apis/batch/v1/namespaces/{}/jobs/{}", self.namespace, self.mark)
    }

    /// Gets an object; `null` if it does not exist.
    fn get(&self, path: &str) -> Result<Value, StartError> {
        let answer = self.cluster.call(Verb::Get, path, None)?;
        if answer.status == 404 { Ok(Value::Null) } else { answer.success("the cluster does not report the state") }
    }

    /// Pods of the run.
    fn pods(&self) -> Result<Value, StartError> {
        // `roci.lab/run=…`, URL-encoded.
        let label = manifest::LABEL.replace('/', "%2F");
        self.get(&format!("/api/v1/namespaces/{}/pods?labelSelector={label}%3D{}", self.namespace, self.mark))
    }

    /// Deletes the Job and waits until its pods are gone.
    fn end(&self, grace: Duration) -> Result<Termination, StartError> {
        let before = names(&self.pods()?);
        // The pods are deleted with the Job; each ends within the grace period of its manifest.
        let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background" });
        let answer = self.cluster.call(Verb::Delete, &self.job_path(), Some(&options))?;
        let was_there = answer.status != 404;
        if was_there {
            answer.success("the cluster does not delete the job")?;
        }
        let deadline = Instant::now() + grace + CLEARING;
        let mut remaining = names(&self.pods()?);
        while !remaining.is_empty() && Instant::now() < deadline {
            std::thread::sleep(INTERVAL / 4);
            remaining = names(&self.pods()?);
        }
        let survivor = |name: &String| Survivor {
            process: 0,
            name: format!("pod {name}"),
            state: "Terminating".into(),
            waits_for: None,
        };
        let terminated = before.len().max(was_there.into()).saturating_sub(remaining.len());
        Ok(Termination {
            terminated: u32::try_from(terminated).unwrap_or(u32::MAX),
            survivors: remaining.iter().map(survivor).collect(),
        })
    }
}

/// Names of existing pods.
fn names(pods: &Value) -> Vec<String> {
    let items = pods["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|pod| pod["metadata"]["name"].as_str()).map(str::to_owned).collect()
}

/// Last observed state of a job.
#[derive(Clone, Debug)]
struct ObservedJob {
    state: JobState,
    /// The pod with the log.
    pod: Option<String>,
}

/// Whether the state is final.
fn is_over(observed: &ObservedJob) -> bool {
    !matches!(observed.state, JobState::Queued(_) | JobState::Running)
}

/// A Job of the cluster.
struct KubernetesJob {
    location: JobLocation,
    observer: Arc<StateObserver<ObservedJob>>,
    output: Receiver<Vec<u8>>,
    /// Whether the whole log is in `output`.
    read: Arc<AtomicBool>,
    /// Tells the log reader to stop.
    stop: Arc<AtomicBool>,
    started: Option<Instant>,
    over: Option<Instant>,
    removed: bool,
}

impl KubernetesJob {
    /// Starts polling the state and reading the log.
    fn watch(location: JobLocation) -> Self {
        let asked = location.clone();
        let first = ObservedJob { state: JobState::Queued("Kubernetes: submitted".into()), pod: None };
        let observer = Arc::new(StateObserver::start(first, INTERVAL, is_over, move || {
            let pods = asked.pods().ok()?;
            let job = asked.get(&asked.job_path()).ok()?;
            Some(ObservedJob { state: state::job_state(&job, &pods), pod: state::pod_with_log(&pods) })
        }));
        let (send, output) = sync_channel(MAX_QUEUED_CHUNKS);
        let (read, stop) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let reader = PodLogReader {
            location: location.clone(),
            observer: Arc::clone(&observer),
            output: send,
            stop: Arc::clone(&stop),
            cursor: Cursor::default(),
        };
        let done = Arc::clone(&read);
        std::thread::spawn(move || {
            reader.run();
            done.store(true, Ordering::Release);
        });
        Self { location, observer, output, read, stop, started: None, over: None, removed: false }
    }
}

impl RunningJob for KubernetesJob {
    fn handle(&self) -> String {
        self.location.namespace.clone()
    }

    fn poll(&mut self) -> JobState {
        let latest = self.observer.latest();
        if !matches!(latest.state, JobState::Queued(_)) {
            self.started.get_or_insert_with(Instant::now);
        }
        // The last log lines can arrive after the state change.
        let waits = is_over(&latest)
            && latest.pod.is_some()
            && !self.read.load(Ordering::Acquire)
            && self.over.get_or_insert_with(Instant::now).elapsed() < SETTLE;
        if waits { JobState::Running } else { latest.state }
    }

    fn take_output(&mut self) -> Vec<Chunk> {
        let at = self.started.map_or(Duration::ZERO, |started| started.elapsed());
        // A cluster mixes both streams.
        self.output.try_iter().take(MAX_QUEUED_CHUNKS).map(|bytes| Chunk { stream: Stream::Out, at, bytes }).collect()
    }

    fn usage(&mut self) -> Option<Usage> {
        // Clusters report a rate at best, and only with an add-on.
        None
    }

    fn stacks(&mut self) -> Vec<Stack> {
        // Its processes are on another machine.
        Vec::new()
    }

    fn kill(&mut self, grace: Duration) -> Termination {
        if is_over(&self.observer.latest()) {
            return Termination::default();
        }
        match self.location.end(grace) {
            Ok(termination) => {
                self.removed = termination.survivors.is_empty();
                termination
            }
            Err(error) => {
                let name = format!("job {}", self.location.mark);
                let survivor = Survivor { process: 0, name, state: "unknown".into(), waits_for: Some(error.reason) };
                Termination { terminated: 0, survivors: vec![survivor] }
            }
        }
    }
}

impl Drop for KubernetesJob {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if !self.removed {
            let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background" });
            let _ = self.location.cluster.call(Verb::Delete, &self.location.job_path(), Some(&options));
        }
    }
}

/// Reads the log of a run.
struct PodLogReader {
    location: JobLocation,
    observer: Arc<StateObserver<ObservedJob>>,
    output: SyncSender<Vec<u8>>,
    stop: Arc<AtomicBool>,
    cursor: Cursor,
}

impl PodLogReader {
    /// Reads until the end or until told to stop.
    fn run(mut self) {
        while !self.stop.load(Ordering::Acquire) {
            let latest = self.observer.latest();
            let whole = match &latest.pod {
                Some(pod) => self.follow(pod),
                None => false,
            };
            // Only a request that started after the end is sure to return the complete log.
            if is_over(&latest) && (whole || latest.pod.is_none()) {
                return;
            }
            let deadline = Instant::now() + INTERVAL;
            self.observer.wait(deadline, |now| latest.pod.is_none() && (now.pod.is_some() || is_over(now)));
        }
    }

    /// Follows the log; returns whether it reached the end.
    fn follow(&mut self, pod: &str) -> bool {
        let path = self.cursor.path(&self.location.namespace, pod, manifest::CONTAINER);
        let (cursor, output, stop) = (&mut self.cursor, &self.output, &self.stop);
        let ended = self.location.cluster.follow(&path, &mut |bytes| {
            let mut portion = Vec::new();
            cursor.take(bytes, &mut portion);
            pass(output, stop, portion)
        });
        let whole = ended.is_ok() && !stop.load(Ordering::Acquire);
        if whole && is_over(&self.observer.latest()) {
            let mut portion = Vec::new();
            cursor.finish(&mut portion);
            let _ = pass(output, stop, portion);
        }
        whole
    }
}

/// Sends a chunk; waits while the buffer is full, to bound memory.
fn pass(output: &SyncSender<Vec<u8>>, stop: &AtomicBool, mut portion: Vec<u8>) -> ControlFlow<()> {
    while !stop.load(Ordering::Acquire) {
        if portion.is_empty() {
            return ControlFlow::Continue(());
        }
        portion = match output.try_send(portion) {
            Ok(()) => return ControlFlow::Continue(()),
            Err(TrySendError::Full(portion)) => portion,
            Err(TrySendError::Disconnected(_)) => return ControlFlow::Break(()),
        };
        std::thread::sleep(Duration::from_millis(10));
    }
    ControlFlow::Break(())
}
