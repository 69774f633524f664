//! The checks of one device.

use std::time::{Duration, Instant};

use roci_hal::{Device, Hint};

use super::report::{Check, CheckStatus, Event};
use super::{Fault, copies, dot, reuse};
use crate::commands::demo::cases::{self, Case};
use crate::commands::demo::{reference, run::Ready};
use crate::error::CliError;
use crate::printer::one_line;

/// Kernels that are checked, by the start of their names.
const KERNELS: [&str; 2] = ["matmul", "reduce"];
/// The kernel that is run again and again, and how often.
const REPEATED: &str = "matmul_f32";
const REPEATS: usize = 20;

/// What nobody notices by itself: results that change without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Corruption {
    /// Packed dot products, for which devices have instructions of their own.
    Dot,
    /// Copies of about 16 KiB.
    Copies,
    /// Memory that is given back and handed out again.
    Reuse,
    /// The same work again and again.
    Repeat,
}

impl Corruption {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Dot, Self::Copies, Self::Reuse, Self::Repeat];

    /// Its name among the checks.
    fn name(self) -> &'static str {
        match self {
            Self::Dot => "dot",
            Self::Copies => "copies",
            Self::Reuse => "reuse",
            Self::Repeat => "repeat",
        }
    }

    /// What it looks at, in words.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Dot => "packed dot products",
            Self::Copies => "copies around 16 KiB",
            Self::Reuse => "memory given back and reused",
            Self::Repeat => "same bits every time",
        }
    }

    /// Looks at it on a device.
    pub(crate) fn check(self, device: &Device) -> Verdict {
        judge(self.run(device))
    }

    fn run(self, device: &Device) -> Result<(), Stop> {
        let timeout = roci_hal::deadline::default_timeout();
        match self {
            Self::Dot => dot::run(device),
            Self::Copies => copies::run(device),
            Self::Reuse => reuse::run(device, timeout),
            Self::Repeat => repeat(device, &cases(), timeout),
        }
    }
}

/// How a check can end.
pub(crate) enum Verdict {
    Pass,
    /// The first difference.
    Fail(String),
    /// Why.
    NotApplicable(String),
}

/// What is there, and what was expected: the first place where they differ.
pub(super) fn compare(what: &str, got: &[u8], want: &[u8]) -> Result<(), Verdict> {
    if got.len() != want.len() {
        return Err(Verdict::Fail(format!("{what}: {} bytes instead of {}", got.len(), want.len())));
    }
    match got.iter().zip(want).position(|(got, want)| got != want) {
        None => Ok(()),
        Some(at) => {
            let count = got.iter().zip(want).filter(|(got, want)| got != want).count();
            let (got, want) = (got[at], want[at]);
            let text = format!("{what}: {count} bytes differ, the first at {at}: got 0x{got:02x}, want 0x{want:02x}");
            Err(Verdict::Fail(text))
        }
    }
}

/// Ends a check early: by what it found, or by an error.
pub(super) enum Stop {
    Verdict(Verdict),
    Error(CliError),
}

impl From<Verdict> for Stop {
    fn from(verdict: Verdict) -> Self {
        Self::Verdict(verdict)
    }
}

impl<E: Into<CliError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// Makes all checks, until the device is lost.
pub(super) fn run(device: &Device, fault: Option<Fault>, tell: &mut dyn FnMut(Event)) {
    let timeout = roci_hal::deadline::default_timeout();
    for (index, case) in cases().iter().enumerate() {
        let name = format!("{} {}", case.name(), case.problem.size());
        check(device, &name, tell, || {
            // The second one, so that something has gone well before.
            if index == 1 {
                go_wrong(fault);
            }
            compute(device, case, timeout)
        });
    }
    for corruption in Corruption::ALL {
        check(device, corruption.name(), tell, || corruption.run(device));
    }
    tell(Event::Done);
}

fn check(device: &Device, name: &str, tell: &mut dyn FnMut(Event), body: impl FnOnce() -> Result<(), Stop>) {
    // The check that lost the device tells why; there is nothing more to learn.
    if device.loss().is_some() {
        return;
    }
    tell(Event::Begins { check: name.to_owned() });
    let started = Instant::now();
    let (status, detail) = match judge(body()) {
        Verdict::Pass => (CheckStatus::Pass, None),
        Verdict::Fail(detail) => (CheckStatus::Fail, Some(detail)),
        Verdict::NotApplicable(detail) => (CheckStatus::NotApplicable, Some(detail)),
    };
    let seconds = started.elapsed().as_secs_f64();
    tell(Event::Checked(Check { name: name.to_owned(), status, detail, seconds }));
}

/// The kernels that are checked.
fn cases() -> Vec<Case> {
    cases::select(&KERNELS.map(str::to_owned), true).unwrap_or_default()
}

fn judge(ended: Result<(), Stop>) -> Verdict {
    match ended {
        Ok(()) => Verdict::Pass,
        Err(Stop::Verdict(verdict)) => verdict,
        Err(Stop::Error(error)) => {
            let hint = error.hint().map(|hint| format!(" (hint: {hint})")).unwrap_or_default();
            Verdict::Fail(one_line(&format!("{error}{hint}")))
        }
    }
}

/// One kernel, against results in double precision.
fn compute(device: &Device, case: &Case, timeout: Duration) -> Result<(), Stop> {
    let capabilities = device.info().capabilities();
    if !case.kernel.runs_on(device.info()) {
        return Err(Verdict::NotApplicable("the device has no matrix units".into()).into());
    }
    if case.name().ends_with("_f16") && !capabilities.fp16_storage && !capabilities.fp16_arithmetic {
        return Err(Verdict::NotApplicable("the device has no 16-bit floats".into()).into());
    }
    let problem = case.prepare();
    let (output, _) = Ready::new(device, None, case, &problem, timeout)?.result()?;
    let verdict = reference::verify(&output, &problem.expected, problem.output, problem.tolerance);
    verdict.complaint().map_or(Ok(()), |complaint| Err(Verdict::Fail(complaint).into()))
}

/// The same product again and again gives the same bits.
fn repeat(device: &Device, cases: &[Case], timeout: Duration) -> Result<(), Stop> {
    let Some(case) = cases.iter().find(|case| case.name() == REPEATED) else {
        return Err(Verdict::NotApplicable("there is no such kernel".into()).into());
    };
    let ready = Ready::new(device, None, case, &case.prepare(), timeout)?;
    let (first, _) = ready.result()?;
    for round in 2..=REPEATS {
        compare(&format!("run {round} of {REPEATED}"), &ready.result()?.0, &first)?;
    }
    Ok(())
}

/// Does what a broken driver may do.
fn go_wrong(fault: Option<Fault>) {
    match fault {
        None => {}
        Some(Fault::Hang) => loop {
            std::thread::park();
        },
        Some(Fault::Crash) => std::process::abort(),
    }
}
