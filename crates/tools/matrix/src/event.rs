//! Events of a worker, one JSON object per line.

use serde::{Deserialize, Serialize};

use roci_probe::Verdict;

/// An event of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The device is open.
    Opened(Identity),
    /// The device cannot be opened.
    NotOpened {
        /// Why it cannot be opened, in one line.
        error: String,
        /// The remedy.
        hint: Option<String>,
    },
    /// A probe begins.
    Begins {
        /// Name of the probe.
        probe: String,
    },
    /// A probe has ended.
    Ended {
        /// Name of the probe.
        probe: String,
        /// Outcome and detail.
        #[serde(flatten)]
        verdict: Verdict,
        /// Duration of the probe.
        seconds: f64,
    },
    /// The device is lost; the remaining probes need a new process.
    Lost,
    /// All probes have ended.
    Done,
}

/// The identity of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Identity {
    /// Stable across runs and driver versions: driver, card, name, options.
    pub identity: String,
    /// Name of the device.
    pub name: String,
    /// Kind of the device.
    pub kind: String,
    /// The driver's runtime with its version.
    pub driver: String,
}

impl Event {
    pub(crate) fn line(&self) -> std::io::Result<String> {
        Ok(serde_json::to_string(self)? + "\n")
    }

    /// Parses a line. `None` for other output, such as messages that drivers print.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line.trim()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roci_probe::Outcome;

    #[test]
    fn events_round_trip_and_output_of_drivers_is_ignored() {
        let identity = Identity {
            identity: "cpu Xeon".into(),
            name: "Xeon".into(),
            kind: "CPU".into(),
            driver: "roci 0.1.0".into(),
        };
        let verdict = Verdict { outcome: Outcome::Wrong, detail: Some("off".into()), error_ratio: Some(2.5) };
        for event in [
            Event::Opened(identity),
            Event::NotOpened { error: "no".into(), hint: None },
            Event::Begins { probe: "add".into() },
            Event::Ended { probe: "add".into(), verdict, seconds: 0.25 },
            Event::Lost,
            Event::Done,
        ] {
            let line = event.line().expect("it is JSON");
            assert_eq!(Event::parse(&format!("{}\r\n", line.trim_end())), Some(event));
        }
        for line in ["", "warning: a driver", "{}", "{\"event\":\"else\"}", "[1]", "{\"event\":\"ended\",\"probe\":1}"]
        {
            assert_eq!(Event::parse(line), None, "{line}");
        }
    }
}
