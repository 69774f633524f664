//! What the process that probes says, a line of JSON each.

use serde::{Deserialize, Serialize};

use super::outcome::Verdict;

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Event {
    /// The device is open.
    Opened(Identity),
    /// The device cannot be opened.
    NotOpened {
        /// Why.
        error: String,
        /// What to do.
        hint: Option<String>,
    },
    /// A probe begins.
    Begins {
        /// Which.
        probe: String,
    },
    /// A probe has ended.
    Ended {
        /// Which.
        probe: String,
        /// How.
        #[serde(flatten)]
        verdict: Verdict,
        /// How long it took.
        seconds: f64,
    },
    /// The device is lost; what is left to do needs another process.
    Lost,
    /// All have ended.
    Done,
}

/// Which device it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// What stays the same from run to run, whatever the driver's version: driver, card, name, options.
    pub(crate) identity: String,
    /// Its name.
    pub(crate) name: String,
    /// What kind of thing it is.
    pub(crate) kind: String,
    /// What the driver stands on, with its version.
    pub(crate) driver: String,
}

/// What a line says. What drivers print in between is none.
pub(super) fn parse(line: &str) -> Option<Event> {
    serde_json::from_str(line.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::matrix::outcome::Outcome;

    #[test]
    fn lines_come_back_and_what_drivers_print_is_passed_over() {
        let identity = Identity {
            identity: "cpu Xeon".into(),
            name: "Xeon".into(),
            kind: "CPU".into(),
            driver: "roci 0.1.0".into(),
        };
        let verdict = Verdict { outcome: Outcome::Wrong, detail: Some("off".into()), excess: Some(2.5) };
        for event in [
            Event::Opened(identity),
            Event::NotOpened { error: "no".into(), hint: None },
            Event::Begins { probe: "add".into() },
            Event::Ended { probe: "add".into(), verdict, seconds: 0.25 },
            Event::Lost,
            Event::Done,
        ] {
            let line = serde_json::to_string(&event).expect("it is JSON");
            assert_eq!(parse(&format!("{line}\r")), Some(event));
        }
        for line in ["", "warning: a driver", "{}", "{\"event\":\"else\"}", "[1]", "{\"event\":\"ended\",\"probe\":1}"]
        {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
