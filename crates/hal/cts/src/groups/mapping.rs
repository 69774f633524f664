//! Host mappings: exclusive, rejected where unsupported, and never stale.

use roci_hal::{BufferDesc, Submit};

use super::filled;
use super::spinner::Spinner;
use crate::backend::Tag;
use crate::case::{Case, CaseResult};
use crate::check::{mentions, refused, same};
use crate::context::Context;
use crate::random::Random;

const GROUP: &str = "mapping";

pub(super) const CASES: &[Case] = &[
    Case::new(GROUP, "content_survives_unmapping", content_survives_unmapping),
    Case::new(GROUP, "device_writes_are_visible_to_the_host", device_writes_are_visible_to_the_host),
    Case::new(GROUP, "host_writes_are_visible_to_the_device", host_writes_are_visible_to_the_device),
    Case::new(GROUP, "mapping_a_range_does_not_affect_the_rest", mapped_ranges),
    Case::new(GROUP, "mappings_are_exclusive", mappings_are_exclusive),
    Case::new(GROUP, "device_memory_cannot_be_mapped", device_memory_cannot_be_mapped),
    Case::new(GROUP, "a_submission_on_a_mapped_buffer_fails", a_submission_on_a_mapped_buffer_fails),
    Case::needing(GROUP, "mapping_in_flight_is_rejected", &[Tag::Dispatch, Tag::Hang], mapping_in_flight_is_rejected),
];

fn content_survives_unmapping(context: &Context) -> CaseResult {
    let device = context.open()?;
    let data = Random::new(2).bytes(5003);
    for &memory in device.info().memory_types.iter().filter(|memory| memory.host_visible()) {
        let buffer = device.allocate(BufferDesc::new(5003, memory))?;
        buffer.map()?.copy_from_slice(&data);
        same(&format!("{memory:?} mapped again"), &buffer.map()?, &data)?;
        same(&format!("{memory:?} read"), &context.read(&device, &buffer)?, &data)?;
    }
    Ok(())
}

fn device_writes_are_visible_to_the_host(context: &Context) -> CaseResult {
    let device = context.open()?;
    for &memory in device.info().memory_types.iter().filter(|memory| memory.host_visible()) {
        let buffer = device.allocate(BufferDesc::new(4096, memory))?;
        for pattern in [0x0102_0304, 0xdead_beef, 7, 0xffff_ffff] {
            let commands = context.record(&device, |recorder| recorder.fill(&buffer, pattern).map(drop))?;
            context.run(&device, &commands, Submit::new())?;
            same(&format!("{memory:?} mapped"), &buffer.map()?, &filled(pattern, 4096))?;
            same(&format!("{memory:?} read"), &context.read(&device, &buffer)?, &filled(pattern, 4096))?;
        }
    }
    Ok(())
}

fn host_writes_are_visible_to_the_device(context: &Context) -> CaseResult {
    let device = context.open()?;
    let target = device.allocate(BufferDesc::device(1024))?;
    for &memory in device.info().memory_types.iter().filter(|memory| memory.host_visible()) {
        let source = device.allocate(BufferDesc::new(1024, memory))?;
        let commands = context.record(&device, |recorder| recorder.copy(&source, &target).map(drop))?;
        for round in 0..8u64 {
            let data = Random::new(round).bytes(1024);
            source.map()?.copy_from_slice(&data);
            context.run(&device, &commands, Submit::new())?;
            same(&format!("{memory:?}, round {round}"), &context.read(&device, &target)?, &data)?;
        }
    }
    Ok(())
}

/// If the host has its own copy, the bytes outside the mapped part are stale there and must not
/// overwrite the device's data.
fn mapped_ranges(context: &Context) -> CaseResult {
    let device = context.open()?;
    for &memory in device.info().memory_types.iter().filter(|memory| memory.host_visible()) {
        let buffer = device.allocate(BufferDesc::new(4096, memory))?;
        let part = buffer.range(1000, 500)?;
        let fill = |pattern| -> CaseResult {
            let commands = context.record(&device, |recorder| recorder.fill(&buffer, pattern).map(drop))?;
            Ok(context.run(&device, &commands, Submit::new())?)
        };
        for round in 0..4u32 {
            fill(2 * round + 1)?;
            let expected = filled(2 * round + 1, 4096);
            same(&format!("{memory:?}, to read"), &part.map_read()?, &expected[1000..1500])?;
            same(&format!("{memory:?}, after reading"), &context.read(&device, &buffer)?, &expected)?;
            fill(2 * round + 2)?;
            let (mut expected, data) = (filled(2 * round + 2, 4096), Random::new(round.into()).bytes(500));
            part.map_write()?.copy_from_slice(&data);
            expected[1000..1500].copy_from_slice(&data);
            same(&format!("{memory:?}, after writing"), &context.read(&device, &buffer)?, &expected)?;
        }
        let mapping = part.map_read()?;
        refused(buffer.map(), &["already mapped"])?;
        drop(mapping);
    }
    Ok(())
}

fn mappings_are_exclusive(context: &Context) -> CaseResult {
    let device = context.open()?;
    let memory = context.host_visible(&device)?;
    let buffer = device.allocate(BufferDesc::new(64, memory).label("mine"))?;
    let mapping = buffer.map()?;
    refused(buffer.map(), &["\"mine\"", "already mapped"])?;
    drop(mapping);
    buffer.map()?;
    Ok(())
}

fn device_memory_cannot_be_mapped(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = device.allocate(BufferDesc::device(64))?;
    refused(buffer.map(), &["device memory cannot be mapped"])
}

fn a_submission_on_a_mapped_buffer_fails(context: &Context) -> CaseResult {
    let device = context.open()?;
    let memory = context.host_visible(&device)?;
    let buffer = device.allocate(BufferDesc::new(64, memory))?;
    let commands = context.record(&device, |recorder| recorder.fill(&buffer, 5).map(drop))?;
    let mut mapping = buffer.map()?;
    mapping.fill(1);
    match context.run(&device, &commands, Submit::new()) {
        Err(error) => mentions(&error, &["mapped by the host"])?,
        Ok(()) => return refused(Ok(()), &["mapped by the host"]),
    }
    same("what the host wrote", &mapping, &[1; 64])?;
    drop(mapping);
    context.run(&device, &commands, Submit::new())?;
    same("after unmapping", &context.read(&device, &buffer)?, &filled(5, 64))
}

fn mapping_in_flight_is_rejected(context: &Context) -> CaseResult {
    let device = context.open()?;
    let spinner = Spinner::new(context, &device)?;
    let done = device.semaphore(0);
    spinner.submit(&device.queue(0)?, Submit::new().signal(&done, 1))?;
    refused(spinner.buffer().map(), &["\"flag\"", "in flight"])?;
    spinner.release();
    context.wait(&done, 1)?;
    spinner.buffer().map()?;
    Ok(())
}
