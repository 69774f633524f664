//! Command buffers: recorded once, submitted many times with different memory.

use roci_hal::{Binding, BufferDesc, Submit};

use super::{accumulated, filled, linear_grid, params};
use crate::backend::Tag;
use crate::case::{Case, CaseResult};
use crate::check::{equal, refused, same};
use crate::context::Context;

const GROUP: &str = "replay";

pub(super) const CASES: &[Case] = &[
    Case::needing(GROUP, "many_replays", &[Tag::Dispatch], many_replays),
    Case::new(GROUP, "new_bindings_through_slots", new_bindings),
    Case::needing(GROUP, "kernels_take_slots", &[Tag::Dispatch], kernels_take_slots),
    Case::new(GROUP, "replays_with_different_bindings_run_concurrently", concurrent_replays),
    Case::new(GROUP, "stream_ordered_buffers_are_fixed_bindings", stream_ordered_bindings),
    Case::new(GROUP, "slots_are_checked_at_each_replay", slots_are_checked),
    Case::new(GROUP, "aliasing_through_slots_is_rejected", aliasing_slots),
];

fn many_replays(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "accumulate")?;
    let buffer = context.words(&device, &[5; 100])?;
    let commands = context.record(&device, |recorder| {
        recorder.dispatch(&kernel, linear_grid(100), &[(&buffer).into()], &params(100, 7)).map(drop)
    })?;
    let done = device.semaphore(0);
    for round in 0..500 {
        let submit = Submit::new().wait(&done, round).signal(&done, round + 1);
        device.queue(round as usize % device.info().queues.len())?.submit(&commands, submit)?;
    }
    context.wait(&done, 500)?;
    let expected = (0..500).fold(5, |word, _| accumulated(word, 7));
    same("500 replays", &context.read_words(&device, &buffer)?, &[expected; 100])
}

fn new_bindings(context: &Context) -> CaseResult {
    let device = context.open()?;
    let step = device.info().binding_alignment.max(4);
    let commands = context.record(&device, |recorder| {
        recorder.copy(Binding::Slot { slot: 0, offset: 8, length: 56 }, Binding::slot(1, 56)).map(drop)
    })?;
    equal("slots", commands.slots(), 2)?;
    for round in 1..10u32 {
        let source = context.words(&device, &(0..32).map(|word| word * round).collect::<Vec<_>>())?;
        let target = device.allocate(BufferDesc::device(step + 64))?;
        context.write(&device, &target, &vec![0xee; step as usize + 64])?;
        let submit = Submit::new().bind(source.range(0, 64)?).bind(target.range(step, 64)?);
        context.run(&device, &commands, submit)?;
        let expected: Vec<u32> = (2..16).map(|word| word * round).collect();
        same("bound", &context.read_words(&device, target.range(step, 56)?)?, &expected)?;
        same("in front", &context.read(&device, target.range(0, step)?)?, &vec![0xee; step as usize])?;
        same("behind", &context.read(&device, target.range(step + 56, 8)?)?, &[0xee; 8])?;
    }
    Ok(())
}

fn kernels_take_slots(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "add_constant")?;
    let fixed = context.words(&device, &[1000; 64])?;
    let commands = context.record(&device, |recorder| {
        recorder.dispatch(&kernel, linear_grid(64), &[Binding::slot(0, 256), Binding::slot(1, 256)], &params(64, 1))?;
        recorder.dispatch(&kernel, linear_grid(64), &[(&fixed).into(), Binding::slot(2, 256)], &params(64, 2)).map(drop)
    })?;
    for round in 0..10u32 {
        let source = context.words(&device, &[round; 64])?;
        let (a, b) = (context.words(&device, &[0; 64])?, context.words(&device, &[0; 64])?);
        context.run(&device, &commands, Submit::new().bind(&source).bind(&a).bind(&b))?;
        same("from a slot", &context.read_words(&device, &a)?, &[round + 1; 64])?;
        same("from the fixed buffer", &context.read_words(&device, &b)?, &[1002; 64])?;
    }
    Ok(())
}

fn concurrent_replays(context: &Context) -> CaseResult {
    let device = context.open()?;
    let commands =
        context.record(&device, |recorder| recorder.copy(Binding::slot(0, 4096), Binding::slot(1, 4096)).map(drop))?;
    let queues = device.info().queues.len();
    let mut pairs = Vec::new();
    for index in 0..64u32 {
        let source = context.words(&device, &[index; 1024])?;
        let target = device.allocate(BufferDesc::device(4096))?;
        let done = device.semaphore(0);
        let submit = Submit::new().bind(&source).bind(&target).signal(&done, 1);
        device.queue(index as usize % queues)?.submit(&commands, submit)?;
        pairs.push((target, done));
    }
    for (index, (target, done)) in (0u32..).zip(&pairs) {
        context.wait(done, 1)?;
        same(&format!("replay {index}"), &context.read_words(&device, target)?, &[index; 1024])?;
    }
    Ok(())
}

fn stream_ordered_bindings(context: &Context) -> CaseResult {
    let device = context.open()?;
    let queue = device.queue(0)?;
    let time = device.semaphore(0);
    let target = device.allocate(BufferDesc::device(1024))?;
    // Recorded before the memory exists.
    let scratch = queue.alloca(BufferDesc::device(1024), Submit::new().wait(&time, 1).signal(&time, 2))?;
    let commands =
        context.record(&device, |recorder| recorder.fill(&scratch, 77)?.barrier().copy(&scratch, &target).map(drop))?;
    equal("the caller's slots", commands.slots(), 0)?;
    queue.submit(&commands, Submit::new().wait(&time, 2).signal(&time, 3))?;
    queue.submit(&commands, Submit::new().wait(&time, 3).signal(&time, 4))?;
    time.signal(1)?;
    context.wait(&time, 4)?;
    same("through scratch memory", &context.read(&device, &target)?, &filled(77, 1024))
}

fn slots_are_checked(context: &Context) -> CaseResult {
    let device = context.open()?;
    let other = context.open()?;
    let queue = device.queue(0)?;
    let commands = context.record(&device, |recorder| {
        recorder.label("step").copy(Binding::slot(0, 64), Binding::slot(1, 64)).map(drop)
    })?;
    let buffer = |size| device.allocate(BufferDesc::device(size));
    let (a, b, small) = (buffer(64)?, buffer(64)?, buffer(60)?);
    let submit = |submit| queue.submit(&commands, submit);
    refused(submit(Submit::new().bind(&a)), &["replay of \"step\"", "1 ranges bound, but 2 slots recorded"])?;
    refused(submit(Submit::new().bind(&a).bind(&b).bind(&small)), &["3 ranges bound, but 2 slots recorded"])?;
    refused(submit(Submit::new().bind(&a).bind(&small)), &["slot 1 is bound to 60 bytes, but 64 are used"])?;
    let foreign = other.allocate(BufferDesc::device(64))?;
    refused(submit(Submit::new().bind(&foreign).bind(&b)), &["slot 0", "another device"])?;
    if device.info().binding_alignment > 1 {
        let odd = buffer(128)?.range(1, 64)?;
        refused(
            submit(Submit::new().bind(odd).bind(&b)),
            &["slot 0 is bound at offset 1, which is not a multiple of"],
        )?;
    }
    let far = device.record().fill(Binding::slot(1 << 40, 64), 0).map(drop);
    refused(far, &["slot 1099511627776"])?;
    let endless = Binding::Slot { slot: 0, offset: u64::MAX - 3, length: 8 };
    refused(device.record().fill(endless, 0).map(drop), &["is out of range"])?;
    // Still works after all these rejected submissions.
    Ok(context.run(&device, &commands, Submit::new().bind(&a).bind(&b))?)
}

fn aliasing_slots(context: &Context) -> CaseResult {
    let device = context.open()?;
    let step = device.info().binding_alignment.max(4);
    let length = 4 * step;
    let commands = context
        .record(&device, |recorder| recorder.copy(Binding::slot(0, length), Binding::slot(1, length)).map(drop))?;
    let buffer = device.allocate(BufferDesc::device(2 * length))?;
    let queue = device.queue(0)?;
    let bind =
        |at| Ok::<_, roci_hal::Error>(Submit::new().bind(buffer.range(0, length)?).bind(buffer.range(at, length)?));
    refused(queue.submit(&commands, bind(0)?), &["copy", "overlaps"])?;
    refused(queue.submit(&commands, bind(length - step)?), &["copy", "overlaps"])?;
    Ok(context.run(&device, &commands, bind(length)?)?)
}
