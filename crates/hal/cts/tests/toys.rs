//! Proves that the suite can fail: a correct toy driver passes, and each of ten broken ones is
//! caught by a named case.

mod toy;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use roci_hal_cts::{Backend, Tag, Verdict, cases, run_case, run_trials, trials};
use toy::Flaw;

/// A flaw, the case that must catch it, and words of the failure, to rule out a failure for another
/// reason.
const CAUGHT: &[(Flaw, &str, &str)] = &[
    (Flaw::Reorders, "semaphores/a_submission_never_runs_before_its_wait", "200 steps over all queues"),
    (Flaw::Reorders, "semaphores/a_signal_follows_the_completed_work", ": element 0 is "),
    (Flaw::DropsBarriers, "barriers/a_write_is_visible_after_the_barrier", "of the chain, pattern 1: element 0"),
    (Flaw::DropsBarriers, "barriers/a_chain_of_kernels_runs_in_order", "a hundred steps"),
    (Flaw::LosesSignals, "semaphores/every_submission_signals", "was never signaled"),
    (Flaw::StaleMemory, "mapping/device_writes_are_visible_to_the_host", "element 0"),
    (Flaw::IdleDevice, "logical_devices/every_physical_device_has_a_queue", "no queue is on physical device 1"),
    (
        Flaw::PrivateMemory,
        "logical_devices/one_queue_copies_what_another_wrote",
        "written by queue 0 (physical device 0), copied by queue 1 (physical device 1): element 0",
    ),
    (Flaw::PrivateMemory, "logical_devices/one_buffer_is_written_by_every_queue", "three times through every queue"),
    (Flaw::PrivateMemory, "logical_devices/stream_ordered_memory_crosses_queues", "allocated by queue 0"),
    (Flaw::PinsCommands, "logical_devices/one_recording_runs_on_every_queue", "queue 1 (physical device 1): element 0"),
    (Flaw::ForgetsTimes, "profiles/every_transfer_has_one_timing", "the records"),
    (Flaw::ForgetsTimes, "profiles/every_dispatch_has_one_timing", "the records"),
    (
        Flaw::OtherClock,
        "profiles/only_profiled_submissions_report_timings",
        "`fill`, command 0: ended after its completion",
    ),
    (Flaw::LoadsOnFirst, "logical_devices/one_kernel_runs_on_every_queue", "queue 1 (physical device 1): element 0"),
];

fn main() -> ExitCode {
    let toy = |flaw: Option<Flaw>, name: String| {
        Backend::new(name, move |timeout| toy::open(flaw, timeout)).tags(&[Tag::Dispatch, Tag::Hang, Tag::Bounds])
    };
    run_trials(vec![toy(None, "toy".into())], |backends| {
        let mut all = trials(backends);
        for &(flaw, case, words) in CAUGHT {
            let name = format!("{flaw:?} is caught by {case}");
            let mut broken = toy(Some(flaw), name.clone());
            if flaw == Flaw::LosesSignals {
                // Keeps the wait for an event that the flaw prevents short.
                broken = broken.timeout(Duration::from_secs(1));
            }
            let broken = Arc::new(broken);
            all.push(Trial::test(name, move || is_caught(&broken, case, words)));
        }
        all
    })
}

fn is_caught(broken: &Arc<Backend>, path: &str, words: &str) -> Result<(), Failed> {
    let case = cases().iter().find(|case| case.path() == path).ok_or_else(|| format!("there is no case `{path}`"))?;
    match run_case(broken, case) {
        Verdict::Failed(reason) if reason.contains(words) => Ok(()),
        Verdict::Failed(reason) => Err(format!("caught, but for another reason than `{words}`: {reason}").into()),
        other => Err(format!("not caught: {other:?}").into()),
    }
}
