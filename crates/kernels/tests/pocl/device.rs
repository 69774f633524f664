//! Runs the cases of a kernel on a device of any driver.

use std::time::Duration;

use libtest_mimic::Failed;
use roci_hal::{Binding, Buffer, BufferDesc, Device, Error, Kernel, Submit};
use roci_kernels::KernelSpec;
use roci_testkit::Tolerance;

use super::cases::Case;
use super::native;

/// Every case of a kernel, with `patience` for each and `tolerance` for its result.
pub(crate) fn check_all(
    device: &Device,
    spec: &KernelSpec,
    patience: Duration,
    tolerance: impl Fn(&Case) -> Tolerance,
) -> Result<(), Failed> {
    let kernel = device.load(&spec.executable(device.info())?)?.kernel(spec.name())?;
    native::check_cases(spec.name(), tolerance, |case| Ok(run(device, &kernel, case, patience)?))
}

/// The buffers of `case` as the device leaves them.
fn run(device: &Device, kernel: &Kernel, case: &Case, patience: Duration) -> Result<Vec<Vec<u32>>, Error> {
    let mut buffers = Vec::new();
    for words in &case.buffers {
        let bytes: &[u8] = bytemuck::cast_slice(words);
        // There are no empty buffers.
        let buffer = device.allocate(BufferDesc::device(bytes.len().max(4) as u64))?;
        device.write(&buffer.range(0, bytes.len() as u64)?, bytes)?;
        buffers.push(buffer);
    }
    let bindings: Vec<Binding> = buffers.iter().map(Binding::from).collect();
    let mut recorder = device.record();
    recorder.dispatch(kernel, case.grid, &bindings, &case.constants)?;
    let done = device.semaphore(0);
    device.queue(0)?.submit(&recorder.finish()?, Submit::new().signal(&done, 1).label(&case.label))?;
    done.wait(1, patience)?;
    let read = |(buffer, words): (&Buffer, &Vec<u32>)| {
        let bytes = device.read(&buffer.range(0, 4 * words.len() as u64)?)?;
        Ok(bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect())
    };
    buffers.iter().zip(&case.buffers).map(read).collect()
}
