//! Every kernel of the project on a Vulkan device, against its native twin: one test a kernel, with the sub-groups that the
//! device gives and with each size that it lets kernels choose; without any, those that use some (`subgroups`).

#[path = "../../kernels/tests/pocl/cases.rs"]
mod cases;
mod common;
#[path = "../../kernels/tests/pocl/device.rs"]
mod device;
#[path = "../../kernels/tests/pocl/native.rs"]
mod native;
mod subgroups;

use std::process::ExitCode;
use std::sync::Arc;

use cases::Case;
use libtest_mimic::{Arguments, Failed, Trial};
use roci_hal::deadline::default_timeout;
use roci_hal::{Device, Error, Registry};
use roci_kernels::{KernelSpec, kernels};
use roci_testkit::Tolerance;

/// Vulkan promises less of `exp` than the other languages do: it is right to 3 + 2 |x| units in the last place.
fn tolerance(spec: &KernelSpec, case: &Case) -> Tolerance {
    if spec.name() == "unary_exp" { case.tolerance.max(Tolerance::Close) } else { case.tolerance }
}

fn check_all(device: &Device, spec: &KernelSpec) -> Result<(), Failed> {
    device::check_all(device, spec, default_timeout(), |case| tolerance(spec, case))
}

/// Kernels that are compiled for a model when it writes.
const BAKED: [&str; 10] = [
    "lm_matvec_",
    "lm_dot_",
    "lm_heads_",
    "lm_attention_",
    "lm_attend_",
    "lm_join",
    "lm_gate",
    "lm_norm",
    "lm_route",
    "lm_mix",
];

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
    for (index, device) in devices.into_iter().enumerate() {
        for spec in kernels() {
            let name = format!("{}/{}", device.info().uri, spec.name());
            // The one thing that is not lowered.
            if !spec.runs_on(device.info()) {
                roci_testkit::skipped(&name, "the Vulkan device has no matrix units for sub-groups of 32");
                trials.push(Trial::test(name, || Ok(())).with_ignored_flag(true));
                continue;
            }
            if index == 0 && BAKED.iter().any(|start| spec.name().starts_with(start)) {
                let device = Arc::clone(&device);
                trials.push(Trial::test(format!("{name}/baked"), move || {
                    device::check_baked(&device, spec, default_timeout(), 6, |case| tolerance(spec, case))
                }));
            }
            let device = Arc::clone(&device);
            trials.push(Trial::test(name, move || check_all(&device, spec)));
        }
    }
    trials.extend(subgroups::trials(check_all));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
