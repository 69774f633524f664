//! `roci emu run`: runs a kernel, writes its outputs, prints statistics.

use std::time::Duration;

use roci_emu::Counts;
use roci_emu_run::{PreparedKernel, RunReport, format_size, lane_rate};
use roci_probe::units;

use super::prepare;
use crate::cli::EmuRunArgs;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::{Column, Printer};

/// Runs a kernel.
pub(super) fn run(arguments: &EmuRunArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let all_cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = arguments.threads.unwrap_or_else(all_cores);
    let kernel = prepare(&arguments.kernel, threads, printer)?;
    let (counts, time) = match kernel.run(&interrupt::requested) {
        Ok(done) => done,
        Err(error) => {
            if arguments.format.json && error.fault().is_some() {
                printer.json(&RunReport::new(&kernel, threads, Err(&error)))?;
            }
            return Err(error.into());
        }
    };
    if arguments.format.json {
        printer.json(&RunReport::new(&kernel, threads, Ok((&counts, time))))?;
    } else {
        print(&kernel, threads, &counts, time, printer)?;
    }
    Ok(ExitStatus::Success)
}

fn print(
    kernel: &PreparedKernel,
    threads: usize,
    counts: &Counts,
    time: Duration,
    printer: &Printer,
) -> Result<(), CliError> {
    let (grid, block) = (format_size(kernel.grid()), format_size(kernel.block()));
    printer.note(&format!("code: {}", kernel.location()));
    let mut rows = vec![
        vec!["kernel".into(), format!("{} on {}", kernel.name().escape_debug(), kernel.chip())],
        vec!["launch".into(), format!("{grid} work-items in {} workgroups of {block}", kernel.workgroups())],
        vec!["instructions".into(), counts.instructions().to_string()],
    ];
    rows.extend(counts.by_class().iter().map(|(class, count)| vec![format!("  {class}"), count.to_string()]));
    rows.extend([
        vec!["lane-operations".into(), counts.lane_operations.to_string()],
        vec!["memory read".into(), units::bytes(counts.bytes_read)],
        vec!["memory written".into(), units::bytes(counts.bytes_written)],
        vec!["LDS read".into(), units::bytes(counts.lds_bytes_read)],
        vec!["LDS written".into(), units::bytes(counts.lds_bytes_written)],
        vec!["time".into(), format!("{} on {threads} threads", units::seconds(time.as_secs_f64()))],
        vec!["rate".into(), format!("{:.3} G lane-operations/s", lane_rate(counts, time) / 1e9)],
    ]);
    printer.table(&[Column::Text("WHAT"), Column::Text("VALUE")], rows)?;
    for output in kernel.outputs() {
        printer.note(&format!("wrote {}", output.path.display()));
    }
    Ok(())
}
