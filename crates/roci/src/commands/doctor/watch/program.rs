//! The program that is watched. Its output is passed on at once and as it is.

use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;

use super::{ERRORS, OUTPUT, Sender};
use crate::commands::doctor::DoctorError;
use crate::printer::Printer;

/// Bytes that are read at once.
const PIECE: usize = 64 << 10;
/// How long output is read after the program ended: children of it may keep the pipes open.
const REST: Duration = Duration::from_secs(1);

/// Signals that ask this command to end.
static SIGNALS: AtomicUsize = AtomicUsize::new(0);

/// A running program.
pub(super) struct Program {
    child: Child,
    readers: Vec<JoinHandle<()>>,
    /// Signals that were handled.
    handled: usize,
    /// Exit code, and since when the program has ended.
    ended: Option<(i32, std::time::Instant)>,
}

impl Program {
    pub(super) fn start(
        program: &OsString,
        arguments: &[OsString],
        to: &Sender,
        printer: &Printer,
    ) -> Result<Self, DoctorError> {
        // The handler must be there first: Ctrl-C reaches both processes.
        let _ = ctrlc::set_handler(|| {
            SIGNALS.fetch_add(1, Ordering::Relaxed);
        });
        let mut command = Command::new(program);
        let spawned = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let name = || program.to_string_lossy().into_owned();
        let mut child = spawned.map_err(|source| DoctorError::NotStarted { program: name(), source })?;
        let mut readers = Vec::new();
        let (stdout, stderr) = printer.raw_streams();
        if let Some(output) = child.stdout.take() {
            readers.push(pass(output, stdout, OUTPUT, to.clone()));
        }
        if let Some(errors) = child.stderr.take() {
            readers.push(pass(errors, stderr, ERRORS, to.clone()));
        }
        Ok(Self { child, readers, handled: 0, ended: None })
    }

    /// The exit code, once the program has ended and its output was read.
    pub(super) fn has_ended(&mut self) -> Result<Option<i32>, DoctorError> {
        self.forward_signals();
        if self.ended.is_none() {
            let status = self.child.try_wait().map_err(|error| DoctorError::Internal(error.to_string()))?;
            // As shells report a signal.
            let code = status.map(|status| status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1));
            self.ended = code.map(|code| (code, std::time::Instant::now()));
        }
        let is_read = self.readers.iter().all(JoinHandle::is_finished);
        Ok(self.ended.filter(|(_, since)| is_read || since.elapsed() > REST).map(|(code, _)| code))
    }

    /// Waits for the exit code.
    pub(super) fn status(&mut self) -> Result<i32, DoctorError> {
        loop {
            match self.has_ended()? {
                Some(code) => return Ok(code),
                None => std::thread::sleep(super::TICK),
            }
        }
    }

    /// On a terminal, Ctrl-C reaches the program too, which decides what it means. Otherwise this
    /// command alone got the signal. Someone who repeats it wants an end.
    fn forward_signals(&mut self) {
        let count = SIGNALS.load(Ordering::Relaxed);
        let own_group = getpgrp();
        let is_own = |group: rustix::io::Result<Pid>| group == Ok(own_group);
        let in_foreground = || {
            is_own(tcgetpgrp(std::io::stdin()))
                || is_own(tcgetpgrp(std::io::stdout()))
                || is_own(tcgetpgrp(std::io::stderr()))
        };
        let forwards = count > self.handled && self.ended.is_none() && (count > 2 || !in_foreground());
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()).filter(|_| forwards) {
            // It may have ended a moment ago.
            let _ = kill_process(pid, Signal::TERM);
        }
        self.handled = count;
    }
}

/// Copies a stream, and sends what it contains to analysis.
fn pass(
    mut from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
    source: &'static str,
    analysis: Sender,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut piece = vec![0; PIECE];
        let mut is_open = true;
        loop {
            let length = match from.read(&mut piece) {
                Ok(0) => return,
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            // A reader that has gone, such as `head`, ends the copy, as it would end the program.
            is_open &= to.write_all(&piece[..length]).and_then(|()| to.flush()).is_ok();
            analysis.send(source, &piece[..length]);
            if !is_open {
                return;
            }
        }
    })
}
