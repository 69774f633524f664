//! The output formats of llama-bench: CSV, SQL and Markdown.

use std::fmt::Write;

use serde_json::Value;

use super::entry::Entry;

/// The name of the table that llama-bench's own scripts read.
const TABLE: &str = "llama_bench";

/// Mean and standard deviation of tokens per second, as `721.50 ± 3.20`.
pub fn speed(entry: &Entry) -> String {
    let rate = entry.samples.rate();
    format!("{:.2} ± {:.2}", rate.mean, rate.deviation)
}

/// The load of the device: operations per second in prefill, bytes per second in decode.
pub fn rate(entry: &Entry) -> String {
    match entry.operations() {
        Some(operations) if operations >= 1e12 => format!("{:.2} TFLOP/s", operations / 1e12),
        Some(operations) => format!("{:.2} GFLOP/s", operations / 1e9),
        None => format!("{:.2} GB/s", entry.bytes_per_second().unwrap_or(0.0) / 1e9),
    }
}

/// A remark with the values that llama-bench's table has no column for.
pub fn remark(entry: &Entry) -> Option<String> {
    let (device, test) = (&entry.setting.device, &entry.test);
    if entry.operations().is_some() {
        return Some(format!("{device}, {test}: {}", rate(entry)));
    }
    let (limit, share, bandwidth) = (entry.limit()?, entry.share()?, entry.setting.bandwidth?);
    let (bandwidth, bytes) = (bandwidth / 1e9, entry.setting.work.bytes as f64 / 1e6);
    Some(format!(
        "{device}, {test}: {:.0} % of the limit of {limit:.2} t/s ({bandwidth:.1} GB/s, {bytes:.1} MB per token)",
        share * 100.0
    ))
}

/// All columns of CSV.
fn csv_columns(entry: &Entry) -> Vec<(&'static str, Value)> {
    entry.columns().into_iter().chain(entry.own()).collect()
}

/// A value as text; null is empty.
fn text(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// A line of CSV, with the header before the first.
pub fn csv(entry: &Entry, first: bool) -> String {
    let columns = csv_columns(entry);
    let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
    let values: Vec<_> =
        columns.into_iter().map(|(_, value)| format!("\"{}\"", text(value).replace('"', "\"\""))).collect();
    let head = if first { names.join(",") + "\n" } else { String::new() };
    head + &values.join(",") + "\n"
}

/// An SQL insert, with the table's definition before the first.
pub fn sql(entry: &Entry, first: bool) -> String {
    let columns = entry.columns();
    let mut statement = String::new();
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
        let _ = write!(statement, "CREATE TABLE IF NOT EXISTS {TABLE} (\n{}\n);\n\n", kinds.join(",\n"));
    }
    let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
    let values: Vec<_> =
        columns.into_iter().map(|(_, value)| format!("'{}'", text(value).replace('\'', "''"))).collect();
    let _ = writeln!(statement, "INSERT INTO {TABLE} ({}) VALUES ({});", names.join(", "), values.join(", "));
    statement
}

/// Columns of the Markdown table with their widths; negative ones are left-aligned.
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

/// A row of a Markdown table, with the header before the first.
pub fn markdown(entry: &Entry, first: bool) -> String {
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
            // A pipe would end the cell.
            let text = text.replace('|', "/");
            if width < 0 { format!(" {text:<size$} |") } else { format!(" {text:>size$} |") }
        });
        format!("|{}\n", cells.collect::<String>())
    };
    let mut text = String::new();
    if first {
        text += &line(&mut MARKDOWN.iter().map(|(name, width)| ((*name).to_owned(), *width)));
        text += &line(&mut MARKDOWN.iter().map(|(_, width)| {
            let dashes = "-".repeat(width.unsigned_abs() as usize - 1);
            (dashes + if *width < 0 { "-" } else { ":" }, *width)
        }));
    }
    text + &line(&mut values.into_iter().zip(MARKDOWN.map(|(_, width)| width)))
}

#[cfg(test)]
mod tests {
    use super::super::entry::example::entry;
    use super::super::plan::Phase;
    use super::*;

    #[test]
    fn the_markdown_table_matches_llama_bench() {
        let entry = entry("vulkan:0", Phase::Prefill, 512, &[1000, 1000]);
        let expected = "\
| model                          |       size |     params | backend    | threads | ngl | dev          |            test |                  t/s |
| ------------------------------ | ---------: | ---------: | ---------- | ------: | --: | ------------ | --------------: | -------------------: |
| llama 1.1B Q4_0                | 606.54 MiB |     1.10 B | vulkan     |         |  22 | vulkan:0     |           pp512 |        512.00 ± 0.00 |
";
        assert_eq!(markdown(&entry, true), expected);
        assert_eq!(
            markdown(&entry, false),
            expected.lines().last().map(|line| line.to_owned() + "\n").unwrap_or_default()
        );
    }

    #[test]
    fn quotes_are_escaped() {
        let entry = entry("cpu", Phase::Decode, 100, &[5000]);
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
    fn sqlite_accepts_the_rows() {
        let database = rusqlite::Connection::open_in_memory().expect("a database");
        let entry = entry("cpu", Phase::Decode, 100, &[5000]);
        database.execute_batch(&(sql(&entry, true) + &sql(&entry, false))).expect("the SQL is valid");
        let found: (i64, f64, String) = database
            .query_row("SELECT count(*), avg(avg_ts), min(model_filename) FROM llama_bench", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .expect("rows");
        assert_eq!(found, (2, 20.0, "it's.gguf".to_owned()));
    }

    #[test]
    fn remarks_state_limit_and_bandwidth() {
        let written = remark(&entry("cpu", Phase::Decode, 100, &[5000])).expect("the bandwidth is known");
        assert_eq!(written, "cpu, tg100: 50 % of the limit of 40.00 t/s (24.0 GB/s, 600.0 MB per token)");
        assert_eq!(rate(&entry("cpu", Phase::Prefill, 100, &[5000])), "40.00 GFLOP/s");
        assert_eq!(rate(&entry("cpu", Phase::Prefill, 1000, &[500])), "4.00 TFLOP/s");
        assert_eq!(rate(&entry("cpu", Phase::Decode, 100, &[5000])), "12.00 GB/s");
    }
}
