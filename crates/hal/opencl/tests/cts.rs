//! Runs the conformance suite on PoCL: with every set of options, and with two devices as one
//! logical device. `ROCI_OPENCL_DEVICE=opencl:0` selects another device.

mod devices;
mod kernels;

use std::process::ExitCode;

use devices::{DeviceSpec, NARROW};
use libtest_mimic::{Failed, Trial};
use roci_hal::{BufferDesc, Device, Error, Submit};
use roci_hal_cts::Tag;

/// A kernel of a lost device ends when it sees the host's flag, which without a queue is visible
/// only in shared memory.
const HANG: (Tag, &str) = (
    Tag::Hang,
    "without shared memory, a kernel of a lost device keeps spinning and occupies one of PoCL's few threads",
);

/// Takes a few seconds on a GPU, where a read takes a fraction of a microsecond. The kernel has no
/// other way to end: the host's flag goes through the queue, and kernels cannot be canceled.
const SPIN_ROUNDS: u32 = 10_000_000;

fn main() -> ExitCode {
    let pocl = |count, parameters| DeviceSpec { platform: "Portable Computing Language", count, parameters };
    if let Some(uri) = roci_testkit::opencl_device() {
        let is_gpu =
            pocl(1, "").open(None).is_ok_and(|device| device.info().physical.iter().all(|one| one.kind.is_gpu()));
        let rounds = if is_gpu { SPIN_ROUNDS } else { 0 };
        let backend = pocl(1, "").backend(&uri).tags(&[Tag::Hang]).spin_rounds(rounds);
        let mut kernels = kernels::trials(&uri, &pocl(1, ""));
        kernels.extend(kernels::trials(&format!("{uri}{NARROW}"), &pocl(1, NARROW)));
        return devices::main(vec![backend], kernels);
    }
    devices::prepare("pocl.icd");
    let (plain, split) = ("opencl:pocl", "?svm=off&order=in");
    let backends = vec![
        pocl(1, "").backend(plain).tags(&[Tag::Hang]),
        pocl(1, split).backend(&format!("{plain}{split}")).missing(&[HANG]),
        pocl(2, "").backend("opencl:pocl,pocl").tags(&[Tag::Hang]),
    ];
    // PoCL has no sub-groups: they are lowered, to the default size and to another.
    let mut kernels = kernels::trials(plain, &pocl(1, ""));
    kernels.extend(kernels::trials(&format!("{plain}{NARROW}"), &pocl(1, NARROW)));
    let name = format!("{plain}{split}/mapping/more_than_is_always_there");
    kernels.push(Trial::test(name.clone(), move || match pocl(1, split).open(None) {
        Ok(device) => large(&device),
        Err(error @ Error::Unavailable { .. }) if !pocl(1, split).is_required() => {
            roci_testkit::skipped(&name, &error.to_string());
            Ok(())
        }
        Err(error) => Err(error.into()),
    }));
    devices::main(backends, kernels)
}

/// Host memory too large to be pinned is still transferred.
fn large(device: &Device) -> Result<(), Failed> {
    let size = (64 << 20) + 4096;
    let [source, target] = [0; 2].map(|_| device.allocate(BufferDesc::host(size)));
    let (source, target) = (source?.whole(), target?.whole());
    source.map_write()?.iter_mut().zip((0..=250).cycle()).for_each(|(byte, value)| *byte = value);
    let mut recorder = device.record();
    recorder.copy(&source, &target)?;
    let done = device.semaphore(0);
    device.queue(0)?.submit(&recorder.finish()?, Submit::new().signal(&done, 1))?;
    done.wait(1, devices::TIMEOUT)?;
    let same = target.map_read()?.iter().zip((0..=250).cycle()).all(|(byte, value)| *byte == value);
    if same { Ok(()) } else { Err("the bytes read differ from those written".into()) }
}
