//! Database schema and migrations.

use rusqlite::Connection;

/// One migration per version; `user_version` counts those applied.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE snapshots (id INTEGER PRIMARY KEY, json TEXT NOT NULL UNIQUE);
    CREATE TABLE experiments (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, toml TEXT NOT NULL, variables TEXT NOT NULL, created INTEGER NOT NULL,
        source TEXT NOT NULL, snapshot INTEGER REFERENCES snapshots(id), owner TEXT);
    CREATE INDEX experiments_by_name ON experiments (name, id);
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY, experiment INTEGER NOT NULL REFERENCES experiments(id), strategy TEXT NOT NULL,
        repeat INTEGER NOT NULL, state TEXT NOT NULL CHECK (state IN ('planned', 'running', 'done')), outcome TEXT,
        started INTEGER, ended INTEGER, executor TEXT NOT NULL, mark TEXT NOT NULL, handle TEXT NOT NULL,
        attempts INTEGER NOT NULL, CHECK ((state = 'done') = (outcome IS NOT NULL)), UNIQUE (experiment, strategy, repeat));
    CREATE TABLE events (
        run INTEGER NOT NULL REFERENCES runs(id), seq INTEGER NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL,
        text TEXT NOT NULL, PRIMARY KEY (run, seq)) WITHOUT ROWID;
    CREATE TABLE metrics (
        run INTEGER NOT NULL REFERENCES runs(id), name TEXT NOT NULL, value REAL NOT NULL, unit TEXT NOT NULL,
        PRIMARY KEY (run, name)) WITHOUT ROWID;
    CREATE TABLE output (
        run INTEGER NOT NULL REFERENCES runs(id), seq INTEGER NOT NULL, stream TEXT NOT NULL, at INTEGER NOT NULL,
        bytes BLOB NOT NULL, omitted INTEGER NOT NULL, PRIMARY KEY (run, seq));
    CREATE TABLE kernel_lines (
        run INTEGER NOT NULL REFERENCES runs(id), seq INTEGER NOT NULL, line TEXT NOT NULL, finding TEXT,
        PRIMARY KEY (run, seq)) WITHOUT ROWID;
", "
    CREATE TABLE confirmed (
        experiment INTEGER NOT NULL REFERENCES experiments(id), change TEXT NOT NULL, at INTEGER NOT NULL,
        PRIMARY KEY (experiment, change)) WITHOUT ROWID;
"];
/// Oldest version that can be read without migration.
const OLDEST_READ: usize = 1;

const NEWER: &str = "it belongs to another program, or to a newer version of roci";
const ANOTHER: &str = "it is another program's";

fn has_tables(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0)).map(|tables| tables > 0)
}

/// Whether a file can be read as it is; `false` if it is empty, a message if it is not a store.
///
/// # Errors
/// Errors of SQLite.
pub(super) fn readable(connection: &Connection) -> rusqlite::Result<Result<bool, String>> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let has_tables = has_tables(connection)?;
    Ok(match usize::try_from(version) {
        Ok(0) if has_tables => Err(ANOTHER.into()),
        Ok(0) => Ok(false),
        Ok(version) if (OLDEST_READ..=MIGRATIONS.len()).contains(&version) => Ok(true),
        _ => Err(NEWER.into()),
    })
}

/// Migrates a file to the current version.
///
/// # Errors
/// An SQLite error, or a message for a file of a newer roci or of another program.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), String> {
    let text = |error: rusqlite::Error| super::why(&error);
    // Lock first: two processes that find an empty file must not both initialize it.
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(text)?;
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(text)?;
    let known = MIGRATIONS.len();
    let taken = usize::try_from(version).ok().filter(|taken| *taken <= known);
    let Some(taken) = taken else { return Err(NEWER.into()) };
    if taken == 0 && has_tables(&transaction).map_err(text)? {
        return Err(ANOTHER.into());
    }
    for step in &MIGRATIONS[taken..] {
        transaction.execute_batch(step).map_err(text)?;
    }
    transaction.pragma_update(None, "user_version", known as i64).map_err(text)?;
    transaction.commit().map_err(text)
}
