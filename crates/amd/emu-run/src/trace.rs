//! Instructions of a wave with the values that they read and write, as text or JSON.

use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::{Mutex, PoisonError};

use roci_emu::{ExecutedInstruction, Observer, Register, RegisterValue, register_name};
use serde::Serialize;

use super::error::Error;

/// Buffer size in bytes at which lines are written.
const BUFFER_SIZE: usize = 64 << 10;

/// Selects the instructions of a trace.
#[derive(Clone, Debug)]
pub struct TraceOptions<'a> {
    /// Workgroup to trace.
    pub workgroup: [u32; 3],
    /// Wave of the workgroup; `None` for all.
    pub wave: Option<u32>,
    /// Offsets from the kernel's entry.
    pub pc: Range<u64>,
    /// Lanes of vector registers.
    pub lanes: &'a [u32],
    /// Lines after which the kernel is stopped.
    pub limit: u64,
    /// Whether lines are JSON objects.
    pub json: bool,
}

/// The result of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Lines written.
    pub lines: u64,
    /// Whether the kernel completed before the limit was reached. Otherwise its outputs are not
    /// written.
    pub is_complete: bool,
}

/// An observer that writes a line per instruction.
pub(crate) struct Tracer<'a> {
    options: &'a TraceOptions<'a>,
    write: &'a (dyn Fn(&str) -> io::Result<()> + Sync),
    state: Mutex<State>,
}

struct State {
    /// Lines that are not written yet.
    buffer: String,
    trace: Trace,
    failed: Option<io::Error>,
}

#[derive(Serialize)]
struct LineJson<'a> {
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
    /// One value of a scalar register; of a vector register those of the selected lanes, null for
    /// inactive lanes.
    values: Vec<Option<u32>>,
}

impl Observer for Tracer<'_> {
    fn wants_group(&self, workgroup: [u32; 3]) -> bool {
        self.options.workgroup == workgroup
    }

    fn wants(&self, wave: u32, offset: u64) -> bool {
        self.options.wave.is_none_or(|selected| selected == wave) && self.options.pc.contains(&offset)
    }

    fn executed(&self, executed: &ExecutedInstruction<'_>) -> ControlFlow<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.trace.lines >= self.options.limit {
            state.trace.is_complete = false;
            return ControlFlow::Break(());
        }
        state.trace.lines += 1;
        let line = if self.options.json { self.json(executed) } else { self.line(executed) };
        state.buffer.push_str(&line);
        if state.buffer.len() >= BUFFER_SIZE
            && let Err(error) = (self.write)(&std::mem::take(&mut state.buffer))
        {
            (state.failed, state.trace.is_complete) = (Some(error), false);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

impl<'a> Tracer<'a> {
    pub(crate) fn new(options: &'a TraceOptions<'a>, write: &'a (dyn Fn(&str) -> io::Result<()> + Sync)) -> Self {
        let trace = Trace { lines: 0, is_complete: true };
        Self { options, write, state: Mutex::new(State { buffer: String::new(), trace, failed: None }) }
    }

    /// Writes the remaining lines.
    pub(crate) fn finish(self) -> Result<Trace, Error> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        (self.write)(&state.buffer).map_err(Error::Output)?;
        state.failed.map_or(Ok(state.trace), |error| Err(Error::Output(error)))
    }

    /// One line of text: wave, offset, instruction, registers read, registers written.
    fn line(&self, executed: &ExecutedInstruction<'_>) -> String {
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

    fn json(&self, executed: &ExecutedInstruction<'_>) -> String {
        let value = |value: &RegisterValue| ValueJson {
            register: register_name(value.register),
            values: self.lanes(value, executed.exec),
        };
        let line = LineJson {
            schema: "roci.emu.trace",
            version: 1,
            workgroup: executed.workgroup,
            wave: executed.wave,
            pc: executed.pc,
            offset: executed.offset,
            text: executed.text,
            exec: executed.exec,
            reads: executed.reads.iter().map(value).collect(),
            writes: executed.writes.iter().map(value).collect(),
        };
        // Writing to a string cannot fail.
        serde_json::to_string(&line).unwrap_or_default() + "\n"
    }

    /// The values of the selected lanes, or the one of a scalar register.
    fn lanes(&self, value: &RegisterValue, exec: u64) -> Vec<Option<u32>> {
        let Register::Vector(_) = value.register else { return value.values.iter().copied().map(Some).collect() };
        let selected = self.options.lanes.iter().filter(|&&lane| (lane as usize) < value.values.len());
        selected.map(|&lane| Some(value.values[lane as usize]).filter(|_| exec >> lane & 1 == 1)).collect()
    }
}

/// The value of a lane; inactive lanes have none.
fn lane_text(value: Option<u32>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:#x}"))
}
