//! Memory: sizes, types, limits.

use roci_hal::{BufferDesc, Error, MemoryType};

use crate::case::{Case, CaseResult, Failure};
use crate::check::{equal, refused, same};
use crate::context::Context;
use crate::random::Random;

const GROUP: &str = "allocation";
const SIZES: [u64; 12] = [1, 2, 3, 4, 5, 63, 64, 65, 4095, 4096, 4097, (1 << 20) + 1];

pub(super) const CASES: &[Case] = &[
    Case::new(GROUP, "every_type_serves_every_size", every_type_serves_every_size),
    Case::new(GROUP, "zero_bytes_are_refused", zero_bytes_are_refused),
    Case::new(GROUP, "an_absent_type_is_refused", an_absent_type_is_refused),
    Case::new(GROUP, "too_much_gives_the_figures", too_much_gives_the_figures),
    Case::new(GROUP, "many_buffers_keep_their_own_content", many_buffers_keep_their_own_content),
    Case::new(GROUP, "freed_memory_can_be_had_again", freed_memory_can_be_had_again),
];

fn every_type_serves_every_size(context: &Context) -> CaseResult {
    let device = context.open()?;
    let mut random = Random::new(1);
    for &memory in &device.info().memory_types {
        for size in SIZES {
            let buffer = device.allocate(BufferDesc { size, memory, label: None })?;
            equal("size", buffer.size(), size)?;
            equal("type", buffer.memory_type(), memory)?;
            let data = random.bytes(size as usize);
            context.write(&device, &buffer, &data)?;
            same(&format!("{size} bytes of {memory:?}"), &context.read(&device, &buffer)?, &data)?;
        }
    }
    Ok(())
}

fn zero_bytes_are_refused(context: &Context) -> CaseResult {
    let device = context.open()?;
    for &memory in &device.info().memory_types {
        refused(device.allocate(BufferDesc { size: 0, memory, label: None }), &["zero bytes"])?;
    }
    Ok(())
}

fn an_absent_type_is_refused(context: &Context) -> CaseResult {
    let device = context.open()?;
    let present = &device.info().memory_types;
    for memory in [MemoryType::Device, MemoryType::Host, MemoryType::Shared] {
        let result = device.allocate(BufferDesc { size: 64, memory, label: None });
        if present.contains(&memory) {
            result?;
        } else {
            refused(result, &[&format!("{memory:?}")])?;
        }
    }
    Ok(())
}

fn too_much_gives_the_figures(context: &Context) -> CaseResult {
    let device = context.open()?;
    let limit = device.info().max_allocation;
    for size in [limit.saturating_add(1), u64::MAX] {
        match device.allocate(BufferDesc::device(size)) {
            Err(Error::OutOfMemory { requested, limit: told, .. }) => {
                equal("bytes asked for", requested, size)?;
                equal("limit", told, Some(limit))?;
            }
            Err(other) => return Err(other.into()),
            Ok(_) => return Err(Failure::Wrong(format!("{size} bytes were granted, the limit is {limit}"))),
        }
    }
    // The device goes on.
    device.allocate(BufferDesc::device(64))?;
    Ok(())
}

fn many_buffers_keep_their_own_content(context: &Context) -> CaseResult {
    let device = context.open()?;
    let mut buffers = Vec::new();
    for index in 0..200u32 {
        buffers.push(context.words(&device, &vec![index; 1 + index as usize % 97])?);
    }
    for (index, buffer) in (0u32..).zip(&buffers) {
        let wanted = vec![index; 1 + index as usize % 97];
        same(&format!("buffer {index}"), &context.read_words(&device, buffer)?, &wanted)?;
    }
    Ok(())
}

fn freed_memory_can_be_had_again(context: &Context) -> CaseResult {
    let device = context.open()?;
    // Far more than any device has, were nothing freed: 64 MiB a time where the limits allow it.
    let size = device.info().max_allocation.min(64 << 20);
    for round in 0..32 {
        let buffer = device.allocate(BufferDesc::device(size))?;
        let end = buffer.range(size - 4, 4)?;
        context.write(&device, &end, &[round; 4])?;
        same("the last word", &context.read(&device, &end)?, &[round; 4])?;
    }
    Ok(())
}
