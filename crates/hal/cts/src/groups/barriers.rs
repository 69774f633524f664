//! Order within a command buffer: only barriers order commands.

use roci_hal::{BufferDesc, Submit};

use super::{accumulated, filled, linear_grid, params};
use crate::backend::Tag;
use crate::case::{Case, CaseResult};
use crate::check::same;
use crate::context::Context;

const GROUP: &str = "barriers";

pub(super) const CASES: &[Case] = &[
    Case::new(GROUP, "a_write_is_visible_after_the_barrier", write_then_read),
    Case::new(GROUP, "a_write_after_the_barrier_does_not_affect_earlier_reads", read_then_write),
    Case::new(GROUP, "the_last_write_wins", last_write_wins),
    Case::needing(GROUP, "a_chain_of_kernels_runs_in_order", &[Tag::Dispatch], kernel_chain),
    Case::needing(GROUP, "kernels_and_transfers_alternate", &[Tag::Dispatch], kernels_and_transfers),
    Case::new(GROUP, "independent_commands_all_run", independent_commands),
    Case::new(GROUP, "consecutive_barriers_are_legal", idle_barriers),
];

fn write_then_read(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffers: Vec<_> = (0..8).map(|_| device.allocate(BufferDesc::device(8192))).collect::<Result<_, _>>()?;
    for pattern in 1..20 {
        let commands = context.record(&device, |recorder| {
            recorder.fill(&buffers[0], pattern)?;
            for pair in buffers.windows(2) {
                recorder.barrier().copy(&pair[0], &pair[1])?;
            }
            Ok(())
        })?;
        context.run(&device, &commands, Submit::new())?;
        for (index, buffer) in buffers.iter().enumerate() {
            let what = format!("buffer {index} of the chain, pattern {pattern}");
            same(&what, &context.read(&device, buffer)?, &filled(pattern, 8192))?;
        }
    }
    Ok(())
}

fn read_then_write(context: &Context) -> CaseResult {
    let device = context.open()?;
    let (source, target) = (device.allocate(BufferDesc::device(65_536))?, device.allocate(BufferDesc::device(65_536))?);
    for pattern in 1..20 {
        context.write(&device, &source, &filled(pattern, 65_536))?;
        let commands = context
            .record(&device, |recorder| recorder.copy(&source, &target)?.barrier().fill(&source, 0).map(drop))?;
        context.run(&device, &commands, Submit::new())?;
        same("what was copied before the fill", &context.read(&device, &target)?, &filled(pattern, 65_536))?;
        same("the source behind the barrier", &context.read(&device, &source)?, &filled(0, 65_536))?;
    }
    Ok(())
}

fn last_write_wins(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = device.allocate(BufferDesc::device(4096))?;
    let commands = context.record(&device, |recorder| {
        for pattern in 1..=50 {
            recorder.fill(&buffer, pattern)?.barrier();
        }
        Ok(())
    })?;
    for _ in 0..10 {
        context.run(&device, &commands, Submit::new())?;
        same("the last of fifty fills", &context.read(&device, &buffer)?, &filled(50, 4096))?;
    }
    Ok(())
}

fn kernel_chain(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "accumulate")?;
    let count = 1000;
    let buffer = context.words(&device, &vec![1; count])?;
    let commands = context.record(&device, |recorder| {
        for value in 0..100 {
            recorder.dispatch(&kernel, linear_grid(count), &[(&buffer).into()], &params(count, value))?.barrier();
        }
        Ok(())
    })?;
    context.run(&device, &commands, Submit::new())?;
    let expected = (0..100).fold(1, accumulated);
    same("a hundred steps", &context.read_words(&device, &buffer)?, &vec![expected; count])
}

fn kernels_and_transfers(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "accumulate")?;
    let count = 300;
    let (a, b) = (context.words(&device, &vec![0; count])?, context.words(&device, &vec![0; count])?);
    let commands = context.record(&device, |recorder| {
        recorder.fill(&a, 2)?.barrier();
        for value in 0..20 {
            recorder.dispatch(&kernel, linear_grid(count), &[(&a).into()], &params(count, value))?.barrier();
            recorder.copy(&a, &b)?.barrier();
            recorder.dispatch(&kernel, linear_grid(count), &[(&b).into()], &params(count, value + 1))?.barrier();
            recorder.copy(&b, &a)?.barrier();
        }
        Ok(())
    })?;
    context.run(&device, &commands, Submit::new())?;
    let expected = (0..20).fold(2, |word, value| accumulated(accumulated(word, value), value + 1));
    same("a", &context.read_words(&device, &a)?, &vec![expected; count])?;
    same("b", &context.read_words(&device, &b)?, &vec![expected; count])
}

fn independent_commands(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = device.allocate(BufferDesc::device(64 * 256))?;
    let commands = context.record(&device, |recorder| {
        for part in 0..64u32 {
            recorder.fill(buffer.range(u64::from(part) * 256, 256)?, part + 1)?;
        }
        Ok(())
    })?;
    context.run(&device, &commands, Submit::new())?;
    let expected: Vec<u32> = (0..64 * 64).map(|word| word / 64 + 1).collect();
    same("64 parts", &context.read_words(&device, &buffer)?, &expected)
}

fn idle_barriers(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = device.allocate(BufferDesc::device(64))?;
    let commands = context.record(&device, |recorder| {
        recorder.barrier().barrier().fill(&buffer, 3)?.barrier().barrier();
        Ok(())
    })?;
    context.run(&device, &commands, Submit::new())?;
    same("between idle barriers", &context.read(&device, &buffer)?, &filled(3, 64))?;
    let nothing = context.record(&device, |_| Ok(()))?;
    Ok(context.run(&device, &nothing, Submit::new())?)
}
