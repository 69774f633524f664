//! `roci emu trace`: prints the instructions of a wave with the values that they read and write.

use roci_emu_run::TraceOptions;

use super::prepare;
use crate::cli::EmuTraceArgs;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::Printer;

/// Traces a kernel.
pub(super) fn run(arguments: &EmuTraceArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let kernel = prepare(&arguments.kernel, 1, printer)?;
    printer.note(&format!("code: {}", kernel.location()));
    let options = TraceOptions {
        workgroup: arguments.workgroup,
        wave: arguments.wave,
        pc: arguments.pc.clone(),
        lanes: &arguments.lanes.0,
        limit: arguments.limit,
        json: arguments.format.json,
    };
    let trace = kernel.trace(&options, &interrupt::requested, &|text| printer.data(text))?;
    if !trace.is_complete {
        printer.note(&format!("note: stopped after {} lines (`--limit`): no results were written", trace.lines));
    } else if trace.lines == 0 {
        printer.note(&nothing_selected(arguments));
    }
    Ok(ExitStatus::Success)
}

/// A note that no instruction matched the selection.
fn nothing_selected(arguments: &EmuTraceArgs) -> String {
    let [x, y, z] = arguments.workgroup;
    let wave = arguments.wave.map_or_else(|| "any wave".to_owned(), |wave| format!("wave {wave}"));
    let end = if arguments.pc.end == u64::MAX { String::new() } else { format!("{:#x}", arguments.pc.end) };
    format!(
        "note: no instruction was executed in `--workgroup` {x},{y},{z}, {wave}, at `--pc` {:#x}..{end}",
        arguments.pc.start
    )
}
