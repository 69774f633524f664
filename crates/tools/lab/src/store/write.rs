//! Write operations; each is one transaction.

use std::collections::BTreeMap;

use rusqlite::{Connection, TransactionBehavior, params};

use crate::error::LabError;

use super::{Finished, PlannedRun, Store, now};

/// An experiment to create.
#[derive(Clone, Copy, Debug)]
pub struct NewExperiment<'a> {
    /// As the experiment's file or the import names it.
    pub name: &'a str,
    /// Source text.
    pub toml: &'a str,
    /// Variables given on the command line.
    pub variables: &'a BTreeMap<String, String>,
    /// `run`, or `import FILE`.
    pub source: &'a str,
    /// Doctor snapshot of the machine, as JSON.
    pub snapshot: Option<&'a str>,
}

impl Store {
    /// Creates an experiment with all runs planned; returns its number.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn create(&mut self, new: &NewExperiment<'_>, plan: &[PlannedRun]) -> Result<i64, LabError> {
        self.transact(|connection| {
            let experiment = insert_experiment(connection, new)?;
            for run in plan {
                insert_run(connection, experiment, run)?;
            }
            Ok(experiment)
        })
    }

    /// Creates an experiment with known results; returns its number.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn import(&mut self, new: &NewExperiment<'_>, results: &[(PlannedRun, Finished)]) -> Result<i64, LabError> {
        self.transact(|connection| {
            let experiment = insert_experiment(connection, new)?;
            for (run, finished) in results {
                let id = insert_run(connection, experiment, run)?;
                connection.prepare_cached("UPDATE runs SET state = 'running' WHERE id = ?1")?.execute([id])?;
                finish(connection, id, finished)?;
            }
            Ok(experiment)
        })
    }

    /// Makes a process the owner of an experiment, if it has no owner or `from` is the owner;
    /// returns whether that succeeded.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn own(&mut self, experiment: i64, from: Option<&str>, owner: Option<&str>) -> Result<bool, LabError> {
        let sql = "UPDATE experiments SET owner = ?3 WHERE id = ?1 AND owner IS ?2";
        self.wrap(self.connection.execute(sql, params![experiment, from, owner])).map(|rows| rows == 1)
    }

    /// Starts a planned run under a mark; returns whether it was still planned.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn begin(&mut self, run: i64, mark: &str) -> Result<bool, LabError> {
        let sql = "UPDATE runs SET state = 'running', mark = ?2, handle = '', started = ?3, attempts = attempts + 1
            WHERE id = ?1 AND state = 'planned'";
        self.wrap(self.connection.execute(sql, params![run, mark, now()])).map(|rows| rows == 1)
    }

    /// Records the handle of a run.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn set_handle(&mut self, run: i64, handle: &str) -> Result<(), LabError> {
        let sql = "UPDATE runs SET handle = ?2 WHERE id = ?1 AND state = 'running'";
        self.wrap(self.connection.execute(sql, params![run, handle])).map(drop)
    }

    /// Plans a running run again.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn replan(&mut self, run: i64) -> Result<bool, LabError> {
        let sql = "UPDATE runs SET state = 'planned', started = NULL WHERE id = ?1 AND state = 'running'";
        self.wrap(self.connection.execute(sql, [run])).map(|rows| rows == 1)
    }

    /// Discards results with these outcomes (names in lower case) and plans the runs again; returns
    /// their number.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn discard_results(&mut self, experiment: i64, outcomes: &[&str]) -> Result<usize, LabError> {
        self.transact(|connection| {
            let list = serde_json::to_string(outcomes).unwrap_or_else(|_| "[]".into());
            let which = "SELECT id FROM runs WHERE experiment = ?1 AND state = 'done'
                AND json_extract(outcome, '$.outcome') IN (SELECT value FROM json_each(?2))";
            forget_results(connection, which, params![experiment, list])
        })
    }

    /// Stores a changed text: deletes runs without a result that it no longer plans, plans new
    /// ones, and discards results of the strategies in `forget`.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn revise(
        &mut self,
        experiment: i64,
        toml: &str,
        variables: &BTreeMap<String, String>,
        plan: &[PlannedRun],
        forget: &[String],
    ) -> Result<(), LabError> {
        self.transact(|connection| {
            let variables = serde_json::to_string(variables).unwrap_or_else(|_| "{}".into());
            let sql = "UPDATE experiments SET toml = ?2, variables = ?3 WHERE id = ?1";
            connection.execute(sql, params![experiment, toml, variables])?;
            let list = serde_json::to_string(forget).unwrap_or_else(|_| "[]".into());
            let which = "SELECT id FROM runs WHERE experiment = ?1 AND state = 'done'
                AND strategy IN (SELECT value FROM json_each(?2))";
            forget_results(connection, which, params![experiment, list])?;
            let planned: Vec<_> = plan.iter().map(|run| (&run.strategy, run.repeat)).collect();
            let planned = serde_json::to_string(&planned).unwrap_or_else(|_| "[]".into());
            let sql = "DELETE FROM runs WHERE experiment = ?1 AND state = 'planned' AND (strategy, repeat) NOT IN
                (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?2))";
            connection.execute(sql, params![experiment, planned])?;
            for run in plan {
                let sql = "UPDATE runs SET executor = ?4 WHERE experiment = ?1 AND strategy = ?2 AND repeat = ?3 AND state = 'planned'";
                connection.prepare_cached(sql)?.execute(params![experiment, run.strategy, run.repeat, run.executor])?;
                let sql = "SELECT EXISTS (SELECT 1 FROM runs WHERE experiment = ?1 AND strategy = ?2 AND repeat = ?3)";
                let there: bool = (connection.prepare_cached(sql)?)
                    .query_row(params![experiment, run.strategy, run.repeat], |row| row.get(0))?;
                if !there {
                    insert_run(connection, experiment, run)?;
                }
            }
            Ok(())
        })
    }

    /// Records manual changes as done.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn confirm(&mut self, experiment: i64, changes: &[String]) -> Result<(), LabError> {
        self.transact(|connection| {
            for change in changes {
                let sql = "INSERT OR IGNORE INTO confirmed (experiment, change, at) VALUES (?1, ?2, ?3)";
                connection.execute(sql, params![experiment, change, now()])?;
            }
            Ok(())
        })
    }

    /// Stores a final result with all its data; `false` if the run was not running: it has a result
    /// already, or was planned again.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn finish(&mut self, run: i64, finished: &Finished) -> Result<bool, LabError> {
        self.transact(|connection| finish(connection, run, finished))
    }

    fn transact<T>(&mut self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, LabError> {
        let done = (|| {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        })();
        self.wrap(done)
    }
}

fn insert_experiment(connection: &Connection, new: &NewExperiment<'_>) -> rusqlite::Result<i64> {
    let snapshot = match new.snapshot {
        Some(json) => {
            connection.execute("INSERT OR IGNORE INTO snapshots (json) VALUES (?1)", [json])?;
            Some(connection.query_row("SELECT id FROM snapshots WHERE json = ?1", [json], |row| row.get::<_, i64>(0))?)
        }
        None => None,
    };
    let variables = serde_json::to_string(new.variables).unwrap_or_else(|_| "{}".into());
    let sql =
        "INSERT INTO experiments (name, toml, variables, created, source, snapshot) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    connection.execute(sql, params![new.name, new.toml, variables, now(), new.source, snapshot])?;
    Ok(connection.last_insert_rowid())
}

/// Plans the selected runs again and deletes their data; returns their number.
fn forget_results(
    connection: &Connection,
    which: &str,
    parameters: impl rusqlite::Params + Copy,
) -> rusqlite::Result<usize> {
    for table in ["events", "metrics", "output", "kernel_lines"] {
        connection.execute(&format!("DELETE FROM {table} WHERE run IN ({which})"), parameters)?;
    }
    let sql = format!(
        "UPDATE runs SET state = 'planned', outcome = NULL, started = NULL, ended = NULL WHERE id IN ({which})"
    );
    connection.execute(&sql, parameters)
}

fn insert_run(connection: &Connection, experiment: i64, run: &PlannedRun) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO runs (experiment, strategy, repeat, state, executor, mark, handle, attempts)
        VALUES (?1, ?2, ?3, 'planned', ?4, '', '', 0)";
    let row = params![experiment, run.strategy, run.repeat, run.executor];
    connection.prepare_cached(sql)?.execute(row)?;
    Ok(connection.last_insert_rowid())
}

fn finish(connection: &Connection, run: i64, finished: &Finished) -> rusqlite::Result<bool> {
    let outcome = serde_json::to_string(&finished.outcome)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    let sql = "UPDATE runs SET state = 'done', outcome = ?2, started = ?3, ended = ?4
        WHERE id = ?1 AND state = 'running'";
    let row = params![run, outcome, finished.started, finished.ended];
    if connection.prepare_cached(sql)?.execute(row)? != 1 {
        return Ok(false);
    }
    let mut sql =
        connection.prepare_cached("INSERT INTO events (run, seq, at, kind, text) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (seq, event) in finished.events.iter().enumerate() {
        sql.execute(params![run, seq as i64, event.at, event.kind.name(), event.text])?;
    }
    let mut sql =
        connection.prepare_cached("INSERT OR REPLACE INTO metrics (run, name, value, unit) VALUES (?1, ?2, ?3, ?4)")?;
    for metric in &finished.metrics {
        sql.execute(params![run, metric.name, metric.value, metric.unit])?;
    }
    let mut sql = connection
        .prepare_cached("INSERT INTO output (run, seq, stream, at, bytes, omitted) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for (seq, part) in finished.output.iter().enumerate() {
        let omitted = i64::try_from(part.omitted).unwrap_or(i64::MAX);
        sql.execute(params![run, seq as i64, part.stream.name(), part.at, part.bytes, omitted])?;
    }
    let mut sql =
        connection.prepare_cached("INSERT INTO kernel_lines (run, seq, line, finding) VALUES (?1, ?2, ?3, ?4)")?;
    for (seq, line) in finished.kernel_lines.iter().enumerate() {
        sql.execute(params![run, seq as i64, line.line, line.finding])?;
    }
    Ok(true)
}
