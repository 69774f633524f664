//! Fill, copy, update, and the queue's own reads and writes.

use roci_hal::{Buffer, BufferDesc, Device, Submit};

use super::filled;
use crate::case::{Case, CaseResult, Failure};
use crate::check::{equal, refused, same};
use crate::context::Context;
use crate::random::Random;

pub(super) const CASES: &[Case] = &[
    Case::new("fill", "whole_buffers", fill_whole_buffers),
    Case::new("fill", "ranges_do_not_affect_adjacent_bytes", fill_ranges),
    Case::new("fill", "partial_words_are_rejected", fill_parts_of_words),
    Case::new("copy", "odd_ranges_do_not_affect_adjacent_bytes", copy_odd_ranges),
    Case::new("copy", "between_every_pair_of_memory_types", copy_between_types),
    Case::new("copy", "within_one_buffer", copy_within),
    Case::new("copy", "megabytes", copy_megabytes),
    Case::new("copy", "overlap_is_rejected", copy_overlap),
    Case::new("copy", "unequal_lengths_are_rejected", copy_unequal),
    Case::new("update", "ranges_do_not_affect_adjacent_bytes", update_ranges),
    Case::new("update", "bytes_are_captured_at_recording", update_captures),
    Case::new("update", "wrong_lengths_are_rejected", update_wrong_length),
    Case::new("host_access", "odd_ranges", host_odd_ranges),
    Case::new("host_access", "zero_bytes_are_legal_and_signal", host_nothing),
    Case::new("host_access", "concurrent_reads_of_one_buffer", host_parallel_reads),
];

/// A buffer of random bytes, and the same bytes as a model.
fn noise(context: &Context, device: &Device, size: usize, seed: u64) -> Result<(Buffer, Vec<u8>), Failure> {
    let model = Random::new(seed).bytes(size);
    let buffer = device.allocate(BufferDesc::device(size as u64))?;
    context.write(device, &buffer, &model)?;
    Ok((buffer, model))
}

fn fill_whole_buffers(context: &Context) -> CaseResult {
    let device = context.open()?;
    for size in [4usize, 8, 60, 64, 68, 4096, 65_540] {
        let buffer = device.allocate(BufferDesc::device(size as u64))?;
        let commands = context.record(&device, |recorder| recorder.fill(&buffer, 0x8040_2010).map(drop))?;
        context.run(&device, &commands, Submit::new())?;
        same(&format!("{size} bytes"), &context.read(&device, &buffer)?, &filled(0x8040_2010, size))?;
    }
    Ok(())
}

fn fill_ranges(context: &Context) -> CaseResult {
    let device = context.open()?;
    let (buffer, mut model) = noise(context, &device, 4096, 3)?;
    for (pattern, offset, length) in [(1, 0, 4), (2, 4, 8), (3, 1020, 100), (4, 4092, 4), (0xffff_0000, 2048, 1024)] {
        let range = buffer.range(offset, length)?;
        let commands = context.record(&device, |recorder| recorder.fill(&range, pattern).map(drop))?;
        context.run(&device, &commands, Submit::new())?;
        model[offset as usize..][..length as usize].copy_from_slice(&filled(pattern, length as usize));
        same(&format!("{length} bytes at {offset}"), &context.read(&device, &buffer)?, &model)?;
    }
    Ok(())
}

fn fill_parts_of_words(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = device.allocate(BufferDesc::device(64))?;
    for (offset, length) in [(2, 4), (0, 6), (1, 3)] {
        let range = buffer.range(offset, length)?;
        refused(device.record().fill(&range, 0).map(drop), &["fill", "multiples of 4"])?;
    }
    Ok(())
}

fn copy_odd_ranges(context: &Context) -> CaseResult {
    let device = context.open()?;
    let (source, bytes) = noise(context, &device, 3001, 4)?;
    let (target, mut model) = noise(context, &device, 2999, 5)?;
    for (from, to, length) in [(0, 0, 1), (1, 2, 3), (7, 3, 129), (2999, 2997, 2), (2, 0, 2999), (1000, 1001, 64)] {
        let commands = context.record(&device, |recorder| {
            recorder.copy(source.range(from, length)?, target.range(to, length)?).map(drop)
        })?;
        context.run(&device, &commands, Submit::new())?;
        model[to as usize..][..length as usize].copy_from_slice(&bytes[from as usize..][..length as usize]);
        same(&format!("{length} bytes from {from} to {to}"), &context.read(&device, &target)?, &model)?;
    }
    same("the source", &context.read(&device, &source)?, &bytes)
}

fn copy_between_types(context: &Context) -> CaseResult {
    let device = context.open()?;
    let mut random = Random::new(6);
    for &from in &device.info().memory_types {
        for &to in &device.info().memory_types {
            let source = device.allocate(BufferDesc::new(777, from))?;
            let target = device.allocate(BufferDesc::new(777, to))?;
            let data = random.bytes(777);
            context.write(&device, &source, &data)?;
            let commands = context.record(&device, |recorder| recorder.copy(&source, &target).map(drop))?;
            context.run(&device, &commands, Submit::new())?;
            same(&format!("{from:?} to {to:?}"), &context.read(&device, &target)?, &data)?;
        }
    }
    Ok(())
}

fn copy_within(context: &Context) -> CaseResult {
    let device = context.open()?;
    let (buffer, mut model) = noise(context, &device, 200, 7)?;
    let commands =
        context.record(&device, |recorder| recorder.copy(buffer.range(0, 99)?, buffer.range(101, 99)?).map(drop))?;
    context.run(&device, &commands, Submit::new())?;
    model.copy_within(0..99, 101);
    same("two parts of one buffer", &context.read(&device, &buffer)?, &model)
}

fn copy_megabytes(context: &Context) -> CaseResult {
    let device = context.open()?;
    let (source, bytes) = noise(context, &device, (4 << 20) + 3, 8)?;
    let target = device.allocate(BufferDesc::device(source.size()))?;
    let commands = context.record(&device, |recorder| recorder.copy(&source, &target).map(drop))?;
    context.run(&device, &commands, Submit::new())?;
    same("4 MiB and three bytes", &context.read(&device, &target)?, &bytes)
}

fn copy_overlap(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = device.allocate(BufferDesc::device(100))?;
    for (from, to, length) in [(0, 0, 100), (0, 49, 50), (50, 1, 50), (10, 10, 1)] {
        let result = device.record().copy(buffer.range(from, length)?, buffer.range(to, length)?).map(drop);
        refused(result, &["copy", "overlaps"])?;
    }
    Ok(())
}

fn copy_unequal(context: &Context) -> CaseResult {
    let device = context.open()?;
    let (a, b) = (device.allocate(BufferDesc::device(8))?, device.allocate(BufferDesc::device(12))?);
    refused(device.record().copy(&a, &b).map(drop), &["the source has 8 bytes, the target 12"])
}

fn update_ranges(context: &Context) -> CaseResult {
    let device = context.open()?;
    let (buffer, mut model) = noise(context, &device, 4096, 9)?;
    let mut random = Random::new(10);
    for (offset, length) in [(0usize, 4usize), (4, 12), (1028, 516), (4092, 4), (0, 4096)] {
        let data = random.bytes(length);
        let range = buffer.range(offset as u64, length as u64)?;
        let commands = context.record(&device, |recorder| recorder.update(&data, &range).map(drop))?;
        context.run(&device, &commands, Submit::new())?;
        model[offset..][..length].copy_from_slice(&data);
        same(&format!("{length} bytes at {offset}"), &context.read(&device, &buffer)?, &model)?;
    }
    Ok(())
}

fn update_captures(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = device.allocate(BufferDesc::device(64))?;
    let mut data = vec![7u8; 64];
    let commands = context.record(&device, |recorder| recorder.update(&data, &buffer).map(drop))?;
    data.fill(9);
    for _ in 0..3 {
        context.write(&device, &buffer, &[0; 64])?;
        context.run(&device, &commands, Submit::new())?;
        same("a replay", &context.read(&device, &buffer)?, &[7; 64])?;
    }
    Ok(())
}

fn update_wrong_length(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = device.allocate(BufferDesc::device(64))?;
    refused(device.record().update(&[0; 60], &buffer).map(drop), &["update", "60 bytes for a range of 64 bytes"])?;
    refused(device.record().update(&[0; 6], buffer.range(0, 6)?).map(drop), &["update", "multiples of 4"])
}

fn host_odd_ranges(context: &Context) -> CaseResult {
    let device = context.open()?;
    let mut random = Random::new(11);
    for &memory in &device.info().memory_types {
        let buffer = device.allocate(BufferDesc::new(1000, memory))?;
        let mut model = random.bytes(1000);
        context.write(&device, &buffer, &model)?;
        for (offset, length) in [(0usize, 1usize), (1, 2), (3, 333), (999, 1), (500, 499)] {
            let range = buffer.range(offset as u64, length as u64)?;
            let data = random.bytes(length);
            context.write(&device, &range, &data)?;
            model[offset..][..length].copy_from_slice(&data);
            same(&format!("{memory:?}, {length} at {offset}"), &context.read(&device, &range)?, &data)?;
        }
        same(&format!("{memory:?}, all"), &context.read(&device, &buffer)?, &model)?;
    }
    Ok(())
}

fn host_nothing(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = device.allocate(BufferDesc::device(64))?;
    let nothing = buffer.range(64, 0)?;
    context.write(&device, &nothing, &[])?;
    equal("bytes read", context.read(&device, &nothing)?.len(), 0)?;
    refused(device.queue(0)?.write(&buffer, vec![0; 63], Submit::new()), &["63 bytes for a range of 64 bytes"])
}

fn host_parallel_reads(context: &Context) -> CaseResult {
    let device = context.open()?;
    for &memory in &device.info().memory_types {
        let buffer = device.allocate(BufferDesc::new(1 << 16, memory))?;
        let data = Random::new(12).bytes(1 << 16);
        context.write(&device, &buffer, &data)?;
        std::thread::scope(|scope| {
            let read = || -> CaseResult {
                for _ in 0..50 {
                    same(&format!("{memory:?}"), &context.read(&device, &buffer)?, &data)?;
                }
                Ok(())
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(read)).collect();
            threads.into_iter().try_for_each(|thread| {
                thread.join().unwrap_or_else(|_| Err(Failure::Wrong("a reading thread panicked".into())))
            })
        })?;
    }
    Ok(())
}
