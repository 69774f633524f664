//! Every kernel of the project on a device, against its native twin. One test a kernel.

#[path = "../../../kernels/tests/pocl/cases.rs"]
mod cases;
#[path = "../../../kernels/tests/pocl/native.rs"]
mod native;

use std::time::Duration;

use libtest_mimic::{Completion, Failed, Trial};
use roci_hal::{Binding, BufferDesc, Device, Error, Kernel, Submit};
use roci_kernels::{KernelSpec, kernels};

use crate::devices::Wanted;
use cases::{Case, Element};

/// PoCL compiles at the first run, for seconds where a kernel is large.
const PATIENCE: Duration = Duration::from_secs(120);

/// The tests, named after a backend of the suite.
pub(crate) fn trials(backend: &str, wanted: &Wanted) -> Vec<Trial> {
    let trial = |kernel: &'static KernelSpec| {
        let (wanted, name) = (wanted.clone(), format!("{backend}/kernels/{}", kernel.name()));
        let title = name.clone();
        Trial::ignorable_test(title, move || match wanted.open(Some(PATIENCE)) {
            Ok(device) if !kernel.runs_on(device.info()) => {
                roci_testkit::skipped(&name, "the device has no matrix units");
                Ok(Completion::ignored_with("the device has no matrix units"))
            }
            Ok(device) => check_all(&device, kernel).map(|()| Completion::Completed),
            Err(error @ Error::Unavailable { .. }) if !wanted.is_required() => {
                roci_testkit::skipped(&name, &error.to_string());
                Ok(Completion::ignored_with(error.to_string()))
            }
            Err(error) => Err(error.into()),
        })
    };
    kernels().iter().map(trial).collect()
}

fn check_all(device: &Device, spec: &KernelSpec) -> Result<(), Failed> {
    let kernel = device.load(&spec.executable(device.info())?)?.kernel(spec.name())?;
    for case in cases::of(spec.name()) {
        check(device, &kernel, spec, &case)
            .map_err(|error| format!("{}: {}", case.label, error.message().unwrap_or("failed")))?;
    }
    Ok(())
}

fn check(device: &Device, kernel: &Kernel, spec: &KernelSpec, case: &Case) -> Result<(), Failed> {
    let got = run(device, kernel, case)?;
    let want = native::run(spec.name(), case)?;
    let output = case.buffers.len() - 1;
    if got[..output] != want[..output] {
        return Err("an input was written".into());
    }
    if case.output == Element::Word && got != want {
        return Err("the words differ".into());
    }
    Ok(case.tolerance.compare(&case.numbers(&got[output]), &case.numbers(&want[output]))?)
}

/// The buffers of a case as the kernel leaves them.
fn run(device: &Device, kernel: &Kernel, case: &Case) -> Result<Vec<Vec<u32>>, Error> {
    let mut buffers = Vec::new();
    for words in &case.buffers {
        // There are no empty buffers.
        let buffer = device.allocate(BufferDesc::device(4 * words.len().max(1) as u64))?;
        if !words.is_empty() {
            device.write(&buffer, bytemuck::cast_slice(words))?;
        }
        buffers.push(buffer);
    }
    let bindings: Vec<Binding> = buffers.iter().map(Binding::from).collect();
    let mut recorder = device.record();
    recorder.dispatch(kernel, case.grid, &bindings, &case.constants)?;
    let done = device.semaphore(0);
    device.queue(0)?.submit(&recorder.finish()?, Submit::new().signal(&done, 1))?;
    done.wait(1, PATIENCE)?;
    let read = |(buffer, before): (&roci_hal::Buffer, &Vec<u32>)| {
        let bytes = device.read(buffer)?;
        Ok(bytes.chunks_exact(4).take(before.len()).map(bytemuck::pod_read_unaligned).collect())
    };
    buffers.iter().zip(&case.buffers).map(read).collect()
}
