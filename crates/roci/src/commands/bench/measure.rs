//! One problem on one device.

use std::time::{Duration, Instant};

use roci_hal::{Binding, Buffer, BufferDesc, CommandBuffer, Deadline, Device, Submit};

use crate::error::CliError;
use crate::interrupt;

use super::problems::{self, Problem, Sizes};

/// Runs are repeated for about this long, so that the best of them means something.
const REPEAT_FOR: Duration = Duration::from_millis(500);
/// And at least this often.
const REPEAT_AT_LEAST: u32 = 3;
/// What one submission should take, so that its own cost does not count.
const SUBMISSION: f64 = 0.02;
/// Launches of one submission, and most of any.
const LAUNCHES: u32 = 1000;

/// Seconds of one run, the best of several, or what is wrong with the result.
pub(super) fn measure(
    problem: Problem,
    sizes: &Sizes,
    device: &Device,
    timeout: Duration,
) -> Result<Result<f64, String>, CliError> {
    if matches!(problem, Problem::Upload | Problem::Download) {
        return transfer(problem, sizes, device);
    }
    let prepared = problem.prepare(sizes, device.info())?;
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

    let record = |count: u32| -> Result<CommandBuffer, CliError> {
        let mut recorder = device.record();
        for at in 0..count {
            // Launches that do nothing need no order; all else must not overlap, or it would share caches with itself.
            if at > 0 && problem != Problem::Launch {
                recorder.barrier();
            }
            recorder.label(problem.name()).dispatch(&kernel, prepared.grid, &bindings, &prepared.constants)?;
        }
        Ok(recorder.finish()?)
    };
    let run = |commands: &CommandBuffer| submit(device, commands, timeout);

    let one = record(1)?;
    run(&one)?;
    if let Err(wrong) = problem.verify(sizes, &device.read(&output)?) {
        return Ok(Err(wrong));
    }
    let count = match problem {
        Problem::Launch => LAUNCHES,
        _ => ((SUBMISSION / run(&one)?).ceil() as u32).clamp(1, LAUNCHES),
    };
    let many = record(count)?;
    let best = best_of(|| run(&many))?;
    Ok(Ok(best / f64::from(count)))
}

/// From submission to completion.
fn submit(device: &Device, commands: &CommandBuffer, timeout: Duration) -> Result<f64, CliError> {
    let done = device.semaphore(0);
    let started = Instant::now();
    device.queue(0)?.submit(commands, Submit::new().signal(&done, 1).label("bench"))?;
    done.wait(1, Deadline::of_work(timeout))?;
    Ok(started.elapsed().as_secs_f64())
}

/// Seconds of one transfer between host and device. What arrives is looked at as a whole, outside of the measured time.
fn transfer(problem: Problem, sizes: &Sizes, device: &Device) -> Result<Result<f64, String>, CliError> {
    let sent = problems::stream(sizes);
    let buffer: Buffer = device.allocate(fastest(device, sent.len() as u64))?;
    if problem == Problem::Download {
        device.write(&buffer, &sent)?;
    }
    let mut arrived = Vec::new();
    let best = best_of(|| {
        // Freed here, where nobody counts it.
        arrived = Vec::new();
        let started = Instant::now();
        match problem {
            Problem::Upload => device.write(&buffer, &sent)?,
            _ => arrived = device.read(&buffer)?,
        }
        Ok(started.elapsed().as_secs_f64())
    })?;
    if problem == Problem::Upload {
        arrived = device.read(&buffer)?;
    }
    Ok(problem.verify(sizes, &arrived).map(|()| best))
}

fn best_of(mut run: impl FnMut() -> Result<f64, CliError>) -> Result<f64, CliError> {
    let (started, mut runs, mut best) = (Instant::now(), 0, f64::INFINITY);
    while runs == 0 || ((runs < REPEAT_AT_LEAST || started.elapsed() < REPEAT_FOR) && !interrupt::asked()) {
        best = best.min(run()?);
        runs += 1;
    }
    Ok(best)
}

/// The fastest memory that the device has.
fn fastest(device: &Device, size: u64) -> BufferDesc {
    BufferDesc { size: size.max(4), memory: device.info().fastest_memory(), label: None }
}
