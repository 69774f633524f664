//! The driver against the conformance suite: with timeline semaphores and with fences, every call checked by Khronos's layer
//! where it is installed.
//!
//! `ROCI_VULKAN_DEVICE=vulkan://1` chooses another device than the first, `ROCI_VULKAN_VALIDATE=0` leaves the checks out.

mod common;

use std::process::ExitCode;
use std::time::Duration;

use roci_hal::{Device, Error, Registry};
use roci_hal_cts::{Backend, Tag};

/// llvmpipe ends loops after 65,535 rounds, which take a few milliseconds: so many workgroups take half a minute.
const SPIN_GROUPS: u32 = 4096;
/// A few seconds of a GPU; llvmpipe does not get that far. Vulkan does not promise that a running kernel ever sees what the host
/// writes.
const SPIN_ROUNDS: u32 = 10_000_000;

fn main() -> ExitCode {
    let device = roci_testkit::vulkan_device();
    let open = |uri: &str, timeout| -> Result<Device, Error> {
        Registry::new().with(common::driver()).open(&uri.parse()?, timeout)
    };
    // One workgroup keeps a GPU busy for long enough, and 4096 for too long.
    let is_gpu = open(&device, None).is_ok_and(|device| device.info().physical.iter().all(|one| one.kind.is_gpu()));
    let backend = |uri: String| {
        let name = uri.clone();
        Backend::new(name, move |timeout: Option<Duration>| open(&uri, timeout))
            .tags(&[Tag::Dispatch, Tag::Hang])
            .spin_groups(if is_gpu { 1 } else { SPIN_GROUPS })
            .spin_rounds(SPIN_ROUNDS)
            .lacks(&[(Tag::Bounds, "Vulkan has no way to tell of an access out of bounds")])
    };
    roci_hal_cts::main(vec![backend(device.clone()), backend(format!("{device}?timeline=off"))])
}
