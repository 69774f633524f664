//! The driver against the conformance suite on PoCL: in every way that it can be driven, and two of its devices as one.
//! `ROCI_OPENCL_DEVICE=opencl:0` runs the suite on that device instead.

mod devices;
mod kernels;

use std::process::ExitCode;

use devices::Wanted;
use roci_hal_cts::Tag;

/// A kernel of a lost device ends when it sees the host's flag, which only shared memory shows without a queue.
const HANG: (Tag, &str) = (
    Tag::Hang,
    "without shared memory a kernel of a lost device spins on, on one of PoCL's few threads in this process",
);

fn main() -> ExitCode {
    let pocl = |count, parameters| Wanted { platform: "Portable Computing Language", count, parameters };
    if let Some(uri) = roci_testkit::opencl_device() {
        return devices::main(&uri, &pocl(1, ""), vec![pocl(1, "").backend(&uri).tags(&[Tag::Hang])]);
    }
    devices::prepare("pocl.icd");
    let (plain, split) = ("opencl:pocl", "?svm=off&order=in");
    let backends = vec![
        pocl(1, "").backend(plain).tags(&[Tag::Hang]),
        pocl(1, split).backend(&format!("{plain}{split}")).lacks(&[HANG]),
        pocl(2, "").backend("opencl:pocl,pocl").tags(&[Tag::Hang]),
    ];
    devices::main(plain, &pocl(1, ""), backends)
}
