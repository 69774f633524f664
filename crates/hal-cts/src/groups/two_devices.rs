//! Two logical devices in one process: semaphores cross, memory and commands do not.

use roci_hal::{Binding, BufferDesc, Submit};

use super::{filled, line, params};
use crate::backend::Tag;
use crate::case::{Case, CaseResult};
use crate::check::{holds, lost, refused, same};
use crate::context::Context;

const GROUP: &str = "two_devices";

pub(super) const CASES: &[Case] = &[
    Case::new(GROUP, "semaphores_order_work_across_devices", semaphores_cross),
    Case::new(GROUP, "failure_travels_across_devices", failure_crosses),
    Case::new(GROUP, "buffers_of_another_device_are_refused", foreign_buffers),
    Case::new(GROUP, "commands_of_another_device_are_refused", foreign_commands),
    Case::needing(GROUP, "kernels_of_another_device_are_refused", &[Tag::Dispatch], foreign_kernels),
    Case::new(GROUP, "losing_one_leaves_the_other", losing_one),
];

fn semaphores_cross(context: &Context) -> CaseResult {
    let (a, b) = (context.open()?, context.open()?);
    let (on_a, on_b) = (a.allocate(BufferDesc::device(4096))?, b.allocate(BufferDesc::device(4096))?);
    let (there, back) = (a.semaphore(0), b.semaphore(0));
    for round in 1..=20u64 {
        let fill_a = context.record(&a, |recorder| recorder.fill(&on_a, round as u32).map(drop))?;
        let fill_b = context.record(&b, |recorder| recorder.fill(&on_b, 100 + round as u32).map(drop))?;
        b.queue(0)?.submit(&fill_b, Submit::new().wait(&there, round).signal(&back, round))?;
        a.queue(0)?.submit(&fill_a, Submit::new().wait(&back, round - 1).signal(&there, round))?;
    }
    context.wait(&back, 20)?;
    same("the first device", &context.read(&a, &on_a)?, &filled(20, 4096))?;
    same("the second device", &context.read(&b, &on_b)?, &filled(120, 4096))
}

fn failure_crosses(context: &Context) -> CaseResult {
    let (a, b) = (context.open()?, context.open()?);
    let (go, there, done) = (a.semaphore(0), a.semaphore(0), b.semaphore(0));
    a.queue(0)?.barrier(Submit::new().wait(&go, 1).signal(&there, 1))?;
    b.queue(0)?.barrier(Submit::new().wait(&there, 1).signal(&done, 1))?;
    a.lose("pulled out");
    lost(context.wait(&done, 1), &["pulled out"])?;
    holds(b.loss().is_none(), "the other device is lost too")
}

fn foreign_buffers(context: &Context) -> CaseResult {
    let (a, b) = (context.open()?, context.open()?);
    let (own, foreign) = (a.allocate(BufferDesc::device(64))?, b.allocate(BufferDesc::device(64))?);
    let words = ["the buffer belongs to another device"];
    refused(a.record().fill(&foreign, 0).map(drop), &words)?;
    refused(a.record().update(&[0; 64], &foreign).map(drop), &words)?;
    refused(a.record().copy(&own, &foreign).map(drop), &words)?;
    refused(a.record().copy(&foreign, &own).map(drop), &words)?;
    let queue = a.queue(0)?;
    refused(queue.write(&foreign, vec![0; 64], Submit::new()), &words)?;
    refused(queue.read(&foreign, Submit::new()).map(drop), &words)?;
    refused(queue.dealloca(&foreign, Submit::new()), &words)
}

fn foreign_commands(context: &Context) -> CaseResult {
    let (a, b) = (context.open()?, context.open()?);
    let buffer = b.allocate(BufferDesc::device(64))?;
    let commands = context.record(&b, |recorder| recorder.fill(&buffer, 1).map(drop))?;
    refused(a.queue(0)?.submit(&commands, Submit::new()), &["the commands were recorded on another device"])
}

fn foreign_kernels(context: &Context) -> CaseResult {
    let (a, b) = (context.open()?, context.open()?);
    let kernel = context.kernel(&b, "add_constant")?;
    let bindings = [Binding::slot(0, 256), Binding::slot(1, 256)];
    let result = a.record().dispatch(&kernel, line(64), &bindings, &params(64, 1)).map(drop);
    refused(result, &["dispatch of \"add_constant\"", "loaded on another device"])
}

fn losing_one(context: &Context) -> CaseResult {
    let (a, b) = (context.open()?, context.open()?);
    a.lose("given up");
    lost(a.allocate(BufferDesc::device(64)), &["given up"])?;
    let buffer = b.allocate(BufferDesc::device(64))?;
    let commands = context.record(&b, |recorder| recorder.fill(&buffer, 4).map(drop))?;
    context.run(&b, &commands, Submit::new())?;
    same("the other device", &context.read(&b, &buffer)?, &filled(4, 64))
}
