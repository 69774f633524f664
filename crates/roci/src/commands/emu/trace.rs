//! `roci emu trace`: every instruction of a wave with the values that it read and wrote.

use std::ops::{ControlFlow, Range};
use std::sync::{Mutex, PoisonError};

use roci_emu::{DispatchError, Executed, Observer, Register, RegisterValue, register_name};
use serde::Serialize;

use super::{EmuError, Prepared, save};
use crate::cli::EmuTraceArgs;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::Printer;

/// Text is written out when it has grown to this.
const CHUNK: usize = 64 << 10;

/// Traces a kernel.
pub(super) fn run(arguments: &EmuTraceArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let prepared = Prepared::new(&arguments.kernel, Some(1), printer)?;
    printer.note(&format!("code: {}", prepared.place));
    let tracer = Tracer {
        arguments,
        printer,
        state: Mutex::new(State { text: String::new(), lines: 0, complete: true, failed: None }),
    };
    let launched = prepared.launch(|stop| prepared.emulator.trace(&prepared.kernel, &prepared.dispatch, stop, &tracer));
    let state = tracer.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    printer.data(&state.text)?;
    if let Some(failed) = state.failed {
        return Err(failed.into());
    }
    match launched {
        Ok(_) => {
            save::save(&prepared.bound)?;
            if state.lines == 0 {
                printer.note(&nothing(arguments));
            }
            Ok(ExitStatus::Success)
        }
        Err(EmuError::Emulator(roci_emu::Error::Dispatch(DispatchError::Stopped))) if !state.complete => {
            printer.note(&format!("note: stopped after {} lines (`--limit`): no results were written", state.lines));
            Ok(ExitStatus::Success)
        }
        Err(error) => Err(error.into()),
    }
}

/// Says that no instruction was one of those that were asked for.
fn nothing(arguments: &EmuTraceArgs) -> String {
    let [x, y, z] = arguments.workgroup;
    let wave = arguments.wave.map_or_else(|| "any wave".to_owned(), |wave| format!("wave {wave}"));
    let end = if arguments.pc.end == u64::MAX { String::new() } else { format!("{:#x}", arguments.pc.end) };
    format!(
        "note: no instruction is shown: none ran in `--workgroup` {x},{y},{z}, {wave}, at `--pc` {:#x}..{end}",
        arguments.pc.start
    )
}

/// Prints what it sees.
struct Tracer<'a> {
    arguments: &'a EmuTraceArgs,
    printer: &'a Printer,
    state: Mutex<State>,
}

struct State {
    text: String,
    lines: u64,
    complete: bool,
    failed: Option<std::io::Error>,
}

#[derive(Serialize)]
struct Line<'a> {
    schema: &'static str,
    version: u32,
    workgroup: [u32; 3],
    wave: u32,
    pc: u64,
    offset: u64,
    text: &'a str,
    exec: u64,
    reads: Vec<ValueJson>,
    writes: Vec<ValueJson>,
}

#[derive(Serialize)]
struct ValueJson {
    register: String,
    /// One of a scalar; of a vector register those of the chosen lanes, null where the lane is off.
    values: Vec<Option<u32>>,
}

impl Observer for Tracer<'_> {
    fn wants_group(&self, workgroup: [u32; 3]) -> bool {
        self.arguments.workgroup == workgroup
    }

    fn wants(&self, wave: u32, offset: u64) -> bool {
        let Range { start, end } = self.arguments.pc;
        self.arguments.wave.is_none_or(|wanted| wanted == wave) && (start..end).contains(&offset)
    }

    fn executed(&self, executed: &Executed<'_>) -> ControlFlow<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.lines >= self.arguments.limit {
            state.complete = false;
            return ControlFlow::Break(());
        }
        state.lines += 1;
        let line = if self.arguments.format.json { self.json(executed) } else { self.line(executed) };
        state.text.push_str(&line);
        if state.text.len() >= CHUNK
            && let Err(error) = self.printer.data(&std::mem::take(&mut state.text))
        {
            (state.failed, state.complete) = (Some(error), false);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

impl Tracer<'_> {
    /// One line for people: wave, offset, instruction, what it read, what it wrote.
    fn line(&self, executed: &Executed<'_>) -> String {
        let shown = |values: &[RegisterValue]| {
            let texts = values.iter().map(|value| {
                let name = register_name(value.register);
                if let Register::Vector(_) = value.register {
                    let lanes: Vec<_> = self.lanes(value, executed.exec).into_iter().map(lane_text).collect();
                    return format!("{name}=[{}]", lanes.join(" "));
                }
                match value.register {
                    Register::Scc => format!("{name}={}", value.values[0]),
                    _ => format!("{name}={:#x}", value.values[0]),
                }
            });
            texts.collect::<Vec<_>>().join(" ")
        };
        let (reads, writes) = (shown(executed.reads), shown(executed.writes));
        let arrow = if writes.is_empty() { String::new() } else { format!(" -> {writes}") };
        let line = format!("w{} {:#06x}  {:<52}  {reads}{arrow}", executed.wave, executed.offset, executed.text);
        line.trim_end().to_owned() + "\n"
    }

    fn json(&self, executed: &Executed<'_>) -> String {
        let values = |values: &[RegisterValue]| {
            values
                .iter()
                .map(|value| ValueJson {
                    register: register_name(value.register),
                    values: self.lanes(value, executed.exec),
                })
                .collect()
        };
        let line = Line {
            schema: "roci.emu.trace",
            version: 1,
            workgroup: executed.workgroup,
            wave: executed.wave,
            pc: executed.pc,
            offset: executed.offset,
            text: executed.text,
            exec: executed.exec,
            reads: values(executed.reads),
            writes: values(executed.writes),
        };
        // Numbers and text cannot fail to be written.
        serde_json::to_string(&line).unwrap_or_default() + "\n"
    }

    /// The values of the chosen lanes; of a scalar, its one.
    fn lanes(&self, value: &RegisterValue, exec: u64) -> Vec<Option<u32>> {
        let Register::Vector(_) = value.register else { return value.values.iter().copied().map(Some).collect() };
        let chosen = self.arguments.lanes.0.iter().filter(|&&lane| (lane as usize) < value.values.len());
        chosen.map(|&lane| Some(value.values[lane as usize]).filter(|_| exec >> lane & 1 == 1)).collect()
    }
}

/// A lane that is off has no value worth a look.
fn lane_text(value: Option<u32>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:#x}"))
}
