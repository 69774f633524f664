//! Tests each of the project's kernels on a Vulkan device against its native twin: with the
//! device's default subgroups, with each size that pipelines may require, and with lowered ones
//! for the kernels that use any (`subgroups`).

mod common;
#[path = "../../../kernels/select/tests/pocl/device.rs"]
mod device;
#[path = "../../../kernels/select/tests/pocl/native.rs"]
mod native;
mod subgroups;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use roci_families::cases::Case;
use roci_hal::deadline::default_timeout;
use roci_hal::{Device, Error, Registry};
use roci_kernels::{KernelSpec, kernels};
use roci_testkit::Tolerance;

/// Vulkan's `exp` is less precise than in other languages: 3 + 2 |x| ULP.
fn tolerance(spec: &KernelSpec, case: &Case) -> Tolerance {
    if spec.name() == "unary_exp" { case.tolerance.max(Tolerance::Close) } else { case.tolerance }
}

fn check_all(device: &Device, spec: &KernelSpec) -> Result<(), Failed> {
    device::check_all(device, spec, default_timeout(), |case| tolerance(spec, case))
}

/// Prefixes of the kernels that decoding specializes for a model.
const SPECIALIZED: [&str; 18] = [
    "lm_matvec_",
    "lm_matvec_i8_",
    "lm_rope_kv_store_",
    "lm_attention_",
    "lm_decode_attention_",
    "lm_decode_attention4_",
    "lm_combine_splits",
    "lm_short_conv",
    "lm_delta_rule",
    "lm_ssm_scan",
    "lm_wkv",
    "lm_gated_rms_norm",
    "lm_sigmoid_gate",
    "lm_glu",
    "lm_rms_norm",
    "lm_moe_top_k",
    "lm_moe_combine",
    "lm_mix_streams",
];

/// The device as it is, and once for each subgroup size that pipelines may require.
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
            // The device's only size.
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
            // Matrix units are the only feature that is not lowered.
            if !spec.runs_on(device.info()) {
                roci_testkit::skipped(&name, "the Vulkan device has no matrix units for subgroups of 32");
                trials.push(Trial::test(name, || Ok(())).with_ignored_flag(true));
                continue;
            }
            if index == 0 && SPECIALIZED.iter().any(|start| spec.name().starts_with(start)) {
                let device = Arc::clone(&device);
                trials.push(Trial::test(format!("{name}/specialized"), move || {
                    device::check_specialized(&device, spec, default_timeout(), 6, |case| tolerance(spec, case))
                }));
            }
            let device = Arc::clone(&device);
            trials.push(Trial::test(name, move || check_all(&device, spec)));
        }
    }
    trials.extend(subgroups::trials(check_all));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
