//! Results in a SQLite file. A run is `planned`, then `running`, then `done`. One transaction
//! stores a result and makes the run done, and only a running run can become done: no result is
//! lost or duplicated, whenever roci is killed.

mod read;
mod schema;
mod write;

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use roci_base::env;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::LabError;
use crate::executor::Stream;
use crate::outcome::Outcome;

pub use write::NewExperiment;

/// Timeout for another process's write lock.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The results database.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

/// A row of the table of experiments.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentRow {
    /// Number of the experiment.
    pub id: i64,
    /// Name; not unique.
    pub name: String,
    /// Source text.
    pub toml: String,
    /// Variables given on the command line.
    pub variables: BTreeMap<String, String>,
    /// Creation time in milliseconds since 1970.
    pub created: i64,
    /// `run`, or `import FILE`.
    pub source: String,
    /// Doctor snapshot of the machine at that time; [`roci_doctor::Snapshot::parse`] reads its
    /// JSON.
    pub snapshot: Option<i64>,
    /// The process that is running it, if any.
    pub owner: Option<String>,
    /// Number of planned and running runs.
    pub open: u64,
    /// Number of finished runs.
    pub done: u64,
}

/// Where a run is between planning and its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// Not started yet.
    Planned,
    /// Started; to be repeated if its process is gone.
    Running,
    /// Final.
    Done,
}

/// One repetition of one strategy.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// Number of the run.
    pub id: i64,
    /// Number of the experiment.
    pub experiment: i64,
    /// Name of the strategy.
    pub strategy: String,
    /// From 1.
    pub repeat: u32,
    /// Whether it is planned, running or done.
    pub state: RunState,
    /// Outcome; present if and only if it is done.
    pub outcome: Option<Outcome>,
    /// Start time in milliseconds since 1970.
    pub started: Option<i64>,
    /// End time in milliseconds since 1970.
    pub ended: Option<i64>,
    /// The executor's name.
    pub executor: String,
    /// Mark of the last attempt; empty before the first.
    pub mark: String,
    /// Handle of the executor.
    pub handle: String,
    /// Number of attempts.
    pub attempts: u32,
}

/// A run to plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRun {
    /// The strategy's name.
    pub strategy: String,
    /// From 1.
    pub repeat: u32,
    /// The executor's name.
    pub executor: String,
}

/// Something that happened during a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Milliseconds since the start.
    pub at: i64,
    /// What happened.
    pub kind: EventKind,
    /// Name of a phase, or a description.
    pub text: String,
}

/// What can happen during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A phase was reached; the text is its name.
    Phase,
    /// No output and no CPU usage for too long.
    Stall,
    /// It timed out.
    Deadline,
    /// It exceeded its memory limit.
    Memory,
    /// Roci killed it.
    Kill,
    /// It ended; the text describes how.
    Exit,
    /// The GPU was reset.
    Reset,
    /// Other information.
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

    /// Name in the store.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("note", |(_, name)| name)
    }

    fn parse(name: &str) -> Self {
        Self::ALL.iter().find(|(_, known)| *known == name).map_or(Self::Note, |(kind, _)| *kind)
    }
}

/// A metric of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricValue {
    /// The metric.
    pub name: String,
    /// In `unit`.
    pub value: f64,
    /// Unit of the value, for display.
    pub unit: String,
}

/// A chunk of kept output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Which stream.
    pub stream: Stream,
    /// Milliseconds since the start.
    pub at: i64,
    /// Raw bytes.
    pub bytes: Vec<u8>,
    /// Bytes of both streams that were omitted after it.
    pub omitted: u64,
}

/// A kernel log line of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelLine {
    /// Text of the message.
    pub line: String,
    /// The doctor's explanation.
    pub finding: Option<String>,
}

/// Everything about a finished run.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// PASS, HANG, CRASH and so on.
    pub outcome: Outcome,
    /// Start time in milliseconds since 1970; `None` if no program was started.
    pub started: Option<i64>,
    /// End time in milliseconds since 1970.
    pub ended: i64,
    /// Events, in order.
    pub events: Vec<Event>,
    /// Metrics, with unique names.
    pub metrics: Vec<MetricValue>,
    /// Chunks of both streams, with gaps where output was omitted.
    pub output: Vec<Output>,
    /// Kernel log lines.
    pub kernel_lines: Vec<KernelLine>,
}

impl Finished {
    /// A result with only an outcome.
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

/// The user's database: `ROCI_LAB_DB`, or `$XDG_DATA_HOME/roci/lab.db`; `None` without a home
/// folder.
pub fn of_user() -> Option<PathBuf> {
    if let Some(path) = env::LAB_DB.get_raw() {
        return Some(PathBuf::from(path));
    }
    let base = match env::XDG_DATA_HOME.get_raw() {
        Some(base) => PathBuf::from(base),
        None => Path::new(&env::HOME.get_raw()?).join(".local/share"),
    };
    // The XDG specification says to ignore relative paths.
    base.is_absolute().then(|| base.join("roci").join("lab.db"))
}

impl Store {
    /// Opens or creates the file.
    ///
    /// # Errors
    /// If it cannot be used.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        if path.is_dir() {
            return Err(is_folder(path));
        }
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| LabError::Store {
                path: path.to_owned(),
                reason: format!("its folder cannot be created: {error}"),
                hint: Some("choose a file in a folder that you can write to: `--db FILE` or ROCI_LAB_DB".into()),
            })?;
        }
        let connection = Connection::open(path).map_err(|error| failed(path, &error))?;
        Self::prepare(connection, path.to_owned())
    }

    /// Opens a file for reading, even without write permission to it or its folder. Does not modify
    /// it.
    ///
    /// # Errors
    /// If it cannot be used.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        if path.is_dir() {
            return Err(is_folder(path));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        // SQLite opens a file without write permission as read-only, but its index file must exist
        // or be created.
        let opened = Connection::open_with_flags(path, flags).and_then(|connection| probed(connection, path));
        match opened {
            Ok(store) => store,
            Err(error) if cannot_write(&error) => Self::read_unchanging(path, &error),
            Err(error) => Err(failed(path, &error)),
        }
    }

    /// Opens a file that has no concurrent writers, without creating files next to it.
    fn read_unchanging(path: &Path, before: &rusqlite::Error) -> Result<Self, LabError> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let log = PathBuf::from(log);
        // Data in the write-ahead log would be silently ignored.
        if log.metadata().is_ok_and(|log| log.len() > 0) {
            return Err(LabError::Store {
                path: path.to_owned(),
                reason: format!("its newest results are in `{}`, which cannot be read", log.display()),
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

    /// A temporary store, for tests and for foreign files.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn in_memory() -> Result<Self, LabError> {
        let path = PathBuf::from(":memory:");
        let connection = Connection::open_in_memory().map_err(|error| failed(&path, &error))?;
        Self::prepare(connection, path)
    }

    fn prepare(mut connection: Connection, path: PathBuf) -> Result<Self, LabError> {
        let ready = || -> rusqlite::Result<()> {
            connection.busy_timeout(TIMEOUT)?;
            use_wal(&connection)?;
            // Results must survive a power loss.
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

/// A readable store, if the file is one.
fn probed(connection: Connection, path: &Path) -> rusqlite::Result<Result<Store, LabError>> {
    connection.busy_timeout(TIMEOUT)?;
    connection.pragma_update(None, "query_only", true)?;
    let path = path.to_owned();
    Ok(match schema::readable(&connection)? {
        Ok(true) => Ok(Store { connection, path }),
        // The file is empty.
        Ok(false) => Store::in_memory(),
        Err(reason) => Err(LabError::Store { path, reason, hint: None }),
    })
}

/// Whether SQLite may be unable to create its additional files.
fn cannot_write(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied))
}

/// The path as an SQLite URI that declares the file immutable.
fn address(path: &Path) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    Some(uri + "?immutable=1")
}

fn is_folder(path: &Path) -> LabError {
    LabError::Store {
        path: path.to_owned(),
        reason: "it is a folder".into(),
        hint: Some(format!("choose a file in it: `--db {}`", path.join("lab.db").display())),
    }
}

/// An SQLite error about a file, with a remedy.
fn failed(path: &Path, error: &rusqlite::Error) -> LabError {
    let denied = std::fs::File::open(path).is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied);
    let hint = match error.sqlite_error_code() {
        _ if denied => "ask its owner for permission, or choose another file with `--db`",
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly) => {
            "`run` and `resume` write to the file and its folder: choose a writable one with `--db` or ROCI_LAB_DB"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "wait for the other process, or stop it",
        Some(ErrorCode::DiskFull) => "free disk space, or choose a file on another disk with `--db`",
        _ => return LabError::Store { path: path.to_owned(), reason: why(error), hint: None },
    };
    let reason = if denied { "permission denied".into() } else { why(error) };
    LabError::Store { path: path.to_owned(), reason, hint: Some(hint.into()) }
}

/// In WAL mode readers and writers do not block each other, and a killed process leaves a
/// consistent file. Two processes that create the file at the same time get an immediate lock
/// error, whatever their timeout.
fn use_wal(connection: &Connection) -> rusqlite::Result<()> {
    let begun = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && begun.elapsed() < TIMEOUT => {
                std::thread::sleep(Duration::from_millis(10));
            }
            done => return done,
        }
    }
}

/// SQLite's error, reworded where roci can say more.
fn why(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => "it is damaged, or not an SQLite file".into(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "another process is writing to it".into(),
        Some(ErrorCode::DiskFull) => "the disk is full".into(),
        Some(ErrorCode::ReadOnly) => "it may not be written to".into(),
        Some(ErrorCode::CannotOpen) => "it cannot be opened, or its folder may not be written to".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
