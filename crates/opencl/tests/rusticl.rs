//! The driver against the conformance suite on Mesa's RustICL over llvmpipe: no shared memory, no order but the queue's.

mod devices;
mod kernels;

use std::process::ExitCode;

use devices::Wanted;
use roci_hal_cts::Tag;

fn main() -> ExitCode {
    devices::prepare("rusticl.icd");
    let rusticl = Wanted { platform: "rusticl", count: 1, parameters: "" };
    let hang = (Tag::Hang, "llvmpipe of Mesa 22 ends every loop by itself");
    let kernels = kernels::trials("rusticl", &rusticl);
    devices::main(vec![rusticl.backend("rusticl").lacks(&[hang])], kernels)
}
