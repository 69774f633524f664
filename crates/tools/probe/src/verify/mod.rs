//! A short check of each route to a device, for `roci doctor --verify`.
//!
//! A route is a device URI. `supervise` starts a child process that checks one route, so that a
//! driver that hangs or crashes is a result and affects nothing else. [`check_here`] is what that
//! process runs, `checks` has the checks, and `report` the events and the result.
//!
//! Matrix products, sums and their tolerances are those of [`crate::kernels`]. Convolutions are not
//! checked.

mod checks;
mod report;
mod supervise;

use std::time::{Duration, Instant};

use roci_base::Hint;
use roci_hal::{DeviceKind, Registry};

use crate::text::one_line;

pub use report::{Check, CheckStatus, Event, RouteOutcome, RouteReport};
pub use supervise::check_in_child;

/// Default time limit of a route. Each wait for a device has its own, shorter limit (ROCI_TIMEOUT).
pub const ROUTE_TIMEOUT: Duration = Duration::from_secs(120);

/// A deliberate fault, for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteFault {
    /// A check hangs.
    Hang,
    /// A check aborts the process.
    Crash,
}

impl RouteFault {
    /// Every fault that tests can simulate.
    pub const ALL: [Self; 2] = [Self::Hang, Self::Crash];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hang => "hang",
            Self::Crash => "crash",
        }
    }
}

/// Options of the checks.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Time limit of one route.
    pub timeout: Duration,
    /// The fault to inject, in tests.
    pub fault: Option<RouteFault>,
}

impl Default for Options {
    fn default() -> Self {
        Self { timeout: ROUTE_TIMEOUT, fault: None }
    }
}

/// The routes that drivers find: every device except null devices, and emulated devices only if
/// `emulated`.
pub fn routes(registry: &Registry, emulated: bool) -> Vec<String> {
    let mut routes = Vec::new();
    for found in registry.enumerate() {
        let devices = found.devices.as_deref().unwrap_or_default();
        let selected = devices.iter().enumerate().filter(|(_, info)| match info.kind {
            DeviceKind::Null => false,
            DeviceKind::Emulated => emulated,
            _ => true,
        });
        routes.extend(selected.filter_map(|(ordinal, _)| found.uri(ordinal)).map(|uri| uri.to_string()));
    }
    routes
}

/// Checks a route in this process and passes events to `on_event`.
pub fn check_here(
    uri: &str,
    fault: Option<RouteFault>,
    registry: &Registry,
    mut on_event: impl FnMut(Event),
) -> RouteReport {
    let started = Instant::now();
    let mut report = RouteReport::new(uri);
    let mut apply = |report: &mut RouteReport, event: Event| {
        report.apply(event.clone());
        on_event(event);
    };
    match registry.parse(uri).and_then(|parsed| registry.open(&parsed, None)) {
        Ok(device) => {
            apply(&mut report, Event::opened(device.info()));
            checks::run(&device, fault, &mut |event| apply(&mut report, event));
        }
        Err(error) => {
            let (message, hint) = (one_line(&error.to_string()), error.hint());
            apply(&mut report, Event::NotOpened { error: message, hint });
        }
    }
    report.end(started.elapsed());
    report
}
