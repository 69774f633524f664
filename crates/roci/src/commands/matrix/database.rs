//! Results of all runs, in a SQLite file: what the same device did the last time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use roci_hal::env;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};

use super::MatrixError;
use super::event::Identity;
use super::outcome::{Outcome, Verdict};

/// The layout of the tables; another one gets another number.
const LAYOUT: i64 = 1;
/// How long another process may write.
const PATIENCE: Duration = Duration::from_secs(3);

const TABLES: &str = "
    CREATE TABLE run (id INTEGER PRIMARY KEY, started INTEGER NOT NULL, roci TEXT NOT NULL);
    CREATE TABLE device (
        run INTEGER NOT NULL REFERENCES run(id), identity TEXT NOT NULL, driver TEXT NOT NULL, uri TEXT NOT NULL,
        name TEXT NOT NULL, PRIMARY KEY (run, identity));
    CREATE TABLE result (
        run INTEGER NOT NULL REFERENCES run(id), identity TEXT NOT NULL, probe TEXT NOT NULL, outcome TEXT NOT NULL,
        detail TEXT, excess REAL, seconds REAL NOT NULL, PRIMARY KEY (run, identity, probe));
    CREATE INDEX result_of_device ON result (identity, probe, run);
    PRAGMA user_version = 1;
";

/// The file, and the run that is under way.
#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
    path: PathBuf,
    run: i64,
}

/// What a device did the last time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Before {
    /// Each probe in the latest run that has it.
    pub(super) outcomes: BTreeMap<String, Outcome>,
    /// The driver of the latest run.
    pub(super) driver: Option<String>,
    /// When that began, in seconds since 1970.
    pub(super) started: Option<i64>,
}

/// The user's file, `$XDG_DATA_HOME/roci/matrix.sqlite`; `None` where the user has no folder.
pub(super) fn of_user() -> Option<PathBuf> {
    Some(crate::folders::data()?.join("matrix.sqlite"))
}

impl Database {
    /// Opens or makes the file, and begins a run.
    pub(super) fn open(path: &Path) -> Result<Self, MatrixError> {
        let failed = |reason: String| MatrixError::Database { path: path.to_owned(), reason };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| failed(error.to_string()))?;
        }
        begin(path)
            .map(|(connection, run)| Self { connection, path: path.to_owned(), run })
            .map_err(|error| failed(why(&error)))
    }

    /// What this device did before, whatever its driver's version was.
    pub(super) fn before(&self, identity: &str) -> Result<Before, MatrixError> {
        self.wrap(self.read(identity))
    }

    /// The device takes part in this run.
    pub(super) fn device(&self, uri: &str, device: &Identity) -> Result<(), MatrixError> {
        let Identity { identity, name, driver, .. } = device;
        let row = params![self.run, identity, driver, uri, name];
        let sql = "INSERT OR REPLACE INTO device (run, identity, driver, uri, name) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.wrap(self.connection.execute(sql, row).map(drop))
    }

    /// How a probe ended. What was not tried is no result.
    pub(super) fn result(
        &self,
        identity: &str,
        probe: &str,
        verdict: &Verdict,
        seconds: f64,
    ) -> Result<(), MatrixError> {
        if verdict.outcome == Outcome::NotTried {
            return Ok(());
        }
        let row = params![self.run, identity, probe, verdict.outcome.word(), verdict.detail, verdict.excess, seconds];
        let sql = "INSERT OR REPLACE INTO result (run, identity, probe, outcome, detail, excess, seconds)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        self.wrap(self.connection.execute(sql, row).map(drop))
    }

    fn read(&self, identity: &str) -> rusqlite::Result<Before> {
        // With `max` the other columns are those of the row that has it.
        let sql = "SELECT probe, outcome, max(run) FROM result WHERE identity = ?1 AND run < ?2 GROUP BY probe";
        let mut statement = self.connection.prepare(sql)?;
        let rows = statement
            .query_map(params![identity, self.run], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        let mut before = Before::default();
        for row in rows {
            let (probe, word) = row?;
            before.outcomes.extend(Outcome::of_word(&word).map(|outcome| (probe, outcome)));
        }
        let sql = "SELECT driver, started FROM device JOIN run ON run = id WHERE identity = ?1 AND run < ?2
            ORDER BY run DESC LIMIT 1";
        let last = self.connection.query_row(sql, params![identity, self.run], |row| Ok((row.get(0)?, row.get(1)?)));
        if let Some((driver, started)) = last.optional()? {
            (before.driver, before.started) = (Some(driver), Some(started));
        }
        Ok(before)
    }

    fn wrap<T>(&self, done: rusqlite::Result<T>) -> Result<T, MatrixError> {
        done.map_err(|error| MatrixError::Database { path: self.path.clone(), reason: why(&error) })
    }
}

fn begin(path: &Path) -> rusqlite::Result<(Connection, i64)> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    // Writing is then no wait for the disk, and what is written stays when the process ends. Some file systems cannot do
    // it and stay with what they have.
    let _mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // One process at a time makes the tables.
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let layout: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (layout, tables) {
        (0, 0) => transaction.execute_batch(TABLES)?,
        (LAYOUT, _) => {}
        _ => return Err(rusqlite::Error::InvalidQuery),
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as i64;
    let row = params![now, env!("CARGO_PKG_VERSION")];
    transaction.execute("INSERT INTO run (started, roci) VALUES (?1, ?2)", row)?;
    let run = transaction.last_insert_rowid();
    transaction.commit()?;
    Ok((connection, run))
}

/// What is wrong, in a line.
fn why(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "another process is writing to it".into(),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => "it is damaged, or no SQLite file".into(),
        Some(ErrorCode::ReadOnly) => "it may not be written to".into(),
        Some(ErrorCode::DiskFull) => "the disk is full".into(),
        _ if matches!(error, rusqlite::Error::InvalidQuery) => "it is another program's, or a newer roci's".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(driver: &str) -> Identity {
        Identity { identity: "cpu: Xeon".into(), name: "Xeon".into(), kind: "CPU".into(), driver: driver.into() }
    }

    #[test]
    fn a_later_run_sees_the_last_result_of_each_probe() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/matrix.sqlite");
        let run = |driver: &str, results: &[(&str, Outcome)]| {
            let database = Database::open(&path).expect("it opens");
            let before = database.before("cpu: Xeon").expect("it reads");
            database.device("cpu", &identity(driver)).expect("it writes");
            for (probe, outcome) in results {
                database.result("cpu: Xeon", probe, &Verdict::new(*outcome, "so"), 0.1).expect("it writes");
            }
            before
        };
        assert_eq!(run("1", &[("add", Outcome::Works), ("mul", Outcome::Wrong)]), Before::default());
        // The run is not whole: the other probe's result stands from before.
        let before = run("2", &[("add", Outcome::Hangs), ("sub", Outcome::NotTried)]);
        assert_eq!((before.driver.as_deref(), before.started.is_some()), (Some("1"), true));
        let before = run("3", &[]);
        let known: Vec<_> = before.outcomes.iter().map(|(probe, outcome)| (probe.as_str(), *outcome)).collect();
        assert_eq!(known, [("add", Outcome::Hangs), ("mul", Outcome::Wrong)]);
        assert_eq!(before.driver.as_deref(), Some("2"));
        let other = Database::open(&path).and_then(|database| database.before("another")).expect("it reads");
        assert_eq!(other, Before::default());
    }

    #[test]
    fn what_is_no_database_or_in_use_is_one_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("matrix.sqlite");
        let refusal = || Database::open(&path).err().map(|error| error.to_string()).unwrap_or_default();
        std::fs::write(&path, "this is a letter and no database".repeat(99)).expect("it can be written");
        assert!(refusal().ends_with("it is damaged, or no SQLite file"), "{}", refusal());
        std::fs::remove_file(&path).expect("it is there");
        let other = Connection::open(&path).expect("it opens");
        other.execute_batch("CREATE TABLE own (a); BEGIN EXCLUSIVE").expect("it is new");
        assert!(refusal().ends_with("another process is writing to it"), "{}", refusal());
        other.execute_batch("COMMIT").expect("it is open");
        assert!(refusal().ends_with("it is another program's, or a newer roci's"), "{}", refusal());
        assert!(Database::open(folder.path()).is_err());
    }
}
