//! Checks of one device: kernels against their references, and silent corruption.
//!
//! Silent corruption is a wrong result without an error. The checks cover packed dot products,
//! copies at odd offsets, memory that is freed and allocated again, and repeated runs of the same
//! dispatch.

mod copies;
mod dot;
mod reuse;

use std::time::Duration;

use roci_base::Hint;
use roci_hal::Device;

use crate::kernels::{self, Case, LoadedKernel};
use crate::{Error, Outcome};

/// Name prefixes of the checked kernels.
const KERNELS: [&str; 2] = ["matmul", "reduce"];
/// The kernel of the repeatability check, and its number of runs.
const REPEATED: &str = "matmul_f32";
const REPEATS: usize = 20;

/// A check for silent corruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corruption {
    /// Packed dot products, for which devices have special instructions.
    Dot,
    /// Copies of about 16 KiB, at even and odd offsets.
    Copies,
    /// Memory that is freed and allocated again while work is in flight.
    Reuse,
    /// Repeated runs of the same dispatch.
    Repeat,
}

impl Corruption {
    /// All checks, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Dot, Self::Copies, Self::Reuse, Self::Repeat];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dot => "dot",
            Self::Copies => "copies",
            Self::Reuse => "reuse",
            Self::Repeat => "repeat",
        }
    }

    /// Description of one line for reports.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Dot => "packed dot products",
            Self::Copies => "copies around 16 KiB",
            Self::Reuse => "memory freed and reused",
            Self::Repeat => "same bits every time",
        }
    }

    /// Runs the check on a device.
    pub fn check(self, device: &Device) -> CheckResult {
        judge(self.run(device))
    }

    fn run(self, device: &Device) -> Result<(), EarlyResult> {
        let timeout = roci_hal::deadline::default_timeout();
        match self {
            Self::Dot => dot::run(device),
            Self::Copies => copies::run(device),
            Self::Reuse => reuse::run(device, timeout),
            Self::Repeat => repeat(device, &checked_kernels(), timeout),
        }
    }
}

/// Outcome of a corruption check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckResult {
    /// The results are correct.
    Pass,
    /// The results are wrong, or a call failed: the first difference, or the error.
    Fail(String),
    /// The check does not apply to the device, with the reason.
    NotApplicable(String),
}

impl From<CheckResult> for crate::Verdict {
    fn from(result: CheckResult) -> Self {
        match result {
            CheckResult::Pass => Self::works(),
            CheckResult::Fail(detail) => Self::new(Outcome::Wrong, detail),
            CheckResult::NotApplicable(detail) => Self::new(Outcome::Unsupported, detail),
        }
    }
}

/// Compares bytes. The failure names the first difference.
pub(crate) fn compare(what: &str, got: &[u8], want: &[u8]) -> Result<(), CheckResult> {
    if got.len() != want.len() {
        return Err(CheckResult::Fail(format!("{what}: {} bytes instead of {}", got.len(), want.len())));
    }
    match got.iter().zip(want).position(|(got, want)| got != want) {
        None => Ok(()),
        Some(at) => {
            let count = got.iter().zip(want).filter(|(got, want)| got != want).count();
            let (got, want) = (got[at], want[at]);
            let text = format!("{what}: {count} bytes differ, the first at {at}: got 0x{got:02x}, want 0x{want:02x}");
            Err(CheckResult::Fail(text))
        }
    }
}

/// Early end of a check, by a result or an error.
enum EarlyResult {
    CheckResult(CheckResult),
    Error(Error),
}

impl From<CheckResult> for EarlyResult {
    fn from(verdict: CheckResult) -> Self {
        Self::CheckResult(verdict)
    }
}

impl<E: Into<Error>> From<E> for EarlyResult {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// The kernels whose results are checked, with small problem sizes.
pub fn checked_kernels() -> Vec<Case> {
    kernels::select(&KERNELS.map(str::to_owned), true).unwrap_or_default()
}

fn judge(ended: Result<(), EarlyResult>) -> CheckResult {
    match ended {
        Ok(()) => CheckResult::Pass,
        Err(EarlyResult::CheckResult(verdict)) => verdict,
        Err(EarlyResult::Error(error)) => {
            let hint = error.hint().map(|hint| format!(" (hint: {hint})")).unwrap_or_default();
            CheckResult::Fail(format!("{error}{hint}"))
        }
    }
}

/// Compares a kernel's results with the f64 reference.
pub fn check_kernel(device: &Device, case: &Case, timeout: Duration) -> CheckResult {
    judge(compute(device, case, timeout))
}

fn compute(device: &Device, case: &Case, timeout: Duration) -> Result<(), EarlyResult> {
    let capabilities = device.info().capabilities();
    if !case.kernel.runs_on(device.info()) {
        return Err(CheckResult::NotApplicable("the device has no matrix units".into()).into());
    }
    if case.name().ends_with("_f16") && !capabilities.fp16_storage && !capabilities.fp16_arithmetic {
        return Err(CheckResult::NotApplicable("the device has no 16-bit floats".into()).into());
    }
    let problem = case.prepare();
    let (output, _) = LoadedKernel::new(device, None, case, &problem, timeout)?.result()?;
    let comparison = kernels::verify(&output, &problem.expected, problem.output, problem.tolerance);
    comparison.complaint().map_or(Ok(()), |complaint| Err(CheckResult::Fail(complaint).into()))
}

/// Repeated runs of one product must give the same bits.
fn repeat(device: &Device, cases: &[Case], timeout: Duration) -> Result<(), EarlyResult> {
    let Some(case) = cases.iter().find(|case| case.name() == REPEATED) else {
        return Err(CheckResult::NotApplicable("there is no such kernel".into()).into());
    };
    let ready = LoadedKernel::new(device, None, case, &case.prepare(), timeout)?;
    let (first, _) = ready.result()?;
    for round in 2..=REPEATS {
        compare(&format!("run {round} of {REPEATED}"), &ready.result()?.0, &first)?;
    }
    Ok(())
}
