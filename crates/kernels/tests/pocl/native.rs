//! Runs the native twin of a kernel, and holds what a device leaves against it.

use libtest_mimic::Failed;
use roci_hal::native::{NativeBinding, NativeLaunch};
use roci_testkit::Tolerance;

use super::cases::{self, Case, Element};

/// Every case of a kernel by `run`, which gives the buffers as a device leaves them. All that fail are told.
pub(crate) fn check_cases(
    kernel: &str,
    tolerance: impl Fn(&Case) -> Tolerance,
    run: impl Fn(&Case) -> Result<Vec<Vec<u32>>, Failed>,
) -> Result<(), Failed> {
    check_these(kernel, &cases::of(kernel), tolerance, run)
}

/// The same of some cases.
pub(crate) fn check_these(
    kernel: &str,
    cases: &[Case],
    tolerance: impl Fn(&Case) -> Tolerance,
    run: impl Fn(&Case) -> Result<Vec<Vec<u32>>, Failed>,
) -> Result<(), Failed> {
    if cases.is_empty() {
        return Err("no cases; add some in cases.rs".into());
    }
    let check = |case: &Case| judge(kernel, case, &run(case)?, tolerance(case));
    let failure = |case: &Case| {
        let error = check(case).err()?;
        Some(format!("{}: {}", case.label, error.message().unwrap_or("failed")))
    };
    let failures: Vec<String> = cases.iter().filter_map(failure).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

/// What is wrong with the buffers that a device leaves: inputs stay, words are the same, numbers are near enough.
pub(crate) fn judge(kernel: &str, case: &Case, got: &[Vec<u32>], tolerance: Tolerance) -> Result<(), Failed> {
    let want = run(kernel, case)?;
    let output = case.buffers.len() - 1;
    if got[..output] != want[..output] {
        return Err("an input was written".into());
    }
    if case.output == Element::Word && got != want {
        return Err("the words differ".into());
    }
    Ok(tolerance.compare(&case.numbers(&got[output]), &case.numbers(&want[output]))?)
}

/// The buffers of `case` as the native kernel leaves them.
fn run(kernel: &str, case: &Case) -> Result<Vec<Vec<u32>>, String> {
    let native = roci_kernels::native::find(kernel).ok_or_else(|| format!("`{kernel}` has no native twin"))?;
    let mut buffers = case.buffers.clone();
    let bindings: Vec<NativeBinding> = buffers
        .iter_mut()
        .map(|buffer| NativeBinding { pointer: buffer.as_mut_ptr().cast(), length: size_of_val(&buffer[..]) })
        .collect();
    let launch = NativeLaunch { grid: case.grid, bindings: &bindings, constants: &case.constants, workers: 2 };
    let parts = native.prepare(&launch)?;
    for part in 0..parts {
        // SAFETY: the bindings are distinct vectors that live until the end of this function and that nothing else
        // touches, `prepare` accepted the launch, and the loop runs each part once.
        unsafe { native.run(&launch, part, parts) };
    }
    Ok(buffers)
}
