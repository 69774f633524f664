//! Runs the native counterpart of a kernel and compares a device's results with it.

use libtest_mimic::Failed;
use roci_families::cases::{self, Case, Element};
use roci_kernels::native::{Level, run_case};
use roci_testkit::Tolerance;

/// Runs every case of a kernel with `run`, which returns a device's buffers, and reports all
/// failures.
pub(crate) fn check_cases(
    kernel: &str,
    tolerance: impl Fn(&Case) -> Tolerance,
    run: impl Fn(&Case) -> Result<Vec<Vec<u32>>, Failed>,
) -> Result<(), Failed> {
    check_these(kernel, &cases::of(kernel), tolerance, run)
}

/// The same for a selection of cases.
pub(crate) fn check_these(
    kernel: &str,
    cases: &[Case],
    tolerance: impl Fn(&Case) -> Tolerance,
    run: impl Fn(&Case) -> Result<Vec<Vec<u32>>, Failed>,
) -> Result<(), Failed> {
    if cases.is_empty() {
        return Err("no cases; the kernel's family must define some".into());
    }
    let check = |case: &Case| judge(kernel, case, &run(case)?, tolerance(case));
    let failure = |case: &Case| {
        let error = check(case).err()?;
        Some(format!("{}: {}", case.label, error.message().unwrap_or("failed")))
    };
    let failures: Vec<String> = cases.iter().filter_map(failure).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

/// Checks a device's buffers: inputs are unchanged, words are equal, floats are within the
/// tolerance.
pub(crate) fn judge(kernel: &str, case: &Case, got: &[Vec<u32>], tolerance: Tolerance) -> Result<(), Failed> {
    let want = run_case(kernel, Level::best(), case)?;
    let output = case.buffers.len() - 1;
    if got[..output] != want[..output] {
        return Err("an input was written".into());
    }
    if case.output == Element::Word && got != want {
        return Err("the words differ".into());
    }
    Ok(tolerance.compare(&case.numbers(&got[output]), &case.numbers(&want[output]))?)
}
