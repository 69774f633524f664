//! Stream-ordered memory: its lifetime begins and ends with submissions.

use roci_hal::{Buffer, BufferDesc, Device, Submit};

use super::filled;
use crate::case::{Case, CaseResult, Failure};
use crate::check::{equal, holds, mentions, refused, same};
use crate::context::Context;

const GROUP: &str = "stream_memory";

pub(super) const CASES: &[Case] = &[
    Case::new(GROUP, "lives_from_allocation_to_deallocation", lifetime),
    Case::new(GROUP, "is_reused", is_reused),
    Case::new(GROUP, "every_memory_type", every_memory_type),
    Case::new(GROUP, "use_before_allocation_is_rejected", use_before),
    Case::new(GROUP, "use_after_deallocation_is_rejected", use_after),
    Case::new(GROUP, "double_deallocation_is_rejected", double_deallocation),
    Case::new(GROUP, "many_in_flight", many_in_flight),
    Case::new(GROUP, "impossible_allocations_are_rejected_immediately", impossible_allocations),
];

fn lifetime(context: &Context) -> CaseResult {
    let device = context.open()?;
    let queue = device.queue(0)?;
    let target = device.allocate(BufferDesc::device(5000))?;
    let time = device.semaphore(0);
    let scratch = queue.alloca(BufferDesc::device(5000), Submit::new().wait(&time, 1).signal(&time, 2))?;
    equal("size", scratch.size(), 5000)?;
    let fill = context.record(&device, |recorder| recorder.fill(&scratch, 9).map(drop))?;
    let copy = context.record(&device, |recorder| recorder.copy(&scratch, &target).map(drop))?;
    queue.submit(&fill, Submit::new().wait(&time, 2).signal(&time, 3))?;
    queue.submit(&copy, Submit::new().wait(&time, 3).signal(&time, 4))?;
    queue.dealloca(&scratch, Submit::new().wait(&time, 4).signal(&time, 5))?;
    time.signal(1)?;
    context.wait(&time, 5)?;
    same("carried by scratch memory", &context.read(&device, &target)?, &filled(9, 5000))
}

fn is_reused(context: &Context) -> CaseResult {
    let device = context.open()?;
    let queue = device.queue(0)?;
    let size = 1 << 16;
    let time = device.semaphore(0);
    let first = queue.alloca(BufferDesc::device(size), Submit::new().signal(&time, 1))?;
    queue.dealloca(&first, Submit::new().wait(&time, 1).signal(&time, 2))?;
    context.wait(&time, 2)?;
    context.eventually("memory returns to the pool", || device.pooled_bytes() >= size)?;
    let pooled = device.pooled_bytes();
    let second = queue.alloca(BufferDesc::device(size - 100), Submit::new().wait(&time, 2).signal(&time, 3))?;
    context.wait(&time, 3)?;
    holds(device.pooled_bytes() < pooled, "the second allocation did not reuse the memory of the first")?;
    context.write(&device, &second, &vec![5; size as usize - 100])?;
    same("reused memory", &context.read(&device, &second)?, &vec![5; size as usize - 100])?;
    drop(second);
    device.trim();
    context.eventually("trimmed", || {
        device.trim();
        device.pooled_bytes() == 0
    })
}

fn every_memory_type(context: &Context) -> CaseResult {
    let device = context.open()?;
    for &memory in &device.info().memory_types {
        let buffer = allocated(context, &device, BufferDesc::new(333, memory))?;
        context.write(&device, &buffer, &[7; 333])?;
        same(&format!("{memory:?}"), &context.read(&device, &buffer)?, &[7; 333])?;
        if memory.host_visible() {
            same(&format!("{memory:?} mapped"), &buffer.map()?, &[7; 333])?;
        }
    }
    Ok(())
}

fn allocated(context: &Context, device: &Device, desc: BufferDesc) -> Result<Buffer, Failure> {
    let done = device.semaphore(0);
    let buffer = device.queue(0)?.alloca(desc, Submit::new().signal(&done, 1))?;
    context.wait(&done, 1)?;
    Ok(buffer)
}

fn use_before(context: &Context) -> CaseResult {
    let device = context.open()?;
    let go = device.semaphore(0);
    let desc = BufferDesc::host(64).label("not yet");
    let buffer = device.queue(0)?.alloca(desc, Submit::new().wait(&go, 1).signal(&go, 2))?;
    let words = ["\"not yet\"", "used before its stream-ordered allocation has executed"];
    let commands = context.record(&device, |recorder| recorder.fill(&buffer, 1).map(drop))?;
    refused(context.run(&device, &commands, Submit::new()), &words)?;
    refused(buffer.map(), &words)?;
    refused(context.read(&device, &buffer), &words)?;
    go.signal(1)?;
    context.wait(&go, 2)?;
    Ok(context.run(&device, &commands, Submit::new())?)
}

fn use_after(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = allocated(context, &device, BufferDesc::host(64).label("no more"))?;
    let recorded_before = context.record(&device, |recorder| recorder.fill(&buffer, 1).map(drop))?;
    let done = device.semaphore(0);
    device.queue(0)?.dealloca(&buffer, Submit::new().signal(&done, 1))?;
    context.wait(&done, 1)?;
    let words = ["\"no more\"", "used after its stream-ordered deallocation"];
    refused(context.run(&device, &recorded_before, Submit::new()), &words)?;
    refused(buffer.map(), &words)?;
    refused(context.read(&device, &buffer), &words)?;
    let recorded_after = context.record(&device, |recorder| recorder.fill(&buffer, 1).map(drop));
    refused(recorded_after.and_then(|commands| context.run(&device, &commands, Submit::new())), &words)
}

fn double_deallocation(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = allocated(context, &device, BufferDesc::device(64))?;
    let time = device.semaphore(0);
    let queue = device.queue(0)?;
    queue.dealloca(&buffer, Submit::new().signal(&time, 1))?;
    queue.dealloca(&buffer, Submit::new().wait(&time, 1).signal(&time, 2))?;
    match context.wait(&time, 2) {
        Err(error) => mentions(&error, &["used after its stream-ordered deallocation"]),
        Ok(()) => Err(Failure::Wrong("memory was deallocated twice".into())),
    }
}

fn many_in_flight(context: &Context) -> CaseResult {
    let device = context.open()?;
    let queues = device.info().queues.len();
    let out = device.allocate(BufferDesc::device(200 * 64))?;
    let mut ends = Vec::new();
    for index in 0..200u32 {
        let queue = device.queue(index as usize % queues)?;
        let time = device.semaphore(0);
        let scratch = queue.alloca(BufferDesc::device(64), Submit::new().signal(&time, 1))?;
        let commands = context.record(&device, |recorder| {
            let target = out.range(u64::from(index) * 64, 64)?;
            recorder.fill(&scratch, index)?.barrier().copy(&scratch, target).map(drop)
        })?;
        queue.submit(&commands, Submit::new().wait(&time, 1).signal(&time, 2))?;
        queue.dealloca(&scratch, Submit::new().wait(&time, 2).signal(&time, 3))?;
        ends.push(time);
    }
    for end in &ends {
        context.wait(end, 3)?;
    }
    let expected: Vec<u32> = (0..200 * 16).map(|word| word / 16).collect();
    same("what went through scratch memory", &context.read_words(&device, &out)?, &expected)
}

fn impossible_allocations(context: &Context) -> CaseResult {
    let device = context.open()?;
    let queue = device.queue(0)?;
    refused(queue.alloca(BufferDesc::device(0), Submit::new()), &["the size is zero"])?;
    let too_much = queue.alloca(BufferDesc::device(device.info().max_allocation.saturating_add(1)), Submit::new());
    match too_much {
        Err(error) => mentions(&error, &["cannot allocate", "the limit is"]),
        Ok(_) => Err(Failure::Wrong("more than the limit was allocated".into())),
    }
}
