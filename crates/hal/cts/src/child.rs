//! Child processes: the test binary starts itself to run a small workload concurrently.

use std::io::Write;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use crate::backend::Backend;
use crate::case::{CaseResult, Failure};
use crate::context::Context;
use crate::groups;

/// The argument that selects child mode; the backend's name follows.
const ARGUMENT: &str = "--cts-child";

/// The backend that this process should run the workload on, if it is a child.
pub(crate) fn requested_backend() -> Option<String> {
    let mut arguments = std::env::args().skip(1);
    (arguments.next()? == ARGUMENT).then(|| arguments.next())?
}

/// Runs the workload; the exit code reports success.
pub(crate) fn run(backends: &[Arc<Backend>], name: &str) -> ExitCode {
    let result = match backends.iter().find(|backend| backend.name == name) {
        Some(backend) => groups::workload(&Context::new(backend)),
        None => Err(Failure::Wrong(format!("there is no backend `{name}`"))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Runs `meanwhile` while `count` child processes run the workload, and waits for all of them.
pub(crate) fn run_concurrently(context: &Context, count: usize, meanwhile: impl FnOnce() -> CaseResult) -> CaseResult {
    let broken = |what: &str, error: std::io::Error| Failure::Wrong(format!("{what}: {error}"));
    let binary = std::env::current_exe().map_err(|error| broken("cannot find the test binary", error))?;
    let mut children = Vec::new();
    for _ in 0..count {
        let mut command = Command::new(&binary);
        command.args([ARGUMENT, context.backend().name()]).stdout(Stdio::null()).stderr(Stdio::piped());
        children.push(command.spawn().map_err(|error| broken("cannot start another process", error))?);
    }
    let own = meanwhile();
    let mut worst = own;
    for mut child in children {
        let ended = context.eventually("another process's workload", || !matches!(child.try_wait(), Ok(None)));
        if ended.is_err() {
            // The child must not outlive the test. Killing fails only if it has already exited.
            let _ = child.kill();
        }
        let output = child.wait_with_output().map_err(|error| broken("cannot wait for another process", error))?;
        let verdict = if output.status.success() {
            ended
        } else {
            let words = String::from_utf8_lossy(&output.stderr);
            Err(Failure::Wrong(format!("another process failed ({}): {}", output.status, words.trim())))
        };
        worst = worst.and(verdict);
    }
    worst
}
