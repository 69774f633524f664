//! Memory that is freed and allocated again while work is in flight. No dispatch may see another
//! one's data.

use std::time::Duration;

use roci_hal::{Buffer, BufferDesc, Deadline, Device, Error, Submit};

use super::{EarlyResult, compare};

const ROUNDS: u32 = 12;
const SIZE: u64 = 64 << 10;

/// In each round, fills a scratch buffer with a unique pattern, copies it to a result, and frees
/// the scratch buffer at once.
pub(super) fn run(device: &Device, timeout: Duration) -> Result<(), EarlyResult> {
    check("dropped in flight", device, timeout, dropped)?;
    check("freed in stream order", device, timeout, streamed)
}

/// Submits all rounds without waiting between them, then checks each result.
fn check(
    what: &str,
    device: &Device,
    timeout: Duration,
    round: fn(&Device, &Buffer, u32, &roci_hal::Semaphore) -> Result<(), Error>,
) -> Result<(), EarlyResult> {
    let memory = device.info().fastest_memory();
    let time = device.semaphore(0);
    let mut results = Vec::new();
    for index in 0..ROUNDS {
        let desc = BufferDesc::new(SIZE, memory).label(format!("result {index}"));
        let result = device.allocate(desc)?;
        round(device, &result, index, &time)?;
        results.push(result);
    }
    time.wait(u64::from(ROUNDS) * STEPS, Deadline::excluding_compilation(timeout))?;
    for (index, result) in results.iter().enumerate() {
        let expected = pattern(index as u32).to_le_bytes().repeat(SIZE as usize / 4);
        compare(&format!("memory {what}, round {index}"), &device.read(result)?, &expected)?;
    }
    Ok(())
}

/// Timeline values per round.
const STEPS: u64 = 3;

fn pattern(index: u32) -> u32 {
    0x5a00_0000 + (index + 1) * 0x0001_0203
}

fn scratch(device: &Device) -> BufferDesc {
    BufferDesc::new(SIZE, device.info().fastest_memory()).label("scratch")
}

/// Records the fill and the copy to the result.
fn record(device: &Device, scratch: &Buffer, result: &Buffer, index: u32) -> Result<roci_hal::CommandBuffer, Error> {
    let mut recorder = device.record();
    recorder.fill(scratch, pattern(index))?.barrier().copy(scratch, result)?;
    recorder.finish()
}

/// Drops the scratch buffer right after the submission. The next round may get the same memory.
fn dropped(device: &Device, result: &Buffer, index: u32, time: &roci_hal::Semaphore) -> Result<(), Error> {
    let buffer = device.allocate(scratch(device))?;
    let commands = record(device, &buffer, result, index)?;
    let now = u64::from(index) * STEPS;
    device.queue(0)?.submit(&commands, Submit::new().wait(time, now).signal(time, now + STEPS).label("reuse"))
}

/// Allocates and frees the scratch buffer in stream order. The pool gives the next round the same
/// memory.
fn streamed(device: &Device, result: &Buffer, index: u32, time: &roci_hal::Semaphore) -> Result<(), Error> {
    let queue = device.queue(0)?;
    let now = u64::from(index) * STEPS;
    let step = |from: u64| Submit::new().wait(time, now + from).signal(time, now + from + 1);
    let buffer = queue.alloca(scratch(device), step(0))?;
    let commands = record(device, &buffer, result, index)?;
    queue.submit(&commands, step(1).label("reuse"))?;
    queue.dealloca(&buffer, step(2))
}
