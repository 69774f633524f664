//! Ownership of experiments: two processes must not execute the same run.

use std::fs;

/// A process, identified so that it can be checked later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessIdentity {
    host: String,
    /// Boot ID of the machine.
    boot: String,
    process: u32,
    /// Start time, by the kernel's clock.
    started: String,
}

impl ProcessIdentity {
    /// This process.
    pub(super) fn own() -> Self {
        let process = std::process::id();
        Self { host: line("/proc/sys/kernel/hostname"), boot: boot(), process, started: started(process) }
    }

    /// Text for the store.
    pub(super) fn text(&self) -> String {
        format!("{} {} {} {}", self.host, self.boot, self.process, self.started)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ').map(str::to_owned);
        let (host, boot, process) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
        Some(Self { host, boot, process, started: words.next()? })
    }

    /// Description for people.
    pub(super) fn describe(text: &str) -> String {
        Self::parse(text).map_or_else(|| text.to_owned(), |owner| format!("{} on {}", owner.process, owner.host))
    }

    /// Whether the process of a stored text may still run. Processes of another machine are assumed
    /// to.
    pub(super) fn may_live(text: &str) -> bool {
        let Some(owner) = Self::parse(text) else { return false };
        let own = Self::own();
        match owner.host == own.host {
            true => owner.boot == own.boot && owner.started == started(owner.process) && owner.started != "?",
            false => true,
        }
    }
}

fn line(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let text = text.trim().replace(' ', "-");
    if text.is_empty() { "?".into() } else { text }
}

fn boot() -> String {
    line("/proc/sys/kernel/random/boot_id")
}

/// Start time of a process; `?` if it does not exist or is a zombie.
fn started(process: u32) -> String {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let Some((_, fields)) = text.rsplit_once(") ") else { return "?".into() };
    let fields: Vec<_> = fields.split(' ').collect();
    match (fields.first(), fields.get(19)) {
        (Some(&("Z" | "X")), _) | (_, None) => "?".into(),
        (_, Some(started)) => (*started).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ended_processes_are_detected() {
        let own = ProcessIdentity::own();
        assert!(ProcessIdentity::may_live(&own.text()));
        assert_eq!(ProcessIdentity::parse(&own.text()), Some(own.clone()));
        assert!(
            !ProcessIdentity::may_live(&ProcessIdentity { started: "1".into(), ..own.clone() }.text()),
            "the PID was reused"
        );
        assert!(!ProcessIdentity::may_live(&ProcessIdentity { boot: "before".into(), ..own.clone() }.text()));
        assert!(ProcessIdentity::may_live(&ProcessIdentity { host: "elsewhere".into(), ..own }.text()));
        assert!(!ProcessIdentity::may_live("nonsense"));
    }
}
