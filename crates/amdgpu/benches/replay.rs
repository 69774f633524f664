//! What a recorded dispatch costs the host, and how long an empty kernel takes from submission to completion, on an emulated GPU.
//!
//! `cargo bench -p roci-amdgpu --bench replay`

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

#[path = "../tests/emulated/mod.rs"]
mod emulated;

use std::time::{Duration, Instant};

use roci_hal::{Binding, BufferDesc, Deadline, Registry, Submit};

const DISPATCHES: usize = 1000;
const REPLAYS: usize = 100;
const LATENCIES: usize = 2000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Registry::new().with(emulated::driver()).open(&"emu://gfx1010".parse()?, None)?;
    let queue = device.queue(0)?;
    let empty = device.load(&roci_hal_cts::kernels::source("empty", device.info())?)?.kernel("empty")?;
    let add = device.load(&roci_hal_cts::kernels::source("add_constant", device.info())?)?.kernel("add_constant")?;
    let input = device.allocate(BufferDesc::device(256))?;
    let output = device.allocate(BufferDesc::device(256))?;
    println!(
        "{DISPATCHES} dispatches, median of {REPLAYS} replays, nanoseconds of host time a dispatch (aim: under 500)"
    );
    for (name, slots, barriers) in [
        ("empty kernel", false, false),
        ("empty kernel, barriers between", false, true),
        ("two bindings in slots", true, true),
    ] {
        let mut recorder = device.record();
        for _ in 0..DISPATCHES {
            if slots {
                // No word is added: the count is zero.
                let bindings = [Binding::slot(0, 256), Binding::slot(1, 256)];
                recorder.dispatch(&add, [1, 1, 1], &bindings, &[0; 8])?;
            } else {
                recorder.dispatch(&empty, [1, 1, 1], &[], &[])?;
            }
            if barriers {
                recorder.barrier();
            }
        }
        let commands = recorder.finish()?;
        let done = device.semaphore(0);
        let mut calls = Vec::new();
        for replay in 1..=REPLAYS as u64 {
            let mut submit = Submit::new().signal(&done, replay);
            if slots {
                submit = submit.bind(&input).bind(&output);
            }
            let start = Instant::now();
            queue.submit(&commands, submit)?;
            calls.push(start.elapsed());
            done.wait(replay, Deadline::default())?;
        }
        println!("  {name:<34}{:>8.1}", median(calls).as_nanos() as f64 / DISPATCHES as f64);
    }
    let mut recorder = device.record();
    recorder.dispatch(&empty, [1, 1, 1], &[], &[])?;
    let commands = recorder.finish()?;
    let done = device.semaphore(0);
    for (name, pause) in [("one after the other", Duration::ZERO), ("after 10 ms of rest", Duration::from_millis(10))] {
        let count = if pause.is_zero() { LATENCIES } else { LATENCIES / 20 };
        let mut times = Vec::new();
        let first = done.query()?;
        for replay in 1..=count as u64 {
            std::thread::sleep(pause);
            let start = Instant::now();
            queue.submit(&commands, Submit::new().signal(&done, first + replay))?;
            done.wait(first + replay, Deadline::default())?;
            times.push(start.elapsed());
        }
        let micros = |time: Duration| time.as_nanos() as f64 / 1000.0;
        let best = times.iter().copied().min().unwrap_or_default();
        println!(
            "an empty kernel from submission to completion, {name}: {:.1} us at best, median {:.1} us (aim: under 20)",
            micros(best),
            micros(median(times))
        );
    }
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
