//! Prints results as a table for terminals, or in the formats of llama-bench.
//!
//! Line-based formats are written as results come, so that they survive a driver that crashes the
//! process. JSON and the table are written at the end.

use std::io;

use roci_lm_bench::formats::{csv, markdown, rate, remark, speed, sql};
use roci_lm_bench::{BUILD, Entry, ModelInfo, compare};

use crate::cli::BenchOutput;
use crate::printer::{Column, Printer};

/// Writes results.
pub(super) struct Results<'a> {
    printer: &'a Printer,
    /// The table for terminals if `None`.
    format: Option<BenchOutput>,
    pub(super) entries: Vec<Entry>,
}

impl<'a> Results<'a> {
    /// No results yet.
    pub(super) fn new(printer: &'a Printer, format: Option<BenchOutput>) -> Self {
        Self { printer, format, entries: Vec::new() }
    }

    pub(super) fn add(&mut self, entry: Entry) -> io::Result<()> {
        let first = self.entries.is_empty();
        let text = match self.format {
            None | Some(BenchOutput::Json) => String::new(),
            Some(BenchOutput::Jsonl) => serde_json::to_string(&entry).map_err(io::Error::from)? + "\n",
            Some(BenchOutput::Csv) => csv(&entry, first),
            Some(BenchOutput::Sql) => sql(&entry, first),
            Some(BenchOutput::Md) => markdown(&entry, first),
        };
        self.entries.push(entry);
        if text.is_empty() { Ok(()) } else { self.printer.data(&text) }
    }

    /// Writes the results that were held back, and a comparison of the devices.
    pub(super) fn finish(&self) -> io::Result<()> {
        let sentence = compare::sentence(&self.entries);
        match self.format {
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
        let is_printed = matches!(self.format, None | Some(BenchOutput::Md));
        if let Some(sentence) = sentence.filter(|_| !is_printed) {
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
            Column::Number("OF LIMIT"),
        ];
        let row = |entry: &Entry| {
            let ModelInfo { kind, .. } = &entry.setting.about;
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
