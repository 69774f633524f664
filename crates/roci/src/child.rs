//! Runs roci once more, in a process of its own: what it starts may crash, hang or be killed, and this process goes on.

use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// By itself, with this code, having printed this.
    Ended { code: i32, output: String },
    /// By a signal.
    Killed(i32),
    /// It did not end in time and was killed.
    Hung,
    /// It could not be started.
    NotStarted(String),
}

impl Outcome {
    /// What went wrong, in words.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Ended { code, .. } => format!("it ended with code {code}"),
            Self::Killed(signal) => format!("it was ended by signal {signal}"),
            Self::Hung => "it did not answer in time".into(),
            Self::NotStarted(reason) => format!("it could not be started: {reason}"),
        }
    }
}

/// Runs roci with these arguments, for so long at most. What it says on standard error is dropped.
pub(crate) fn run(arguments: &[&str], limit: Duration) -> Outcome {
    let program = match std::env::current_exe() {
        Ok(path) => path,
        Err(error) => return Outcome::NotStarted(error.to_string()),
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    watch(command, limit)
}

fn watch(mut command: Command, limit: Duration) -> Outcome {
    let started = Instant::now();
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Outcome::NotStarted(error.to_string()),
    };
    // Read beside the wait: a child whose pipe is full does not end.
    let pipe = child.stdout.take();
    let (sender, read) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read until then counts; whoever waited for it may have gone.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                // A process that it left behind may hold the pipe open.
                let left = limit.saturating_sub(started.elapsed()).max(Duration::from_millis(200));
                let output = read.recv_timeout(left).unwrap_or_default();
                return match status.signal() {
                    Some(signal) => Outcome::Killed(signal),
                    None => Outcome::Ended { code: status.code().unwrap_or(-1), output },
                };
            }
            Ok(None) if started.elapsed() < limit => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(20));
            }
            // A process that waits inside a driver may not even die: nobody waits for that, nor for its pipe.
            _ => {
                let _ = child.kill();
                return Outcome::Hung;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: u64) -> Outcome {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        watch(command, Duration::from_secs(limit))
    }

    #[test]
    fn every_end_is_told_apart() {
        assert_eq!(shell("echo hello; exit 3", 60), Outcome::Ended { code: 3, output: "hello\n".into() });
        assert_eq!(shell("kill -11 $$", 60), Outcome::Killed(11));
        assert_eq!(shell("exec sleep 600", 0), Outcome::Hung);
        // More than a pipe holds.
        let much = shell("head -c 1000000 /dev/zero", 60);
        assert!(
            matches!(&much, Outcome::Ended { code: 0, output } if output.len() == 1_000_000),
            "{}",
            much.describe()
        );
        assert!(matches!(watch(Command::new("/nowhere/at/all"), Duration::ZERO), Outcome::NotStarted(_)));
    }
}
