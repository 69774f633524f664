//! Runs the cases of a kernel on a device of any driver.

use std::time::Duration;

use libtest_mimic::Failed;
use roci_families::cases::{self, Case};
use roci_hal::{Binding, Buffer, BufferDesc, Device, Error, Kernel, Submit};
use roci_kernels::KernelSpec;
use roci_testkit::Tolerance;

use super::native;

/// Runs every case of a kernel, each with the timeout `timeout` and the result tolerance
/// `tolerance`.
pub(crate) fn check_all(
    device: &Device,
    spec: &KernelSpec,
    timeout: Duration,
    tolerance: impl Fn(&Case) -> Tolerance,
) -> Result<(), Failed> {
    let kernel = device.load(&spec.executable(device.info())?)?.kernel(spec.name())?;
    native::check_cases(spec.name(), tolerance, |case| Ok(run(device, &kernel, case, timeout)?))
}

/// Runs up to `most` cases, evenly sampled, each on the kernel specialized for its constants block.
pub(crate) fn check_specialized(
    device: &Device,
    spec: &KernelSpec,
    timeout: Duration,
    most: usize,
    tolerance: impl Fn(&Case) -> Tolerance,
) -> Result<(), Failed> {
    let all = cases::of(spec.name());
    let step = all.len().div_ceil(most).max(1);
    let some: Vec<Case> = all.into_iter().step_by(step).collect();
    native::check_these(spec.name(), &some, tolerance, |case| {
        let specialized =
            spec.specialized(device.info(), &case.constants)?.ok_or("the constants have no WGSL literals")?;
        let kernel = device.load(&specialized.source)?.kernel(spec.name())?;
        Ok(run_with(device, &kernel, case, &specialized.bindings, &[], timeout)?)
    })
}

/// Runs `case` on the device and returns its buffers.
fn run(device: &Device, kernel: &Kernel, case: &Case, timeout: Duration) -> Result<Vec<Vec<u32>>, Error> {
    let all: Vec<usize> = (0..case.buffers.len()).collect();
    run_with(device, kernel, case, &all, &case.constants, timeout)
}

/// The same for a kernel that binds a subset of the buffers.
fn run_with(
    device: &Device,
    kernel: &Kernel,
    case: &Case,
    bound: &[usize],
    constants: &[u8],
    timeout: Duration,
) -> Result<Vec<Vec<u32>>, Error> {
    let mut buffers = Vec::new();
    for words in &case.buffers {
        let bytes: &[u8] = bytemuck::cast_slice(words);
        // Zero-sized buffers are not allowed.
        let buffer = device.allocate(BufferDesc::device(bytes.len().max(4) as u64))?;
        device.write(&buffer.range(0, bytes.len() as u64)?, bytes)?;
        buffers.push(buffer);
    }
    let bindings: Vec<Binding> = bound.iter().map(|&at| Binding::from(&buffers[at])).collect();
    let mut recorder = device.record();
    recorder.dispatch(kernel, case.grid, &bindings, constants)?;
    let done = device.semaphore(0);
    device.queue(0)?.submit(&recorder.finish()?, Submit::new().signal(&done, 1).label(&case.label))?;
    done.wait(1, timeout)?;
    let read = |(buffer, words): (&Buffer, &Vec<u32>)| {
        let bytes = device.read(&buffer.range(0, 4 * words.len() as u64)?)?;
        Ok(bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect())
    };
    buffers.iter().zip(&case.buffers).map(read).collect()
}
