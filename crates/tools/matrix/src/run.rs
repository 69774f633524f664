//! Runs the probes on all devices and collects the results.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use roci_probe::child::Launcher;
use roci_probe::probes::{Group, Probe};

use super::changes;
use super::database::{Database, PreviousResults};
use super::devices::{self, TestDevice};
use super::error::Error;
use super::report::{DeviceReport, ProbeReport, ProbeResult, Report};
use super::supervise::{self, DeviceProgress};

/// Devices that are tested concurrently.
const CONCURRENCY: usize = 2;

/// Settings of a run.
#[derive(Debug)]
pub struct Settings<'a> {
    /// Each is tested in child processes.
    pub devices: &'a [TestDevice],
    /// Probes to run on each.
    pub probes: &'a [Probe],
    /// Time limit of a probe.
    pub timeout: Duration,
    /// Stores the results; `None` to store nothing.
    pub database: Option<&'a Database>,
    /// Starts the workers.
    pub launcher: &'a Launcher<'a>,
}

/// Progress of a run.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A probe begins on a device.
    Begins {
        /// Name of the probe.
        probe: &'a str,
        /// Label of the device.
        device: &'a str,
    },
    /// This many probes ended.
    Ended(usize),
    /// Results cannot be stored. The run continues. Reported once.
    NotStored(Error),
}

/// Probes of these groups, and those with one of these texts in their names; all if there are
/// neither groups nor texts.
pub fn select(mut probes: Vec<Probe>, groups: &[Group], texts: &[String]) -> Result<Vec<Probe>, Error> {
    // Two probes were spelled `quantised` up to 0.1.
    let fits = |probe: &Probe, text: &String| {
        probe.name.to_lowercase().contains(&text.to_lowercase().replace("quantised", "quantized"))
    };
    for text in texts {
        if !probes.iter().any(|probe| fits(probe, text)) {
            return Err(Error::NoProbe(text.clone()));
        }
    }
    let all = texts.is_empty() && groups.is_empty();
    probes.retain(|probe| all || groups.contains(&probe.group) || texts.iter().any(|text| fits(probe, text)));
    Ok(probes)
}

/// Runs all probes on all devices.
pub fn run(settings: &Settings<'_>, mut on_progress: impl FnMut(Progress<'_>)) -> Report {
    let started = Instant::now();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let names: Vec<String> = settings.probes.iter().map(|probe| probe.name.clone()).collect();
    let (devices, launcher, timeout) = (settings.devices, settings.launcher, settings.timeout);
    let queue = Mutex::new(VecDeque::from(devices::start_order(devices)));
    let (sender, receiver) = mpsc::channel();
    let mut results = Results::new(devices);
    std::thread::scope(|scope| {
        for _ in 0..CONCURRENCY {
            let (sender, queue, names) = (sender.clone(), &queue, &names);
            scope.spawn(move || {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some(index) = next.filter(|_| !launcher.is_interrupted()) else { return };
                    supervise::run(&devices[index].uri, names, timeout, launcher, &mut |progress| {
                        // The receiver is dropped only at the end of the run.
                        let _ = sender.send((index, progress));
                    });
                }
            });
        }
        drop(sender);
        results.collect(&receiver, names.len(), settings.database, &mut on_progress);
    });
    let mut report = results.report(settings.probes, since, started.elapsed());
    report.interrupted = launcher.is_interrupted();
    report
}

/// The results so far.
struct Results {
    devices: Vec<DeviceReport>,
    results: Vec<ProbeResult>,
    previous: BTreeMap<String, PreviousResults>,
    /// Whether writing to the database failed, which is reported once.
    not_stored: bool,
}

impl Results {
    fn new(devices: &[TestDevice]) -> Self {
        let device = |device: &TestDevice| DeviceReport {
            uri: device.uri.clone(),
            label: device.label.clone(),
            name: None,
            kind: None,
            driver: None,
            identity: None,
            error: None,
            died: false,
        };
        let devices = devices.iter().map(device).collect();
        Self { devices, results: Vec::new(), previous: BTreeMap::new(), not_stored: false }
    }

    /// Collects progress until the last worker has ended.
    fn collect(
        &mut self,
        receiver: &Receiver<(usize, DeviceProgress)>,
        probes: usize,
        database: Option<&Database>,
        on_progress: &mut dyn FnMut(Progress<'_>),
    ) {
        for (index, progress) in receiver {
            match &progress {
                DeviceProgress::Begins(probe) => {
                    on_progress(Progress::Begins { probe, device: &self.devices[index].label })
                }
                DeviceProgress::Ended { .. } => on_progress(Progress::Ended(1)),
                DeviceProgress::NotOpened { .. } => on_progress(Progress::Ended(probes)),
                DeviceProgress::Opened(_) => {}
            }
            if let Err(error) = self.apply(index, progress, database)
                && !std::mem::replace(&mut self.not_stored, true)
            {
                on_progress(Progress::NotStored(error));
            }
        }
    }

    fn apply(&mut self, index: usize, progress: DeviceProgress, database: Option<&Database>) -> Result<(), Error> {
        let device = &mut self.devices[index];
        match progress {
            DeviceProgress::Opened(identity) => {
                // A new worker opens the device again.
                let first = device.identity.is_none();
                device.name = Some(identity.name.clone());
                device.kind = Some(identity.kind.clone());
                device.driver = Some(identity.driver.clone());
                device.identity = Some(identity.identity.clone());
                if let Some(database) = database.filter(|_| first) {
                    self.previous.insert(device.uri.clone(), database.previous(&identity.identity)?);
                    database.add_device(&device.uri, &identity)?;
                }
            }
            DeviceProgress::NotOpened { error, died } => (device.error, device.died) = (Some(error), died),
            DeviceProgress::Begins(_) => {}
            DeviceProgress::Ended { probe, verdict, seconds } => {
                let result = ProbeResult { device: device.uri.clone(), probe, verdict, seconds };
                self.results.push(result.clone());
                if let (Some(database), Some(identity)) = (database, &device.identity) {
                    database.add_result(identity, &result)?;
                }
            }
        }
        Ok(())
    }

    fn report(self, probes: &[Probe], started: u64, time: Duration) -> Report {
        let changes = changes::find(&self.devices, &self.results, &self.previous);
        let probe = |probe: &Probe| ProbeReport { group: probe.group.name().to_owned(), name: probe.name.clone() };
        Report {
            schema: "roci.matrix",
            version: 2,
            roci: env!("CARGO_PKG_VERSION"),
            started,
            seconds: time.as_secs_f64(),
            interrupted: false,
            devices: self.devices,
            probes: probes.iter().map(probe).collect(),
            results: self.results,
            changes,
        }
    }
}

#[cfg(test)]
mod tests {
    use roci_probe::{Outcome, Verdict};

    use super::*;
    use crate::{DeviceSelection, Identity};

    #[test]
    fn only_accepts_the_old_spelling_of_a_probe() {
        let find = |text: &str| select(roci_probe::probes::all(), &[], &[text.to_owned()]).ok();
        for text in ["quantised conv2d", "Quantized conv2d"] {
            let selected = find(text).unwrap_or_default();
            assert!(selected.iter().any(|probe| probe.name == "quantized conv2d"), "{text}");
        }
        assert!(find("no such probe").is_none());
    }

    #[test]
    fn results_are_collected_and_stored() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::open(&folder.path().join("matrix.sqlite")).expect("it opens");
        let selection = DeviceSelection::new(&["cpu".into()], &Launcher::new(Vec::new(), &|| false));
        let mut results = Results::new(&selection.devices);
        let identity =
            Identity { identity: "cpu: Xeon".into(), name: "Xeon".into(), kind: "CPU".into(), driver: "1".into() };
        let verdict = Verdict::new(Outcome::Wrong, "so");
        let ended = DeviceProgress::Ended { probe: "mm".into(), verdict, seconds: 0.5 };
        for progress in [DeviceProgress::Opened(identity), DeviceProgress::Begins("mm".into()), ended] {
            results.apply(0, progress, Some(&database)).expect("it is stored");
        }
        let report = results.report(&[], 0, Duration::from_secs(1));
        assert_eq!((report.devices[0].name.as_deref(), report.results.len()), (Some("Xeon"), 1));
        drop(database);
        let later = Database::open(&folder.path().join("matrix.sqlite")).expect("it opens");
        let previous = later.previous("cpu: Xeon").expect("it reads");
        assert_eq!(previous.outcomes.get("mm"), Some(&Outcome::Wrong));
    }
}
