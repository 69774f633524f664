//! The driver against the conformance suite on Mesa's RustICL over llvmpipe: no shared memory, no order but the queue's.

mod devices;
mod kernels;

use std::process::ExitCode;

use devices::{NARROW, Wanted};
use roci_hal_cts::Tag;

/// llvmpipe ends loops after 65,535 rounds, which take a few milliseconds: so many workgroups take some seconds.
const SPIN_GROUPS: u32 = 1024;

fn main() -> ExitCode {
    devices::prepare("rusticl.icd");
    let rusticl = |parameters| Wanted { platform: "rusticl", count: 1, parameters };
    let mut kernels = kernels::trials("rusticl", &rusticl(""));
    kernels.extend(kernels::trials(&format!("rusticl{NARROW}"), &rusticl(NARROW)));
    devices::main(vec![rusticl("").backend("rusticl").tags(&[Tag::Hang]).spin_groups(SPIN_GROUPS)], kernels)
}
