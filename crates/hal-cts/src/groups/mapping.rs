//! The host's view: exclusive, refused where it cannot be, and never stale.

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
    Case::new(GROUP, "the_host_sees_what_the_device_wrote", the_host_sees_what_the_device_wrote),
    Case::new(GROUP, "the_device_sees_what_the_host_wrote", the_device_sees_what_the_host_wrote),
    Case::new(GROUP, "a_part_to_read_or_write_leaves_the_rest", a_part_leaves_the_rest),
    Case::new(GROUP, "one_mapping_at_a_time", one_mapping_at_a_time),
    Case::new(GROUP, "device_memory_is_refused", device_memory_is_refused),
    Case::new(GROUP, "a_submission_on_a_mapped_buffer_fails", a_submission_on_a_mapped_buffer_fails),
    Case::needing(GROUP, "refused_while_in_flight", &[Tag::Dispatch, Tag::Hang], refused_while_in_flight),
];

fn content_survives_unmapping(context: &Context) -> CaseResult {
    let device = context.open()?;
    let data = Random::new(2).bytes(5003);
    for &memory in device.info().memory_types.iter().filter(|memory| memory.host_visible()) {
        let buffer = device.allocate(BufferDesc { size: 5003, memory, label: None })?;
        buffer.map()?.copy_from_slice(&data);
        same(&format!("{memory:?} mapped again"), &buffer.map()?, &data)?;
        same(&format!("{memory:?} read"), &context.read(&device, &buffer)?, &data)?;
    }
    Ok(())
}

fn the_host_sees_what_the_device_wrote(context: &Context) -> CaseResult {
    let device = context.open()?;
    for &memory in device.info().memory_types.iter().filter(|memory| memory.host_visible()) {
        let buffer = device.allocate(BufferDesc { size: 4096, memory, label: None })?;
        for pattern in [0x0102_0304, 0xdead_beef, 7, 0xffff_ffff] {
            let commands = context.record(&device, |recorder| recorder.fill(&buffer, pattern).map(drop))?;
            context.run(&device, &commands, Submit::new())?;
            same(&format!("{memory:?} mapped"), &buffer.map()?, &filled(pattern, 4096))?;
            same(&format!("{memory:?} read"), &context.read(&device, &buffer)?, &filled(pattern, 4096))?;
        }
    }
    Ok(())
}

fn the_device_sees_what_the_host_wrote(context: &Context) -> CaseResult {
    let device = context.open()?;
    let target = device.allocate(BufferDesc::device(1024))?;
    for &memory in device.info().memory_types.iter().filter(|memory| memory.host_visible()) {
        let source = device.allocate(BufferDesc { size: 1024, memory, label: None })?;
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

/// Where the host has a copy of its own, that is stale outside of the part and must not come over what the device wrote.
fn a_part_leaves_the_rest(context: &Context) -> CaseResult {
    let device = context.open()?;
    for &memory in device.info().memory_types.iter().filter(|memory| memory.host_visible()) {
        let buffer = device.allocate(BufferDesc { size: 4096, memory, label: None })?;
        let part = buffer.range(1000, 500)?;
        let fill = |pattern| -> CaseResult {
            let commands = context.record(&device, |recorder| recorder.fill(&buffer, pattern).map(drop))?;
            Ok(context.run(&device, &commands, Submit::new())?)
        };
        for round in 0..4u32 {
            fill(2 * round + 1)?;
            let wanted = filled(2 * round + 1, 4096);
            same(&format!("{memory:?}, to read"), &part.map_read()?, &wanted[1000..1500])?;
            same(&format!("{memory:?}, after reading"), &context.read(&device, &buffer)?, &wanted)?;
            fill(2 * round + 2)?;
            let (mut wanted, data) = (filled(2 * round + 2, 4096), Random::new(round.into()).bytes(500));
            part.map_write()?.copy_from_slice(&data);
            wanted[1000..1500].copy_from_slice(&data);
            same(&format!("{memory:?}, after writing"), &context.read(&device, &buffer)?, &wanted)?;
        }
        let mapping = part.map_read()?;
        refused(buffer.map(), &["mapped already"])?;
        drop(mapping);
    }
    Ok(())
}

fn one_mapping_at_a_time(context: &Context) -> CaseResult {
    let device = context.open()?;
    let memory = context.host_visible(&device)?;
    let buffer = device.allocate(BufferDesc { size: 64, memory, label: Some("mine".into()) })?;
    let mapping = buffer.map()?;
    refused(buffer.map(), &["\"mine\"", "mapped already"])?;
    drop(mapping);
    buffer.map()?;
    Ok(())
}

fn device_memory_is_refused(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = device.allocate(BufferDesc::device(64))?;
    refused(buffer.map(), &["device memory cannot be mapped"])
}

fn a_submission_on_a_mapped_buffer_fails(context: &Context) -> CaseResult {
    let device = context.open()?;
    let memory = context.host_visible(&device)?;
    let buffer = device.allocate(BufferDesc { size: 64, memory, label: None })?;
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

fn refused_while_in_flight(context: &Context) -> CaseResult {
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
