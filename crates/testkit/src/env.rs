//! Environment variables of tests. The program does not read them, so its own table does not list
//! them.

use std::path::PathBuf;

/// Comma-separated names of required tools and devices: if one is missing, tests fail instead of
/// being skipped.
pub(crate) const REQUIRE: &str = "ROCI_REQUIRE";
/// File that gets a line for every skipped test; see [`skipped`](crate::skipped()).
pub(crate) const SKIPPED: &str = "ROCI_SKIPPED";
/// If `1`, golden tests rewrite their files instead of comparing.
pub(crate) const BLESS: &str = "ROCI_BLESS";
/// Duration of random tests, in seconds. If unset, they run a few fixed inputs.
pub(crate) const RANDOM_SECONDS: &str = "ROCI_RANDOM_SECONDS";
/// First seed of random tests, a decimal number.
pub(crate) const RANDOM_SEED: &str = "ROCI_RANDOM_SEED";
/// Part of the name of the OpenCL platform to test instead of PoCL, such as `NVIDIA` or `rusticl`.
pub(crate) const OPENCL_PLATFORM: &str = "ROCI_OPENCL_PLATFORM";
/// URI of the OpenCL device for the conformance suite, instead of Debian's drivers.
pub(crate) const OPENCL_DEVICE: &str = "ROCI_OPENCL_DEVICE";
/// URI of the device for tests of the Vulkan driver, instead of the first one.
pub(crate) const VULKAN_DEVICE: &str = "ROCI_VULKAN_DEVICE";
/// Number of encodings that the decoder's test samples, a decimal number.
pub(crate) const ISA_SAMPLES: &str = "ROCI_ISA_SAMPLES";
/// Duration of stress tests, in seconds. If unset, they run for a few seconds.
pub(crate) const STRESS_SECONDS: &str = "ROCI_STRESS_SECONDS";
/// Path of SmolLM2-135M-Instruct in Q4_1, as downloaded by `scripts/fetch-smollm2`.
pub(crate) const SMOLLM2: &str = "ROCI_SMOLLM2";
/// Folders searched for programs.
pub(crate) const PATH: &str = "PATH";

#[expect(clippy::disallowed_methods, reason = "the one place where tests read the environment")]
pub(crate) fn read(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Whether to rewrite golden files (`ROCI_BLESS=1`) instead of comparing.
pub fn bless() -> bool {
    read(BLESS).is_some_and(|value| value == "1")
}

/// URI of the device in `ROCI_OPENCL_DEVICE`.
pub fn opencl_device() -> Option<String> {
    read(OPENCL_DEVICE)
}

/// Path of SmolLM2-135M-Instruct in Q4_1, from `ROCI_SMOLLM2`; `None` if tests should not run it.
pub fn smollm2() -> Option<PathBuf> {
    read(SMOLLM2).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// URI of the device for tests of the Vulkan driver: `ROCI_VULKAN_DEVICE`, or the first device.
pub fn vulkan_device() -> String {
    read(VULKAN_DEVICE).filter(|uri| !uri.is_empty()).unwrap_or_else(|| "vulkan".to_owned())
}

/// The sample count in `ROCI_ISA_SAMPLES`.
///
/// # Panics
/// If it is not a number.
pub fn isa_samples() -> Option<usize> {
    read(ISA_SAMPLES)
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{ISA_SAMPLES}=`{text}` is not a whole number")))
}

/// The duration in `ROCI_STRESS_SECONDS`.
///
/// # Panics
/// If it is not a number.
pub fn stress_seconds() -> Option<u64> {
    read(STRESS_SECONDS)
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{STRESS_SECONDS}=`{text}` is not a whole number")))
}

/// Duration and first seed of a random test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RandomRun {
    /// Duration in seconds; `None` runs a small fixed number of inputs.
    pub seconds: Option<u64>,
    /// First seed; `None` selects the test's default.
    pub seed: Option<u64>,
}

/// The run that `ROCI_RANDOM_SECONDS` and `ROCI_RANDOM_SEED` select.
///
/// # Panics
/// If one of them is not a number: a run of another length than requested would be a silent skip.
pub fn random_run() -> RandomRun {
    let number = |name: &str| {
        read(name).map(|text| text.parse().unwrap_or_else(|_| panic!("{name}=`{text}` is not a whole number")))
    };
    RandomRun { seconds: number(RANDOM_SECONDS), seed: number(RANDOM_SEED) }
}
