//! Read queries: whole experiments at once, so that a report on thousands of runs needs few
//! queries.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension as _, Row, params};

use crate::error::LabError;
use crate::executor::Stream;

use super::{Event, EventKind, ExperimentRow, KernelLine, MetricValue, Output, RunRow, RunState, Store};

const EXPERIMENT: &str = "SELECT id, name, toml, variables, created, source, snapshot, owner,
    (SELECT count(*) FROM runs WHERE experiment = experiments.id AND state <> 'done'),
    (SELECT count(*) FROM runs WHERE experiment = experiments.id AND state = 'done') FROM experiments";

const RUN: &str =
    "SELECT id, experiment, strategy, repeat, state, outcome, started, ended, executor, mark, handle, attempts
    FROM runs";

impl Store {
    /// All experiments, newest first.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn experiments(&self) -> Result<Vec<ExperimentRow>, LabError> {
        self.all(&format!("{EXPERIMENT} ORDER BY id DESC"), [], experiment)
    }

    /// An experiment by number, the newest with a name, or the newest of all for `latest`.
    ///
    /// # Errors
    /// If there is none, or the file fails.
    pub fn experiment(&self, which: &str) -> Result<ExperimentRow, LabError> {
        let by = match which {
            "latest" => "ORDER BY id DESC LIMIT 1",
            _ => "WHERE id = ?1 OR name = ?2 ORDER BY id = ?1 DESC, id DESC LIMIT 1",
        };
        let number: i64 = which.parse().unwrap_or(-1);
        let sql = format!("{EXPERIMENT} {by}");
        let found = match which {
            "latest" => self.connection.query_row(&sql, [], experiment),
            _ => self.connection.query_row(&sql, params![number, which], experiment),
        };
        match self.wrap(found.optional())? {
            Some(row) => Ok(row),
            None => {
                let sql = "SELECT name FROM experiments GROUP BY name ORDER BY max(id) DESC LIMIT 12";
                let known = self.all(sql, [], |row| row.get(0))?;
                Err(LabError::Unknown { what: "experiment", name: which.into(), known })
            }
        }
    }

    /// All runs of an experiment, in planned order.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn runs(&self, experiment: i64) -> Result<Vec<RunRow>, LabError> {
        self.all(&format!("{RUN} WHERE experiment = ?1 ORDER BY id"), [experiment], run)
    }

    /// A run by number.
    ///
    /// # Errors
    /// If there is none, or the file fails.
    pub fn run(&self, id: i64) -> Result<RunRow, LabError> {
        let found = self.connection.query_row(&format!("{RUN} WHERE id = ?1"), [id], run).optional();
        self.wrap(found)?.ok_or_else(|| LabError::Unknown {
            what: "run",
            name: id.to_string(),
            known: vec!["those that `roci lab show` lists".into()],
        })
    }

    /// Events of a run.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn events(&self, run: i64) -> Result<Vec<Event>, LabError> {
        self.all("SELECT run, at, kind, text FROM events WHERE run = ?1 ORDER BY seq", [run], event)
            .map(|rows| rows.into_iter().map(|(_, event)| event).collect())
    }

    /// Events of all runs of an experiment, by run.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn events_of_experiment(&self, experiment: i64) -> Result<BTreeMap<i64, Vec<Event>>, LabError> {
        let sql =
            "SELECT run, at, kind, text FROM runs JOIN events ON run = runs.id WHERE experiment = ?1 ORDER BY run, seq";
        self.all(sql, [experiment], event).map(grouped)
    }

    /// Metrics of all runs of an experiment, by run.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn metrics_of_experiment(&self, experiment: i64) -> Result<BTreeMap<i64, Vec<MetricValue>>, LabError> {
        let sql = "SELECT run, name, value, unit FROM runs JOIN metrics ON run = runs.id WHERE experiment = ?1
            ORDER BY run, name";
        self.all(sql, [experiment], metric).map(grouped)
    }

    /// Metrics of a run.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn metrics(&self, run: i64) -> Result<Vec<MetricValue>, LabError> {
        self.all("SELECT run, name, value, unit FROM metrics WHERE run = ?1 ORDER BY name", [run], metric)
            .map(|rows| rows.into_iter().map(|(_, metric)| metric).collect())
    }

    /// Output of a run.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn output(&self, run: i64) -> Result<Vec<Output>, LabError> {
        self.all("SELECT stream, at, bytes, omitted FROM output WHERE run = ?1 ORDER BY seq", [run], |row| {
            let stream = if row.get::<_, String>(0)? == Stream::Err.name() { Stream::Err } else { Stream::Out };
            let omitted = u64::try_from(row.get::<_, i64>(3)?).unwrap_or(0);
            Ok(Output { stream, at: row.get(1)?, bytes: row.get(2)?, omitted })
        })
    }

    /// End of a run's output, both streams in order, for reports that show a few lines of many
    /// runs.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn output_tail(&self, run: i64) -> Result<Vec<u8>, LabError> {
        const PARTS: i64 = 32;
        // Chunks can be large; their ends are enough.
        let sql = "SELECT substr(bytes, -8192) FROM output WHERE run = ?1 ORDER BY seq DESC LIMIT ?2";
        let parts: Vec<Vec<u8>> = self.all(sql, [run, PARTS], |row| row.get(0))?;
        Ok(parts.into_iter().rev().flatten().collect())
    }

    /// Kernel log lines of a run.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn kernel_lines(&self, run: i64) -> Result<Vec<KernelLine>, LabError> {
        self.all("SELECT run, line, finding FROM kernel_lines WHERE run = ?1 ORDER BY seq", [run], kernel_line)
            .map(|rows| rows.into_iter().map(|(_, line)| line).collect())
    }

    /// Kernel log lines of all runs of an experiment, by run.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn kernel_lines_of_experiment(&self, experiment: i64) -> Result<BTreeMap<i64, Vec<KernelLine>>, LabError> {
        let sql = "SELECT run, line, finding FROM runs JOIN kernel_lines ON run = runs.id WHERE experiment = ?1
            ORDER BY run, seq";
        self.all(sql, [experiment], kernel_line).map(grouped)
    }

    /// Manual changes that were confirmed.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn confirmed(&self, experiment: i64) -> Result<BTreeSet<String>, LabError> {
        self.all("SELECT change FROM confirmed WHERE experiment = ?1", [experiment], |row| row.get(0))
            .map(|rows| rows.into_iter().collect())
    }

    /// A doctor snapshot as JSON.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn snapshot(&self, id: i64) -> Result<Option<String>, LabError> {
        let sql = "SELECT json FROM snapshots WHERE id = ?1";
        self.wrap(self.connection.query_row(sql, [id], |row| row.get(0)).optional())
    }

    fn all<T>(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, LabError> {
        let rows = || self.connection.prepare_cached(sql)?.query_map(parameters, read)?.collect();
        self.wrap(rows())
    }
}

fn grouped<T>(rows: Vec<(i64, T)>) -> BTreeMap<i64, Vec<T>> {
    let mut groups: BTreeMap<i64, Vec<T>> = BTreeMap::new();
    for (run, value) in rows {
        groups.entry(run).or_default().push(value);
    }
    groups
}

fn experiment(row: &Row<'_>) -> rusqlite::Result<ExperimentRow> {
    let variables: String = row.get(3)?;
    let count = |at: usize| Ok::<_, rusqlite::Error>(u64::try_from(row.get::<_, i64>(at)?).unwrap_or(0));
    Ok(ExperimentRow {
        id: row.get(0)?,
        name: row.get(1)?,
        toml: row.get(2)?,
        variables: serde_json::from_str(&variables).unwrap_or_default(),
        created: row.get(4)?,
        source: row.get(5)?,
        snapshot: row.get(6)?,
        owner: row.get(7)?,
        open: count(8)?,
        done: count(9)?,
    })
}

fn run(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let state = match row.get::<_, String>(4)?.as_str() {
        "planned" => RunState::Planned,
        "running" => RunState::Running,
        _ => RunState::Done,
    };
    let wrong = |error: serde_json::Error| {
        rusqlite::Error::FromSqlConversionFailure(5, rusqlite::types::Type::Text, Box::new(error))
    };
    let outcome: Option<String> = row.get(5)?;
    Ok(RunRow {
        id: row.get(0)?,
        experiment: row.get(1)?,
        strategy: row.get(2)?,
        repeat: row.get(3)?,
        state,
        outcome: outcome.map(|text| serde_json::from_str(&text).map_err(wrong)).transpose()?,
        started: row.get(6)?,
        ended: row.get(7)?,
        executor: row.get(8)?,
        mark: row.get(9)?,
        handle: row.get(10)?,
        attempts: row.get(11)?,
    })
}

fn event(row: &Row<'_>) -> rusqlite::Result<(i64, Event)> {
    let kind = EventKind::parse(&row.get::<_, String>(2)?);
    Ok((row.get(0)?, Event { at: row.get(1)?, kind, text: row.get(3)? }))
}

fn metric(row: &Row<'_>) -> rusqlite::Result<(i64, MetricValue)> {
    Ok((row.get(0)?, MetricValue { name: row.get(1)?, value: row.get(2)?, unit: row.get(3)? }))
}

fn kernel_line(row: &Row<'_>) -> rusqlite::Result<(i64, KernelLine)> {
    Ok((row.get(0)?, KernelLine { line: row.get(1)?, finding: row.get(2)? }))
}
