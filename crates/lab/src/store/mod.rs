//! Results in a SQLite file. A run is `planned`, then `running`, then `done`; one transaction makes it done, with all that
//! belongs to it, and only a run that is running can become so: no result is lost or doubled, whenever roci is killed.

mod read;
mod schema;
mod write;

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use roci_hal::env;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::LabError;
use crate::executor::Stream;
use crate::outcome::Outcome;

pub use write::NewExperiment;

/// How long another process may write.
const PATIENCE: Duration = Duration::from_secs(60);

/// The file with the results.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

/// An experiment that was begun.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentRow {
    /// Its number.
    pub id: i64,
    /// Its name; several may have the same.
    pub name: String,
    /// Its text.
    pub toml: String,
    /// The variables that were given beside it.
    pub variables: BTreeMap<String, String>,
    /// When it was begun, in milliseconds since 1970.
    pub created: i64,
    /// `run`, or `import FILE`.
    pub source: String,
    /// The machine as the doctor saw it then, as JSON ([`roci_doctor::Snapshot::parse`] reads it).
    pub snapshot: Option<i64>,
    /// The process that is at it, nothing if none is.
    pub owner: Option<String>,
    /// Runs that are planned or running.
    pub open: u64,
    /// Runs that are done.
    pub done: u64,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// To be done.
    Planned,
    /// Begun; if nobody is at it any more, to be done again.
    Running,
    /// Final.
    Done,
}

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// Its number.
    pub id: i64,
    /// The experiment's number.
    pub experiment: i64,
    /// The strategy's name.
    pub strategy: String,
    /// From 1.
    pub repeat: u32,
    /// Where it stands.
    pub state: RunState,
    /// What came of it; there if and only if it is done.
    pub outcome: Option<Outcome>,
    /// In milliseconds since 1970.
    pub started: Option<i64>,
    /// In milliseconds since 1970.
    pub ended: Option<i64>,
    /// The executor's name.
    pub executor: String,
    /// The mark of the last attempt; empty before the first.
    pub mark: String,
    /// What the executor finds it by.
    pub handle: String,
    /// How often it was begun.
    pub attempts: u32,
}

/// A run to be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRun {
    /// The strategy's name.
    pub strategy: String,
    /// From 1.
    pub repeat: u32,
    /// The executor's name.
    pub executor: String,
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Since the start, in milliseconds.
    pub at: i64,
    /// What it is.
    pub kind: EventKind,
    /// The phase's name, or a line for people.
    pub text: String,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A phase was reached; the text is its name.
    Phase,
    /// It did nothing for too long.
    Stall,
    /// Its time was over.
    Deadline,
    /// It took too much memory.
    Memory,
    /// Roci ended it.
    Kill,
    /// It ended; the text says how.
    Exit,
    /// The GPU was reset meanwhile.
    Reset,
    /// Anything else worth a line.
    Note,
}

impl EventKind {
    const ALL: [(Self, &'static str); 8] = [
        (Self::Phase, "phase"),
        (Self::Stall, "stall"),
        (Self::Deadline, "deadline"),
        (Self::Memory, "memory"),
        (Self::Kill, "kill"),
        (Self::Exit, "exit"),
        (Self::Reset, "reset"),
        (Self::Note, "note"),
    ];

    /// Its name in the store.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("note", |(_, name)| name)
    }

    fn parse(name: &str) -> Self {
        Self::ALL.iter().find(|(_, known)| *known == name).map_or(Self::Note, |(kind, _)| *kind)
    }
}

/// A figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricValue {
    /// The metric.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
}

/// A part of the output that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Which stream.
    pub stream: Stream,
    /// Since the start, in milliseconds.
    pub at: i64,
    /// As it was written.
    pub bytes: Vec<u8>,
    /// Bytes of both streams that were left out behind it.
    pub omitted: u64,
}

/// A line of the kernel's log that came during a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelLine {
    /// The line.
    pub line: String,
    /// What the doctor says to it.
    pub finding: Option<String>,
}

/// All that is known of a run that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// What came of it.
    pub outcome: Outcome,
    /// In milliseconds since 1970; nothing where no program was started.
    pub started: Option<i64>,
    /// In milliseconds since 1970.
    pub ended: i64,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// Its figures, one a name.
    pub metrics: Vec<MetricValue>,
    /// What it wrote.
    pub output: Vec<Output>,
    /// What the kernel wrote meanwhile.
    pub kernel_lines: Vec<KernelLine>,
}

impl Finished {
    /// A result of which nothing else is known.
    pub fn bare(outcome: Outcome) -> Self {
        let (events, metrics, output, kernel_lines) = Default::default();
        Self { outcome, started: None, ended: now(), events, metrics, output, kernel_lines }
    }
}

/// Milliseconds since 1970.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The user's file: `ROCI_LAB_DB`, else `$XDG_DATA_HOME/roci/lab.db`; `None` where the user has no folder.
pub fn of_user() -> Option<PathBuf> {
    if let Some(path) = env::LAB_DB.get_raw() {
        return Some(PathBuf::from(path));
    }
    let base = match env::XDG_DATA_HOME.get_raw() {
        Some(base) => PathBuf::from(base),
        None => Path::new(&env::HOME.get_raw()?).join(".local/share"),
    };
    // The specification wants relative paths to be passed over.
    base.is_absolute().then(|| base.join("roci").join("lab.db"))
}

impl Store {
    /// Opens or makes the file.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        if path.is_dir() {
            return Err(is_folder(path));
        }
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| LabError::Store {
                path: path.to_owned(),
                reason: format!("its folder cannot be made: {error}"),
                hint: Some("name a file in a folder that you may write to: `--db FILE` or ROCI_LAB_DB".into()),
            })?;
        }
        let connection = Connection::open(path).map_err(|error| failed(path, &error))?;
        Self::prepare(connection, path.to_owned())
    }

    /// Opens a file to read it, also one that may not be written to or whose folder may not. Nothing in it is changed.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        if path.is_dir() {
            return Err(is_folder(path));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        // SQLite takes a file that may not be written to for one to read; its index beside it must be there or be made.
        let opened = Connection::open_with_flags(path, flags).and_then(|connection| probed(connection, path));
        match opened {
            Ok(store) => store,
            Err(error) if cannot_write(&error) => Self::read_unchanging(path, &error),
            Err(error) => Err(failed(path, &error)),
        }
    }

    /// Opens a file in which nobody writes, without anything beside it.
    fn read_unchanging(path: &Path, before: &rusqlite::Error) -> Result<Self, LabError> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let log = PathBuf::from(log);
        // What is not yet moved out of the log would be passed over without a word.
        if log.metadata().is_ok_and(|log| log.len() > 0) {
            return Err(LabError::Store {
                path: path.to_owned(),
                reason: format!("its newest results are in `{}`, which cannot be read here", log.display()),
                hint: Some("copy both files to a folder that you may write to, and name the copy with `--db`".into()),
            });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let opened = address(path).map(|address| Connection::open_with_flags(address, flags));
        match opened.map(|opened| opened.and_then(|connection| probed(connection, path))) {
            Some(Ok(store)) => store,
            Some(Err(error)) => Err(failed(path, &error)),
            None => Err(failed(path, before)),
        }
    }

    /// One that is gone with the process, for tests and for looking at files of others.
    ///
    /// # Errors
    /// Want of memory.
    pub fn in_memory() -> Result<Self, LabError> {
        let path = PathBuf::from(":memory:");
        let connection = Connection::open_in_memory().map_err(|error| failed(&path, &error))?;
        Self::prepare(connection, path)
    }

    fn prepare(mut connection: Connection, path: PathBuf) -> Result<Self, LabError> {
        let ready = || -> rusqlite::Result<()> {
            connection.busy_timeout(PATIENCE)?;
            use_wal(&connection)?;
            // A result must outlive a power loss too.
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "foreign_keys", true)
        };
        ready().map_err(|error| failed(&path, &error))?;
        schema::migrate(&mut connection).map_err(|reason| LabError::Store {
            path: path.clone(),
            reason,
            hint: None,
        })?;
        Ok(Self { connection, path })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn wrap<T>(&self, result: rusqlite::Result<T>) -> Result<T, LabError> {
        result.map_err(|error| failed(&self.path, &error))
    }
}

/// A store that can be read, if the file is one.
fn probed(connection: Connection, path: &Path) -> rusqlite::Result<Result<Store, LabError>> {
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "query_only", true)?;
    let path = path.to_owned();
    Ok(match schema::readable(&connection)? {
        Ok(true) => Ok(Store { connection, path }),
        // A file in which nothing was ever written.
        Ok(false) => Store::in_memory(),
        Err(reason) => Err(LabError::Store { path, reason, hint: None }),
    })
}

/// Whether that may be for want of a place for what SQLite keeps beside a file.
fn cannot_write(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied))
}

/// A path as SQLite's own kind of address, which says that nobody writes there.
fn address(path: &Path) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    let mut made = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => made.push(char::from(*byte)),
            _ => made.push_str(&format!("%{byte:02X}")),
        }
    }
    Some(made + "?immutable=1")
}

fn is_folder(path: &Path) -> LabError {
    LabError::Store {
        path: path.to_owned(),
        reason: "it is a folder".into(),
        hint: Some(format!("name a file in it: `--db {}`", path.join("lab.db").display())),
    }
}

/// An error of SQLite about a file, with what to do.
fn failed(path: &Path, error: &rusqlite::Error) -> LabError {
    let denied = std::fs::File::open(path).is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied);
    let hint = match error.sqlite_error_code() {
        _ if denied => "you may not read it: ask whoever owns it, or name a file of your own with `--db`",
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly) => {
            "to run and to resume takes a file and a folder that may be written to: name one with `--db` or ROCI_LAB_DB"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "wait for it, or end it",
        Some(ErrorCode::DiskFull) => "make room, or name a file on another disk with `--db`",
        _ => return LabError::Store { path: path.to_owned(), reason: why(error), hint: None },
    };
    let reason = if denied { "permission denied".into() } else { why(error) };
    LabError::Store { path: path.to_owned(), reason, hint: Some(hint.into()) }
}

/// Whoever writes and whoever reads do not wait for each other, and a killed process leaves a whole file. Two processes that
/// make the file at the same time are told at once that it is locked, however long they would wait.
fn use_wal(connection: &Connection) -> rusqlite::Result<()> {
    let begun = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(10));
            }
            done => return done,
        }
    }
}

/// SQLite's errors in words of ours, where ours say more.
fn why(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => "it is damaged, or no SQLite file".into(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "another process is writing to it".into(),
        Some(ErrorCode::DiskFull) => "the disk is full".into(),
        Some(ErrorCode::ReadOnly) => "it may not be written to".into(),
        Some(ErrorCode::CannotOpen) => "it cannot be opened, or its folder may not be written to".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
