//! Every kernel of the project on a device, against its native twin. One test a kernel.

#[path = "../../../kernels/tests/pocl/cases.rs"]
mod cases;
#[path = "../../../kernels/tests/pocl/device.rs"]
mod device;
#[path = "../../../kernels/tests/pocl/native.rs"]
mod native;

use std::time::Duration;

use libtest_mimic::{Completion, Trial};
use roci_hal::Error;
use roci_kernels::{KernelSpec, kernels};

use crate::devices::Wanted;

/// PoCL compiles at the first run, for seconds where a kernel is large.
const PATIENCE: Duration = Duration::from_secs(120);

/// The tests, named after a backend of the suite.
pub(crate) fn trials(backend: &str, wanted: &Wanted) -> Vec<Trial> {
    let trial = |kernel: &'static KernelSpec| {
        let (wanted, name) = (wanted.clone(), format!("{backend}/kernels/{}", kernel.name()));
        let title = name.clone();
        Trial::ignorable_test(title, move || match wanted.open(Some(PATIENCE)) {
            Ok(device) if !kernel.runs_on(device.info()) => {
                roci_testkit::skipped(&name, "the device has no matrix units");
                Ok(Completion::ignored_with("the device has no matrix units"))
            }
            Ok(device) => {
                device::check_all(&device, kernel, PATIENCE, |case| case.tolerance).map(|()| Completion::Completed)
            }
            Err(error @ Error::Unavailable { .. }) if !wanted.is_required() => {
                roci_testkit::skipped(&name, &error.to_string());
                Ok(Completion::ignored_with(error.to_string()))
            }
            Err(error) => Err(error.into()),
        })
    };
    kernels().iter().map(trial).collect()
}
