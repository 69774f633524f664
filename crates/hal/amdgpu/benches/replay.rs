//! On an emulated GPU: host cost of a recorded dispatch, latency of an empty kernel from submission
//! to completion, and cost of an idle queue.
//!
//! `cargo bench -p roci-amdgpu --bench replay`

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

#[path = "../tests/emulated/mod.rs"]
mod emulated;
mod packets;

use std::time::{Duration, Instant};

use roci_hal::{Binding, BufferDesc, Deadline, Registry, Submit};

const DISPATCHES: usize = 1000;
const REPLAYS: usize = 100;
const LATENCIES: usize = 2000;
const IDLE: Duration = Duration::from_secs(5);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Registry::new().with(emulated::driver()).open(&"emu://gfx1010".parse()?, None)?;
    let queue = device.queue(0)?;
    let empty = device.load(&roci_hal_cts::kernels::source("empty", device.info())?)?.kernel("empty")?;
    let add = device.load(&roci_hal_cts::kernels::source("add_constant", device.info())?)?.kernel("add_constant")?;
    let input = device.allocate(BufferDesc::device(256))?;
    let output = device.allocate(BufferDesc::device(256))?;
    println!(
        "{DISPATCHES} dispatches, median of {REPLAYS} replays, nanoseconds of host time per dispatch (target: under 500)"
    );
    for (name, slots, barriers) in [
        ("empty kernel", false, false),
        ("empty kernel, barriers between", false, true),
        ("two bindings in slots", true, true),
    ] {
        let mut recorder = device.record();
        for _ in 0..DISPATCHES {
            if slots {
                // A count of zero, so the kernel adds nothing.
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
    println!("an empty kernel from submission to completion, microseconds (target: under 20)");
    println!("{:46}{:>8}{:>8}", "", "best", "median");
    let mut next = done.query()?;
    measure_after_idle("driver", || {
        next += 1;
        queue.submit(&commands, Submit::new().signal(&done, next))?;
        Ok(done.wait(next, Deadline::default())?)
    })?;
    packets::measure(&roci_hal_cts::kernels::source("empty", device.info())?)?;
    let (ask, asked) = std::sync::mpsc::channel::<()>();
    let (answer, answered) = std::sync::mpsc::channel();
    let peer = std::thread::spawn(move || asked.iter().try_for_each(|()| answer.send(())));
    measure_after_idle("for comparison: two channels", || {
        ask.send(())?;
        Ok(answered.recv()?)
    })?;
    drop(ask);
    peer.join().map_err(|_| "the peer panicked")??;
    let before = cpu_time()?;
    std::thread::sleep(IDLE);
    let spent = cpu_time()? - before;
    println!(
        "an idle process with {} open queues: {:.2} ms of CPU time in {} s",
        device.info().queues.len(),
        spent.as_secs_f64() * 1000.0,
        IDLE.as_secs()
    );
    Ok(())
}

/// Prints the latency of `submit` after idle periods of different lengths.
fn measure_after_idle(
    by: &str,
    mut submit: impl FnMut() -> Result<(), Box<dyn std::error::Error>>,
) -> Result<(), Box<dyn std::error::Error>> {
    for (pause, count) in [(0, LATENCIES), (1, LATENCIES / 4), (10, LATENCIES / 20), (100, LATENCIES / 40)] {
        let mut times = Vec::new();
        for _ in 0..count {
            std::thread::sleep(Duration::from_millis(pause));
            let start = Instant::now();
            submit()?;
            times.push(start.elapsed());
        }
        let micros = |time: Duration| time.as_nanos() as f64 / 1000.0;
        let name = if pause == 0 { format!("{by}, without idle time") } else { format!("{by}, after {pause} ms idle") };
        let best = times.iter().copied().min().unwrap_or_default();
        println!("  {name:<44}{:>8.1}{:>8.1}", micros(best), micros(median(times)));
    }
    Ok(())
}

/// CPU time of all threads of this process.
fn cpu_time() -> Result<Duration, Box<dyn std::error::Error>> {
    let mut nanoseconds = 0;
    for thread in std::fs::read_dir("/proc/self/task")? {
        let text = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        nanoseconds += text.split(' ').next().unwrap_or_default().parse::<u64>()?;
    }
    Ok(Duration::from_nanos(nanoseconds))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
