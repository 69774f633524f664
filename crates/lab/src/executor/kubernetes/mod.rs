//! Runs as Jobs of a Kubernetes cluster, in a namespace of their own.
//!
//! What is asked for (`manifest.rs`), what answers mean (`state.rs`) and how a log is followed (`log.rs`) is plain data,
//! always compiled. The connection is the trait [`Cluster`]; `client.rs` has the one by the `kube` crate, behind the
//! feature `kubernetes`.

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
use super::observer::Observer;
use super::{Chunk, Ended, Executor, JobState, RunSpec, RunningJob, StartError, Stream, Usage};
use crate::experiment::KubernetesOptions;
use crate::outcome::{Stack, Survivor};

/// Between two questions about a job.
const INTERVAL: Duration = Duration::from_secs(1);

/// How long the rest of a log may take after the end of its container.
const SETTLE: Duration = Duration::from_secs(60);

/// How long a cluster may take to end pods beside their grace.
const CLEARING: Duration = Duration::from_secs(120);

/// Portions of a log that wait to be taken; the connection waits when there are more.
const PORTIONS: usize = 64;

/// A connection to a cluster.
pub trait Cluster: Send + Sync {
    /// Asks for something, with a deadline of its own.
    ///
    /// # Errors
    /// If no answer comes. An answer that refuses is an [`Answer`].
    fn call(&self, verb: Verb, path: &str, body: Option<&Value>) -> Result<Answer, StartError>;

    /// Reads an answer that comes bit by bit, until its end or until `take` breaks. `take` is also called without bytes,
    /// about once a second, when nothing comes.
    ///
    /// # Errors
    /// If there is no such answer, or the connection is lost.
    fn follow(&self, path: &str, take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), StartError>;
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// To see.
    Get,
    /// To make.
    Post,
    /// To remove.
    Delete,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// As HTTP has it.
    pub status: u16,
    /// The object, or a `Status` that tells why not.
    pub body: Value,
}

impl Answer {
    /// The object, if the cluster agreed.
    fn well(self, what: &str) -> Result<Value, StartError> {
        if (200..300).contains(&self.status) {
            return Ok(self.body);
        }
        let why = match self.body["message"].as_str().filter(|message| !message.is_empty()) {
            Some(message) => message.split_whitespace().collect::<Vec<_>>().join(" "),
            None => format!("HTTP status {}", self.status),
        };
        let hint = match self.status {
            401 | 403 => "look at your rights: `kubectl auth can-i create jobs.batch -n NAMESPACE`",
            404 => "create the namespace: `kubectl create namespace NAMESPACE`",
            _ => "look at the cluster with `kubectl get events -n NAMESPACE`",
        };
        Err(StartError::new(format!("{what}: {why}"), hint))
    }
}

/// Jobs of a cluster.
pub struct Kubernetes {
    options: KubernetesOptions,
    cluster: Arc<dyn Cluster>,
}

impl Kubernetes {
    /// On a cluster that is connected to.
    pub fn new(options: KubernetesOptions, cluster: Arc<dyn Cluster>) -> Self {
        Self { options, cluster }
    }

    /// On the cluster of the kubeconfig, or the one that this runs in.
    ///
    /// # Errors
    /// If there is none, or this roci was built without the feature `kubernetes`.
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

    fn place(&self, mark: &str) -> Place {
        let namespace = manifest::namespace(&self.options).to_owned();
        Place { cluster: Arc::clone(&self.cluster), namespace, mark: mark.to_owned() }
    }
}

impl Executor for Kubernetes {
    fn name(&self) -> &'static str {
        "kubernetes"
    }

    fn start(&self, spec: &RunSpec) -> Result<Box<dyn RunningJob>, StartError> {
        let job = manifest::job_manifest(spec)?;
        let place = self.place(&spec.mark);
        // Where it is there already, or where only others may make it, the Job tells whether all is well.
        let namespace = manifest::namespace_manifest(&self.options);
        let _ = self.cluster.call(Verb::Post, "/api/v1/namespaces", Some(&namespace))?;
        let path = format!("/apis/batch/v1/namespaces/{}/jobs", place.namespace);
        self.cluster.call(Verb::Post, &path, Some(&job))?.well("the cluster refuses the job")?;
        Ok(Box::new(KubernetesJob::watch(place)))
    }

    fn recover(&self, mark: &str, handle: &str) -> Result<Ended, StartError> {
        let mut place = self.place(mark);
        // The handle knows the namespace even if the experiment has changed since.
        if !handle.is_empty() {
            place.namespace = handle.to_owned();
        }
        place.end(Duration::ZERO)
    }
}

/// Where a run is.
#[derive(Clone)]
struct Place {
    cluster: Arc<dyn Cluster>,
    namespace: String,
    mark: String,
}

impl Place {
    fn job_path(&self) -> String {
        format!("/apis/batch/v1/namespaces/{}/jobs/{}", self.namespace, self.mark)
    }

    /// Gets an object; `null` if there is none.
    fn get(&self, path: &str) -> Result<Value, StartError> {
        let answer = self.cluster.call(Verb::Get, path, None)?;
        if answer.status == 404 { Ok(Value::Null) } else { answer.well("the cluster does not tell") }
    }

    /// The pods of the run.
    fn pods(&self) -> Result<Value, StartError> {
        // `roci.lab/run=…`, as a query has it.
        let label = manifest::LABEL.replace('/', "%2F");
        self.get(&format!("/api/v1/namespaces/{}/pods?labelSelector={label}%3D{}", self.namespace, self.mark))
    }

    /// Removes the job, and waits until its pods are gone.
    fn end(&self, grace: Duration) -> Result<Ended, StartError> {
        let before = names(&self.pods()?);
        // The pods go with the job; each ends within the grace that its manifest has.
        let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background" });
        let answer = self.cluster.call(Verb::Delete, &self.job_path(), Some(&options))?;
        let was_there = answer.status != 404;
        if was_there {
            answer.well("the cluster does not remove the job")?;
        }
        let deadline = Instant::now() + grace + CLEARING;
        let mut left = names(&self.pods()?);
        while !left.is_empty() && Instant::now() < deadline {
            std::thread::sleep(INTERVAL / 4);
            left = names(&self.pods()?);
        }
        let survivor = |name: &String| Survivor {
            process: 0,
            name: format!("pod {name}"),
            state: "Terminating".into(),
            waits_for: None,
        };
        let ended = before.len().max(was_there.into()).saturating_sub(left.len());
        Ok(Ended { ended: u32::try_from(ended).unwrap_or(u32::MAX), survivors: left.iter().map(survivor).collect() })
    }
}

/// The names of pods that are there.
fn names(pods: &Value) -> Vec<String> {
    let items = pods["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|pod| pod["metadata"]["name"].as_str()).map(str::to_owned).collect()
}

/// What was last seen of a job.
#[derive(Clone, Debug)]
struct Seen {
    state: JobState,
    /// The pod that has a log.
    pod: Option<String>,
}

/// Whether it will not change any more.
fn is_over(seen: &Seen) -> bool {
    !matches!(seen.state, JobState::Queued(_) | JobState::Running)
}

/// A job of the cluster.
struct KubernetesJob {
    place: Place,
    observer: Arc<Observer<Seen>>,
    output: Receiver<Vec<u8>>,
    /// Whether the whole log is in `output`.
    read: Arc<AtomicBool>,
    /// Whether nobody wants the log any more.
    stop: Arc<AtomicBool>,
    started: Option<Instant>,
    over: Option<Instant>,
    removed: bool,
}

impl KubernetesJob {
    /// Begins to ask how it is, and to read its log.
    fn watch(place: Place) -> Self {
        let asked = place.clone();
        let first = Seen { state: JobState::Queued("Kubernetes: submitted".into()), pod: None };
        let observer = Arc::new(Observer::start(first, INTERVAL, is_over, move || {
            let pods = asked.pods().ok()?;
            let job = asked.get(&asked.job_path()).ok()?;
            Some(Seen { state: state::job_state(&job, &pods), pod: state::pod_with_log(&pods) })
        }));
        let (send, output) = sync_channel(PORTIONS);
        let (read, stop) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let reader = Reader {
            place: place.clone(),
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
        Self { place, observer, output, read, stop, started: None, over: None, removed: false }
    }
}

impl RunningJob for KubernetesJob {
    fn handle(&self) -> String {
        self.place.namespace.clone()
    }

    fn poll(&mut self) -> JobState {
        let seen = self.observer.latest();
        if !matches!(seen.state, JobState::Queued(_)) {
            self.started.get_or_insert_with(Instant::now);
        }
        // The last lines of a log may come after the news of the end.
        let waits = is_over(&seen)
            && seen.pod.is_some()
            && !self.read.load(Ordering::Acquire)
            && self.over.get_or_insert_with(Instant::now).elapsed() < SETTLE;
        if waits { JobState::Running } else { seen.state }
    }

    fn take_output(&mut self) -> Vec<Chunk> {
        let at = self.started.map_or(Duration::ZERO, |started| started.elapsed());
        // A cluster mixes both streams.
        self.output.try_iter().take(PORTIONS).map(|bytes| Chunk { stream: Stream::Out, at, bytes }).collect()
    }

    fn usage(&mut self) -> Option<Usage> {
        // Clusters tell a rate at best, and only with an add-on.
        None
    }

    fn stacks(&mut self) -> Vec<Stack> {
        // Its processes are on another machine.
        Vec::new()
    }

    fn kill(&mut self, grace: Duration) -> Ended {
        if is_over(&self.observer.latest()) {
            return Ended::default();
        }
        match self.place.end(grace) {
            Ok(ended) => {
                self.removed = ended.survivors.is_empty();
                ended
            }
            Err(error) => {
                let name = format!("job {}", self.place.mark);
                let survivor = Survivor { process: 0, name, state: "unknown".into(), waits_for: Some(error.reason) };
                Ended { ended: 0, survivors: vec![survivor] }
            }
        }
    }
}

impl Drop for KubernetesJob {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if !self.removed {
            let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background" });
            let _ = self.place.cluster.call(Verb::Delete, &self.place.job_path(), Some(&options));
        }
    }
}

/// Reads the log of a run.
struct Reader {
    place: Place,
    observer: Arc<Observer<Seen>>,
    output: SyncSender<Vec<u8>>,
    stop: Arc<AtomicBool>,
    cursor: Cursor,
}

impl Reader {
    /// Until all of it was read, or nobody wants it any more.
    fn run(mut self) {
        while !self.stop.load(Ordering::Acquire) {
            let seen = self.observer.latest();
            let whole = match &seen.pod {
                Some(pod) => self.follow(pod),
                None => false,
            };
            // Only one that was begun after the end is sure to have had it all.
            if is_over(&seen) && (whole || seen.pod.is_none()) {
                return;
            }
            let deadline = Instant::now() + INTERVAL;
            self.observer.wait(deadline, |now| seen.pod.is_none() && (now.pod.is_some() || is_over(now)));
        }
    }

    /// Follows the log; whether it came to its end.
    fn follow(&mut self, pod: &str) -> bool {
        let path = self.cursor.path(&self.place.namespace, pod, manifest::CONTAINER);
        let (cursor, output, stop) = (&mut self.cursor, &self.output, &self.stop);
        let ended = self.place.cluster.follow(&path, &mut |bytes| {
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

/// Hands a portion on; waits while nobody takes any, so that a flood stays where it is.
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
