//! Stream-ordered memory: it exists from one submission to another.

use roci_hal::{Buffer, BufferDesc, Device, Submit};

use super::filled;
use crate::case::{Case, CaseResult, Failure};
use crate::check::{equal, holds, mentions, refused, same};
use crate::context::Context;

const GROUP: &str = "stream_memory";

pub(super) const CASES: &[Case] = &[
    Case::new(GROUP, "lives_between_its_two_submissions", lives_between),
    Case::new(GROUP, "is_reused", is_reused),
    Case::new(GROUP, "of_every_type", of_every_type),
    Case::new(GROUP, "use_before_it_exists_is_named", use_before),
    Case::new(GROUP, "use_after_it_is_gone_is_named", use_after),
    Case::new(GROUP, "twice_given_back_is_named", twice_given_back),
    Case::new(GROUP, "many_in_flight", many_in_flight),
    Case::new(GROUP, "what_cannot_be_had_is_refused_at_once", cannot_be_had),
];

fn lives_between(context: &Context) -> CaseResult {
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
    context.eventually("memory comes back to the pool", || device.pooled_bytes() >= size)?;
    let pooled = device.pooled_bytes();
    let second = queue.alloca(BufferDesc::device(size - 100), Submit::new().wait(&time, 2).signal(&time, 3))?;
    context.wait(&time, 3)?;
    holds(device.pooled_bytes() < pooled, "the second allocation did not take what the first gave back")?;
    context.write(&device, &second, &vec![5; size as usize - 100])?;
    same("reused memory", &context.read(&device, &second)?, &vec![5; size as usize - 100])?;
    drop(second);
    device.trim();
    context.eventually("trimmed", || {
        device.trim();
        device.pooled_bytes() == 0
    })
}

fn of_every_type(context: &Context) -> CaseResult {
    let device = context.open()?;
    for &memory in &device.info().memory_types {
        let made = allocated(context, &device, BufferDesc { size: 333, memory, label: None })?;
        context.write(&device, &made, &[7; 333])?;
        same(&format!("{memory:?}"), &context.read(&device, &made)?, &[7; 333])?;
        if memory.host_visible() {
            same(&format!("{memory:?} mapped"), &made.map()?, &[7; 333])?;
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

fn twice_given_back(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = allocated(context, &device, BufferDesc::device(64))?;
    let time = device.semaphore(0);
    let queue = device.queue(0)?;
    queue.dealloca(&buffer, Submit::new().signal(&time, 1))?;
    queue.dealloca(&buffer, Submit::new().wait(&time, 1).signal(&time, 2))?;
    match context.wait(&time, 2) {
        Err(error) => mentions(&error, &["used after its stream-ordered deallocation"]),
        Ok(()) => Err(Failure::Wrong("memory was given back twice".into())),
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
            let place = out.range(u64::from(index) * 64, 64)?;
            recorder.fill(&scratch, index)?.barrier().copy(&scratch, place).map(drop)
        })?;
        queue.submit(&commands, Submit::new().wait(&time, 1).signal(&time, 2))?;
        queue.dealloca(&scratch, Submit::new().wait(&time, 2).signal(&time, 3))?;
        ends.push(time);
    }
    for end in &ends {
        context.wait(end, 3)?;
    }
    let wanted: Vec<u32> = (0..200 * 16).map(|word| word / 16).collect();
    same("what went through scratch memory", &context.read_words(&device, &out)?, &wanted)
}

fn cannot_be_had(context: &Context) -> CaseResult {
    let device = context.open()?;
    let queue = device.queue(0)?;
    refused(queue.alloca(BufferDesc::device(0), Submit::new()), &["zero bytes"])?;
    let too_much = queue.alloca(BufferDesc::device(device.info().max_allocation.saturating_add(1)), Submit::new());
    match too_much {
        Err(error) => mentions(&error, &["cannot allocate", "the limit is"]),
        Ok(_) => Err(Failure::Wrong("more than the limit was granted".into())),
    }
}
