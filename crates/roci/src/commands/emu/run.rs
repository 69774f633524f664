//! `roci emu run`: runs a kernel, writes its results, says what it did.

use std::time::Duration;

use roci_emu::{Counts, FaultReport};
use serde::Serialize;

use super::{EmuError, Prepared, list, save, threads};
use crate::cli::EmuRunArgs;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::{Column, Printer};
use crate::units;

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: u32,
    gpu: String,
    object: String,
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    groups: u64,
    threads: usize,
    /// `ok` or `fault`.
    status: &'static str,
    fault: Option<FaultJson>,
    counts: Option<CountsJson>,
    seconds: Option<f64>,
    lane_operations_per_second: Option<f64>,
    outputs: Vec<OutputJson>,
}

#[derive(Serialize)]
struct FaultJson {
    message: String,
    workgroup: [u32; 3],
    wave: u32,
    pc: u64,
    offset: Option<u64>,
    instruction: String,
}

#[derive(Serialize)]
struct CountsJson {
    instructions: u64,
    by_class: std::collections::BTreeMap<&'static str, u64>,
    lane_operations: u64,
    bytes_read: u64,
    bytes_written: u64,
    lds_bytes_read: u64,
    lds_bytes_written: u64,
}

#[derive(Serialize)]
struct OutputJson {
    path: String,
    dtype: String,
    shape: Vec<u64>,
}

/// Runs a kernel.
pub(super) fn run(arguments: &EmuRunArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let threads = threads(arguments);
    let prepared = Prepared::new(&arguments.kernel, Some(threads), printer)?;
    let launched = prepared.launch(|stop| prepared.emulator.run(&prepared.kernel, &prepared.dispatch, stop));
    let (counts, time) = match launched {
        Ok(done) => done,
        Err(error) => {
            if arguments.format.json && error.fault().is_some() {
                printer.json(&report(&prepared, threads, Err(&error)))?;
            }
            return Err(error.into());
        }
    };
    save::save(&prepared.bound)?;
    if arguments.format.json {
        printer.json(&report(&prepared, threads, Ok((&counts, time))))?;
    } else {
        print(&prepared, threads, &counts, time, printer)?;
    }
    Ok(ExitStatus::Success)
}

fn groups(prepared: &Prepared) -> u64 {
    let dispatch = &prepared.dispatch;
    (0..3).map(|axis| u64::from(dispatch.grid[axis].div_ceil(dispatch.block[axis].max(1)))).product()
}

fn print(
    prepared: &Prepared,
    threads: usize,
    counts: &Counts,
    time: Duration,
    printer: &Printer,
) -> Result<(), CliError> {
    let dispatch = &prepared.dispatch;
    let seconds = time.as_secs_f64();
    let chip = prepared.emulator.chip();
    printer.note(&format!("code: {}", prepared.place));
    let mut rows = vec![
        vec!["kernel".into(), format!("{} on {chip}", prepared.kernel.name().escape_debug())],
        vec![
            "launch".into(),
            format!("{} work-items in {} blocks of {}", list(dispatch.grid), groups(prepared), list(dispatch.block)),
        ],
        vec!["instructions".into(), counts.instructions().to_string()],
    ];
    rows.extend(counts.by_class().iter().map(|(class, count)| vec![format!("  {class}"), count.to_string()]));
    rows.extend([
        vec!["lane-operations".into(), counts.lane_operations.to_string()],
        vec!["memory read".into(), units::bytes(counts.bytes_read)],
        vec!["memory written".into(), units::bytes(counts.bytes_written)],
        vec!["LDS read".into(), units::bytes(counts.lds_bytes_read)],
        vec!["LDS written".into(), units::bytes(counts.lds_bytes_written)],
        vec!["time".into(), format!("{} on {threads} threads", units::seconds(seconds))],
        vec!["rate".into(), format!("{:.3} G lane-operations/s", rate(counts, seconds) / 1e9)],
    ]);
    printer.table(&[Column::Text("WHAT"), Column::Text("VALUE")], rows)?;
    for output in &prepared.bound.outputs {
        printer.note(&format!("wrote {}", output.path.display()));
    }
    Ok(())
}

/// Lane-operations a second.
fn rate(counts: &Counts, seconds: f64) -> f64 {
    counts.lane_operations as f64 / seconds.max(1e-9)
}

fn report(prepared: &Prepared, threads: usize, ended: Result<(&Counts, Duration), &EmuError>) -> Report {
    let seconds = ended.ok().map(|(_, time)| time.as_secs_f64());
    let outputs = prepared.bound.outputs.iter().filter(|_| ended.is_ok()).map(|output| OutputJson {
        path: output.path.display().to_string(),
        dtype: output.dtype.to_string(),
        shape: output.shape.clone(),
    });
    Report {
        schema: "roci.emu.run",
        version: 1,
        gpu: prepared.emulator.chip().to_string(),
        object: prepared.place.clone(),
        kernel: prepared.kernel.name().to_owned(),
        grid: prepared.dispatch.grid,
        block: prepared.dispatch.block,
        groups: groups(prepared),
        threads,
        status: if ended.is_ok() { "ok" } else { "fault" },
        fault: ended.err().and_then(EmuError::fault).map(FaultJson::from),
        counts: ended.ok().map(|(counts, _)| CountsJson::from(counts)),
        seconds,
        lane_operations_per_second: ended.ok().zip(seconds).map(|((counts, _), seconds)| rate(counts, seconds)),
        outputs: outputs.collect(),
    }
}

impl From<&FaultReport> for FaultJson {
    fn from(report: &FaultReport) -> Self {
        Self {
            message: report.fault.to_string(),
            workgroup: report.workgroup,
            wave: report.wave,
            pc: report.pc,
            offset: report.offset,
            instruction: report.instruction.clone(),
        }
    }
}

impl From<&Counts> for CountsJson {
    fn from(counts: &Counts) -> Self {
        Self {
            instructions: counts.instructions(),
            by_class: counts.by_class().into_iter().collect(),
            lane_operations: counts.lane_operations,
            bytes_read: counts.bytes_read,
            bytes_written: counts.bytes_written,
            lds_bytes_read: counts.lds_bytes_read,
            lds_bytes_written: counts.lds_bytes_written,
        }
    }
}
