//! Runs native kernels in tests: aligned buffers, all instruction sets, and parts in a fixed order.

use bytemuck::Pod;
use roci_hal::native::{NativeBinding, NativeLaunch};
use roci_kernels::native::{self, Level};
use roci_testkit::tolerance;

/// Runs kernel `name` with `workers` on `level` over `buffers`, which are modified in place.
///
/// Parts run in reverse order, which would expose a dependency between them.
pub(crate) fn launch_at(
    level: Level,
    name: &str,
    buffers: &mut [&mut [u8]],
    constants: &[u8],
    workers: usize,
) -> Result<usize, String> {
    let bindings: Vec<NativeBinding> =
        buffers.iter_mut().map(|bytes| NativeBinding { pointer: bytes.as_mut_ptr(), length: bytes.len() }).collect();
    let order: Vec<usize> = (0..bindings.len()).collect();
    launch_bound(level, name, &bindings, &order, constants, workers)
}

/// Like [`launch_at`], with each binding given as an index into `memory`, so that a range can be
/// bound twice.
pub(crate) fn launch_bound(
    level: Level,
    name: &str,
    memory: &[NativeBinding],
    order: &[usize],
    constants: &[u8],
    workers: usize,
) -> Result<usize, String> {
    let kernel = native::find_for(name, level).unwrap_or_else(|| panic!("no kernel `{name}`"));
    let bindings: Vec<NativeBinding> = order.iter().map(|&i| memory[i]).collect();
    let launch = NativeLaunch { grid: [1; 3], bindings: &bindings, constants, workers };
    let parts = kernel.prepare(&launch)?;
    for part in (0..parts).rev() {
        // SAFETY: the bindings are live buffers that only this thread uses, and `prepare` accepted
        // the launch.
        unsafe { kernel.run(&launch, part, parts) };
    }
    Ok(parts)
}

pub(crate) fn bytes<T: Pod>(values: &mut [T]) -> &mut [u8] {
    bytemuck::cast_slice_mut(values)
}

/// `count` deterministic values, uniform in `-limit..limit`.
pub(crate) fn values(count: usize, limit: f32, seed: u32) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed.into());
    (0..count).map(|_| (random.f32() * 2.0 - 1.0) * limit).collect()
}

/// Distance in ULPs between `got` and the f32 nearest to `exact`; equal infinities, and NaN and
/// NaN, have a distance of 0.
pub(crate) fn ulps(got: f32, exact: f64) -> u64 {
    tolerance::ulps(got, exact as f32).into()
}
