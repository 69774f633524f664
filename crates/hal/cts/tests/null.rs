//! The null driver passes every case that needs no computation; the others are recorded as skipped.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use libtest_mimic::{Failed, Trial};
use roci_hal::Registry;
use roci_hal::null::NullDriver;
use roci_hal_cts::{Backend, Tag, cases, run_trials, trials};

const REASON: &str = "the null driver computes nothing";

fn main() -> ExitCode {
    let backend = |name: &'static str, uri: &'static str| {
        let open = move |timeout| Registry::new().with(NullDriver::new(3)).open(&uri.parse()?, timeout);
        Backend::new(name, open).missing(&[(Tag::Dispatch, REASON), (Tag::Hang, REASON), (Tag::Bounds, REASON)])
    };
    // One physical device, and one logical device of three.
    run_trials(vec![backend("null", "null:0"), backend("null-3", "null://*")], |backends: &[Arc<Backend>]| {
        let mut all = trials(backends);
        all.push(Trial::test("skipped_cases_are_recorded", skipped_cases_are_recorded));
        all
    })
}

/// Runs this binary again for one group, with a separate file for skipped cases.
fn skipped_cases_are_recorded() -> Result<(), Failed> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("skipped-{}", std::process::id()));
    let output = Command::new(std::env::current_exe()?).arg("null/barriers/").env("ROCI_SKIPPED", &file).output()?;
    if !output.status.success() {
        return Err(format!("the group fails: {}", String::from_utf8_lossy(&output.stdout)).into());
    }
    let written = std::fs::read_to_string(&file)?;
    std::fs::remove_file(&file)?;
    let mut got: Vec<_> = written.lines().map(str::to_owned).collect();
    got.sort();
    let mut expected: Vec<_> = cases()
        .iter()
        .filter(|case| case.group == "barriers" && case.needs.contains(&Tag::Dispatch))
        .map(|case| format!("conformance suite on null: needs Dispatch: {REASON}\tnull {}", case.path()))
        .collect();
    expected.sort();
    if got == expected && !expected.is_empty() {
        Ok(())
    } else {
        Err(format!("recorded {got:?}, expected {expected:?}").into())
    }
}
