//! Drives jobs to their end, with generous timeouts for slow machines.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use roci_lab::executor::{Chunk, JobState, RunSpec, RunningJob, Stream};
use roci_lab::experiment::{ExecutorOptions, Limits};

/// Longer than any successful step takes; the test runner's own limit may come first.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(420);

/// A run with a unique mark.
pub(crate) fn spec(options: ExecutorOptions, command: &[&str]) -> RunSpec {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_micros();
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    RunSpec {
        mark: format!("roci-lab-{:x}-{:x}-{number}", std::process::id(), time & 0xffff_ffff),
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        env: [("HSA_ENABLE_SDMA".to_owned(), "it's 0".to_owned())].into(),
        unset: vec![],
        directory: None,
        image: None,
        limits: Limits { deadline: Duration::from_secs(3600), grace: Duration::from_secs(1), ..Limits::default() },
        options,
    }
}

/// A job and its output.
pub(crate) struct DrivenJob {
    pub(crate) job: Box<dyn RunningJob>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl DrivenJob {
    pub(crate) fn new(job: Box<dyn RunningJob>) -> Self {
        Self { job, out: String::new(), err: String::new() }
    }

    /// Waits until `done` holds for the state, and collects the output.
    pub(crate) fn until(&mut self, what: &str, mut done: impl FnMut(&mut Self, &JobState) -> bool) -> JobState {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let state = self.job.poll();
            self.take();
            if done(self, &state) {
                while self.take() {}
                return state;
            }
            assert!(Instant::now() < deadline, "not {what}: {state:?}, out: {}, err: {}", self.out, self.err);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for its end.
    pub(crate) fn end(&mut self) -> JobState {
        self.until("over", |_, state| !matches!(state, JobState::Queued(_) | JobState::Running))
    }

    /// Waits until standard output contains a text.
    pub(crate) fn until_written(&mut self, text: &str) {
        self.until("written", |job, _| job.out.contains(text));
    }

    fn take(&mut self) -> bool {
        let chunks = self.job.take_output();
        for Chunk { stream, bytes, .. } in &chunks {
            let text = String::from_utf8_lossy(bytes);
            match stream {
                Stream::Out => self.out += &text,
                Stream::Err => self.err += &text,
            }
        }
        !chunks.is_empty()
    }
}

/// Waits until a condition holds.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
