//! Every kernel of the project on a Vulkan device, against its native twin: one test a kernel, with the sub-groups that the
//! device gives and with each size that it lets kernels choose.

#[path = "../../kernels/tests/pocl/cases.rs"]
mod cases;
mod common;
#[path = "../../kernels/tests/pocl/native.rs"]
mod native;

use std::process::ExitCode;
use std::sync::Arc;

use cases::{Case, Element};
use libtest_mimic::{Arguments, Failed, Trial};
use roci_hal::{Binding, Buffer, BufferDesc, Device, Error, Kernel, Registry, Submit};
use roci_kernels::{KernelSpec, kernels};
use roci_testkit::Tolerance;

/// The buffers of `case` as the device leaves them.
fn run(device: &Device, kernel: &Kernel, case: &Case) -> Result<Vec<Vec<u32>>, Error> {
    let mut buffers = Vec::new();
    for words in &case.buffers {
        let bytes: &[u8] = bytemuck::cast_slice(words);
        // Nothing at all cannot be bound.
        let buffer = device.allocate(BufferDesc::device(bytes.len().max(4) as u64))?;
        device.write(&buffer.range(0, bytes.len() as u64)?, bytes)?;
        buffers.push(buffer);
    }
    let bindings: Vec<Binding> = buffers.iter().map(Into::into).collect();
    let mut recorder = device.record();
    recorder.dispatch(kernel, case.grid, &bindings, &case.constants)?;
    let done = device.semaphore(0);
    device.queue(0)?.submit(&recorder.finish()?, Submit::new().signal(&done, 1).label(&case.label))?;
    done.wait(1, roci_hal::Deadline::default())?;
    let word = |bytes: &[u8]| bytemuck::pod_read_unaligned(bytes);
    let read = |(buffer, words): (&Buffer, &Vec<u32>)| {
        let bytes = device.read(&buffer.range(0, 4 * words.len() as u64)?)?;
        Ok(bytes.chunks_exact(4).map(word).collect())
    };
    buffers.iter().zip(&case.buffers).map(read).collect()
}

fn check(device: &Device, spec: &KernelSpec, kernel: &Kernel, case: &Case) -> Result<(), String> {
    let got = run(device, kernel, case).map_err(|error| error.to_string())?;
    let want = native::run(spec.name(), case)?;
    let output = case.buffers.len() - 1;
    if got[..output] != want[..output] {
        return Err("an input was written".into());
    }
    if case.output == Element::Word && got != want {
        return Err("the words differ".into());
    }
    let differs = tolerance(spec, case).compare(&case.numbers(&got[output]), &case.numbers(&want[output]));
    differs.map_err(|difference| difference.to_string())
}

/// Vulkan promises less of `exp` than the other languages do: it is right to 3 + 2 |x| units in the last place.
fn tolerance(spec: &KernelSpec, case: &Case) -> Tolerance {
    if spec.name() == "unary_exp" { case.tolerance.max(Tolerance::Close) } else { case.tolerance }
}

fn check_all(device: &Device, spec: &KernelSpec) -> Result<(), Failed> {
    let source = spec.executable(device.info())?;
    let kernel = device.load(&source)?.kernel(spec.name())?;
    let cases = cases::of(spec.name());
    if cases.is_empty() {
        return Err("no cases; add some for it".into());
    }
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| Some(format!("{}: {}", case.label, check(device, spec, &kernel, case).err()?)))
        .collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

/// The device, once as it is and once for each size of sub-groups that can be chosen.
fn devices() -> Result<Vec<Arc<Device>>, Error> {
    let registry = Registry::new().with(common::driver());
    let uri = roci_testkit::vulkan_device();
    let plain = registry.open(&registry.parse(&uri)?, None)?;
    let sizes = plain.info().capabilities().subgroup_sizes.clone();
    let mut devices = vec![Arc::new(plain)];
    for size in sizes {
        let uri = registry.parse(&format!("{uri}?subgroup={size}"))?;
        match registry.open(&uri, None) {
            Ok(device) => devices.push(Arc::new(device)),
            // The one size of a device that gives no choice.
            Err(Error::Invalid { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(devices)
}

fn main() -> ExitCode {
    let Some(devices) = roci_testkit::require("vulkan", devices()) else { return ExitCode::SUCCESS };
    let mut trials = Vec::new();
    for device in devices {
        for spec in kernels() {
            let name = format!("{}/{}", device.info().uri, spec.name());
            // The one thing that is not lowered.
            if spec.needs_matrix() && !device.info().capabilities().matrix {
                roci_testkit::skipped(&name, "the Vulkan device has no matrix units");
                trials.push(Trial::test(name, || Ok(())).with_ignored_flag(true));
                continue;
            }
            let device = Arc::clone(&device);
            trials.push(Trial::test(name, move || check_all(&device, spec)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
