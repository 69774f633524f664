//! Tests each of the project's kernels on a device against its native twin, one test per kernel.

#[path = "../../../../kernels/select/tests/pocl/device.rs"]
mod device;
#[path = "../../../../kernels/select/tests/pocl/native.rs"]
mod native;

use std::time::Duration;

use libtest_mimic::{Completion, Trial};
use roci_families::cases::Case;
use roci_hal::Error;
use roci_kernels::clc::Options;
use roci_kernels::{KernelSpec, kernels, opencl_c};

use crate::devices::DeviceSpec;

const NO_MATRIX: &str = "the device has no matrix units for sub-groups of 32";
/// PoCL compiles at the first run, which takes seconds for large kernels.
const TIMEOUT: Duration = Duration::from_secs(400);

/// Kernels that are also tested specialized. PoCL takes seconds to compile each.
const SPECIALIZED: [&str; 4] = ["lm_matvec_f16", "lm_matvec_i8_q8", "lm_decode_attention_f16", "lm_rms_norm"];

/// Whether a kernel uses sub-groups.
fn has_subgroups(kernel: &KernelSpec) -> bool {
    // Kernels on matrix units cannot be written as OpenCL C without them.
    opencl_c(kernel, &Options::opencl())
        .is_ok_and(|written| written.entry_points.iter().any(|entry| entry.uses_subgroups))
}

/// The tests, named after a device. A device that differs from another only in its sub-groups runs
/// only kernels that use them.
pub(crate) fn trials(device: &str, expected: &DeviceSpec) -> Vec<Trial> {
    let differs = |kernel: &KernelSpec| !expected.parameters.contains("subgroups") || has_subgroups(kernel);
    let trial = |kernel: &'static KernelSpec| {
        let (expected, name) = (expected.clone(), format!("{device}/kernels/{}", kernel.name()));
        let title = name.clone();
        Trial::ignorable_test(title, move || match expected.open(Some(TIMEOUT)) {
            Ok(device) if !kernel.runs_on(device.info()) => {
                roci_testkit::skipped(&name, NO_MATRIX);
                Ok(Completion::ignored_with(NO_MATRIX))
            }
            Ok(device) => {
                let tolerance = |case: &Case| case.tolerance;
                device::check_all(&device, kernel, TIMEOUT, tolerance)?;
                if SPECIALIZED.contains(&kernel.name()) {
                    device::check_specialized(&device, kernel, TIMEOUT, 2, tolerance)?;
                }
                Ok(Completion::Completed)
            }
            Err(error @ Error::Unavailable { .. }) if !expected.is_required() => {
                roci_testkit::skipped(&name, &error.to_string());
                Ok(Completion::ignored_with(error.to_string()))
            }
            Err(error) => Err(error.into()),
        })
    };
    let selected = |kernel: &&KernelSpec| roci_testkit::may_run(&format!("{device}/kernels/{}", kernel.name()));
    kernels().iter().filter(selected).filter(|kernel| differs(kernel)).map(trial).collect()
}
