//! Fatal errors: the cause is reported, the process continues, and a fresh device works.

use std::time::Duration;

use roci_hal::{Buffer, BufferDesc, CommandBuffer, Device, Error, Submit};

use super::spinner::Spinner;
use super::{filled, linear_grid, params};
use crate::backend::Tag;
use crate::case::{Case, CaseResult, Failure};
use crate::check::{holds, lost, mentions, same};
use crate::context::Context;

const GROUP: &str = "faults";
const LIMIT: Duration = Duration::from_millis(200);

pub(super) const CASES: &[Case] = &[
    Case::needing(GROUP, "a_kernel_that_never_ends_loses_the_device", &[Tag::Dispatch, Tag::Hang], never_ends),
    Case::needing(GROUP, "a_submission_can_have_its_own_timeout", &[Tag::Dispatch, Tag::Hang], own_limit),
    Case::needing(GROUP, "an_out_of_bounds_access_is_reported", &[Tag::Dispatch, Tag::Bounds], out_of_bounds),
    Case::new(GROUP, "a_lost_device_stays_lost_with_its_first_cause", stays_lost),
    Case::new(GROUP, "a_failed_submission_does_not_lose_the_device", failed_submission),
    Case::new(GROUP, "a_loss_under_load_ends_every_wait", loss_under_load),
];

/// Every call on a lost device fails with the first cause.
fn everything_fails(device: &Device, buffer: &Buffer, commands: &CommandBuffer, cause: &str) -> CaseResult {
    let words = [cause];
    let queue = device.queue(0)?;
    lost(device.allocate(BufferDesc::device(64)), &words)?;
    lost(device.load(&crate::kernels::source("empty", device.info())?), &words)?;
    lost(device.record().finish(), &words)?;
    lost(queue.submit(commands, Submit::new()), &words)?;
    lost(queue.barrier(Submit::new()), &words)?;
    lost(queue.alloca(BufferDesc::device(64), Submit::new()), &words)?;
    lost(queue.dealloca(buffer, Submit::new()), &words)?;
    lost(queue.write(buffer, vec![0; 64], Submit::new()), &words)?;
    lost(queue.read(buffer, Submit::new()), &words)?;
    let loss = device.loss().ok_or_else(|| Failure::Wrong("the device reports that it is not lost".into()))?;
    mentions(&Error::Lost(loss), &words)
}

fn a_fresh_device_works(context: &Context, kernel: bool) -> CaseResult {
    let device = context.open()?;
    let buffer = context.words(&device, &[41; 64])?;
    let commands = if kernel {
        let kernel = context.kernel(&device, "scale")?;
        context.record(&device, |recorder| {
            let bindings = [(&buffer).into(), (&buffer).into()];
            recorder.dispatch(&kernel, linear_grid(64), &bindings, &params(64, 2)).map(drop)
        })?
    } else {
        context.record(&device, |recorder| recorder.fill(&buffer, 82).map(drop))?
    };
    context.run(&device, &commands, Submit::new())?;
    same("a fresh device", &context.read_words(&device, &buffer)?, &[82; 64])
}

fn never_ends(context: &Context) -> CaseResult {
    let device = context.open_limited(LIMIT)?;
    let buffer = context.words(&device, &[1; 16])?;
    let commands = context.record(&device, |recorder| recorder.fill(&buffer, 2).map(drop))?;
    let spinner = Spinner::new(context, &device)?;
    let time = device.semaphore(0);
    spinner.submit(&device.queue(0)?, Submit::new().signal(&time, 1))?;
    device.queue(0)?.submit(&commands, Submit::new().wait(&time, 1).signal(&time, 2))?;
    lost(context.wait(&time, 2), &["did not end within 0.200 s", "\"spin\""])?;
    everything_fails(&device, &buffer, &commands, "did not end within 0.200 s")?;
    // Checked while the kernel still spins.
    a_fresh_device_works(context, true)?;
    // The kernel ends after the loss, which must not change anything.
    drop(spinner);
    std::thread::sleep(Duration::from_millis(20));
    everything_fails(&device, &buffer, &commands, "did not end within 0.200 s")?;
    a_fresh_device_works(context, true)
}

fn own_limit(context: &Context) -> CaseResult {
    let device = context.open()?;
    let spinner = Spinner::new(context, &device)?;
    let done = device.semaphore(0);
    spinner.submit(&device.queue(0)?, Submit::new().signal(&done, 1).limit(Duration::from_millis(100)))?;
    lost(context.wait(&done, 1), &["did not end within 0.100 s"])
}

fn out_of_bounds(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "out_of_bounds")?;
    let (before, buffer) = (context.words(&device, &[7; 16])?, context.words(&device, &[8; 16])?);
    let after = context.words(&device, &[9; 16])?;
    let poke = |index| {
        context.record(&device, |recorder| {
            recorder.dispatch(&kernel, [1, 1, 1], &[(&buffer).into()], &params(index, 1)).map(drop)
        })
    };
    context.run(&device, &poke(15)?, Submit::new())?;
    match context.run(&device, &poke(1 << 20)?, Submit::new().label("wild")) {
        Err(error @ (Error::Kernel { .. } | Error::Lost(_))) => mentions(&error, &["out_of_bounds"])?,
        other => return Err(Failure::Wrong(format!("expected a failed kernel or a lost device, got {other:?}"))),
    }
    if device.loss().is_none() {
        same("in front", &context.read_words(&device, &before)?, &[7; 16])?;
        same("behind", &context.read_words(&device, &after)?, &[9; 16])?;
        context.run(&device, &poke(0)?, Submit::new())?;
        let mut expected = [8; 16];
        (expected[0], expected[15]) = (1, 1);
        same("the device after the fault", &context.read_words(&device, &buffer)?, &expected)?;
    }
    a_fresh_device_works(context, true)
}

fn stays_lost(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = context.words(&device, &[1; 16])?;
    let commands = context.record(&device, |recorder| recorder.fill(&buffer, 2).map(drop))?;
    let (go, done) = (device.semaphore(0), device.semaphore(0));
    device.queue(0)?.submit(&commands, Submit::new().wait(&go, 1).signal(&done, 1))?;
    device.lose("the first cause");
    device.lose("the second cause");
    lost(context.wait(&done, 1), &["the first cause"])?;
    everything_fails(&device, &buffer, &commands, "the first cause")?;
    // A late signal does not start submissions that waited for it.
    go.signal(1)?;
    everything_fails(&device, &buffer, &commands, "the first cause")?;
    a_fresh_device_works(context, false)
}

fn failed_submission(context: &Context) -> CaseResult {
    let device = context.open()?;
    let memory = context.host_visible(&device)?;
    let buffer = device.allocate(BufferDesc::new(64, memory))?;
    let commands = context.record(&device, |recorder| recorder.fill(&buffer, 2).map(drop))?;
    let mapping = buffer.map()?;
    let failed = context.run(&device, &commands, Submit::new());
    holds(matches!(failed, Err(Error::Invalid { .. })), format!("expected a failed submission, got {failed:?}"))?;
    drop(mapping);
    holds(device.loss().is_none(), "the device is lost")?;
    context.run(&device, &commands, Submit::new())?;
    same("afterwards", &context.read(&device, &buffer)?, &filled(2, 64))
}

fn loss_under_load(context: &Context) -> CaseResult {
    for round in 0..10 {
        let device = context.open()?;
        let buffers: Vec<_> = (0..4).map(|_| context.words(&device, &[0; 64])).collect::<Result<_, _>>()?;
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                buffers.iter().map(|buffer| scope.spawn(|| submit_until_lost(context, &device, buffer))).collect();
            std::thread::sleep(Duration::from_micros(500 * round));
            device.lose("lost under load");
            threads.into_iter().try_for_each(|thread| {
                thread.join().unwrap_or_else(|_| Err(Failure::Wrong("a submitting thread panicked".into())))
            })
        })?;
    }
    Ok(())
}

/// Submits a chain until the device is lost. Every accepted submission must then be complete or
/// have failed with the device.
fn submit_until_lost(context: &Context, device: &Device, buffer: &Buffer) -> CaseResult {
    let time = device.semaphore(0);
    let queue = device.queue(0)?;
    let mut accepted = 0;
    loop {
        let step = context.record(device, |recorder| recorder.fill(buffer, 1).map(drop)).and_then(|commands| {
            queue.submit(&commands, Submit::new().wait(&time, accepted).signal(&time, accepted + 1))
        });
        match step {
            Ok(()) => accepted += 1,
            Err(Error::Lost(_)) => break,
            Err(other) => return Err(other.into()),
        }
    }
    match context.wait(&time, accepted) {
        Ok(()) => Ok(()),
        failed => lost(failed, &["lost under load"]),
    }
}
