//! Runs the conformance suite on Mesa's RustICL over llvmpipe: no shared memory, in-order queues
//! only.

mod devices;
mod kernels;

use std::process::ExitCode;

use devices::{DeviceSpec, NARROW};
use roci_hal_cts::Tag;

/// llvmpipe ends loops after 65,535 rounds, which take a few milliseconds. This many workgroups
/// take a few seconds.
const SPIN_GROUPS: u32 = 1024;

fn main() -> ExitCode {
    devices::prepare("rusticl.icd");
    let rusticl = |parameters| DeviceSpec { platform: "rusticl", count: 1, parameters };
    let mut kernels = kernels::trials("rusticl", &rusticl(""));
    kernels.extend(kernels::trials(&format!("rusticl{NARROW}"), &rusticl(NARROW)));
    devices::main(vec![rusticl("").backend("rusticl").tags(&[Tag::Hang]).spin_groups(SPIN_GROUPS)], kernels)
}
