//! The driver against the conformance suite on PoCL: in every way that it can be driven, and two of its devices as one.
//! `ROCI_OPENCL_DEVICE=opencl:0` runs the suite on that device instead.

mod devices;
mod kernels;

use std::process::ExitCode;

use devices::{NARROW, Wanted};
use roci_hal_cts::Tag;

/// A kernel of a lost device ends when it sees the host's flag, which only shared memory shows without a queue.
const HANG: (Tag, &str) = (
    Tag::Hang,
    "without shared memory a kernel of a lost device spins on, on one of PoCL's few threads in this process",
);

/// A few seconds of a GPU, whose reads take a fraction of a microsecond. It has no other way out: the host's flag goes through
/// the queue, and no kernel can be cancelled.
const SPIN_ROUNDS: u32 = 10_000_000;

fn main() -> ExitCode {
    let pocl = |count, parameters| Wanted { platform: "Portable Computing Language", count, parameters };
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
        pocl(1, split).backend(&format!("{plain}{split}")).lacks(&[HANG]),
        pocl(2, "").backend("opencl:pocl,pocl").tags(&[Tag::Hang]),
    ];
    // PoCL has no sub-groups: they are lowered, to the size that kernels have elsewhere and to another.
    let mut kernels = kernels::trials(plain, &pocl(1, ""));
    kernels.extend(kernels::trials(&format!("{plain}{NARROW}"), &pocl(1, NARROW)));
    devices::main(backends, kernels)
}
