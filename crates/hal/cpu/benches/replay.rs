//! Host cost of a recorded dispatch: 1,000 empty kernels recorded once and replayed. Kernels with a
//! part for each worker measure the cost of sharing a dispatch.
//!
//! `cargo bench -p roci-cpu --bench replay`

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use roci_cpu::CpuDriver;
use roci_hal::native::{NativeEntry, NativeKernel, NativeLaunch};
use roci_hal::{Access, Binding, BufferDesc, Code, Deadline, EntryPoint, Error, ExecutableSource, Registry, Submit};

const DISPATCHES: usize = 1000;
const REPLAYS: usize = 500;

/// Whether each worker gets a part.
struct Empty(bool);

// SAFETY: it accesses no memory.
unsafe impl NativeKernel for Empty {
    fn accesses(&self) -> &[Access] {
        &[Access::Read, Access::ReadWrite]
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        Ok(if self.0 { launch.workers } else { 1 })
    }

    unsafe fn run(&self, _launch: &NativeLaunch<'_>, _part: usize, _parts: usize) {}
}

fn main() -> Result<(), Error> {
    let device = Registry::new().with(CpuDriver::new()).open(&"cpu".parse()?, None)?;
    let entry = |name: &str| EntryPoint {
        name: name.into(),
        workgroup_size: [1, 1, 1],
        bindings: vec![Access::Read, Access::ReadWrite],
        constants: 16,
        in_place: false,
    };
    let native = |name: &str, parts| NativeEntry { name: name.into(), kernel: Arc::new(Empty(parts)) };
    let source = ExecutableSource {
        label: "empty".into(),
        entry_points: vec![entry("empty"), entry("shared")],
        code: Code::Native(vec![native("empty", false), native("shared", true)]),
    };
    let executable = device.load(&source)?;
    let [alone, shared] = [executable.kernel("empty")?, executable.kernel("shared")?];
    let input = device.allocate(BufferDesc::device(256))?;
    let output = device.allocate(BufferDesc::device(256))?;
    println!("{DISPATCHES} empty dispatches, best and median of {REPLAYS} replays, nanoseconds per dispatch");
    println!("{:<28}{:>10}{:>12}{:>14}{:>14}", "bindings", "record", "submit call", "replay best", "replay median");
    for (name, kernel, slots, barriers) in [
        ("fixed, barriers between", &alone, false, true),
        ("fixed, no barriers", &alone, false, false),
        ("slots, barriers between", &alone, true, true),
        ("fixed, shared by workers", &shared, false, true),
    ] {
        let bindings: [Binding; 2] =
            if slots { [Binding::slot(0, 256), Binding::slot(1, 256)] } else { [(&input).into(), (&output).into()] };
        let start = Instant::now();
        let mut recorder = device.record();
        for _ in 0..DISPATCHES {
            recorder.dispatch(kernel, [1, 1, 1], &bindings, &[0; 16])?;
            if barriers {
                recorder.barrier();
            }
        }
        let commands = recorder.finish()?;
        let recorded = start.elapsed();
        let queue = device.queue(0)?;
        let done = device.semaphore(0);
        let mut calls = Vec::new();
        let mut totals = Vec::new();
        for replay in 1..=REPLAYS as u64 {
            let mut submit = Submit::new().signal(&done, replay);
            if slots {
                submit = submit.bind(&input).bind(&output);
            }
            let start = Instant::now();
            queue.submit(&commands, submit)?;
            calls.push(start.elapsed());
            done.wait(replay, Deadline::default())?;
            totals.push(start.elapsed());
        }
        calls.sort();
        totals.sort();
        println!(
            "{name:<28}{:>10.1}{:>12.1}{:>14.1}{:>14.1}",
            each(recorded),
            each(calls[REPLAYS / 2]),
            each(totals[0]),
            each(totals[REPLAYS / 2])
        );
    }
    Ok(())
}

fn each(time: Duration) -> f64 {
    time.as_nanos() as f64 / DISPATCHES as f64
}
