//! Memory that is given back and handed out again while work is in flight: nobody may see what was there before.

use std::time::Duration;

use roci_hal::{Buffer, BufferDesc, Deadline, Device, Error, Submit};

use super::checks::{Stop, compare};

const ROUNDS: u32 = 12;
const SIZE: u64 = 64 << 10;

/// Each round writes a pattern of its own into memory that it gives back at once, and takes it out by a copy before.
pub(super) fn run(device: &Device, timeout: Duration) -> Result<(), Stop> {
    check("dropped in flight", device, timeout, dropped)?;
    check("given back in stream order", device, timeout, streamed)
}

/// Starts all rounds without a wait between them, then looks at what each took out.
fn check(
    what: &str,
    device: &Device,
    timeout: Duration,
    round: fn(&Device, &Buffer, u32, &roci_hal::Semaphore) -> Result<(), Error>,
) -> Result<(), Stop> {
    let memory = device.info().fastest_memory();
    let time = device.semaphore(0);
    let mut results = Vec::new();
    for index in 0..ROUNDS {
        let desc = BufferDesc { size: SIZE, memory, label: Some(format!("result {index}")) };
        let result = device.allocate(desc)?;
        round(device, &result, index, &time)?;
        results.push(result);
    }
    time.wait(u64::from(ROUNDS) * STEPS, Deadline::of_work(timeout))?;
    for (index, result) in results.iter().enumerate() {
        let expected = pattern(index as u32).to_le_bytes().repeat(SIZE as usize / 4);
        compare(&format!("memory {what}, round {index}"), &device.read(result)?, &expected)?;
    }
    Ok(())
}

/// Points on the timeline that a round takes.
const STEPS: u64 = 3;

fn pattern(index: u32) -> u32 {
    0x5a00_0000 + (index + 1) * 0x0001_0203
}

fn scratch(device: &Device) -> BufferDesc {
    BufferDesc { size: SIZE, memory: device.info().fastest_memory(), label: Some("scratch".into()) }
}

/// The fill and the copy out of it.
fn record(device: &Device, scratch: &Buffer, result: &Buffer, index: u32) -> Result<roci_hal::CommandBuffer, Error> {
    let mut recorder = device.record();
    recorder.fill(scratch, pattern(index))?.barrier().copy(scratch, result)?;
    recorder.finish()
}

/// The buffer is dropped right behind the submission; the next round's may be the same memory.
fn dropped(device: &Device, result: &Buffer, index: u32, time: &roci_hal::Semaphore) -> Result<(), Error> {
    let buffer = device.allocate(scratch(device))?;
    let commands = record(device, &buffer, result, index)?;
    let now = u64::from(index) * STEPS;
    device.queue(0)?.submit(&commands, Submit::new().wait(time, now).signal(time, now + STEPS).label("reuse"))
}

/// The buffer lives between two submissions; the next round's is the same memory, if the pool works.
fn streamed(device: &Device, result: &Buffer, index: u32, time: &roci_hal::Semaphore) -> Result<(), Error> {
    let queue = device.queue(0)?;
    let now = u64::from(index) * STEPS;
    let step = |from: u64| Submit::new().wait(time, now + from).signal(time, now + from + 1);
    let buffer = queue.alloca(scratch(device), step(0))?;
    let commands = record(device, &buffer, result, index)?;
    queue.submit(&commands, step(1).label("reuse"))?;
    queue.dealloca(&buffer, step(2))
}
