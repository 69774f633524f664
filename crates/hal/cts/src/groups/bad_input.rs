//! Invalid calls are rejected with the offending values and have no effect. Also calls that look
//! invalid but are legal.

use roci_hal::{BufferDesc, Error, Submit};

use super::{filled, linear_grid, params};
use crate::backend::Tag;
use crate::case::{Case, CaseResult};
use crate::check::{refused, same};
use crate::child;
use crate::context::Context;
use crate::groups::workload;

const GROUP: &str = "bad_input";
const DISPATCH: &[Tag] = &[Tag::Dispatch];

pub(super) const CASES: &[Case] = &[
    Case::new(GROUP, "ranges_outside_a_buffer", ranges_outside),
    Case::new(GROUP, "a_queue_that_does_not_exist", no_such_queue),
    Case::needing(GROUP, "wrong_binding_counts", DISPATCH, binding_counts),
    Case::needing(GROUP, "wrong_constant_sizes", DISPATCH, constant_sizes),
    Case::needing(GROUP, "empty_and_misaligned_bindings", DISPATCH, misaligned),
    Case::needing(GROUP, "aliasing_bindings", DISPATCH, aliasing),
    Case::needing(GROUP, "grids_above_the_limit", DISPATCH, large_grids),
    Case::needing(GROUP, "an_out_of_bounds_access_of_a_small_buffer", &[Tag::Dispatch, Tag::Bounds], too_small),
    Case::new(GROUP, "unsupported_code_formats", foreign_format),
    Case::new(GROUP, "entry_points_above_the_limits", entry_limits),
    Case::new(GROUP, "everything_dropped_in_flight", dropped_in_flight),
    Case::new(GROUP, "a_wait_on_a_failed_semaphore", failed_semaphore),
    Case::new(GROUP, "concurrent_processes", several_processes),
];

fn ranges_outside(context: &Context) -> CaseResult {
    let device = context.open()?;
    let buffer = device.allocate(BufferDesc::device(100))?;
    for (offset, length) in [(0, 101), (100, 1), (101, 0), (1, u64::MAX), (u64::MAX, 1), (u64::MAX, u64::MAX)] {
        refused(buffer.range(offset, length), &[&format!("bytes {offset} to {offset}+{length}"), "100 bytes"])?;
    }
    let part = buffer.range(50, 20)?;
    for (offset, length) in [(0, 21), (20, 1), (u64::MAX, 2)] {
        refused(part.range(offset, length), &["outside a range of 20 bytes"])?;
    }
    part.range(20, 0)?;
    Ok(())
}

fn no_such_queue(context: &Context) -> CaseResult {
    let device = context.open()?;
    let count = device.info().queues.len();
    for index in [count, usize::MAX] {
        refused(device.queue(index).map(drop), &[&format!("queue {index}"), &format!("it has {count}")])?;
    }
    Ok(())
}

fn binding_counts(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "add_constant")?;
    let buffers: Vec<_> = (0..3).map(|_| context.words(&device, &[0; 64])).collect::<Result<_, _>>()?;
    for count in [0, 1, 3] {
        let bindings: Vec<_> = buffers[..count].iter().map(Into::into).collect();
        let result = device.record().dispatch(&kernel, linear_grid(64), &bindings, &params(64, 1)).map(drop);
        refused(result, &["dispatch of \"add_constant\"", &format!("{count} bindings given, the kernel takes 2")])?;
    }
    Ok(())
}

fn constant_sizes(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "add_constant")?;
    let (a, b) = (context.words(&device, &[0; 64])?, context.words(&device, &[0; 64])?);
    for size in [0, 4, 7, 9, 12] {
        let bindings = [(&a).into(), (&b).into()];
        let result = device.record().dispatch(&kernel, linear_grid(64), &bindings, &vec![0; size]).map(drop);
        refused(result, &[&format!("{size} bytes of constants given, the kernel takes 8")])?;
    }
    Ok(())
}

fn misaligned(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "accumulate")?;
    let buffer = device.allocate(BufferDesc::device(4096))?;
    let dispatch = |offset, length| {
        let bindings = [buffer.range(offset, length)?.into()];
        device.record().dispatch(&kernel, linear_grid(1), &bindings, &params(1, 1)).map(drop)
    };
    refused(dispatch(0, 0), &["binding 0 is empty"])?;
    let alignment = device.info().binding_alignment;
    for offset in [1, 2, 3, alignment / 2, alignment + 1] {
        if !offset.is_multiple_of(alignment) {
            refused(dispatch(offset, 64), &[&format!("offset {offset}, which is not a multiple of {alignment}")])?;
        }
    }
    Ok(dispatch(alignment, 64)?)
}

fn aliasing(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "add_constant")?;
    let step = device.info().binding_alignment.max(4);
    let buffer = device.allocate(BufferDesc::device(8 * step))?;
    let dispatch = |a: (u64, u64), b: (u64, u64)| {
        let bindings = [buffer.range(a.0, a.1)?.into(), buffer.range(b.0, b.1)?.into()];
        device.record().dispatch(&kernel, linear_grid(1), &bindings, &params(1, 1)).map(drop)
    };
    // `in_place` allows an identical range; a partial overlap stays invalid.
    dispatch((0, 4 * step), (0, 4 * step))?;
    dispatch((0, 4 * step), (4 * step, 4 * step))?;
    for (a, b) in [((0, 4 * step), (step, 4 * step)), ((0, 4 * step), (0, 2 * step)), ((2 * step, step), (0, 8 * step))]
    {
        refused(dispatch(a, b), &["add_constant", "overlaps"])?;
    }
    Ok(())
}

fn large_grids(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "empty")?;
    let limit = device.info().capabilities().max_grid;
    for axis in 0..3 {
        let Some(beyond) = limit[axis].checked_add(1) else { continue };
        let mut grid = [1; 3];
        grid[axis] = beyond;
        let result = device.record().dispatch(&kernel, grid, &[], &[]).map(drop);
        refused(result, &[&format!("the grid of {grid:?} workgroups"), &format!("{limit:?}")])?;
    }
    Ok(())
}

fn too_small(context: &Context) -> CaseResult {
    let device = context.open()?;
    let kernel = context.kernel(&device, "add_constant")?;
    let (source, target) = (context.words(&device, &[1; 4096])?, context.words(&device, &[7; 16])?);
    let neighbor = context.words(&device, &[7; 4096])?;
    let commands = context.record(&device, |recorder| {
        recorder.dispatch(&kernel, linear_grid(4096), &[(&source).into(), (&target).into()], &params(4096, 1)).map(drop)
    })?;
    match context.run(&device, &commands, Submit::new()) {
        Err(Error::Lost(_)) => return Ok(()),
        Err(error @ Error::Kernel { .. }) => crate::check::mentions(&error, &["add_constant"])?,
        other => return Err(crate::Failure::Wrong(format!("expected a fault of the kernel, got {other:?}"))),
    }
    same("a neighbor", &context.read_words(&device, &neighbor)?, &[7; 4096])
}

fn foreign_format(context: &Context) -> CaseResult {
    use roci_hal::{Code, CodeFormat, ExecutableSource};
    let device = context.open()?;
    let all = [
        (CodeFormat::Native, Code::Native(Vec::new())),
        (CodeFormat::Spirv, Code::Spirv(Vec::new())),
        (CodeFormat::OpenClC, Code::OpenClC(String::new())),
        (CodeFormat::AmdGcn, Code::AmdGcn(Vec::new())),
    ];
    for (format, code) in all {
        if !device.info().formats.contains(&format) {
            let source = ExecutableSource { label: "foreign".into(), entry_points: Vec::new(), code };
            refused(device.load(&source).map(drop), &["\"foreign\"", &format!("cannot load {format:?} code")])?;
        }
    }
    Ok(())
}

fn entry_limits(context: &Context) -> CaseResult {
    let device = context.open()?;
    let (constants, bindings) = (device.info().max_constants, device.info().max_bindings);
    let load = |change: &dyn Fn(&mut roci_hal::EntryPoint)| -> CaseResult {
        let mut source = crate::kernels::source("accumulate", device.info())?;
        source.entry_points.iter_mut().for_each(change);
        refused(device.load(&source).map(drop), &["entry point \"accumulate\""])
    };
    load(&|entry| entry.constants = constants + 4)?;
    load(&|entry| entry.constants = 6)?;
    load(&|entry| entry.bindings = vec![roci_hal::Access::Read; bindings + 1])
}

fn dropped_in_flight(context: &Context) -> CaseResult {
    let device = context.open()?;
    let target = device.allocate(BufferDesc::device(1 << 20))?;
    let (go, done) = (device.semaphore(0), device.semaphore(0));
    {
        let source = device.allocate(BufferDesc::device(1 << 20))?;
        let commands = context.record(&device, |recorder| {
            recorder.fill(&source, 0x5555_aaaa)?.barrier().copy(&source, &target).map(drop)
        })?;
        device.queue(0)?.submit(&commands, Submit::new().wait(&go, 1).signal(&done, 1))?;
    }
    // Would reuse memory that is freed too early.
    let others: Vec<_> = (0..4).map(|_| context.words(&device, &vec![1; 1 << 18])).collect::<Result<_, _>>()?;
    go.signal(1)?;
    context.wait(&done, 1)?;
    same(
        "through memory that only the submission held",
        &context.read(&device, &target)?,
        &filled(0x5555_aaaa, 1 << 20),
    )?;
    for other in &others {
        same("a later buffer", &context.read_words(&device, other)?, &vec![1; 1 << 18])?;
    }
    Ok(())
}

fn failed_semaphore(context: &Context) -> CaseResult {
    let device = context.open()?;
    let (broken, done) = (device.semaphore(0), device.semaphore(0));
    broken.fail(Error::invalid("upstream", "went wrong"));
    let words = ["upstream: went wrong"];
    refused(broken.wait(1, context.timeout()), &words)?;
    device.queue(0)?.barrier(Submit::new().wait(&broken, 1).signal(&done, 1))?;
    refused(context.wait(&done, 1), &words)?;
    let buffer = device.allocate(BufferDesc::device(64))?;
    refused(device.queue(0)?.read(&buffer, Submit::new().wait(&broken, 1))?.wait(context.timeout()), &words)?;
    // Signaling cannot repair a failed semaphore.
    refused(broken.signal(1), &words)?;
    refused(broken.wait(1, context.timeout()), &words)
}

fn several_processes(context: &Context) -> CaseResult {
    // Detects a missing device here, where it is a skip, and not in the child processes.
    drop(context.open()?);
    child::run_concurrently(context, 2, || workload(context))
}
