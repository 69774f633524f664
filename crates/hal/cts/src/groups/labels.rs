//! Labels: a hang report names device, queue, kernel and submission, and what completed before.

use std::time::Duration;

use roci_hal::error::DeviceLossReason;
use roci_hal::{BufferDesc, Device, Error, Queue, Submit};

use super::spinner::Spinner;
use crate::backend::Tag;
use crate::case::{Case, CaseResult, Failure};
use crate::check::{equal, holds, mentions, refused};
use crate::context::Context;

const GROUP: &str = "labels";
const NEEDS: &[Tag] = &[Tag::Dispatch, Tag::Hang];

pub(super) const CASES: &[Case] = &[
    Case::needing(GROUP, "a_missed_deadline_names_the_running_kernel", NEEDS, missed_deadline),
    Case::needing(GROUP, "a_hang_names_the_kernel", NEEDS, hang),
    Case::new(GROUP, "a_rejected_buffer_is_named", rejected_buffer),
    Case::new(GROUP, "an_idle_device_is_reported", idle_device),
];

/// Submits work that completes, then a kernel that spins.
fn fill_then_spin(context: &Context, device: &Device) -> Result<(Spinner, roci_hal::Semaphore, Queue), Failure> {
    let queue = device.queue(device.info().queues.len() - 1)?;
    let spinner = Spinner::new(context, device)?;
    let buffer = device.allocate(BufferDesc::device(64))?;
    let fill = context.record(device, |recorder| recorder.fill(&buffer, 1).map(drop))?;
    context.run_on(&queue, device, &fill, Submit::new())?;
    let done = device.semaphore(0);
    spinner.submit(&queue, Submit::new().signal(&done, 1).label("layer 3"))?;
    Ok((spinner, done, queue))
}

fn words(device: &Device, queue: &Queue) -> [String; 5] {
    [
        device.info().uri.to_string(),
        format!("queue {}: \"spin\" in flight", queue.index()),
        "submission \"layer 3\"".into(),
        "last finished".into(),
        "\"fill\"".into(),
    ]
}

fn missed_deadline(context: &Context) -> CaseResult {
    let device = context.open()?;
    let (spinner, done, queue) = fill_then_spin(context, &device)?;
    let mut last = Err(Failure::Wrong("the wait never timed out".into()));
    // The first deadlines may expire before the kernel has started.
    context
        .eventually("the kernel starts", || {
            last = match done.wait(1, Duration::from_millis(20)) {
                Err(error @ Error::Timeout { .. }) => {
                    mentions(&error, &words(&device, &queue).each_ref().map(String::as_str))
                }
                other => Err(Failure::Wrong(format!("expected a timeout, got {other:?}"))),
            };
            last.is_ok()
        })
        .map_err(|timeout| last.clone().err().unwrap_or(timeout))?;
    // The kernel was only slow: the device is not lost.
    spinner.release();
    context.wait(&done, 1)?;
    holds(device.loss().is_none(), "the device is lost")
}

fn hang(context: &Context) -> CaseResult {
    let device = context.open_limited(Duration::from_millis(200))?;
    let (_spinner, done, queue) = fill_then_spin(context, &device)?;
    match context.wait(&done, 1) {
        Err(error @ Error::Lost(_)) => {
            mentions(&error, &words(&device, &queue).each_ref().map(String::as_str))?;
            mentions(&error, &["did not end within 0.200 s"])?;
        }
        other => return Err(Failure::Wrong(format!("expected a lost device, got {other:?}"))),
    }
    let loss = device.loss().ok_or_else(|| Failure::Wrong("the device says that it is not lost".into()))?;
    holds(matches!(loss.reason, DeviceLossReason::Hang { .. }), format!("lost for another reason: {loss:?}"))?;
    equal("the kernel", loss.in_flight.kernel.as_deref(), Some("spin"))?;
    equal("the label", loss.in_flight.label.as_deref(), Some("layer 3"))
}

fn rejected_buffer(context: &Context) -> CaseResult {
    let device = context.open()?;
    let named = device.allocate(BufferDesc::device(64).label("weights"))?;
    refused(named.range(60, 8), &["buffer \"weights\"", "bytes 60 to 60+8 are outside its 64 bytes"])
}

fn idle_device(context: &Context) -> CaseResult {
    let device = context.open()?;
    match device.semaphore(0).wait(1, Duration::from_millis(5)) {
        Err(error @ Error::Timeout { .. }) => mentions(&error, &["nothing in flight"]),
        other => Err(Failure::Wrong(format!("expected a timeout, got {other:?}"))),
    }
}
