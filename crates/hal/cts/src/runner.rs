//! Runs cases, each on its own thread with its own timeout, and judges them by the backend's lists.

use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use roci_base::panics;

use crate::backend::{Backend, Tag};
use crate::case::{Case, CaseResult, Failure, Verdict};
use crate::child;
use crate::context::Context;
use crate::groups::cases;
use crate::kernels::KernelError;

/// Timeout of a case as a multiple of the timeout for one event. The slowest cases (stress) stay
/// far below it.
const CASE_TIMEOUT_FACTOR: u32 = 6;

/// The main function of a driver's test binary.
pub fn main(backends: Vec<Backend>) -> ExitCode {
    run_trials(backends, trials)
}

/// Like [`main`], for a binary that also has its own tests.
pub fn run_trials(backends: Vec<Backend>, list: impl FnOnce(&[Arc<Backend>]) -> Vec<Trial>) -> ExitCode {
    let backends: Vec<_> = backends.into_iter().map(Arc::new).collect();
    // Checked before anything runs: a typo in `ROCI_REQUIRE` must show even if every device exists.
    for backend in &backends {
        let _ = is_required(backend);
    }
    if let Some(name) = child::requested_backend() {
        return child::run(&backends, &name);
    }
    libtest_mimic::run(&Arguments::from_args(), list(&backends)).exit_code()
}

/// Every case on every backend, named `backend/group/case`, and a check of each backend's lists.
pub fn trials(backends: &[Arc<Backend>]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for backend in backends {
        let lists = undeclared_tags(backend).and_then(|()| stale_entries(backend)).and_then(|()| empty_group(backend));
        trials.push(Trial::test(format!("{}/lists_name_cases", backend.name), move || lists.map_err(Failed::from)));
        for case in cases().iter().filter(|case| backend.only.is_none_or(|group| group == case.group)) {
            let backend = Arc::clone(backend);
            let name = format!("{}/{}", backend.name, case.path());
            trials.push(Trial::ignorable_test(name, move || match judge(&backend, case) {
                Verdict::Passed => Ok(Completion::Completed),
                Verdict::Skipped(reason) => {
                    // Test runners count this as a pass.
                    roci_testkit::skipped(&format!("{} {}", backend.name, case.path()), &report(&backend, &reason));
                    Ok(Completion::ignored_with(reason))
                }
                Verdict::Failed(reason) => Err(reason.into()),
            }));
        }
    }
    trials
}

/// The reason as written to the list of skipped tests, which other suites share.
fn report(backend: &Backend, reason: &str) -> String {
    format!("conformance suite on {}: {reason}", backend.name)
}

/// Runs one case, ignoring the backend's lists.
pub fn run_case(backend: &Arc<Backend>, case: &Case) -> Verdict {
    match limited(backend, case) {
        Ok(()) => Verdict::Passed,
        Err(Failure::Unavailable(reason)) if is_required(backend) => {
            Verdict::Failed(format!("ROCI_REQUIRE names `{}`, but: {reason}", backend.name))
        }
        Err(Failure::Unavailable(reason)) => Verdict::Skipped(reason),
        Err(Failure::Kernels(KernelError::Absent { tool, reason })) if !roci_testkit::is_required(tool) => {
            Verdict::Skipped(format!("{tool}: {reason}"))
        }
        Err(failure) => Verdict::Failed(failure.to_string()),
    }
}

/// Whether `ROCI_REQUIRE` names the backend's driver.
fn is_required(backend: &Backend) -> bool {
    roci_testkit::is_required(backend.name.split(['?', ':']).next().unwrap_or_default())
}

/// Judges a case by the backend's tags and lists.
fn judge(backend: &Arc<Backend>, case: &Case) -> Verdict {
    let path = case.path();
    let listed = |list: &[(&'static str, &'static str)]| {
        list.iter().find(|(name, _)| *name == path).map(|(_, reason)| (*reason).to_owned())
    };
    if let Some(reason) = listed(&backend.unsupported) {
        return Verdict::Skipped(format!("unsupported: {reason}"));
    }
    if let Some(tag) = case.needs.iter().find(|tag| !backend.tags.contains(tag)) {
        return match backend.missing.iter().find(|(missing, _)| missing == tag) {
            Some((_, reason)) => Verdict::Skipped(format!("needs {tag:?}: {reason}")),
            None => Verdict::Failed(undeclared(*tag)),
        };
    }
    match (run_case(backend, case), listed(&backend.expected_failures)) {
        (Verdict::Passed, Some(_)) => {
            Verdict::Failed("listed as an expected failure, but it passes: remove it from the list".into())
        }
        (Verdict::Failed(how), Some(fix)) => Verdict::Skipped(format!("fails as expected ({fix}): {how}")),
        (verdict, _) => verdict,
    }
}

/// Message for a tag that the backend does not declare.
fn undeclared(tag: Tag) -> String {
    format!("the backend declares {tag:?} neither as present (`tags`) nor as missing (`missing`)")
}

/// Checks that each tag is declared exactly once, as present or missing.
fn undeclared_tags(backend: &Backend) -> Result<(), String> {
    for tag in Tag::ALL {
        let is_missing = backend.missing.iter().any(|(missing, _)| missing == tag);
        match (backend.tags.contains(tag), is_missing) {
            (true, true) => return Err(format!("the backend declares {tag:?} both as present and as missing")),
            (false, false) => return Err(undeclared(*tag)),
            _ => {}
        }
    }
    Ok(())
}

/// Checks that the group selected by `only` has cases.
fn empty_group(backend: &Backend) -> Result<(), String> {
    match backend.only {
        Some(group) if !cases().iter().any(|case| case.group == group) => Err(format!("there is no group `{group}`")),
        _ => Ok(()),
    }
}

/// Checks for list entries that name no case or are in both lists.
fn stale_entries(backend: &Backend) -> Result<(), String> {
    let names: Vec<_> = backend.unsupported.iter().chain(&backend.expected_failures).map(|(name, _)| *name).collect();
    for (index, name) in names.iter().enumerate() {
        if !cases().iter().any(|case| case.path() == *name) {
            return Err(format!("there is no case `{name}`"));
        }
        if names[..index].contains(name) {
            return Err(format!("`{name}` is listed twice"));
        }
    }
    Ok(())
}

/// Runs the case on its own thread. The thread is abandoned if it does not finish in time.
fn limited(backend: &Arc<Backend>, case: &Case) -> CaseResult {
    let (sender, receiver) = mpsc::channel();
    let context = Context::new(backend);
    let run = case.run;
    let thread = std::thread::Builder::new().name(case.path()).spawn(move || {
        let result = run(&context);
        // The receiver is gone if the timeout has expired.
        let _ = sender.send(result);
    });
    let thread = thread.map_err(|error| Failure::Wrong(format!("cannot start a thread for the case: {error}")))?;
    let limit: Duration = backend.timeout * CASE_TIMEOUT_FACTOR;
    match receiver.recv_timeout(limit) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => {
            Err(Failure::Wrong(format!("the case hangs: no result within {:.1} s", limit.as_secs_f64())))
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let panic = thread.join().err();
            let message = panic.as_deref().and_then(panics::message).unwrap_or("without a message");
            Err(Failure::Wrong(format!("the case panicked: {message}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roci_hal::null::NullDriver;
    use roci_hal::{Error, Registry};

    fn null() -> Backend {
        let open = |timeout| Registry::new().with(NullDriver::new(1)).open(&"null".parse()?, timeout);
        Backend::new("null", open)
    }

    fn verdict(backend: Backend, run: fn(&Context) -> CaseResult) -> Verdict {
        judge(&Arc::new(backend), &Case::new("group", "case", run))
    }

    fn fails(_: &Context) -> CaseResult {
        Err(Failure::Wrong("seven is not eight".into()))
    }

    fn opens(context: &Context) -> CaseResult {
        context.open().map(drop)
    }

    const LIST: &[(&str, &str)] = &[("group/case", "because")];

    #[test]
    fn a_case_passes_or_fails() {
        assert_eq!(verdict(null(), opens), Verdict::Passed);
        assert_eq!(verdict(null(), fails), Verdict::Failed("seven is not eight".into()));
    }

    #[test]
    fn a_case_that_hangs_or_panics_is_one_failure() {
        let hangs = verdict(null().timeout(Duration::from_millis(20)), |_| {
            std::thread::sleep(Duration::from_secs(3600));
            Ok(())
        });
        assert_eq!(hangs, Verdict::Failed("the case hangs: no result within 0.1 s".into()));
        assert_eq!(verdict(null(), |_| panic!("boom")), Verdict::Failed("the case panicked: boom".into()));
    }

    #[test]
    fn a_missing_device_skips_and_a_broken_one_fails() {
        let absent = |_| {
            Err(Error::Unavailable { what: "libfoo".into(), reason: "not found".into(), hint: "install it".into() })
        };
        assert_eq!(
            verdict(Backend::new("absent", absent), opens),
            Verdict::Skipped("libfoo is not available: not found".into())
        );
        let broken = |_| Err(Error::invalid("open", "broken"));
        assert_eq!(
            verdict(Backend::new("broken", broken), opens),
            Verdict::Failed("unexpected error: open: broken".into())
        );
    }

    #[test]
    fn a_missing_tool_skips_and_is_named() {
        let absent = |_: &Context| Err(KernelError::Absent { tool: "tsan", reason: "it is not on PATH".into() }.into());
        assert_eq!(verdict(null(), absent), Verdict::Skipped("tsan: it is not on PATH".into()));
    }

    #[test]
    fn a_missing_group_is_reported() {
        assert_eq!(empty_group(&null().only("two_devices")), Ok(()));
        assert_eq!(empty_group(&null().only("three_devices")), Err("there is no group `three_devices`".into()));
    }

    #[test]
    fn unsupported_cases_are_not_run() {
        let skipped = Verdict::Skipped("unsupported: because".into());
        assert_eq!(verdict(null().unsupported(LIST), |_| panic!("it ran")), skipped);
        let case = Case::needing("group", "case", &[Tag::Bounds], |_| panic!("it ran"));
        let without_bounds = null().missing(&[(Tag::Bounds, "because")]);
        assert_eq!(judge(&Arc::new(without_bounds), &case), Verdict::Skipped("needs Bounds: because".into()));
        assert_eq!(judge(&Arc::new(null()), &case), Verdict::Failed(undeclared(Tag::Bounds)));
    }

    #[test]
    fn an_expected_failure_must_fail() {
        let skipped = Verdict::Skipped("fails as expected (because): seven is not eight".into());
        assert_eq!(verdict(null().expected_failures(LIST), fails), skipped);
        assert!(
            matches!(verdict(null().expected_failures(LIST), opens), Verdict::Failed(why) if why.contains("it passes"))
        );
    }

    #[test]
    fn an_undeclared_tag_is_reported() {
        let incomplete = null().tags(&[Tag::Dispatch]).missing(&[(Tag::Hang, "because")]);
        assert_eq!(undeclared_tags(&incomplete), Err(undeclared(Tag::Bounds)));
        let all = incomplete.missing(&[(Tag::Bounds, "because")]);
        assert_eq!(undeclared_tags(&all), Ok(()));
        let both = all.tags(&[Tag::Hang]);
        assert_eq!(undeclared_tags(&both), Err("the backend declares Hang both as present and as missing".into()));
    }

    #[test]
    fn stale_list_entries_are_reported() {
        assert_eq!(stale_entries(&null()), Ok(()));
        assert_eq!(stale_entries(&null().unsupported(LIST)), Err("there is no case `group/case`".into()));
        let real: &[_] = &[("fill/whole_buffers", "a"), ("fill/whole_buffers", "b")];
        assert_eq!(stale_entries(&null().unsupported(real)), Err("`fill/whole_buffers` is listed twice".into()));
    }
}
