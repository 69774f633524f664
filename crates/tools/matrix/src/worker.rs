//! The child process that runs probes on one device.

use std::io;
use std::time::{Duration, Instant};

use roci_base::Hint;
use roci_hal::{DeviceInfo, Error, PhysicalInfo, Registry};
use roci_probe::Verdict;
use roci_probe::probes::{self, Probe};
use roci_probe::text::one_line;

use super::event::{Event, Identity};

/// What a worker runs.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// URI of the device.
    pub device: &'a str,
    /// Names of the probes, in order. Unknown names are skipped.
    pub probes: &'a [String],
    /// Time limit of one submission.
    pub timeout: Duration,
    /// Bytes of memory that this process may allocate; `None` for no limit.
    pub memory: Option<u64>,
}

/// How a worker ended.
#[derive(Debug)]
pub enum WorkerEnd {
    /// All probes ran.
    Done,
    /// The device cannot be opened.
    NotOpened(Error),
    /// The device was lost; the remaining probes did not run.
    DeviceLost,
}

/// Runs the probes in order and writes an event before and after each.
pub fn run(job: &Job<'_>, registry: &Registry, mut write: impl FnMut(&str) -> io::Result<()>) -> io::Result<WorkerEnd> {
    limit_memory(job.memory);
    let mut send = |event: Event| write(&event.line()?);
    let device = match registry.parse(job.device).and_then(|uri| registry.open(&uri, Some(job.timeout))) {
        Ok(device) => device,
        Err(error) => {
            send(Event::NotOpened { error: one_line(&error.to_string()), hint: error.hint() })?;
            return Ok(WorkerEnd::NotOpened(error));
        }
    };
    send(Event::Opened(identity(device.info())))?;
    let known = all_probes();
    for name in job.probes {
        let Some(probe) = known.iter().find(|probe| probe.name == *name) else { continue };
        send(Event::Begins { probe: name.clone() })?;
        let started = Instant::now();
        let Verdict { outcome, detail, error_ratio } = probe.run(&device);
        let verdict = Verdict { outcome, detail: detail.as_deref().map(one_line), error_ratio };
        send(Event::Ended { probe: name.clone(), verdict, seconds: started.elapsed().as_secs_f64() })?;
        if device.loss().is_some() {
            send(Event::Lost)?;
            return Ok(WorkerEnd::DeviceLost);
        }
    }
    send(Event::Done)?;
    Ok(WorkerEnd::Done)
}

fn all_probes() -> Vec<Probe> {
    #[cfg(debug_assertions)]
    let faults = probes::faults();
    #[cfg(not(debug_assertions))]
    let faults = Vec::new();
    probes::all().into_iter().chain(faults).collect()
}

/// Limits the memory of this process, so that a faulty driver cannot exhaust the machine's memory.
///
/// The limit is on data, because many drivers reserve address space, which costs nothing.
fn limit_memory(bytes: Option<u64>) {
    if let Some(bytes) = bytes {
        let limit = rustix::process::Rlimit { current: Some(bytes), maximum: Some(bytes) };
        // Systems without this limit run without it.
        let _ = rustix::process::setrlimit(rustix::process::Resource::Data, limit);
    }
}

fn identity(info: &DeviceInfo) -> Identity {
    let joined = |part: &dyn Fn(&PhysicalInfo) -> String| {
        let mut parts: Vec<_> = info.physical.iter().map(part).collect();
        parts.dedup();
        parts.join(" + ")
    };
    let card = |one: &PhysicalInfo| {
        let id = one.uuid.clone().or_else(|| one.pci.map(|pci| pci.to_string())).unwrap_or_default();
        format!("{} {id}", one.name).trim_end().to_owned()
    };
    let options: String = info.uri.parameters().iter().map(|(key, value)| format!(" {key}={value}")).collect();
    let version = concat!("roci ", env!("CARGO_PKG_VERSION"));
    Identity {
        identity: format!("{}: {}{options}", info.uri.scheme(), joined(&card)),
        name: joined(&|one| one.name.clone()),
        kind: joined(&|one| one.kind.describe().to_owned()),
        driver: joined(&|one| one.runtime.clone().unwrap_or_else(|| version.to_owned())),
    }
}
