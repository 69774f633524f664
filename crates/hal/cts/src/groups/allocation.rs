//! Memory allocation: sizes, types, limits.

use roci_hal::{BufferDesc, Error, MemoryType};

use crate::case::{Case, CaseResult, Failure};
use crate::check::{equal, refused, same};
use crate::context::Context;
use crate::random::Random;

const GROUP: &str = "allocation";
const SIZES: [u64; 12] = [1, 2, 3, 4, 5, 63, 64, 65, 4095, 4096, 4097, (1 << 20) + 1];

pub(super) const CASES: &[Case] = &[
    Case::new(GROUP, "every_memory_type_supports_every_size", every_memory_type_supports_every_size),
    Case::new(GROUP, "zero_bytes_are_rejected", zero_bytes_are_rejected),
    Case::new(GROUP, "a_missing_memory_type_is_rejected", a_missing_memory_type_is_rejected),
    Case::new(GROUP, "an_oversized_allocation_reports_size_and_limit", an_oversized_allocation_reports_size_and_limit),
    Case::new(GROUP, "buffers_do_not_share_content", buffers_do_not_share_content),
    Case::new(GROUP, "freed_memory_is_reused", freed_memory_is_reused),
];

fn every_memory_type_supports_every_size(context: &Context) -> CaseResult {
    let device = context.open()?;
    let mut random = Random::new(1);
    for &memory in &device.info().memory_types {
        for size in SIZES {
            let buffer = device.allocate(BufferDesc::new(size, memory))?;
            equal("size", buffer.size(), size)?;
            equal("type", buffer.memory_type(), memory)?;
            let data = random.bytes(size as usize);
            context.write(&device, &buffer, &data)?;
            same(&format!("{size} bytes of {memory:?}"), &context.read(&device, &buffer)?, &data)?;
        }
    }
    Ok(())
}

fn zero_bytes_are_rejected(context: &Context) -> CaseResult {
    let device = context.open()?;
    for &memory in &device.info().memory_types {
        refused(device.allocate(BufferDesc::new(0, memory)), &["the size is zero"])?;
    }
    Ok(())
}

fn a_missing_memory_type_is_rejected(context: &Context) -> CaseResult {
    let device = context.open()?;
    let present = &device.info().memory_types;
    for memory in [MemoryType::Device, MemoryType::Host, MemoryType::Shared] {
        let result = device.allocate(BufferDesc::new(64, memory));
        if present.contains(&memory) {
            result?;
        } else {
            refused(result, &[&format!("{memory:?}")])?;
        }
    }
    Ok(())
}

fn an_oversized_allocation_reports_size_and_limit(context: &Context) -> CaseResult {
    let device = context.open()?;
    let limit = device.info().max_allocation;
    for size in [limit.saturating_add(1), u64::MAX] {
        match device.allocate(BufferDesc::device(size)) {
            Err(Error::OutOfMemory { requested, limit: reported, .. }) => {
                equal("requested bytes", requested, size)?;
                equal("limit", reported, Some(limit))?;
            }
            Err(other) => return Err(other.into()),
            Ok(_) => return Err(Failure::Wrong(format!("{size} bytes were allocated; the limit is {limit}"))),
        }
    }
    // The device still works.
    device.allocate(BufferDesc::device(64))?;
    Ok(())
}

fn buffers_do_not_share_content(context: &Context) -> CaseResult {
    let device = context.open()?;
    let mut buffers = Vec::new();
    for index in 0..200u32 {
        buffers.push(context.words(&device, &vec![index; 1 + index as usize % 97])?);
    }
    for (index, buffer) in (0u32..).zip(&buffers) {
        let expected = vec![index; 1 + index as usize % 97];
        same(&format!("buffer {index}"), &context.read_words(&device, buffer)?, &expected)?;
    }
    Ok(())
}

fn freed_memory_is_reused(context: &Context) -> CaseResult {
    let device = context.open()?;
    // More than any device has unless memory is freed: 64 MiB per allocation if the limits allow
    // it.
    let size = device.info().max_allocation.min(64 << 20);
    for round in 0..32 {
        let buffer = device.allocate(BufferDesc::device(size))?;
        let end = buffer.range(size - 4, 4)?;
        context.write(&device, &end, &[round; 4])?;
        same("the last word", &context.read(&device, &end)?, &[round; 4])?;
    }
    Ok(())
}
