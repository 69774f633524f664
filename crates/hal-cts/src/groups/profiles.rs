//! When commands ran: one record for each, within its submission, in the order that barriers give. A device that cannot tell
//! says so.

use std::time::{Duration, Instant};

use roci_hal::profile::{Operation, Record};
use roci_hal::{Binding, BufferDesc, CommandBuffer, Device, Error, Profile, Submit};

use super::{line, params};
use crate::backend::Tag;
use crate::case::{Case, CaseResult, Failure};
use crate::check::{equal, holds};
use crate::context::Context;

const GROUP: &str = "profiles";
const BYTES: u64 = 4096;
/// How far a device's clock, as the driver maps it, may be from the host's.
const CLOCKS: Duration = Duration::from_millis(1);

pub(super) const CASES: &[Case] = &[
    Case::new(GROUP, "transfers_have_their_times_or_are_refused", transfers),
    Case::needing(GROUP, "every_dispatch_has_one_time", &[Tag::Dispatch], dispatches),
    Case::needing(GROUP, "every_queue_tells_its_times", &[Tag::Dispatch], queues),
    Case::new(GROUP, "what_is_not_asked_for_is_not_told", unasked),
];

/// Runs commands with a profile on a queue: the records, each checked to lie within the submission. `None` where the device
/// cannot tell, and says so.
fn profiled(
    context: &Context,
    device: &Device,
    queue: usize,
    commands: &CommandBuffer,
    label: &str,
) -> Result<Option<Vec<Record>>, Failure> {
    let profile = Profile::new();
    let submit = Submit::new().profile(&profile).label(label);
    let before = Instant::now();
    let ended = context.run_on(&device.queue(queue)?, device, commands, submit);
    let after = Instant::now();
    if !device.profiles() {
        let refused = matches!(&ended, Err(Error::Unavailable { .. }));
        holds(refused, format!("a device that cannot tell times must refuse to, got {ended:?}"))?;
        equal("records of a refused submission", profile.take().len(), 0)?;
        return Ok(None);
    }
    ended?;
    let records = profile.take();
    for record in &records {
        let what = format!("`{}`, command {}", record.name, record.command);
        holds(record.start + CLOCKS >= before, format!("{what}: began before it was submitted"))?;
        holds(record.end <= after + CLOCKS, format!("{what}: ended after its completion was seen"))?;
        holds(record.end >= record.start, format!("{what}: ended before it began"))?;
        equal(&format!("{what}: queue"), record.queue, queue)?;
        equal(&format!("{what}: label"), record.label.as_deref(), Some(label))?;
    }
    equal("records that are there twice", profile.take().len(), 0)?;
    Ok(Some(records))
}

/// The records must be of these commands, in the order of the recording.
fn are(records: &mut [Record], wanted: &[(usize, Operation, &str)]) -> CaseResult {
    records.sort_by_key(|record| record.command);
    let got: Vec<_> = records.iter().map(|record| (record.command, record.operation, &*record.name)).collect();
    equal("what was told", &got[..], wanted)
}

/// What stands behind a barrier begins after what stands before it.
fn ordered(before: &Record, after: &Record) -> CaseResult {
    let what = format!("`{}` behind the barrier began before `{}` ended", after.name, before.name);
    holds(after.start >= before.end, what)
}

fn transfers(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = || device.allocate(BufferDesc::device(BYTES));
    let (first, second) = (buffer()?, buffer()?);
    let commands = context.record(&device, |recorder| {
        recorder.fill(&first, 3)?.barrier();
        // Of bytes that are no whole words.
        recorder.copy(first.range(0, 4001)?, second.range(0, 4001)?)?.barrier();
        recorder.update(&[7; 64], second.range(0, 64)?).map(drop)
    })?;
    // A replay is told of as the first time is.
    for label in ["once", "again"] {
        let Some(mut records) = profiled(context, &device, 0, &commands, label)? else { return Ok(()) };
        let wanted = [(0, Operation::Fill, "fill"), (2, Operation::Copy, "copy"), (4, Operation::Update, "update")];
        are(&mut records, &wanted)?;
        ordered(&records[0], &records[1])?;
        ordered(&records[1], &records[2])?;
    }
    Ok(())
}

/// Dispatches with barriers between, and some without: an empty grid runs nothing, and nothing is told of it.
fn dispatches(context: &Context) -> CaseResult {
    let device = context.open()?;
    let (scale, add) = (context.kernel(&device, "scale")?, context.kernel(&device, "add_constant")?);
    let words = context.words(&device, &[1; 64])?;
    let other = context.words(&device, &[1; 64])?;
    let commands = context.record(&device, |recorder| {
        let on = |buffer| [Binding::from(buffer), Binding::from(buffer)];
        recorder.dispatch(&scale, line(64), &on(&words), &params(64, 2))?;
        recorder.dispatch(&add, line(64), &on(&other), &params(64, 5))?.barrier();
        recorder.dispatch(&add, [0, 1, 1], &on(&words), &params(64, 1))?.barrier();
        recorder.dispatch(&add, line(64), &on(&words), &params(64, 1)).map(drop)
    })?;
    let Some(mut records) = profiled(context, &device, 0, &commands, "kernels")? else { return Ok(()) };
    let wanted = [
        (0, Operation::Dispatch, "scale"),
        (1, Operation::Dispatch, "add_constant"),
        (5, Operation::Dispatch, "add_constant"),
    ];
    are(&mut records, &wanted)?;
    ordered(&records[0], &records[2])?;
    ordered(&records[1], &records[2])?;
    // Measuring changes nothing.
    equal("the result", context.read_words(&device, &words)?, vec![3; 64])
}

fn queues(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "empty")?;
    let commands = context.record(&device, |recorder| recorder.dispatch(&kernel, [1, 1, 1], &[], &[]).map(drop))?;
    let mut last: Option<Record> = None;
    for queue in 0..device.info().queues.len() {
        let Some(records) = profiled(context, &device, queue, &commands, "empty")? else { return Ok(()) };
        equal("records", records.len(), 1)?;
        if let Some(last) = last {
            // Each was waited for before the next was submitted, on whichever device it ran.
            holds(
                records[0].start + CLOCKS >= last.end,
                format!("queue {queue} began before the one before it ended"),
            )?;
        }
        last = records.into_iter().next();
    }
    Ok(())
}

fn unasked(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = device.allocate(BufferDesc::device(BYTES))?;
    let commands = context.record(&device, |recorder| recorder.fill(&buffer, 3).map(drop))?;
    let Some(first) = profiled(context, &device, 0, &commands, "asked")? else { return Ok(()) };
    context.run(&device, &commands, Submit::new())?;
    let Some(second) = profiled(context, &device, 0, &commands, "asked")? else { return Ok(()) };
    equal("records of the two that asked", (first.len(), second.len()), (1, 1))
}
