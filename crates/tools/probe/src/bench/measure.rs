//! Measures one benchmark on one device.

use std::time::{Duration, Instant};

use roci_hal::{Binding, Buffer, BufferDesc, CommandBuffer, Deadline, Device, Submit};

use crate::Error;

use super::{Benchmark, BenchmarkSizes, stream};

/// Total duration of the repeated runs; the best time counts.
const REPEAT_FOR: Duration = Duration::from_millis(500);
/// Minimum number of repeated runs.
const MIN_REPEATS: u32 = 3;
/// Target duration of one submission in seconds, long enough to make its overhead negligible.
const SUBMISSION: f64 = 0.02;
/// Dispatches per submission of the launch benchmark, and the limit for all others.
const LAUNCHES: u32 = 1000;

/// Duration of one run in seconds, the best of several. The inner error describes a wrong result.
/// `interrupted` ends the repetition early.
pub fn measure(
    benchmark: Benchmark,
    sizes: &BenchmarkSizes,
    device: &Device,
    timeout: Duration,
    interrupted: &dyn Fn() -> bool,
) -> Result<Result<f64, String>, Error> {
    if matches!(benchmark, Benchmark::Upload | Benchmark::Download) {
        return transfer(benchmark, sizes, device, interrupted);
    }
    let prepared = benchmark.prepare(sizes, device.info())?;
    let executable = device.load(&prepared.kernel.executable(device.info())?)?;
    let kernel = executable.kernel(prepared.kernel.name())?;
    let mut buffers = Vec::new();
    for bytes in &prepared.buffers {
        let buffer = device.allocate(fastest(device, bytes.len() as u64))?;
        device.write(&buffer, bytes)?;
        buffers.push(buffer);
    }
    let output = device.allocate(fastest(device, prepared.output.next_multiple_of(4)))?;
    let bindings: Vec<Binding> = buffers.iter().chain([&output]).map(Binding::from).collect();

    let record = |count: u32| -> Result<CommandBuffer, Error> {
        let mut recorder = device.record();
        for at in 0..count {
            // Empty dispatches need no barriers. Others must not overlap: they would share caches.
            if at > 0 && benchmark != Benchmark::Launch {
                recorder.barrier();
            }
            recorder.label(benchmark.name()).dispatch(&kernel, prepared.grid, &bindings, &prepared.constants)?;
        }
        Ok(recorder.finish()?)
    };
    let run = |commands: &CommandBuffer| submit(device, commands, timeout);

    let one = record(1)?;
    run(&one)?;
    if let Err(wrong) = benchmark.verify(sizes, &device.read(&output)?) {
        return Ok(Err(wrong));
    }
    let count = match benchmark {
        Benchmark::Launch => LAUNCHES,
        _ => ((SUBMISSION / run(&one)?).ceil() as u32).clamp(1, LAUNCHES),
    };
    let many = record(count)?;
    let best = best_of(interrupted, || run(&many))?;
    Ok(Ok(best / f64::from(count)))
}

/// Seconds from submission to completion.
fn submit(device: &Device, commands: &CommandBuffer, timeout: Duration) -> Result<f64, Error> {
    let done = device.semaphore(0);
    let started = Instant::now();
    device.queue(0)?.submit(commands, Submit::new().signal(&done, 1).label("bench"))?;
    done.wait(1, Deadline::excluding_compilation(timeout))?;
    Ok(started.elapsed().as_secs_f64())
}

/// Duration of one transfer between host and device in seconds. All received bytes are checked,
/// outside the measured time.
fn transfer(
    benchmark: Benchmark,
    sizes: &BenchmarkSizes,
    device: &Device,
    interrupted: &dyn Fn() -> bool,
) -> Result<Result<f64, String>, Error> {
    let sent = stream(sizes);
    let buffer: Buffer = device.allocate(fastest(device, sent.len() as u64))?;
    if benchmark == Benchmark::Download {
        device.write(&buffer, &sent)?;
    }
    let mut arrived = Vec::new();
    let best = best_of(interrupted, || {
        // Freed outside the measured time.
        arrived = Vec::new();
        let started = Instant::now();
        match benchmark {
            Benchmark::Upload => device.write(&buffer, &sent)?,
            _ => arrived = device.read(&buffer)?,
        }
        Ok(started.elapsed().as_secs_f64())
    })?;
    if benchmark == Benchmark::Upload {
        arrived = device.read(&buffer)?;
    }
    Ok(benchmark.verify(sizes, &arrived).map(|()| best))
}

fn best_of(interrupted: &dyn Fn() -> bool, mut run: impl FnMut() -> Result<f64, Error>) -> Result<f64, Error> {
    let (started, mut runs, mut best) = (Instant::now(), 0, f64::INFINITY);
    while runs == 0 || ((runs < MIN_REPEATS || started.elapsed() < REPEAT_FOR) && !interrupted()) {
        best = best.min(run()?);
        runs += 1;
    }
    Ok(best)
}

/// A buffer in the device's fastest memory type.
fn fastest(device: &Device, size: u64) -> BufferDesc {
    BufferDesc::new(size.max(4), device.info().fastest_memory())
}
