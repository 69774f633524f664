//! Kernels of the project on a device, against their native twins. One test a kernel.

#[path = "../../../kernels/tests/pocl/cases.rs"]
mod cases;
#[path = "../../../kernels/tests/pocl/device.rs"]
mod device;
#[path = "../../../kernels/tests/pocl/native.rs"]
mod native;

use std::time::Duration;

use libtest_mimic::{Completion, Trial};
use roci_hal::Error;
use roci_kernels::clc::Options;
use roci_kernels::{KernelSpec, kernels, opencl_c};

use crate::devices::Wanted;

const NO_MATRIX: &str = "the device has no matrix units for sub-groups of 32";
/// PoCL compiles at the first run, for seconds where a kernel is large.
const PATIENCE: Duration = Duration::from_secs(400);

/// Kernels that are also compiled for the constants of some cases: each takes PoCL seconds.
const BAKED: [&str; 4] = ["lm_matvec_f16", "lm_dot_q8", "lm_attend_f16", "lm_norm"];

/// Whether a kernel uses sub-groups.
fn has_subgroups(kernel: &KernelSpec) -> bool {
    // One for matrix units has no OpenCL C without them.
    opencl_c(kernel, &Options::opencl())
        .is_ok_and(|written| written.entry_points.iter().any(|entry| entry.uses_subgroups))
}

/// The tests, named after a device. Where it differs from another in its sub-groups, only kernels with those are run.
pub(crate) fn trials(device: &str, wanted: &Wanted) -> Vec<Trial> {
    let differs = |kernel: &KernelSpec| !wanted.parameters.contains("subgroups") || has_subgroups(kernel);
    let trial = |kernel: &'static KernelSpec| {
        let (wanted, name) = (wanted.clone(), format!("{device}/kernels/{}", kernel.name()));
        let title = name.clone();
        Trial::ignorable_test(title, move || match wanted.open(Some(PATIENCE)) {
            Ok(device) if !kernel.runs_on(device.info()) => {
                roci_testkit::skipped(&name, NO_MATRIX);
                Ok(Completion::ignored_with(NO_MATRIX))
            }
            Ok(device) => {
                let tolerance = |case: &cases::Case| case.tolerance;
                device::check_all(&device, kernel, PATIENCE, tolerance)?;
                if BAKED.contains(&kernel.name()) {
                    device::check_baked(&device, kernel, PATIENCE, 2, tolerance)?;
                }
                Ok(Completion::Completed)
            }
            Err(error @ Error::Unavailable { .. }) if !wanted.is_required() => {
                roci_testkit::skipped(&name, &error.to_string());
                Ok(Completion::ignored_with(error.to_string()))
            }
            Err(error) => Err(error.into()),
        })
    };
    kernels().iter().filter(|kernel| differs(kernel)).map(trial).collect()
}
