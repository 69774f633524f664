//! Runs the conformance suite with timeline semaphores and with fences, under the validation layer
//! if it is installed.
//!
//! `ROCI_VULKAN_DEVICE=vulkan://1` selects another device; `ROCI_VULKAN_VALIDATE=0` disables
//! validation.

mod common;

use std::process::ExitCode;
use std::time::Duration;

use roci_hal::{Device, Error, Registry};
use roci_hal_cts::{Backend, Tag};

/// llvmpipe ends loops after 65,535 rounds, which take a few milliseconds. This many workgroups
/// take half a minute.
const SPIN_GROUPS: u32 = 4096;
/// Takes a few seconds on a GPU; llvmpipe's loop limit ends it earlier. Vulkan does not guarantee
/// that a running kernel ever sees host writes.
const SPIN_ROUNDS: u32 = 10_000_000;

fn main() -> ExitCode {
    let device = roci_testkit::vulkan_device();
    let open = |uri: &str, timeout| -> Result<Device, Error> {
        Registry::new().with(common::driver()).open(&uri.parse()?, timeout)
    };
    // One workgroup occupies a GPU for long enough; 4096 would take too long.
    let is_gpu = open(&device, None).is_ok_and(|device| device.info().physical.iter().all(|one| one.kind.is_gpu()));
    let backend = |uri: String| {
        let name = uri.clone();
        Backend::new(name, move |timeout: Option<Duration>| open(&uri, timeout))
            .tags(&[Tag::Dispatch, Tag::Hang])
            .spin_groups(if is_gpu { 1 } else { SPIN_GROUPS })
            .spin_rounds(SPIN_ROUNDS)
            .missing(&[(Tag::Bounds, "Vulkan does not report out-of-bounds accesses")])
    };
    roci_hal_cts::main(vec![backend(device.clone()), backend(format!("{device}?timeline=off"))])
}
