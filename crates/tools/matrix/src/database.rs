//! SQLite database with the results of all runs, to compare a device with its previous run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};

use roci_probe::Outcome;

use super::error::Error;
use super::event::Identity;
use super::report::ProbeResult;

/// Version of the schema, stored as `user_version`.
const SCHEMA_VERSION: i64 = 1;
/// Timeout for another process's write lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(3);

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

/// The database and the current run.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
    path: PathBuf,
    run: i64,
}

/// The previous results of a device.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PreviousResults {
    /// Latest outcome of each probe, by name.
    pub outcomes: BTreeMap<String, Outcome>,
    /// Driver version in the latest run.
    pub driver: Option<String>,
    /// Start of the latest run, in seconds since 1970.
    pub started: Option<i64>,
}

impl Database {
    /// Opens or creates the database and begins a run.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let failed = |reason: String| Error::Database { path: path.to_owned(), reason };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| failed(error.to_string()))?;
        }
        begin(path)
            .map(|(connection, run)| Self { connection, path: path.to_owned(), run })
            .map_err(|error| failed(describe_error(&error)))
    }

    /// The previous results of this device, with any driver version.
    pub fn previous(&self, identity: &str) -> Result<PreviousResults, Error> {
        self.wrap(self.read(identity))
    }

    /// Adds a device to this run.
    pub fn add_device(&self, uri: &str, device: &Identity) -> Result<(), Error> {
        let Identity { identity, name, driver, .. } = device;
        let row = params![self.run, identity, driver, uri, name];
        let sql = "INSERT OR REPLACE INTO device (run, identity, driver, uri, name) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.wrap(self.connection.execute(sql, row).map(drop))
    }

    /// Stores the outcome of a probe. Skipped probes are not stored.
    pub fn add_result(&self, identity: &str, result: &ProbeResult) -> Result<(), Error> {
        let ProbeResult { probe, verdict, seconds, .. } = result;
        if verdict.outcome == Outcome::NotTried {
            return Ok(());
        }
        let row =
            params![self.run, identity, probe, verdict.outcome.name(), verdict.detail, verdict.error_ratio, seconds];
        let sql = "INSERT OR REPLACE INTO result (run, identity, probe, outcome, detail, excess, seconds)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        self.wrap(self.connection.execute(sql, row).map(drop))
    }

    fn read(&self, identity: &str) -> rusqlite::Result<PreviousResults> {
        // With `max`, SQLite takes the bare columns from the row with the maximum. Two probes were
        // spelled `quantised` up to 0.1.
        let sql = "SELECT replace(probe, 'quantised', 'quantized') AS name, outcome, max(run) FROM result
            WHERE identity = ?1 AND run < ?2 GROUP BY name";
        let mut statement = self.connection.prepare(sql)?;
        let rows = statement
            .query_map(params![identity, self.run], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        let mut previous = PreviousResults::default();
        for row in rows {
            let (probe, outcome) = row?;
            previous.outcomes.extend(Outcome::from_name(&outcome).map(|outcome| (probe, outcome)));
        }
        let sql = "SELECT driver, started FROM device JOIN run ON run = id WHERE identity = ?1 AND run < ?2
            ORDER BY run DESC LIMIT 1";
        let last = self.connection.query_row(sql, params![identity, self.run], |row| Ok((row.get(0)?, row.get(1)?)));
        if let Some((driver, started)) = last.optional()? {
            (previous.driver, previous.started) = (Some(driver), Some(started));
        }
        Ok(previous)
    }

    fn wrap<T>(&self, result: rusqlite::Result<T>) -> Result<T, Error> {
        result.map_err(|error| Error::Database { path: self.path.clone(), reason: describe_error(&error) })
    }
}

fn begin(path: &Path) -> rusqlite::Result<(Connection, i64)> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // In WAL mode, a commit does not wait for the disk, and commits survive the exit of the
    // process. File systems that do not support it keep the default mode.
    let _mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // Only one process creates the tables.
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (version, tables) {
        (0, 0) => transaction.execute_batch(TABLES)?,
        (SCHEMA_VERSION, _) => {}
        _ => return Err(rusqlite::Error::InvalidQuery),
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as i64;
    let row = params![now, env!("CARGO_PKG_VERSION")];
    transaction.execute("INSERT INTO run (started, roci) VALUES (?1, ?2)", row)?;
    let run = transaction.last_insert_rowid();
    transaction.commit()?;
    Ok((connection, run))
}

/// The error as one line.
fn describe_error(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "another process is writing to it".into(),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => "it is damaged, or not an SQLite file".into(),
        Some(ErrorCode::ReadOnly) => "it is read-only".into(),
        Some(ErrorCode::DiskFull) => "the disk is full".into(),
        _ if matches!(error, rusqlite::Error::InvalidQuery) => {
            "it belongs to another program, or to a newer version of roci".into()
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use roci_probe::Verdict;

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
            let previous = database.previous("cpu: Xeon").expect("it reads");
            database.add_device("cpu", &identity(driver)).expect("it writes");
            for (probe, outcome) in results {
                let verdict = Verdict::new(*outcome, "so");
                let result = ProbeResult { device: "cpu".into(), probe: (*probe).to_owned(), verdict, seconds: 0.1 };
                database.add_result("cpu: Xeon", &result).expect("it writes");
            }
            previous
        };
        assert_eq!(run("1", &[("add", Outcome::Works), ("mul", Outcome::Wrong)]), PreviousResults::default());
        // The run is incomplete: the other probe keeps its earlier result.
        let previous = run("2", &[("add", Outcome::Hangs), ("sub", Outcome::NotTried)]);
        assert_eq!((previous.driver.as_deref(), previous.started.is_some()), (Some("1"), true));
        let previous = run("3", &[]);
        let known: Vec<_> = previous.outcomes.iter().map(|(probe, outcome)| (probe.as_str(), *outcome)).collect();
        assert_eq!(known, [("add", Outcome::Hangs), ("mul", Outcome::Wrong)]);
        assert_eq!(previous.driver.as_deref(), Some("2"));
        let other = Database::open(&path).and_then(|database| database.previous("another")).expect("it reads");
        assert_eq!(other, PreviousResults::default());
    }

    #[test]
    fn results_under_the_old_spelling_of_a_probe_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("matrix.sqlite");
        let mut outcomes = Vec::new();
        for (probe, outcome) in [
            ("quantised matmul", Outcome::Wrong),
            ("quantized matmul", Outcome::Hangs),
            ("quantised conv2d", Outcome::Works),
        ] {
            let database = Database::open(&path).expect("it opens");
            let verdict = Verdict::new(outcome, "so");
            let result = ProbeResult { device: "cpu".into(), probe: probe.to_owned(), verdict, seconds: 0.1 };
            database.add_result("cpu: Xeon", &result).expect("it writes");
            let previous = database.previous("cpu: Xeon").expect("it reads");
            outcomes.push(previous.outcomes.into_iter().collect::<Vec<_>>());
        }
        assert_eq!(outcomes[0], []);
        assert_eq!(outcomes[1], [("quantized matmul".to_owned(), Outcome::Wrong)]);
        // The latest run decides, whichever spelling it has.
        assert_eq!(outcomes[2], [("quantized matmul".to_owned(), Outcome::Hangs)]);
    }

    #[test]
    fn unusable_files_are_explained_in_one_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("matrix.sqlite");
        let refusal = || Database::open(&path).err().map(|error| error.to_string()).unwrap_or_default();
        std::fs::write(&path, "this is plain text".repeat(99)).expect("it can be written");
        assert!(refusal().ends_with("it is damaged, or not an SQLite file"), "{}", refusal());
        std::fs::remove_file(&path).expect("it exists");
        let other = Connection::open(&path).expect("it opens");
        other.execute_batch("CREATE TABLE own (a); BEGIN EXCLUSIVE").expect("it is new");
        assert!(refusal().ends_with("another process is writing to it"), "{}", refusal());
        other.execute_batch("COMMIT").expect("it is open");
        assert!(refusal().ends_with("it belongs to another program, or to a newer version of roci"), "{}", refusal());
        assert!(Database::open(folder.path()).is_err());
    }
}
