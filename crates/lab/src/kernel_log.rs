//! What the kernel writes to its log while a run lasts, and what the doctor says to it.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;

use roci_doctor::{Book, Facts, Reader, Severity};

use crate::phases::shown;
use crate::store::KernelLine;

/// One record is no longer.
const RECORD: usize = 8192;
/// More lines of one run are not kept.
const MOST_LINES: usize = 500;

/// Where new lines come from.
pub trait KernelLog {
    /// The lines since the last call, or since it was opened.
    fn new_lines(&mut self) -> Vec<String>;
}

/// No log: this user may not read it.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLog;

impl KernelLog for NoLog {
    fn new_lines(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// `/dev/kmsg`, from now on.
#[derive(Debug)]
pub struct Kmsg(File);

impl Kmsg {
    /// Opens it; nothing where this user may not.
    pub fn open() -> Option<Self> {
        // Without the flag the last read would wait for news.
        let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let mut file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open("/dev/kmsg").ok()?;
        file.seek(SeekFrom::End(0)).ok()?;
        Some(Self(file))
    }
}

impl KernelLog for Kmsg {
    fn new_lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut record = [0; RECORD];
        loop {
            match self.0.read(&mut record) {
                Ok(0) => return lines,
                // `6,1234,5678,-;text`, with continuations below it.
                Ok(length) => {
                    let text = String::from_utf8_lossy(&record[..length]);
                    let message = text.split_once(';').map_or(&*text, |(_, message)| message);
                    let line = message.lines().next().unwrap_or_default();
                    // A flood must not fill memory; the newest tell as much as the oldest.
                    if lines.len() < 4 * MOST_LINES {
                        lines.push(line.to_owned());
                    }
                }
                // The kernel has overwritten what would have been next.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                Err(_) => return lines,
            }
        }
    }
}

/// This machine's log, if this user may read it.
pub fn of_machine() -> Box<dyn KernelLog> {
    match Kmsg::open() {
        Some(log) => Box::new(log),
        None => Box::new(NoLog),
    }
}

/// What the lines of one run amount to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The lines, those that mean something with what they mean.
    pub lines: Vec<KernelLine>,
    /// The line that tells of a fault: of the GPU, or of a process for want of memory.
    pub fault: Option<String>,
    /// Whether the GPU was reset.
    pub reset: bool,
    /// Whether the GPU is gone until a reboot.
    pub lost: bool,
}

/// Explains lines by the doctor's rules, which are read when there is something to explain for the first time.
#[derive(Debug, Default)]
pub struct Explainer {
    rules: Option<(Reader, Book)>,
}

impl Explainer {
    /// What the lines mean.
    pub fn explain(&mut self, lines: Vec<String>) -> Told {
        if lines.is_empty() {
            return Told::default();
        }
        let log = lines.join("\n");
        let mut told = Told {
            lines: lines.iter().map(|line| KernelLine { line: shown(line), finding: None }).collect(),
            ..Told::default()
        };
        let Some((reader, book)) = self.rules() else { return told };
        let mut find = |number: usize, what: &str| {
            if let Some(line) = number.checked_sub(1).and_then(|at| told.lines.get_mut(at)) {
                line.finding.get_or_insert_with(|| what.to_owned());
            }
        };
        for event in reader.read(&log).events {
            event.lines.iter().for_each(|line| find(line.number, &event.what));
            told.reset |= matches!(event.name.as_str(), "reset" | "reset-failed");
            told.lost |= event.name == "reset-failed";
            if event.severity <= Severity::High && told.fault.is_none() {
                told.fault = event.lines.first().map(|line| line.text.clone());
            }
        }
        for finding in book.judge(&Facts::default(), &log) {
            finding.lines.iter().for_each(|line| find(line.number, &finding.title()));
        }
        // What means something is kept; of the rest the newest of what may have to do with a run.
        told.lines.retain(|line| line.finding.is_some() || is_related(&line.line));
        let meaningless = told.lines.iter().filter(|line| line.finding.is_none()).count();
        let mut surplus = meaningless.saturating_sub(MOST_LINES);
        told.lines.retain(|line| {
            let drop = line.finding.is_none() && surplus > 0;
            surplus -= usize::from(drop);
            !drop
        });
        told
    }

    fn rules(&mut self) -> Option<&(Reader, Book)> {
        if self.rules.is_none() {
            self.rules = Reader::new().ok().zip(Book::builtin().ok());
        }
        self.rules.as_ref()
    }
}

/// Lines that the kernel writes when a process dies of its own fault.
pub(crate) fn tells_of_a_crash(line: &str) -> bool {
    ["]: segfault at ", "] trap ", "] general protection", "Out of memory: Killed process", "oom-kill:"]
        .iter()
        .any(|words| line.contains(words))
}

/// Whether a line may have to do with a run: graphics, memory, hardware errors, the kernel's own faults. A cable that is plugged
/// in meanwhile has not.
fn is_related(line: &str) -> bool {
    const WORDS: &[&str] = &[
        "amdgpu",
        "radeon",
        "kfd",
        "drm",
        "amd-vi",
        "iommu",
        "dmar",
        "nouveau",
        "nvrm",
        "i915",
        "hmm",
        "svm",
        "ttm",
        "oom",
        "out of memory",
        "page allocation",
        "hardware error",
        "mce:",
        "edac",
        "aer:",
        "pcieport",
        "blocked for more than",
        "lockup",
        "rcu:",
        "bug:",
        "warning:",
        "oops",
        "call trace",
        "rip:",
        "+0x",
        "thermal",
        "cgroup",
    ];
    let line = line.to_lowercase();
    tells_of_a_crash(&line) || line.contains("segfault") || WORDS.iter().any(|word| line.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_is_noticed_and_explained() {
        let lines = [
            "usb 1-1: new high-speed USB device number 2",
            "amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=10, emitted seq=12",
            "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!",
            "amdgpu 0000:03:00.0: amdgpu: GPU reset(2) succeeded!",
        ];
        let told = Explainer::default().explain(lines.map(str::to_owned).to_vec());
        assert!(told.reset && !told.lost, "{told:?}");
        assert!(told.lines[0].finding.as_deref().is_some_and(|what| what.contains("gfx_0.0.0")), "{told:?}");
        assert!(told.lines[1].finding.is_some());
        assert_eq!(told.lines.len(), 3, "a USB device has nothing to do with it: {told:?}");
        assert_eq!(told.fault.as_deref(), Some(lines[1]));
        let gone = ["amdgpu 0000:03:00.0: amdgpu: GPU reset end with ret = -62"].map(str::to_owned).to_vec();
        assert!(Explainer::default().explain(gone).lost);
    }

    #[test]
    fn a_flood_keeps_what_means_something() {
        let mut lines = vec!["amdgpu 0000:03:00.0: amdgpu: GPU reset begin!".to_owned()];
        lines.extend((0..2000).map(|number| format!("amdgpu noise {number}")));
        let told = Explainer::default().explain(lines);
        assert_eq!(told.lines.len(), MOST_LINES + 1);
        assert!(told.lines[0].finding.is_some());
        assert_eq!(told.lines.last().map(|line| line.line.as_str()), Some("amdgpu noise 1999"));
        assert_eq!(Explainer::default().explain(Vec::new()), Told::default());
    }
}
