//! Kernels: constants, entry points, grids, ranges.

use roci_hal::{BufferDesc, Submit};

use super::{linear_grid, params};
use crate::backend::Tag;
use crate::case::{Case, CaseResult};
use crate::check::{holds, refused, same, words_of};
use crate::context::Context;
use crate::kernels::{GRID_IDS, WORKGROUP_SIZE};
use crate::random::Random;

const GROUP: &str = "dispatch";
const NEEDS: &[Tag] = &[Tag::Dispatch];

pub(super) const CASES: &[Case] = &[
    Case::needing(GROUP, "every_invocation_count", NEEDS, every_invocation_count),
    Case::needing(GROUP, "every_byte_of_the_constants_arrives", NEEDS, every_byte_of_the_constants_arrives),
    Case::needing(GROUP, "one_executable_with_several_entry_points", NEEDS, several_entry_points),
    Case::needing(GROUP, "three_dimensional_grids", NEEDS, three_dimensional_grids),
    Case::needing(GROUP, "an_empty_grid_runs_nothing_and_signals", NEEDS, zero_grids),
    Case::needing(GROUP, "a_grid_runs_only_its_invocations", NEEDS, grid_covers_its_invocations),
    Case::needing(GROUP, "ranges_do_not_affect_adjacent_bytes", NEEDS, ranges),
    Case::needing(GROUP, "in_place", NEEDS, in_place),
    Case::needing(GROUP, "host_visible_memory_can_be_bound", NEEDS, host_visible_bindings),
    Case::needing(GROUP, "a_kernel_without_bindings", NEEDS, without_bindings),
    Case::new(GROUP, "an_unknown_entry_point_is_rejected", unknown_entry_point),
];

fn every_invocation_count(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "add_constant")?;
    let mut random = Random::new(20);
    for count in [1, 2, 63, 64, 65, 127, 1000, 4096, 100_003] {
        let input = random.words(count);
        let (source, target) = (context.words(&device, &input)?, context.words(&device, &vec![0; count])?);
        let commands = context.record(&device, |recorder| {
            let bindings = [(&source).into(), (&target).into()];
            recorder.dispatch(&kernel, linear_grid(count), &bindings, &params(count, 12_345)).map(drop)
        })?;
        context.run(&device, &commands, Submit::new())?;
        let expected: Vec<_> = input.iter().map(|word| word.wrapping_add(12_345)).collect();
        same(&format!("{count} words"), &context.read_words(&device, &target)?, &expected)?;
    }
    Ok(())
}

fn every_byte_of_the_constants_arrives(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "add_constant")?;
    let source = context.words(&device, &[0; 8])?;
    let values = [0, 1, 0xff, 0x0102_0304, 0x8000_0000, u32::MAX];
    let targets: Vec<_> = values.iter().map(|_| context.words(&device, &[9; 8])).collect::<Result<_, _>>()?;
    // All in one command buffer: each dispatch must keep its own constants.
    let commands = context.record(&device, |recorder| {
        for (value, target) in values.iter().zip(&targets) {
            let bindings = [(&source).into(), target.into()];
            recorder.dispatch(&kernel, linear_grid(8), &bindings, &params(8, *value))?;
        }
        Ok(())
    })?;
    context.run(&device, &commands, Submit::new())?;
    for (value, target) in values.iter().zip(&targets) {
        same(&format!("constant {value:#x}"), &context.read_words(&device, target)?, &[*value; 8])?;
    }
    Ok(())
}

fn several_entry_points(context: &Context) -> CaseResult {
    let device = context.open()?;
    let scale = context.kernel(&device, "scale")?;
    let offset = context.kernel(&device, "offset")?;
    let source = context.words(&device, &[1, 2, 3, 4])?;
    let (scaled, both) = (context.words(&device, &[0; 4])?, context.words(&device, &[0; 4])?);
    let commands = context.record(&device, |recorder| {
        recorder.dispatch(&scale, linear_grid(4), &[(&source).into(), (&scaled).into()], &params(4, 10))?;
        recorder.barrier();
        recorder.dispatch(&offset, linear_grid(4), &[(&scaled).into(), (&both).into()], &params(4, 5)).map(drop)
    })?;
    context.run(&device, &commands, Submit::new())?;
    same("scaled", &context.read_words(&device, &scaled)?, &[10, 20, 30, 40])?;
    same("scaled and offset", &context.read_words(&device, &both)?, &[15, 25, 35, 45])
}

fn three_dimensional_grids(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "grid_ids")?;
    for grid in [[1, 1, 1], [5, 1, 1], [1, 5, 1], [1, 1, 5], [3, 4, 5], [7, 2, 3]] {
        let expected = ids(grid);
        let target = context.words(&device, &vec![u32::MAX; expected.len()])?;
        let commands =
            context.record(&device, |recorder| recorder.dispatch(&kernel, grid, &[(&target).into()], &[]).map(drop))?;
        context.run(&device, &commands, Submit::new())?;
        same(&format!("grid {grid:?}"), &context.read_words(&device, &target)?, &expected)?;
    }
    Ok(())
}

/// The expected output of `grid_ids`.
fn ids(grid: [u32; 3]) -> Vec<u32> {
    let all = |[width, height, depth]: [u32; 3]| {
        (0..depth).flat_map(move |z| (0..height).flat_map(move |y| (0..width).map(move |x| x | (y << 10) | (z << 20))))
    };
    all(grid).flat_map(|group| all(GRID_IDS).flat_map(move |local| [group, local])).collect()
}

fn zero_grids(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "add_constant")?;
    let (source, target) = (context.words(&device, &[1; 64])?, context.words(&device, &[7; 64])?);
    for grid in [[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0]] {
        let commands = context.record(&device, |recorder| {
            recorder.dispatch(&kernel, grid, &[(&source).into(), (&target).into()], &params(64, 1)).map(drop)
        })?;
        context.run(&device, &commands, Submit::new())?;
        same(&format!("grid {grid:?}"), &context.read_words(&device, &target)?, &[7; 64])?;
    }
    Ok(())
}

fn grid_covers_its_invocations(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "add_constant")?;
    let count = 4 * WORKGROUP_SIZE as usize;
    let (source, target) = (context.words(&device, &vec![1; count])?, context.words(&device, &vec![7; count])?);
    let commands = context.record(&device, |recorder| {
        recorder.dispatch(&kernel, [2, 1, 1], &[(&source).into(), (&target).into()], &params(count, 1)).map(drop)
    })?;
    context.run(&device, &commands, Submit::new())?;
    let expected: Vec<_> = (0..count).map(|index| if index < count / 2 { 2 } else { 7 }).collect();
    same("two of four workgroups", &context.read_words(&device, &target)?, &expected)
}

fn ranges(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "add_constant")?;
    // The smallest legal offset, in words.
    let step = device.info().binding_alignment.max(4) as usize / 4;
    let input: Vec<u32> = (0..5 * step as u32 + 40).collect();
    let source = context.words(&device, &input)?;
    let target = context.words(&device, &vec![7; input.len()])?;
    let (from, to, count) = (2 * step, 3 * step, step + 9);
    let commands = context.record(&device, |recorder| {
        let bindings = [
            source.range(4 * from as u64, 4 * count as u64)?.into(),
            target.range(4 * to as u64, 4 * count as u64)?.into(),
        ];
        recorder.dispatch(&kernel, linear_grid(count), &bindings, &params(count, 100)).map(drop)
    })?;
    context.run(&device, &commands, Submit::new())?;
    let mut expected = vec![7; input.len()];
    for index in 0..count {
        expected[to + index] = input[from + index] + 100;
    }
    same("a range in the middle", &context.read_words(&device, &target)?, &expected)?;
    same("the source", &context.read_words(&device, &source)?, &input)
}

fn in_place(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "scale")?;
    let input = Random::new(21).words(1000);
    let buffer = context.words(&device, &input)?;
    let commands = context.record(&device, |recorder| {
        recorder.dispatch(&kernel, linear_grid(1000), &[(&buffer).into(), (&buffer).into()], &params(1000, 3)).map(drop)
    })?;
    context.run(&device, &commands, Submit::new())?;
    let expected: Vec<_> = input.iter().map(|word| word.wrapping_mul(3)).collect();
    same("scaled in place", &context.read_words(&device, &buffer)?, &expected)
}

fn host_visible_bindings(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "add_constant")?;
    for &memory in device.info().memory_types.iter().filter(|memory| memory.host_visible()) {
        let desc = BufferDesc::new(4096, memory);
        let (source, target) = (device.allocate(desc.clone())?, device.allocate(desc)?);
        let commands = context.record(&device, |recorder| {
            let bindings = [(&source).into(), (&target).into()];
            recorder.dispatch(&kernel, linear_grid(1024), &bindings, &params(1024, 1)).map(drop)
        })?;
        for round in 0..4u32 {
            bytemuck::cast_slice_mut::<u8, u32>(&mut source.map()?).fill(round);
            context.run(&device, &commands, Submit::new())?;
            let got = words_of(&target.map()?);
            same(&format!("{memory:?}"), &got, &[round + 1; 1024])?;
        }
    }
    Ok(())
}

fn without_bindings(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "empty")?;
    let commands = context.record(&device, |recorder| recorder.dispatch(&kernel, [3, 2, 1], &[], &[]).map(drop))?;
    Ok(context.run(&device, &commands, Submit::new())?)
}

fn unknown_entry_point(context: &Context) -> CaseResult {
    let device = context.open()?;
    let executable = device.load(&crate::kernels::source("scale", device.info())?)?;
    holds(executable.entry_points().count() == 2, "the executable should have two entry points")?;
    refused(executable.kernel("scales"), &["scale_offset", "no entry point \"scales\"", "scale, offset"])
}
