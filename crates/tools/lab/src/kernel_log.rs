//! Kernel log lines during a run, explained by the doctor.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;

use roci_doctor::{Facts, LogReader, RuleSet, Severity};

use crate::output_parser::shown;
use crate::store::KernelLine;

/// Maximum length of a record, in bytes.
const RECORD: usize = 8192;
/// Maximum number of lines that are kept per run.
const MAX_LINES: usize = 500;

/// Source of new lines.
pub trait KernelLog {
    /// Lines since the last call, or since it was opened.
    fn new_lines(&mut self) -> Vec<String>;
}

/// No log: this user may not read it.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKernelLog;

impl KernelLog for NoKernelLog {
    fn new_lines(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// `/dev/kmsg`, from now on.
#[derive(Debug)]
pub struct Kmsg(File);

impl Kmsg {
    /// Opens it; `None` without permission.
    pub fn open() -> Option<Self> {
        // Without this flag the last read blocks until the next message.
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
                // Format: `6,1234,5678,-;text`, followed by continuation lines.
                Ok(length) => {
                    let text = String::from_utf8_lossy(&record[..length]);
                    let message = text.split_once(';').map_or(&*text, |(_, message)| message);
                    let line = message.lines().next().unwrap_or_default();
                    // Bounds memory; drops the oldest lines.
                    if lines.len() < 4 * MAX_LINES {
                        lines.push(line.to_owned());
                    }
                }
                // The kernel overwrote the next record.
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
        None => Box::new(NoKernelLog),
    }
}

/// Explained kernel log lines of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExplainedLog {
    /// The lines, with findings where a rule matches.
    pub lines: Vec<KernelLine>,
    /// The line that reports a fault: of the GPU, or of a process that ran out of memory.
    pub fault: Option<String>,
    /// Whether the GPU was reset.
    pub reset: bool,
    /// Whether the GPU is lost until a reboot.
    pub lost: bool,
}

/// Explains lines with the doctor's rules, which are loaded on first use.
#[derive(Debug, Default)]
pub struct Explainer {
    rules: Option<(LogReader, RuleSet)>,
}

impl Explainer {
    /// Attaches what the doctor knows to each line.
    pub fn explain(&mut self, lines: Vec<String>) -> ExplainedLog {
        if lines.is_empty() {
            return ExplainedLog::default();
        }
        let log = lines.join("\n");
        let mut explained = ExplainedLog {
            lines: lines.iter().map(|line| KernelLine { line: shown(line), finding: None }).collect(),
            ..ExplainedLog::default()
        };
        let Some((reader, rule_set)) = self.rules() else { return explained };
        let mut find = |number: usize, what: &str| {
            if let Some(line) = number.checked_sub(1).and_then(|at| explained.lines.get_mut(at)) {
                line.finding.get_or_insert_with(|| what.to_owned());
            }
        };
        for event in reader.read(&log).events {
            event.lines.iter().for_each(|line| find(line.number, &event.what));
            explained.reset |= matches!(event.name.as_str(), "reset" | "reset-failed");
            explained.lost |= event.name == "reset-failed";
            if event.severity <= Severity::High && explained.fault.is_none() {
                explained.fault = event.lines.first().map(|line| line.text.clone());
            }
        }
        for finding in rule_set.findings(&Facts::default(), &log) {
            finding.lines.iter().for_each(|line| find(line.number, &finding.title()));
        }
        // Keeps all explained lines, and the newest of those that may be related to the run.
        explained.lines.retain(|line| line.finding.is_some() || is_related(&line.line));
        let meaningless = explained.lines.iter().filter(|line| line.finding.is_none()).count();
        let mut surplus = meaningless.saturating_sub(MAX_LINES);
        explained.lines.retain(|line| {
            let drop = line.finding.is_none() && surplus > 0;
            surplus -= usize::from(drop);
            !drop
        });
        explained
    }

    fn rules(&mut self) -> Option<&(LogReader, RuleSet)> {
        if self.rules.is_none() {
            self.rules = LogReader::new().ok().zip(RuleSet::builtin().ok());
        }
        self.rules.as_ref()
    }
}

/// Whether the kernel reports a process that crashed.
pub(crate) fn reports_crash(line: &str) -> bool {
    ["]: segfault at ", "] trap ", "] general protection", "Out of memory: Killed process", "oom-kill:"]
        .iter()
        .any(|words| line.contains(words))
}

/// Whether a line may be related to a run: graphics, memory, hardware errors, kernel faults. A
/// plugged cable is not.
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
    reports_crash(&line) || line.contains("segfault") || WORDS.iter().any(|word| line.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_reset_is_detected_and_explained() {
        let lines = [
            "usb 1-1: new high-speed USB device number 2",
            "amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=10, emitted seq=12",
            "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!",
            "amdgpu 0000:03:00.0: amdgpu: GPU reset(2) succeeded!",
        ];
        let explained = Explainer::default().explain(lines.map(str::to_owned).to_vec());
        assert!(explained.reset && !explained.lost, "{explained:?}");
        assert!(explained.lines[0].finding.as_deref().is_some_and(|what| what.contains("gfx_0.0.0")), "{explained:?}");
        assert!(explained.lines[1].finding.is_some());
        assert_eq!(explained.lines.len(), 3, "a USB device is unrelated: {explained:?}");
        assert_eq!(explained.fault.as_deref(), Some(lines[1]));
        let reset_failed = ["amdgpu 0000:03:00.0: amdgpu: GPU reset end with ret = -62"].map(str::to_owned).to_vec();
        assert!(Explainer::default().explain(reset_failed).lost);
    }

    #[test]
    fn explained_lines_are_kept_in_a_flood_of_messages() {
        let mut lines = vec!["amdgpu 0000:03:00.0: amdgpu: GPU reset begin!".to_owned()];
        lines.extend((0..2000).map(|number| format!("amdgpu noise {number}")));
        let explained = Explainer::default().explain(lines);
        assert_eq!(explained.lines.len(), MAX_LINES + 1);
        assert!(explained.lines[0].finding.is_some());
        assert_eq!(explained.lines.last().map(|line| line.line.as_str()), Some("amdgpu noise 1999"));
        assert_eq!(Explainer::default().explain(Vec::new()), ExplainedLog::default());
    }
}
