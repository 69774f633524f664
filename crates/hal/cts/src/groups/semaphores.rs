//! Timeline semaphores: order of submissions, and propagation of failures.

use std::time::{Duration, Instant};

use roci_hal::{BufferDesc, Error, Submit};

use super::{accumulated, params};
use super::{filled, linear_grid};
use crate::backend::Tag;
use crate::case::{Case, CaseResult, Failure};
use crate::check::{equal, holds, mentions, refused, same};
use crate::context::Context;

const GROUP: &str = "semaphores";
/// Timeout of a wait that is expected to expire.
const SHORT: Duration = Duration::from_millis(30);

pub(super) const CASES: &[Case] = &[
    Case::new(GROUP, "a_signal_follows_the_completed_work", signal_after_completion),
    Case::needing(GROUP, "a_submission_never_runs_before_its_wait", &[Tag::Dispatch], never_overtakes),
    Case::needing(GROUP, "waits_may_be_submitted_before_signals", &[Tag::Dispatch], wait_before_signal),
    Case::new(GROUP, "queues_alternate", queues_alternate),
    Case::new(GROUP, "every_submission_signals", every_submission_signals),
    Case::new(GROUP, "the_host_releases_work", host_releases),
    Case::new(GROUP, "several_waits_join", several_waits_join),
    Case::new(GROUP, "several_signals_fork", several_signals_fork),
    Case::new(GROUP, "one_value_releases_many_waiters", many_waiters),
    Case::new(GROUP, "values_only_increase", values_only_increase),
    Case::new(GROUP, "a_wait_ends_at_its_deadline", wait_ends_at_its_deadline),
    Case::new(GROUP, "failures_propagate_through_a_chain", failure_propagates),
    Case::new(GROUP, "values_reached_before_a_failure_stay_reached", reached_before_failure),
    Case::new(GROUP, "a_dropped_semaphore_fails_its_waiters", dropped_semaphore),
    Case::new(GROUP, "an_empty_submission_waits_and_signals", empty_submission),
];

fn signal_after_completion(context: &Context) -> CaseResult {
    let device = context.open()?;
    let memory = context.host_visible(&device)?;
    let buffer = device.allocate(BufferDesc::new(1 << 18, memory))?;
    let done = device.semaphore(0);
    for round in 1..=30u32 {
        let commands = context.record(&device, |recorder| recorder.fill(&buffer, round).map(drop))?;
        device.queue(0)?.submit(&commands, Submit::new().signal(&done, u64::from(round)))?;
        context.wait(&done, u64::from(round))?;
        same(&format!("fill {round}"), &buffer.map()?, &filled(round, 1 << 18))?;
    }
    Ok(())
}

fn never_overtakes(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "accumulate")?;
    let queues = device.info().queues.len();
    let count = 4096;
    let buffer = context.words(&device, &vec![1; count])?;
    let time = device.semaphore(0);
    for step in 0..200u32 {
        let commands = context.record(&device, |recorder| {
            recorder.dispatch(&kernel, linear_grid(count), &[(&buffer).into()], &params(count, step)).map(drop)
        })?;
        let submit = Submit::new().wait(&time, u64::from(step)).signal(&time, u64::from(step) + 1);
        device.queue(step as usize % queues)?.submit(&commands, submit)?;
    }
    context.wait(&time, 200)?;
    let expected = (0..200).fold(1, accumulated);
    same("200 steps over all queues", &context.read_words(&device, &buffer)?, &vec![expected; count])
}

fn wait_before_signal(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "accumulate")?;
    let buffer = context.words(&device, &[1; 64])?;
    let time = device.semaphore(0);
    for step in (0..100u32).rev() {
        let commands = context.record(&device, |recorder| {
            recorder.dispatch(&kernel, linear_grid(64), &[(&buffer).into()], &params(64, step)).map(drop)
        })?;
        let submit = Submit::new().wait(&time, u64::from(step) + 1).signal(&time, u64::from(step) + 2);
        device.queue(step as usize % device.info().queues.len())?.submit(&commands, submit)?;
    }
    same("before the first signal", &context.read_words(&device, &buffer)?, &[1; 64])?;
    time.signal(1)?;
    context.wait(&time, 101)?;
    same("afterwards", &context.read_words(&device, &buffer)?, &[(0..100).fold(1, accumulated); 64])
}

fn queues_alternate(context: &Context) -> CaseResult {
    let device = context.open()?;
    let (a, b) = (device.allocate(BufferDesc::device(4096))?, device.allocate(BufferDesc::device(4096))?);
    let (there, back) = (device.semaphore(0), device.semaphore(0));
    let (first, last) = (device.queue(0)?, device.queue(device.info().queues.len() - 1)?);
    let to = context.record(&device, |recorder| recorder.copy(&a, &b).map(drop))?;
    for round in 1..=100u64 {
        let fill = context.record(&device, |recorder| recorder.fill(&a, round as u32).map(drop))?;
        first.submit(&fill, Submit::new().wait(&back, round - 1).signal(&there, round))?;
        last.submit(&to, Submit::new().wait(&there, round).signal(&back, round))?;
    }
    context.wait(&back, 100)?;
    same("after a hundred turns", &context.read(&device, &b)?, &filled(100, 4096))
}

fn every_submission_signals(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = device.allocate(BufferDesc::device(64 * 64))?;
    let mut signals = Vec::new();
    for part in 0..64u32 {
        let range = buffer.range(u64::from(part) * 64, 64)?;
        let commands = context.record(&device, |recorder| recorder.fill(&range, part).map(drop))?;
        let done = device.semaphore(0);
        device.queue(part as usize % device.info().queues.len())?.submit(&commands, Submit::new().signal(&done, 1))?;
        signals.push(done);
    }
    for (part, done) in signals.iter().enumerate() {
        if let Err(error) = context.wait(done, 1) {
            return Err(Failure::Wrong(format!("submission {part} of 64 was never signaled: {error}")));
        }
    }
    Ok(())
}

fn host_releases(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = device.allocate(BufferDesc::device(64))?;
    context.write(&device, &buffer, &filled(1, 64))?;
    let (go, done) = (device.semaphore(5), device.semaphore(0));
    let commands = context.record(&device, |recorder| recorder.fill(&buffer, 2).map(drop))?;
    device.queue(0)?.submit(&commands, Submit::new().wait(&go, 7).signal(&done, 1))?;
    equal("value before", go.query()?, 5)?;
    go.signal(6)?;
    same("one short of the value", &context.read(&device, &buffer)?, &filled(1, 64))?;
    equal("done before", done.query()?, 0)?;
    go.signal(9)?;
    context.wait(&done, 1)?;
    same("beyond the value", &context.read(&device, &buffer)?, &filled(2, 64))
}

fn several_waits_join(context: &Context) -> CaseResult {
    let device = context.open()?;
    let gates: Vec<_> = (0..8).map(|_| device.semaphore(0)).collect();
    let done = device.semaphore(0);
    let submit = gates.iter().fold(Submit::new().signal(&done, 1), |submit, gate| submit.wait(gate, 1));
    device.queue(0)?.barrier(submit)?;
    for gate in &gates {
        equal("before the last gate", done.query()?, 0)?;
        gate.signal(1)?;
    }
    Ok(context.wait(&done, 1)?)
}

fn several_signals_fork(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = device.allocate(BufferDesc::device(64))?;
    let all: Vec<_> = (0..8).map(|_| device.semaphore(0)).collect();
    let submit = (1u64..).zip(&all).fold(Submit::new(), |submit, (value, done)| submit.signal(done, value));
    let commands = context.record(&device, |recorder| recorder.fill(&buffer, 1).map(drop))?;
    device.queue(0)?.submit(&commands, submit)?;
    for (value, done) in (1u64..).zip(&all) {
        context.wait(done, value)?;
        equal("value", done.query()?, value)?;
    }
    Ok(())
}

fn many_waiters(context: &Context) -> CaseResult {
    let device = context.open()?;
    let (go, buffer) = (device.semaphore(0), device.allocate(BufferDesc::device(200 * 4))?);
    let ends: Vec<_> = (0..200).map(|_| device.semaphore(0)).collect();
    for (index, end) in (0u32..).zip(&ends) {
        let word = buffer.range(u64::from(index) * 4, 4)?;
        let commands = context.record(&device, |recorder| recorder.fill(&word, index).map(drop))?;
        device.queue(0)?.submit(&commands, Submit::new().wait(&go, 1).signal(end, 1))?;
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| context.wait(&go, 1))).collect();
        std::thread::sleep(SHORT);
        go.signal(1)?;
        for thread in threads {
            thread.join().unwrap_or_else(|_| Err(Error::invalid("thread", "panicked")))?;
        }
        Ok::<_, Failure>(())
    })?;
    for end in &ends {
        context.wait(end, 1)?;
    }
    same("every word", &context.read_words(&device, &buffer)?, &(0..200).collect::<Vec<_>>())
}

fn values_only_increase(context: &Context) -> CaseResult {
    let device = context.open()?;
    let time = device.semaphore(3);
    refused(time.signal(3), &["semaphore", "signaled with 3, but its value is already 3"])?;
    refused(time.signal(2), &["signaled with 2"])?;
    time.signal(4)?;
    equal("value", time.query()?, 4)?;
    // A submission that signals a value below the promised one fails the semaphore: waiters must
    // not hang.
    device.queue(0)?.barrier(Submit::new().signal(&time, 4))?;
    context.eventually("the semaphore fails", || time.query().is_err())?;
    match time.wait(5, SHORT) {
        Err(error) => mentions(&error, &["signaled with 4"]),
        Ok(()) => Err(Failure::Wrong("a value was reached without a signal".into())),
    }
}

fn wait_ends_at_its_deadline(context: &Context) -> CaseResult {
    let device = context.open()?;
    let never = device.semaphore(0);
    let started = Instant::now();
    match never.wait(1, SHORT) {
        Err(error @ Error::Timeout { .. }) => {
            mentions(&error, &[&device.info().uri.to_string(), "no completion within"])?
        }
        other => return Err(Failure::Wrong(format!("expected a timeout, got {other:?}"))),
    }
    let waited = started.elapsed();
    holds(waited >= SHORT, format!("gave up after {waited:?} of {SHORT:?}"))?;
    holds(waited < SHORT + context.timeout(), format!("came back only after {waited:?}"))?;
    // A wait timeout does not lose the device.
    holds(device.loss().is_none(), "the device is lost")?;
    let buffer = context.words(&device, &[1, 2, 3])?;
    same("afterwards", &context.read_words(&device, &buffer)?, &[1, 2, 3])
}

fn failure_propagates(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = device.allocate(BufferDesc::device(64))?;
    context.write(&device, &buffer, &filled(1, 64))?;
    let commands = context.record(&device, |recorder| recorder.fill(&buffer, 2).map(drop))?;
    let links: Vec<_> = (0..20).map(|_| device.semaphore(0)).collect();
    let queues = device.info().queues.len();
    for (index, pair) in links.windows(2).enumerate() {
        let submit = Submit::new().wait(&pair[0], 1).signal(&pair[1], 1);
        device.queue(index % queues)?.submit(&commands, submit)?;
    }
    links[0].fail(Error::invalid("the first link", "it broke"));
    for (index, link) in links.iter().enumerate() {
        match context.wait(link, 1) {
            Err(error) => mentions(&error, &["the first link: it broke"])?,
            Ok(()) => return Err(Failure::Wrong(format!("link {index} was signaled after a failure"))),
        }
    }
    same("nothing ran", &context.read(&device, &buffer)?, &filled(1, 64))?;
    // The first cause is kept, and the device still works.
    links[0].fail(Error::invalid("later", "another cause"));
    match links[0].query() {
        Err(error) => mentions(&error, &["it broke"])?,
        Ok(value) => return Err(Failure::Wrong(format!("a failed semaphore reports value {value}"))),
    }
    context.run(&device, &commands, Submit::new())?;
    same("another submission ran", &context.read(&device, &buffer)?, &filled(2, 64))
}

fn reached_before_failure(context: &Context) -> CaseResult {
    let device = context.open()?;
    let time = device.semaphore(3);
    time.fail(Error::invalid("test", "broken at 3"));
    time.wait(3, SHORT)?;
    let done = device.semaphore(0);
    device.queue(0)?.barrier(Submit::new().wait(&time, 3).signal(&done, 1))?;
    context.wait(&done, 1)?;
    refused(time.wait(4, SHORT), &["broken at 3"])
}

fn dropped_semaphore(context: &Context) -> CaseResult {
    let device = context.open()?;
    let (lost, done) = (device.semaphore(0), device.semaphore(0));
    device.queue(0)?.barrier(Submit::new().wait(&lost, 1).signal(&done, 1))?;
    drop(lost);
    refused(context.wait(&done, 1), &["last handle was dropped"])
}

fn empty_submission(context: &Context) -> CaseResult {
    let device = context.open()?;
    let done = device.semaphore(0);
    device.queue(0)?.barrier(Submit::new().signal(&done, 1).label("nothing"))?;
    context.wait(&done, 1)?;
    device.queue(0)?.barrier(Submit::new())?;
    let buffer = device.allocate(BufferDesc::device(64))?;
    refused(device.queue(0)?.barrier(Submit::new().bind(&buffer)), &["slots are bound, but there is no command buffer"])
}
