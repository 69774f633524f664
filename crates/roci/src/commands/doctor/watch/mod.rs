//! `roci doctor watch`: follows the kernel log and a program's output, and explains problems as
//! they appear.

mod kernel;
mod program;

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use roci_doctor::{Explanation, LogReader, Root, RuleSet, Severity, Snapshot, Watcher, finding_text};

use super::error::DoctorError;
use crate::cli::DoctorWatchArgs;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::{BAD, FAINT, Printer, one_line};

use program::Program;

/// How often the end of the program and Ctrl-C are noticed.
const TICK: Duration = Duration::from_millis(100);
/// Kernel messages about the end of a program can come after it.
const AFTERMATH: Duration = Duration::from_millis(500);
/// Pieces of text that wait for analysis. If there are more, some are left out: the program must
/// not wait.
const QUEUE: usize = 1024;

/// Signals of a program that did not end on request: of faults, of an abort, of `kill -9`.
const CRASHES: &[i32] = &[4, 6, 7, 8, 9, 11];

/// Name of the program's standard output and standard error among the sources.
const OUTPUT: &str = "output";
const ERRORS: &str = "errors";
const KERNEL: &str = "kernel log";
const FILE: &str = "log";

/// A piece of text.
struct Piece {
    source: &'static str,
    bytes: Vec<u8>,
}

/// Takes pieces for analysis, without waiting.
#[derive(Clone)]
struct Sender {
    to: SyncSender<Piece>,
    left_out: std::sync::Arc<std::sync::atomic::AtomicU64>,
}

impl Sender {
    /// Returns whether anyone still listens.
    fn send(&self, source: &'static str, bytes: &[u8]) -> bool {
        match self.to.try_send(Piece { source, bytes: bytes.to_vec() }) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                self.left_out.fetch_add(bytes.len() as u64, std::sync::atomic::Ordering::Relaxed);
                true
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }
}

/// Follows the logs until the program ends or, without a program, until Ctrl-C.
pub(super) fn run(
    rule_set: &RuleSet,
    reader: &LogReader,
    environment: &BTreeMap<String, String>,
    arguments: &DoctorWatchArgs,
    printer: &Printer,
) -> Result<ExitStatus, CliError> {
    let snapshot = Snapshot::gather(&Root::system(), environment.clone().into_iter());
    let mut watcher = Watcher::new(reader, rule_set, &snapshot);
    let (to, pieces) = sync_channel(QUEUE);
    let sender = Sender { to, left_out: std::sync::Arc::default() };
    let followed = kernel::follow(arguments.log.as_deref(), sender.clone());
    let followed = match (&arguments.log, followed) {
        (Some(path), Err(source)) => return Err(DoctorError::Unreadable { path: path.clone(), source }.into()),
        (None, Err(error)) if arguments.program.is_empty() => return Err(DoctorError::NoKernelLog(error).into()),
        (None, Err(error)) => {
            printer.note(&format!("note: only the program is watched, since the kernel log cannot be read: {error}"));
            None
        }
        (_, Ok(followed)) => Some(followed),
    };
    let show = Show { printer, beside: !arguments.program.is_empty() };
    let status = match arguments.program.split_first() {
        Some((program, rest)) => {
            let mut program = Program::start(program, rest, &sender, printer)?;
            let status = watch(&pieces, &mut watcher, &show, || program.has_ended())?;
            Some(status.map_or_else(|| program.status(), Ok)?)
        }
        None => {
            if let Some(followed) = &followed {
                printer.note(&format!("following {}; Ctrl-C ends it", followed.name()));
            }
            interrupt::listen();
            watch(&pieces, &mut watcher, &show, || Ok(interrupt::requested().then_some(0)))?;
            None
        }
    };
    drop(followed);
    for source in [OUTPUT, ERRORS, KERNEL, FILE] {
        watcher.finish(source).iter().try_for_each(|one| show.explanation(one))?;
    }
    let left_out = sender.left_out.load(std::sync::atomic::Ordering::Relaxed);
    if left_out > 0 {
        printer.note(&format!("note: {left_out} bytes were not analyzed, since there was too much text at once"));
    }
    show.summary(&watcher, status)?;
    match status {
        // The code of the program, whatever it is.
        #[expect(clippy::exit, reason = "any code of the program is passed on, which no status of this command has")]
        Some(code) => std::process::exit(code),
        None if watcher.seen().is_empty() => Ok(ExitStatus::Success),
        None => Ok(ExitStatus::Problems),
    }
}

/// Analyzes pieces until `end` has a code, and a moment longer.
fn watch(
    pieces: &Receiver<Piece>,
    watcher: &mut Watcher<'_>,
    show: &Show<'_>,
    mut end: impl FnMut() -> Result<Option<i32>, DoctorError>,
) -> Result<Option<i32>, CliError> {
    let mut code = None;
    let mut ended = None;
    loop {
        match pieces.recv_timeout(TICK) {
            Ok(piece) => {
                // All that came meanwhile, in one pass for each source.
                let mut batch: BTreeMap<&'static str, Vec<u8>> = BTreeMap::from([(piece.source, piece.bytes)]);
                let more = pieces.try_iter().take(QUEUE);
                more.for_each(|piece| batch.entry(piece.source).or_default().extend(piece.bytes));
                for (source, bytes) in batch {
                    watcher.feed(source, &bytes).iter().try_for_each(|one| show.explanation(one))?;
                }
            }
            Err(RecvTimeoutError::Timeout) if ended.is_some() => return Ok(code),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(code),
        }
        if ended.is_none() {
            code = end()?;
            ended = code.map(|_| Instant::now());
        }
        if ended.is_some_and(|since| since.elapsed() > AFTERMATH) {
            return Ok(code);
        }
    }
}

/// Where explanations go: with a program to standard error, so that its output stays as it is.
struct Show<'p> {
    printer: &'p Printer,
    beside: bool,
}

impl Show<'_> {
    fn text(&self, text: &str) -> Result<(), CliError> {
        match self.beside {
            true => self.printer.note(text.trim_end_matches('\n')),
            false => self.printer.data(text)?,
        }
        Ok(())
    }

    fn explanation(&self, one: &Explanation) -> Result<(), CliError> {
        let style = if one.severity <= Severity::High { BAD } else { FAINT };
        let severity = finding_text::severity(one.severity);
        let title = one_line(&one.title);
        self.text(&format!("roci: {style}{severity}{style:#} {} {title}\n{}\n", one.id, one.text))
    }

    fn summary(&self, watcher: &Watcher<'_>, status: Option<i32>) -> Result<(), CliError> {
        if let Some(signal) = status.and_then(|code| code.checked_sub(128)).filter(|signal| CRASHES.contains(signal)) {
            let hint = if signal == 9 { "; often the memory was exhausted" } else { "" };
            self.text(&format!("roci: the program was ended by signal {signal}{hint}\n"))?;
        }
        let seen = watcher.seen().iter().map(|(id, count)| match count {
            1 => id.clone(),
            _ => format!("{id} ({count} times)"),
        });
        let seen: Vec<_> = seen.collect();
        match seen.is_empty() {
            false => self.text(&format!("roci: seen: {}\n", seen.join(", "))),
            true if self.beside => Ok(()),
            true => self.text("roci: no problem was seen\n"),
        }
    }
}
