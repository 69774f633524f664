//! Processes from `/proc`.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal};

/// A snapshot of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::executor) struct Process {
    /// PID.
    pub(super) id: u32,
    /// Name, as the kernel truncates it.
    pub(super) name: String,
    /// `R`, `S`, `D`, `T`, `t`, `Z`.
    pub(super) state: char,
    /// PID of the parent.
    pub(super) parent: u32,
    /// Its process group.
    pub(super) group: u32,
    /// CPU time of the process and of children that it has waited for.
    pub(super) cpu: Duration,
    /// Resident bytes.
    pub(super) memory: u64,
    /// Start time in ticks since boot: together with the PID it identifies the process.
    pub(super) started: u64,
}

impl Process {
    /// A process, or a thread, by its folder.
    pub(super) fn at(folder: &str) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("{folder}/stat")).ok()?)
    }

    /// A process by PID.
    pub(super) fn of(id: u32) -> Option<Self> {
        Self::at(&format!("/proc/{id}"))
    }

    /// All processes.
    pub(super) fn all() -> Vec<Self> {
        let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
        folder.filter_map(Result::ok).filter_map(number).filter_map(Self::of).collect()
    }

    /// Parses `1234 (name) S 1 …`; the name can contain any characters, including parentheses and
    /// spaces.
    fn parse(stat: &str) -> Option<Self> {
        let (id, rest) = stat.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // Numbering of proc(5), where the state is field 3.
        let field = |number: usize| fields.get(number - 3).and_then(|text| text.parse::<i64>().ok());
        let amount = |number: usize| field(number).and_then(|value| u64::try_from(value).ok()).unwrap_or(0);
        let ticks = amount(14) + amount(15) + amount(16) + amount(17);
        let per_second = rustix::param::clock_ticks_per_second().max(1);
        Some(Self {
            id: id.trim().parse().ok()?,
            name: name.to_owned(),
            state: fields.first()?.chars().next()?,
            parent: u32::try_from(field(4)?).ok()?,
            group: u32::try_from(field(5)?).ok()?,
            cpu: Duration::from_millis(ticks.saturating_mul(1000) / per_second),
            memory: amount(24).saturating_mul(rustix::param::page_size() as u64),
            started: amount(22),
        })
    }

    /// Whether it is a zombie.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    /// Whether its initial environment has this variable with this value.
    pub(super) fn has_variable(&self, name: &str, value: &str) -> bool {
        let assignment = format!("{name}={value}");
        let Ok(environment) = fs::read(format!("/proc/{}/environ", self.id)) else { return false };
        environment.split(|byte| *byte == 0).any(|entry| entry == assignment.as_bytes())
    }

    /// Kernel function it waits in.
    pub(super) fn waits_for(&self) -> Option<String> {
        let text = fs::read_to_string(format!("/proc/{}/wchan", self.id)).ok()?;
        let text = text.trim();
        (!text.is_empty() && text != "0").then(|| text.to_owned())
    }

    /// Sends a signal to this process only: the PID may have been reused.
    pub(super) fn signal(&self, signal: Signal) {
        let Some(pid) = i32::try_from(self.id).ok().and_then(Pid::from_raw) else { return };
        let Ok(handle) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { return };
        // The pidfd refers to the current owner of the PID.
        if Self::of(self.id).is_some_and(|now| now.started == self.started) {
            let _ = rustix::process::pidfd_send_signal(handle, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_names_may_contain_any_characters() {
        let fields = "S 7 8 9 0 -1 4194304 1 2 3 4 100 50 25 25 20 0 1 0 12345 1000 3 0";
        let found = Process::parse(&format!("42 (a) b (c)) {fields}")).expect("it is complete");
        assert_eq!((found.id, found.name.as_str(), found.parent, found.group), (42, "a) b (c)", 7, 8));
        assert_eq!((found.started, found.state), (12345, 'S'));
        assert!(found.cpu > Duration::ZERO && found.memory > 0);
        assert_eq!(Process::parse("42 (a"), None);
        assert_eq!(Process::parse(""), None);
        assert_eq!(Process::parse("42 (a) S"), None);
    }

    #[test]
    fn this_process_is_found() {
        let own = Process::of(std::process::id()).expect("it runs");
        assert!(Process::all().iter().any(|process| process.id == own.id && process.started == own.started));
        assert!(!own.is_over());
    }
}
