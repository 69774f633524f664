//! External tools of executors (`podman`, `squeue`), called with a timeout: an unresponsive daemon
//! must not block roci.

use std::ffi::OsString;
use std::io::{ErrorKind, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::StartError;

/// Timeout of tools that query or create something small. Generous, because a loaded machine is
/// slow.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);

/// Bytes of output that are kept; the rest is read and discarded, so that the tool does not block.
const ANSWER: u64 = 4 << 20;

/// An external program.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    /// Name or path.
    pub(super) program: String,
    /// Additional environment variables.
    pub(super) env: Vec<(&'static str, OsString)>,
    /// Remedy if it is not installed.
    pub(super) remedy: &'static str,
}

/// Result of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ToolOutput {
    /// Exit code; `None` if a signal killed it.
    pub(super) code: Option<i32>,
    /// Its standard output.
    pub(super) out: String,
    /// Its standard error.
    pub(super) err: String,
}

impl Tool {
    /// Runs it and waits for its end, at most `timeout`.
    ///
    /// # Errors
    /// If it cannot be started or does not end.
    pub(super) fn call(&self, arguments: &[String], timeout: Duration) -> Result<ToolOutput, StartError> {
        let deadline = Instant::now() + timeout;
        let mut child = Command::new(&self.program)
            .args(arguments)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Its own process group: Ctrl-C is for roci, and all processes of a hung tool must be
            // killed.
            .process_group(0)
            .spawn()
            .map_err(|error| self.absent(&error))?;
        let out = collect(child.stdout.take());
        let err = collect(child.stderr.take());
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(10)),
                _ => {
                    end(&mut child);
                    let verb = arguments.first().map_or("", String::as_str);
                    return Err(StartError::new(
                        format!("`{} {verb}` does not answer", self.program),
                        "check that its service runs and the machine is not overloaded",
                    ));
                }
            }
        };
        // Not joined: a leftover process of the tool may hold its output open forever.
        let text = |from: Receiver<Vec<u8>>| {
            let remaining = deadline.saturating_duration_since(Instant::now()).max(Duration::from_secs(1));
            String::from_utf8_lossy(&from.recv_timeout(remaining).unwrap_or_default()).into_owned()
        };
        Ok(ToolOutput { code: status.code().filter(|_| status.signal().is_none()), out: text(out), err: text(err) })
    }

    /// The error if it cannot be started.
    fn absent(&self, error: &std::io::Error) -> StartError {
        match error.kind() {
            ErrorKind::NotFound => StartError::new(format!("there is no program `{}`", self.program), self.remedy),
            _ => StartError::new(format!("cannot start `{}`: {error}", self.program), self.remedy),
        }
    }
}

impl ToolOutput {
    /// Standard output, if it succeeded.
    ///
    /// # Errors
    /// The tool's error message, with `what` as the failed action.
    pub(super) fn success(self, what: &str, hint: &str) -> Result<String, StartError> {
        if self.code == Some(0) { Ok(self.out) } else { Err(StartError::new(format!("{what}: {}", self.why()), hint)) }
    }

    /// The line with the error: tools print warnings first and the error last.
    pub(super) fn why(&self) -> String {
        let lines = || self.err.lines().chain(self.out.lines()).map(str::trim).filter(|line| !line.is_empty());
        let error = lines().rfind(|line| line.to_lowercase().contains("error"));
        match (error.or_else(|| lines().next_back()), self.code) {
            (Some(line), _) => line.to_owned(),
            (None, Some(code)) => format!("exit code {code}"),
            (None, None) => "it was killed".to_owned(),
        }
    }
}

/// Reads a stream to its end on a thread.
fn collect(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (send, receive) = channel();
    if let Some(mut stream) = stream {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stream.by_ref().take(ANSWER).read_to_end(&mut bytes);
            let _ = send.send(bytes);
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        });
    }
    receive
}

/// Kills a tool that does not end, with its children.
fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, timeout: Duration) -> Result<ToolOutput, StartError> {
        let tool = Tool { program: "sh".into(), env: vec![("GREETING", "hello".into())], remedy: "install a shell" };
        tool.call(&["-c".into(), script.into()], timeout)
    }

    #[test]
    fn a_tool_returns_both_streams_and_the_exit_code() {
        let answer = shell("echo $GREETING; echo no >&2; exit 3", TIMEOUT).expect("it starts");
        assert_eq!(answer, ToolOutput { code: Some(3), out: "hello\n".into(), err: "no\n".into() });
    }

    #[test]
    fn a_failure_is_one_line_with_its_remedy() {
        let answer = shell("echo 'Error: no such image' >&2; echo 'see the manual' >&2; exit 125", TIMEOUT);
        let error = answer.and_then(|answer| answer.success("cannot create it", "pull it")).expect_err("code 125");
        assert_eq!(error, StartError::new("cannot create it: Error: no such image", "pull it"));
        let silent = ToolOutput { code: Some(1), ..ToolOutput::default() };
        assert_eq!(silent.why(), "exit code 1");
    }

    #[test]
    fn a_hung_tool_is_killed_and_named() {
        let error = shell("sleep 1000 & wait", Duration::from_millis(200)).expect_err("it hangs");
        assert_eq!(error.reason, "`sh -c` does not answer");
    }

    #[test]
    fn endless_output_is_bounded_in_memory() {
        let answer = shell("head -c 20000000 /dev/zero", TIMEOUT).expect("it ends");
        assert_eq!((answer.code, answer.out.len() as u64), (Some(0), ANSWER));
    }

    #[test]
    fn a_missing_tool_has_a_remedy() {
        let tool = Tool { program: "no-such-scheduler".into(), env: vec![], remedy: "install it" };
        let error = tool.call(&[], TIMEOUT).expect_err("it is not there");
        assert_eq!(error, StartError::new("there is no program `no-such-scheduler`", "install it"));
    }
}
