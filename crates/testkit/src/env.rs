//! The environment variables that tests read. They are not read by the program, so its own table does not list them.

use std::path::PathBuf;

/// Comma-separated names of what must be there: its absence fails a test instead of being reported.
pub(crate) const REQUIRE: &str = "ROCI_REQUIRE";
/// A file that gets one line for everything that was not run; see [`skipped`](crate::skipped()).
pub(crate) const SKIPPED: &str = "ROCI_SKIPPED";
/// Set to `1`, golden tests rewrite their files instead of comparing.
pub(crate) const BLESS: &str = "ROCI_BLESS";
/// For how many seconds tests of random inputs run; without it they run a few fixed ones.
pub(crate) const RANDOM_SECONDS: &str = "ROCI_RANDOM_SECONDS";
/// The first seed of tests of random inputs, a decimal number.
pub(crate) const RANDOM_SEED: &str = "ROCI_RANDOM_SEED";
/// Part of the name of the OpenCL platform that tests run on instead of PoCL, such as `NVIDIA` or `rusticl`.
pub(crate) const OPENCL_PLATFORM: &str = "ROCI_OPENCL_PLATFORM";
/// The URI of the OpenCL device that the conformance suite runs on, instead of those of Debian's packages.
pub(crate) const OPENCL_DEVICE: &str = "ROCI_OPENCL_DEVICE";
/// The device that tests of the Vulkan driver run on instead of the first, as a URI.
pub(crate) const VULKAN_DEVICE: &str = "ROCI_VULKAN_DEVICE";
/// How many encodings the decoder's test samples, a decimal number.
pub(crate) const ISA_SAMPLES: &str = "ROCI_ISA_SAMPLES";
/// For how many seconds stress tests go on; a few without it.
pub(crate) const STRESS_SECONDS: &str = "ROCI_STRESS_SECONDS";
/// SmolLM2-135M-Instruct in Q4_1, as `scripts/fetch-smollm2` gets it.
pub(crate) const SMOLLM2: &str = "ROCI_SMOLLM2";
/// Where programs are.
pub(crate) const PATH: &str = "PATH";

#[expect(clippy::disallowed_methods, reason = "the one place where tests read the environment")]
pub(crate) fn read(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Whether golden files shall be rewritten (`ROCI_BLESS=1`) instead of compared.
pub fn bless() -> bool {
    read(BLESS).is_some_and(|value| value == "1")
}

/// The device that `ROCI_OPENCL_DEVICE` names.
pub fn opencl_device() -> Option<String> {
    read(OPENCL_DEVICE)
}

/// The file of SmolLM2-135M-Instruct in Q4_1, if tests shall run it: what `ROCI_SMOLLM2` says.
pub fn smollm2() -> Option<PathBuf> {
    read(SMOLLM2).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The URI of the device that tests of the Vulkan driver run on: what `ROCI_VULKAN_DEVICE` says, else the first one.
pub fn vulkan_device() -> String {
    read(VULKAN_DEVICE).filter(|uri| !uri.is_empty()).unwrap_or_else(|| "vulkan".to_owned())
}

/// What `ROCI_ISA_SAMPLES` says.
///
/// # Panics
/// If it is not a number.
pub fn isa_samples() -> Option<usize> {
    read(ISA_SAMPLES)
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{ISA_SAMPLES}=`{text}` is not a whole number")))
}

/// What `ROCI_STRESS_SECONDS` says.
///
/// # Panics
/// If it is not a number.
pub fn stress_seconds() -> Option<u64> {
    read(STRESS_SECONDS)
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{STRESS_SECONDS}=`{text}` is not a whole number")))
}

/// How long to test random inputs, and from which seed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RandomRun {
    /// Seconds to go on for; `None` is a small fixed number of inputs.
    pub seconds: Option<u64>,
    /// The first seed.
    pub seed: Option<u64>,
}

/// What `ROCI_RANDOM_SECONDS` and `ROCI_RANDOM_SEED` say.
///
/// # Panics
/// If one of them is not a number: a run of another length than asked for would be a silent skip.
pub fn random_run() -> RandomRun {
    let number = |name: &str| {
        read(name).map(|text| text.parse().unwrap_or_else(|_| panic!("{name}=`{text}` is not a whole number")))
    };
    RandomRun { seconds: number(RANDOM_SECONDS), seed: number(RANDOM_SEED) }
}
