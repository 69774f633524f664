//! Tools of a place (`podman`, `squeue`), called with a deadline: a daemon that does not answer must not hang roci.

use std::ffi::OsString;
use std::io::{ErrorKind, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::StartError;

/// How long tools may take that only ask or that make something small. Generous: a loaded machine is no broken one.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// How much of an answer is kept; more is read and thrown away, so that the tool can end.
const ANSWER: u64 = 4 << 20;

/// A program of a place.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    /// Its name or path.
    pub(super) program: String,
    /// Variables that it gets beside roci's own.
    pub(super) env: Vec<(&'static str, OsString)>,
    /// What to do where it is absent.
    pub(super) remedy: &'static str,
}

/// What a tool said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// How it ended; nothing if by a signal.
    pub(super) code: Option<i32>,
    /// Its standard output.
    pub(super) out: String,
    /// Its standard error.
    pub(super) err: String,
}

impl Tool {
    /// Calls it and waits for its end, at most `patience` long.
    ///
    /// # Errors
    /// If it cannot be started or does not end.
    pub(super) fn call(&self, arguments: &[String], patience: Duration) -> Result<Answer, StartError> {
        let deadline = Instant::now() + patience;
        let mut child = Command::new(&self.program)
            .args(arguments)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own: Ctrl-C is roci's to answer, and all of a tool that hangs must go.
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
                        "look whether its service runs and the machine is not overloaded",
                    ));
                }
            }
        };
        // Not joined: what the tool left behind may hold its output open for ever.
        let text = |from: Receiver<Vec<u8>>| {
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_secs(1));
            String::from_utf8_lossy(&from.recv_timeout(left).unwrap_or_default()).into_owned()
        };
        Ok(Answer { code: status.code().filter(|_| status.signal().is_none()), out: text(out), err: text(err) })
    }

    /// Why it cannot be started.
    fn absent(&self, error: &std::io::Error) -> StartError {
        match error.kind() {
            ErrorKind::NotFound => StartError::new(format!("there is no program `{}`", self.program), self.remedy),
            _ => StartError::new(format!("cannot start `{}`: {error}", self.program), self.remedy),
        }
    }
}

impl Answer {
    /// Its standard output, if it ended well.
    ///
    /// # Errors
    /// What it said instead, as `what` that failed.
    pub(super) fn well(self, what: &str, hint: &str) -> Result<String, StartError> {
        if self.code == Some(0) { Ok(self.out) } else { Err(StartError::new(format!("{what}: {}", self.why()), hint)) }
    }

    /// The line that tells why it failed: tools warn first and end with the error.
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

/// Reads a stream to its end from a thread, and gives what it read.
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

/// Ends a tool that does not end by itself, with all that it started.
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

    fn shell(script: &str, patience: Duration) -> Result<Answer, StartError> {
        let tool = Tool { program: "sh".into(), env: vec![("GREETING", "hello".into())], remedy: "install a shell" };
        tool.call(&["-c".into(), script.into()], patience)
    }

    #[test]
    fn both_streams_the_code_and_variables_arrive() {
        let answer = shell("echo $GREETING; echo no >&2; exit 3", PATIENCE).expect("it starts");
        assert_eq!(answer, Answer { code: Some(3), out: "hello\n".into(), err: "no\n".into() });
    }

    #[test]
    fn a_failure_is_one_line_with_its_remedy() {
        let answer = shell("echo 'Error: no such image' >&2; echo 'see the manual' >&2; exit 125", PATIENCE);
        let error = answer.and_then(|answer| answer.well("cannot create it", "pull it")).expect_err("code 125");
        assert_eq!(error, StartError::new("cannot create it: Error: no such image", "pull it"));
        let silent = Answer { code: Some(1), ..Answer::default() };
        assert_eq!(silent.why(), "exit code 1");
    }

    #[test]
    fn a_tool_that_hangs_is_ended_and_named() {
        let error = shell("sleep 1000 & wait", Duration::from_millis(200)).expect_err("it hangs");
        assert_eq!(error.reason, "`sh -c` does not answer");
    }

    #[test]
    fn an_answer_without_end_fills_no_memory() {
        let answer = shell("head -c 20000000 /dev/zero", PATIENCE).expect("it ends");
        assert_eq!((answer.code, answer.out.len() as u64), (Some(0), ANSWER));
    }

    #[test]
    fn an_absent_tool_gives_its_remedy() {
        let tool = Tool { program: "no-such-scheduler".into(), env: vec![], remedy: "install it" };
        let error = tool.call(&[], PATIENCE).expect_err("it is not there");
        assert_eq!(error, StartError::new("there is no program `no-such-scheduler`", "install it"));
    }
}
