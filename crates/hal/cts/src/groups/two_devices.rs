//! Two logical devices in one process, on the same or different drivers: they share semaphores, but
//! not memory and command buffers.

use roci_hal::{Binding, BufferDesc, Device, Submit};

use super::{filled, linear_grid, params};
use crate::backend::Tag;
use crate::case::{Case, CaseResult};
use crate::check::{holds, lost, refused, same};
use crate::context::Context;
use crate::random::Random;

const GROUP: &str = "two_devices";

pub(super) const CASES: &[Case] = &[
    Case::new(GROUP, "semaphores_order_work_across_devices", semaphores_cross),
    Case::new(GROUP, "data_moves_between_devices_through_the_host", data_crosses),
    Case::needing(GROUP, "kernels_of_both_devices_alternate", &[Tag::Dispatch], kernels_alternate),
    Case::new(GROUP, "failures_propagate_across_devices", failure_crosses),
    Case::new(GROUP, "buffers_of_another_device_are_rejected", foreign_buffers),
    Case::new(GROUP, "commands_of_another_device_are_rejected", foreign_commands),
    Case::needing(GROUP, "kernels_of_another_device_are_rejected", &[Tag::Dispatch], foreign_kernels),
    Case::new(GROUP, "losing_one_device_does_not_affect_the_other", losing_one),
];

fn semaphores_cross(context: &Context) -> CaseResult {
    let (a, b) = (context.open()?, context.open_other()?);
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

/// Copies bytes to the other device and back. Some sizes are not multiples of the word size, some
/// exceed one staging chunk.
fn data_crosses(context: &Context) -> CaseResult {
    let (a, b) = (context.open()?, context.open_other()?);
    for bytes in [1u64, 13, 4096, (1 << 20) + 3] {
        let sent = Random::new(bytes).bytes(bytes as usize);
        let on = |device: &Device| device.allocate(BufferDesc::device(bytes.next_multiple_of(4)));
        let (on_a, on_b) = (on(&a)?.range(0, bytes)?, on(&b)?.range(0, bytes)?);
        let (there, back) = (a.semaphore(0), b.semaphore(0));
        a.queue(0)?.write(on_a.clone(), sent.clone(), Submit::new().signal(&there, 1))?;
        // Each device waits for a semaphore that the other one signals.
        let read = a.queue(0)?.read(on_a.clone(), Submit::new().wait(&there, 1).signal(&there, 2))?;
        let carried = read.wait(context.timeout())?;
        b.queue(0)?.write(on_b.clone(), carried, Submit::new().wait(&there, 2).signal(&back, 1))?;
        let read = b.queue(0)?.read(on_b.clone(), Submit::new().wait(&back, 1))?;
        same(&format!("{bytes} bytes, there"), &read.wait(context.timeout())?, &sent)?;
        let reversed: Vec<u8> = sent.iter().rev().copied().collect();
        a.queue(0)?.write(on_a.clone(), reversed.clone(), Submit::new().wait(&back, 1).signal(&there, 3))?;
        let read = a.queue(0)?.read(on_a.clone(), Submit::new().wait(&there, 3))?;
        same(&format!("{bytes} bytes, back"), &read.wait(context.timeout())?, &reversed)?;
    }
    Ok(())
}

/// Both devices compute a value in turn, each with its own build of the kernel.
fn kernels_alternate(context: &Context) -> CaseResult {
    let devices = [context.open()?, context.open_other()?];
    let kernels = [context.kernel(&devices[0], "scale")?, context.kernel(&devices[1], "add_constant")?];
    let mut words = vec![1u32; 64];
    let mut expected = 1u32;
    let mut before = devices[0].semaphore(2);
    for (device, kernel) in devices.iter().zip(&kernels).cycle().take(6) {
        let buffer = device.allocate(BufferDesc::device(256))?;
        let bytes = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let done = device.semaphore(0);
        device.queue(0)?.write(&buffer, bytes, Submit::new().wait(&before, 2).signal(&done, 1))?;
        let commands = context.record(device, |recorder| {
            recorder.dispatch(kernel, linear_grid(64), &[(&buffer).into(), (&buffer).into()], &params(64, 3)).map(drop)
        })?;
        device.queue(0)?.submit(&commands, Submit::new().wait(&done, 1).signal(&done, 2))?;
        context.wait(&done, 2)?;
        words = context.read_words(device, &buffer)?;
        let name = &kernel.entry_point().name;
        expected = if name == "scale" { expected * 3 } else { expected + 3 };
        same(name, &words, &[expected; 64])?;
        before = done;
    }
    Ok(())
}

fn failure_crosses(context: &Context) -> CaseResult {
    let (a, b) = (context.open()?, context.open_other()?);
    let (go, there, done) = (a.semaphore(0), a.semaphore(0), b.semaphore(0));
    a.queue(0)?.barrier(Submit::new().wait(&go, 1).signal(&there, 1))?;
    b.queue(0)?.barrier(Submit::new().wait(&there, 1).signal(&done, 1))?;
    a.lose("pulled out");
    lost(context.wait(&done, 1), &["pulled out"])?;
    holds(b.loss().is_none(), "the other device is lost too")
}

fn foreign_buffers(context: &Context) -> CaseResult {
    let (a, b) = (context.open()?, context.open_other()?);
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
    let (a, b) = (context.open()?, context.open_other()?);
    let buffer = b.allocate(BufferDesc::device(64))?;
    let commands = context.record(&b, |recorder| recorder.fill(&buffer, 1).map(drop))?;
    refused(a.queue(0)?.submit(&commands, Submit::new()), &["the commands were recorded on another device"])
}

fn foreign_kernels(context: &Context) -> CaseResult {
    let (a, b) = (context.open()?, context.open_other()?);
    let kernel = context.kernel(&b, "add_constant")?;
    let bindings = [Binding::slot(0, 256), Binding::slot(1, 256)];
    let result = a.record().dispatch(&kernel, linear_grid(64), &bindings, &params(64, 1)).map(drop);
    refused(result, &["dispatch of \"add_constant\"", "loaded on another device"])
}

fn losing_one(context: &Context) -> CaseResult {
    let (a, b) = (context.open()?, context.open_other()?);
    a.lose("given up");
    lost(a.allocate(BufferDesc::device(64)), &["given up"])?;
    let buffer = b.allocate(BufferDesc::device(64))?;
    let commands = context.record(&b, |recorder| recorder.fill(&buffer, 4).map(drop))?;
    context.run(&b, &commands, Submit::new())?;
    same("the other device", &context.read(&b, &buffer)?, &filled(4, 64))
}
