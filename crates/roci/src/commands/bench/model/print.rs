//! Results as a table for terminals, and in the forms of llama-bench.
//!
//! Forms of lines are written as results come, so that a driver that takes the process along leaves what was measured. JSON and the table
//! are written at the end, whole.

use std::fmt::Write;
use std::io;

use serde_json::Value;

use super::about::About;
use super::compare;
use super::entry::{BUILD, Entry};
use crate::cli::BenchOutput;
use crate::printer::{Column, Printer};

/// Writes results.
pub(super) struct Results<'a> {
    printer: &'a Printer,
    /// The table for terminals if `None`.
    form: Option<BenchOutput>,
    pub(super) entries: Vec<Entry>,
}

/// The name of the table that llama-bench's own scripts read.
const TABLE: &str = "llama_bench";

impl<'a> Results<'a> {
    /// None yet.
    pub(super) fn new(printer: &'a Printer, form: Option<BenchOutput>) -> Self {
        Self { printer, form, entries: Vec::new() }
    }

    /// Takes one more.
    pub(super) fn add(&mut self, entry: Entry) -> io::Result<()> {
        let first = self.entries.is_empty();
        let text = match self.form {
            None | Some(BenchOutput::Json) => String::new(),
            Some(BenchOutput::Jsonl) => serde_json::to_string(&entry).map_err(io::Error::from)? + "\n",
            Some(BenchOutput::Csv) => csv(&entry, first),
            Some(BenchOutput::Sql) => sql(&entry, first),
            Some(BenchOutput::Md) => markdown(&entry, first),
        };
        self.entries.push(entry);
        if text.is_empty() { Ok(()) } else { self.printer.data(&text) }
    }

    /// Writes what is written at the end, and for people which device is faster.
    pub(super) fn end(&self) -> io::Result<()> {
        let sentence = compare::sentence(&self.entries);
        match self.form {
            Some(BenchOutput::Json) => self.printer.json(&self.entries)?,
            Some(BenchOutput::Md) => {
                let mut text = String::from("\n");
                for line in self.entries.iter().filter_map(remark).chain(sentence.clone()) {
                    text.push_str(&format!("{line}\n"));
                }
                self.printer.data(&format!("{text}\nbuild: {BUILD}\n"))?;
            }
            None => {
                self.table()?;
                if let Some(sentence) = &sentence {
                    self.printer.data(&format!("\n{sentence}\n"))?;
                }
            }
            _ => {}
        }
        let told = matches!(self.form, None | Some(BenchOutput::Md));
        if let Some(sentence) = sentence.filter(|_| !told) {
            self.printer.note(&sentence);
        }
        Ok(())
    }

    fn table(&self) -> io::Result<()> {
        let columns = [
            Column::Text("MODEL"),
            Column::Number("SIZE"),
            Column::Number("PARAMS"),
            Column::Text("DEVICE"),
            Column::Text("TEST"),
            Column::Number("T/S"),
            Column::Number("RATE"),
            Column::Number("LIMIT"),
            Column::Number("REACHED"),
        ];
        let row = |entry: &Entry| {
            let About { kind, .. } = &entry.setting.about;
            let (size, count) = (entry.setting.about.size(), entry.setting.about.count());
            let dash = || "-".to_owned();
            vec![
                kind.clone(),
                size,
                count,
                entry.setting.device.clone(),
                entry.test.to_string(),
                speed(entry),
                rate(entry),
                entry.limit().map_or_else(dash, |limit| format!("{limit:.2} t/s")),
                entry.share().map_or_else(dash, |share| format!("{:.0} %", share * 100.0)),
            ]
        };
        self.printer.table(&columns, self.entries.iter().map(row).collect())
    }
}

/// `721.50 ± 3.20`.
fn speed(entry: &Entry) -> String {
    let rate = entry.samples.rate();
    format!("{:.2} ± {:.2}", rate.mean, rate.deviation)
}

/// What the speed means for the device: operations where a prompt is read, bytes where tokens are written.
fn rate(entry: &Entry) -> String {
    match entry.operations() {
        Some(operations) if operations >= 1e12 => format!("{:.2} TFLOP/s", operations / 1e12),
        Some(operations) => format!("{:.2} GFLOP/s", operations / 1e9),
        None => format!("{:.2} GB/s", entry.samples.rate().mean * entry.setting.work.bytes as f64 / 1e9),
    }
}

/// What has no column in llama-bench's table.
fn remark(entry: &Entry) -> Option<String> {
    let (device, test) = (&entry.setting.device, &entry.test);
    if entry.operations().is_some() {
        return Some(format!("{device}, {test}: {}", rate(entry)));
    }
    let (limit, share, bandwidth) = (entry.limit()?, entry.share()?, entry.setting.bandwidth?);
    let (bandwidth, bytes) = (bandwidth / 1e9, entry.setting.work.bytes as f64 / 1e6);
    Some(format!(
        "{device}, {test}: {:.0} % of the limit of {limit:.2} t/s ({bandwidth:.1} GB/s, {bytes:.1} MB a token)",
        share * 100.0
    ))
}

/// All columns of a file with values between commas.
fn csv_columns(entry: &Entry) -> Vec<(&'static str, Value)> {
    entry.columns().into_iter().chain(entry.own()).collect()
}

/// A value as text; nothing is the empty text.
fn text(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn csv(entry: &Entry, first: bool) -> String {
    let columns = csv_columns(entry);
    let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
    let values: Vec<_> =
        columns.into_iter().map(|(_, value)| format!("\"{}\"", text(value).replace('"', "\"\""))).collect();
    let head = if first { names.join(",") + "\n" } else { String::new() };
    head + &values.join(",") + "\n"
}

fn sql(entry: &Entry, first: bool) -> String {
    let columns = entry.columns();
    let mut made = String::new();
    if first {
        let kinds = columns.iter().map(|(name, value)| {
            let kind = match value {
                Value::Number(number) if number.is_f64() => "REAL",
                Value::Number(_) => "INTEGER",
                _ => "TEXT",
            };
            format!("  {name} {kind}")
        });
        let kinds: Vec<_> = kinds.collect();
        let _ = write!(made, "CREATE TABLE IF NOT EXISTS {TABLE} (\n{}\n);\n\n", kinds.join(",\n"));
    }
    let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
    let values: Vec<_> =
        columns.into_iter().map(|(_, value)| format!("'{}'", text(value).replace('\'', "''"))).collect();
    let _ = writeln!(made, "INSERT INTO {TABLE} ({}) VALUES ({});", names.join(", "), values.join(", "));
    made
}

/// Columns of the table that people paste, with their widths; names that are to the left have negative ones.
const MARKDOWN: [(&str, i32); 9] = [
    ("model", -30),
    ("size", 10),
    ("params", 10),
    ("backend", -10),
    ("threads", 7),
    ("ngl", 3),
    ("dev", -12),
    ("test", 15),
    ("t/s", 20),
];

fn markdown(entry: &Entry, first: bool) -> String {
    let setting = &entry.setting;
    let number = |number: Option<usize>| number.map_or_else(String::new, |number| number.to_string());
    let values = [
        setting.about.kind.clone(),
        setting.about.size(),
        setting.about.count(),
        setting.driver.clone(),
        number(setting.threads.map(|threads| threads as usize)),
        number(setting.threads.is_none().then_some(setting.about.layers)),
        setting.device.clone(),
        entry.test.to_string(),
        speed(entry),
    ];
    let line = |cells: &mut dyn Iterator<Item = (String, i32)>| {
        let cells = cells.map(|(text, width)| {
            let size = width.unsigned_abs() as usize;
            // A bar would end the cell.
            let text = text.replace('|', "/");
            if width < 0 { format!(" {text:<size$} |") } else { format!(" {text:>size$} |") }
        });
        format!("|{}\n", cells.collect::<String>())
    };
    let mut made = String::new();
    if first {
        made += &line(&mut MARKDOWN.iter().map(|(name, width)| ((*name).to_owned(), *width)));
        made += &line(&mut MARKDOWN.iter().map(|(_, width)| {
            let dashes = "-".repeat(width.unsigned_abs() as usize - 1);
            (dashes + if *width < 0 { "-" } else { ":" }, *width)
        }));
    }
    made + &line(&mut values.into_iter().zip(MARKDOWN.map(|(_, width)| width)))
}

#[cfg(test)]
mod tests {
    use super::super::entry::played::entry;
    use super::super::plan::Kind;
    use super::*;

    #[test]
    fn the_table_is_the_one_that_people_paste() {
        let entry = entry("vulkan:0", Kind::Prompt, 512, &[1000, 1000]);
        let wanted = "\
| model                          |       size |     params | backend    | threads | ngl | dev          |            test |                  t/s |
| ------------------------------ | ---------: | ---------: | ---------- | ------: | --: | ------------ | --------------: | -------------------: |
| llama 1.1B Q4_0                | 606.54 MiB |     1.10 B | vulkan     |         |  22 | vulkan:0     |           pp512 |        512.00 ± 0.00 |
";
        assert_eq!(markdown(&entry, true), wanted);
        assert_eq!(
            markdown(&entry, false),
            wanted.lines().last().map(|line| line.to_owned() + "\n").unwrap_or_default()
        );
    }

    #[test]
    fn quotes_stay_within_their_values() {
        let entry = entry("cpu", Kind::Written, 100, &[5000]);
        let csv = csv(&entry, true);
        let lines: Vec<_> = csv.lines().collect();
        assert!(
            lines[0].starts_with("build_commit,build_number,cpu_info,") && lines[0].contains(",stddev_ts,"),
            "{csv}"
        );
        assert!(lines[1].contains(",\"a \"\"device\"\", fast\",\"\",\"cpu\",\"it's.gguf\","), "{csv}");
        assert!(lines[1].ends_with(",\"40.0\",\"0.5\",\"\""), "{csv}");
        let sql = sql(&entry, true);
        assert!(sql.contains(", 'it''s.gguf', ") && sql.contains("\n  avg_ts REAL,\n  stddev_ts REAL\n);\n"), "{sql}");
    }

    #[test]
    fn a_database_takes_the_rows() {
        let database = rusqlite::Connection::open_in_memory().expect("a database");
        let entry = entry("cpu", Kind::Written, 100, &[5000]);
        database.execute_batch(&(sql(&entry, true) + &sql(&entry, false))).expect("it is SQL");
        let found: (i64, f64, String) = database
            .query_row("SELECT count(*), avg(avg_ts), min(model_filename) FROM llama_bench", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .expect("rows");
        assert_eq!(found, (2, 20.0, "it's.gguf".to_owned()));
    }

    #[test]
    fn remarks_say_what_the_device_reaches() {
        let written = remark(&entry("cpu", Kind::Written, 100, &[5000])).expect("the bandwidth is known");
        assert_eq!(written, "cpu, tg100: 50 % of the limit of 40.00 t/s (24.0 GB/s, 600.0 MB a token)");
        assert_eq!(rate(&entry("cpu", Kind::Prompt, 100, &[5000])), "40.00 GFLOP/s");
        assert_eq!(rate(&entry("cpu", Kind::Prompt, 1000, &[500])), "4.00 TFLOP/s");
        assert_eq!(rate(&entry("cpu", Kind::Written, 100, &[5000])), "12.00 GB/s");
    }
}
