//! The checks of one device, one after the other, with an event before and after each.

use std::time::Instant;

use roci_hal::Device;

use super::RouteFault;
use super::report::{Check, CheckStatus, Event};
use crate::corruption::{CheckResult, Corruption, check_kernel, checked_kernels};
use crate::text::one_line;

/// Runs all checks until the device is lost.
pub(crate) fn run(device: &Device, fault: Option<RouteFault>, on_event: &mut dyn FnMut(Event)) {
    let timeout = roci_hal::deadline::default_timeout();
    for (index, case) in checked_kernels().iter().enumerate() {
        let name = format!("{} {}", case.name(), case.problem.size());
        check(device, &name, on_event, || {
            // The second check, so that one has passed before.
            if index == 1 {
                inject_fault(fault);
            }
            check_kernel(device, case, timeout)
        });
    }
    for corruption in Corruption::ALL {
        check(device, corruption.name(), on_event, || corruption.check(device));
    }
    on_event(Event::Done);
}

fn check(device: &Device, name: &str, on_event: &mut dyn FnMut(Event), body: impl FnOnce() -> CheckResult) {
    // The check that lost the device has reported it; further checks cannot run.
    if device.loss().is_some() {
        return;
    }
    on_event(Event::Begins { check: name.to_owned() });
    let started = Instant::now();
    let (status, detail) = match body() {
        CheckResult::Pass => (CheckStatus::Pass, None),
        CheckResult::Fail(detail) => (CheckStatus::Fail, Some(one_line(&detail))),
        CheckResult::NotApplicable(detail) => (CheckStatus::NotApplicable, Some(detail)),
    };
    let seconds = started.elapsed().as_secs_f64();
    on_event(Event::Checked(Check { name: name.to_owned(), status, detail, seconds }));
}

/// Fails like a broken driver.
fn inject_fault(fault: Option<RouteFault>) {
    match fault {
        None => {}
        Some(RouteFault::Hang) => loop {
            std::thread::park();
        },
        Some(RouteFault::Crash) => std::process::abort(),
    }
}
