//! One logical device of several physical ones: memory, executables and device loss are shared,
//! whichever queue is used.
//!
//! A logical device of one physical device must pass too; its queues then stand for devices.

use std::time::Duration;

use roci_hal::{Binding, BufferDesc, Device, MemoryType, Submit};

use super::spinner::Spinner;
use super::{filled, linear_grid, params};
use crate::backend::Tag;
use crate::case::{Case, CaseResult, Failure};
use crate::check::{holds, lost, same};
use crate::context::Context;

const GROUP: &str = "logical_devices";
const BYTES: u64 = 4096;
const LIMIT: Duration = Duration::from_millis(200);

pub(super) const CASES: &[Case] = &[
    Case::new(GROUP, "every_physical_device_has_a_queue", every_device_has_a_queue),
    Case::new(GROUP, "one_queue_copies_what_another_wrote", copies_between_queues),
    Case::new(GROUP, "one_buffer_is_written_by_every_queue", round_trip),
    Case::new(GROUP, "one_recording_runs_on_every_queue", one_recording),
    Case::needing(GROUP, "one_kernel_runs_on_every_queue", &[Tag::Dispatch], one_kernel),
    Case::new(GROUP, "stream_ordered_memory_crosses_queues", stream_ordered),
    Case::needing(
        GROUP,
        "a_hang_on_one_physical_device_loses_the_logical_device",
        &[Tag::Dispatch, Tag::Hang],
        shared_loss,
    ),
];

/// The queues, each with a name that identifies its physical device in messages.
fn queues(device: &Device) -> Vec<(usize, String)> {
    let name = |(index, queue): (usize, &roci_hal::QueueInfo)| {
        (index, format!("queue {index} (physical device {})", queue.physical))
    };
    device.info().queues.iter().enumerate().map(name).collect()
}

fn every_device_has_a_queue(context: &Context) -> CaseResult {
    let device = context.open()?;
    let info = device.info();
    holds(!info.physical.is_empty(), "there is no physical device")?;
    for (index, physical) in info.physical.iter().enumerate() {
        let served = info.queues.iter().any(|queue| queue.physical == index);
        holds(served, format!("no queue is on physical device {index}"))?;
        holds(physical.compatible(&info.physical[0]), format!("physical device {index} is not like the first"))?;
        let fits = info.max_allocation <= physical.memory.max(physical.usable_memory());
        holds(fits, format!("{} bytes may be allocated, physical device {index} has less", info.max_allocation))?;
    }
    for (index, queue) in info.queues.iter().enumerate() {
        let exists = queue.physical < info.physical.len();
        holds(exists, format!("queue {index} is on physical device {}, which does not exist", queue.physical))?;
    }
    Ok(())
}

/// Writes on one queue, copies on another, reads on the first, for all pairs and memory types.
fn copies_between_queues(context: &Context) -> CaseResult {
    let device = context.open()?;
    let mut pattern = 0x0101_0101u32;
    for &memory in &device.info().memory_types {
        for (writer, writer_name) in queues(&device) {
            for (copier, copier_name) in queues(&device) {
                pattern = pattern.wrapping_add(0x0001_0203);
                let what = format!("{memory:?} memory, written by {writer_name}, copied by {copier_name}");
                copy(context, &device, memory, [writer, copier], pattern, &what)?;
            }
        }
    }
    Ok(())
}

fn copy(
    context: &Context,
    device: &Device,
    memory: MemoryType,
    [writer, copier]: [usize; 2],
    pattern: u32,
    what: &str,
) -> CaseResult {
    let buffer = || device.allocate(BufferDesc::new(BYTES, memory));
    let (source, target) = (buffer()?, buffer()?);
    let fill = context.record(device, |recorder| recorder.fill(&source, pattern).map(drop))?;
    let copy = context.record(device, |recorder| recorder.copy(&source, &target).map(drop))?;
    let time = device.semaphore(0);
    // Submits the copy first: it may run on any queue, and must still see the other queue's write.
    device.queue(copier)?.submit(&copy, Submit::new().wait(&time, 1).signal(&time, 2))?;
    device.queue(writer)?.submit(&fill, Submit::new().signal(&time, 1))?;
    let read = device.queue(writer)?.read(&target, Submit::new().wait(&time, 2))?;
    same(what, &read.wait(context.timeout())?, &filled(pattern, BYTES as usize))
}

/// Each queue copies the previous queue's buffer and overwrites a part of it with its own value.
fn round_trip(context: &Context) -> CaseResult {
    let device = context.open()?;
    let queues = queues(&device);
    let mark = BYTES / queues.len() as u64 / 4 * 4;
    let time = device.semaphore(0);
    let mut expected = vec![0; BYTES as usize];
    let mut last = context.words(&device, &[0; BYTES as usize / 4])?;
    for round in 0..3u32 {
        for (step, (index, _)) in queues.iter().enumerate() {
            let next = device.allocate(BufferDesc::device(BYTES))?;
            let start = step as u64 * mark;
            let value = 1 + round * queues.len() as u32 + step as u32;
            let commands = context.record(&device, |recorder| {
                recorder.copy(&last, &next)?.barrier();
                recorder.fill(next.range(start, mark)?, value).map(drop)
            })?;
            let done = u64::from(value);
            device.queue(*index)?.submit(&commands, Submit::new().wait(&time, done - 1).signal(&time, done))?;
            expected[start as usize..][..mark as usize].copy_from_slice(&filled(value, mark as usize));
            last = next;
        }
    }
    context.wait(&time, 3 * queues.len() as u64)?;
    same("three times through every queue", &context.read(&device, &last)?, &expected)
}

fn one_recording(context: &Context) -> CaseResult {
    let device = context.open()?;
    let commands = context.record(&device, |recorder| recorder.fill(Binding::slot(0, BYTES), 0x5a5a_0001).map(drop))?;
    for (index, name) in queues(&device) {
        let buffer = device.allocate(BufferDesc::device(BYTES))?;
        context.run_on(&device.queue(index)?, &device, &commands, Submit::new().bind(&buffer))?;
        same(&name, &context.read(&device, &buffer)?, &filled(0x5a5a_0001, BYTES as usize))?;
    }
    Ok(())
}

fn one_kernel(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "add_constant")?;
    let count = BYTES as usize / 4;
    let input: Vec<u32> = (0..count as u32).collect();
    let source = context.words(&device, &input)?;
    for (index, name) in queues(&device) {
        let target = device.allocate(BufferDesc::device(BYTES))?;
        let value = 1000 + index as u32;
        let commands = context.record(&device, |recorder| {
            let bindings = [(&source).into(), (&target).into()];
            recorder.dispatch(&kernel, linear_grid(count), &bindings, &params(count, value)).map(drop)
        })?;
        context.run_on(&device.queue(index)?, &device, &commands, Submit::new())?;
        let expected: Vec<u32> = input.iter().map(|word| word + value).collect();
        same(&name, &context.read_words(&device, &target)?, &expected)?;
    }
    Ok(())
}

/// Allocates on one queue, writes on the next, reads and frees on the one after.
fn stream_ordered(context: &Context) -> CaseResult {
    let device = context.open()?;
    let queues = queues(&device);
    for step in 0..queues.len() {
        let on = |offset: usize| device.queue(queues[(step + offset) % queues.len()].0);
        let time = device.semaphore(0);
        let buffer = on(0)?.alloca(BufferDesc::device(BYTES), Submit::new().signal(&time, 1))?;
        let value = 0x1111_1111 * (step as u32 + 1);
        let commands = context.record(&device, |recorder| recorder.fill(&buffer, value).map(drop))?;
        on(1)?.submit(&commands, Submit::new().wait(&time, 1).signal(&time, 2))?;
        let read = on(2)?.read(&buffer, Submit::new().wait(&time, 2).signal(&time, 3))?;
        on(2)?.dealloca(&buffer, Submit::new().wait(&time, 3).signal(&time, 4))?;
        let what = format!("allocated by {}", queues[step].1);
        same(&what, &read.wait(context.timeout())?, &filled(value, BYTES as usize))?;
        context.wait(&time, 4)?;
    }
    Ok(())
}

fn shared_loss(context: &Context) -> CaseResult {
    let device = context.open_limited(LIMIT)?;
    let queues = queues(&device);
    let last = queues.last().ok_or_else(|| Failure::Wrong("there is no queue".into()))?.0;
    let spinner = Spinner::new(context, &device)?;
    let done = device.semaphore(0);
    spinner.submit(&device.queue(last)?, Submit::new().signal(&done, 1))?;
    lost(context.wait(&done, 1), &["did not end within 0.200 s", "\"spin\""])?;
    for (index, _) in queues {
        lost(device.queue(index)?.barrier(Submit::new()), &["did not end within 0.200 s"])?;
    }
    Ok(())
}
