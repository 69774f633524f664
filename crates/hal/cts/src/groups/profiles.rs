//! Command timestamps: one record per command, within its submission, in barrier order. A device
//! without timestamps reports that.

use std::time::{Duration, Instant};

use roci_hal::profile::{CommandKind, CommandRecord};
use roci_hal::{Binding, BufferDesc, CommandBuffer, Device, Error, Profile, Submit};

use super::{linear_grid, params};
use crate::backend::Tag;
use crate::case::{Case, CaseResult, Failure};
use crate::check::{equal, holds};
use crate::context::Context;

const GROUP: &str = "profiles";
const BYTES: u64 = 4096;
/// Maximum error of the driver's mapping from device to host clock.
const CLOCKS: Duration = Duration::from_millis(1);

pub(super) const CASES: &[Case] = &[
    Case::new(GROUP, "every_transfer_has_one_timing", transfers),
    Case::needing(GROUP, "every_dispatch_has_one_timing", &[Tag::Dispatch], dispatches),
    Case::needing(GROUP, "every_queue_reports_timings", &[Tag::Dispatch], queues),
    Case::new(GROUP, "only_profiled_submissions_report_timings", only_profiled),
];

/// Runs commands with profiling on a queue and returns the records, each checked to lie within the
/// submission. `None` if the device reports that it has no timestamps.
fn profiled(
    context: &Context,
    device: &Device,
    queue: usize,
    commands: &CommandBuffer,
    label: &str,
) -> Result<Option<Vec<CommandRecord>>, Failure> {
    let profile = Profile::new();
    let submit = Submit::new().profile(&profile).label(label);
    let before = Instant::now();
    let ended = context.run_on(&device.queue(queue)?, device, commands, submit);
    let after = Instant::now();
    if !device.supports_profiling() {
        let rejected = matches!(&ended, Err(Error::Unavailable { .. }));
        holds(rejected, format!("a device without timestamps must reject profiling, got {ended:?}"))?;
        equal("records of a rejected submission", profile.take().len(), 0)?;
        return Ok(None);
    }
    ended?;
    let records = profile.take();
    for record in &records {
        let what = format!("`{}`, command {}", record.name, record.command);
        holds(record.start + CLOCKS >= before, format!("{what}: started before it was submitted"))?;
        holds(record.end <= after + CLOCKS, format!("{what}: ended after its completion was observed"))?;
        holds(record.end >= record.start, format!("{what}: ended before it started"))?;
        equal(&format!("{what}: queue"), record.queue, queue)?;
        equal(&format!("{what}: label"), record.label.as_deref(), Some(label))?;
    }
    equal("records left after they were taken", profile.take().len(), 0)?;
    Ok(Some(records))
}

/// Asserts that the records belong to these commands, in recording order.
fn expect_records(records: &mut [CommandRecord], expected: &[(usize, CommandKind, &str)]) -> CaseResult {
    records.sort_by_key(|record| record.command);
    let got: Vec<_> = records.iter().map(|record| (record.command, record.kind, &*record.name)).collect();
    equal("the records", &got[..], expected)
}

/// Asserts that a command after a barrier starts after the commands before it end.
fn expect_ordered(before: &CommandRecord, after: &CommandRecord) -> CaseResult {
    let what = format!("`{}` after the barrier started before `{}` ended", after.name, before.name);
    holds(after.start >= before.end, what)
}

fn transfers(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = || device.allocate(BufferDesc::device(BYTES));
    let (first, second) = (buffer()?, buffer()?);
    let commands = context.record(&device, |recorder| {
        recorder.fill(&first, 3)?.barrier();
        // A byte count that is not a multiple of the word size.
        recorder.copy(first.range(0, 4001)?, second.range(0, 4001)?)?.barrier();
        recorder.update(&[7; 64], second.range(0, 64)?).map(drop)
    })?;
    // A resubmission is profiled like the first submission.
    for label in ["once", "again"] {
        let Some(mut records) = profiled(context, &device, 0, &commands, label)? else { return Ok(()) };
        let expected =
            [(0, CommandKind::Fill, "fill"), (2, CommandKind::Copy, "copy"), (4, CommandKind::Update, "update")];
        expect_records(&mut records, &expected)?;
        expect_ordered(&records[0], &records[1])?;
        expect_ordered(&records[1], &records[2])?;
    }
    Ok(())
}

/// Dispatches with and without barriers between them. An empty grid runs nothing and has no record.
fn dispatches(context: &Context) -> CaseResult {
    let device = context.open()?;
    let (scale, add) = (context.kernel(&device, "scale")?, context.kernel(&device, "add_constant")?);
    let words = context.words(&device, &[1; 64])?;
    let other = context.words(&device, &[1; 64])?;
    let commands = context.record(&device, |recorder| {
        let on = |buffer| [Binding::from(buffer), Binding::from(buffer)];
        recorder.dispatch(&scale, linear_grid(64), &on(&words), &params(64, 2))?;
        recorder.dispatch(&add, linear_grid(64), &on(&other), &params(64, 5))?.barrier();
        recorder.dispatch(&add, [0, 1, 1], &on(&words), &params(64, 1))?.barrier();
        recorder.dispatch(&add, linear_grid(64), &on(&words), &params(64, 1)).map(drop)
    })?;
    let Some(mut records) = profiled(context, &device, 0, &commands, "kernels")? else { return Ok(()) };
    let expected = [
        (0, CommandKind::Dispatch, "scale"),
        (1, CommandKind::Dispatch, "add_constant"),
        (5, CommandKind::Dispatch, "add_constant"),
    ];
    expect_records(&mut records, &expected)?;
    expect_ordered(&records[0], &records[2])?;
    expect_ordered(&records[1], &records[2])?;
    // Profiling must not change results.
    equal("the result", context.read_words(&device, &words)?, vec![3; 64])
}

fn queues(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "empty")?;
    let commands = context.record(&device, |recorder| recorder.dispatch(&kernel, [1, 1, 1], &[], &[]).map(drop))?;
    let mut last: Option<CommandRecord> = None;
    for queue in 0..device.info().queues.len() {
        let Some(records) = profiled(context, &device, queue, &commands, "empty")? else { return Ok(()) };
        equal("records", records.len(), 1)?;
        if let Some(last) = last {
            // Each completed before the next was submitted, on any physical device.
            holds(
                records[0].start + CLOCKS >= last.end,
                format!("queue {queue} started before the previous one ended"),
            )?;
        }
        last = records.into_iter().next();
    }
    Ok(())
}

fn only_profiled(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = device.allocate(BufferDesc::device(BYTES))?;
    let commands = context.record(&device, |recorder| recorder.fill(&buffer, 3).map(drop))?;
    let Some(first) = profiled(context, &device, 0, &commands, "profiled")? else { return Ok(()) };
    context.run(&device, &commands, Submit::new())?;
    let Some(second) = profiled(context, &device, 0, &commands, "profiled")? else { return Ok(()) };
    equal("records of the two profiled submissions", (first.len(), second.len()), (1, 1))
}
