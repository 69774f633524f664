//! A control group (version 2) for each run, where the system lets us make one: nothing escapes from it, and it can be ended
//! as a whole. Where not, [`super::tree`] finds processes by other means.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::process::Process;

/// The group of one run. It is removed with the value.
#[derive(Debug)]
pub(super) struct Cgroup {
    folder: PathBuf,
    /// Whether the kernel holds the memory limit itself.
    limits_memory: bool,
}

impl Cgroup {
    /// Makes a group below our own, named by the mark.
    pub(super) fn create(mark: &str, memory: Option<u64>) -> Option<Self> {
        let folder = own_folder()?.join(mark);
        fs::create_dir(&folder).ok()?;
        let mut group = Self { folder, limits_memory: false };
        // Kernels before 5.14 cannot end a group; one that cannot is of no use.
        if !group.folder.join("cgroup.kill").exists() {
            return None;
        }
        if let Some(memory) = memory {
            group.limits_memory = fs::write(group.folder.join("memory.max"), memory.to_string()).is_ok()
                && fs::write(group.folder.join("memory.oom.group"), "1").is_ok();
            let _ = fs::write(group.folder.join("memory.swap.max"), "0");
        }
        Some(group)
    }

    /// One that a killed roci left.
    pub(super) fn find(mark: &str) -> Option<Self> {
        let folder = own_folder()?.join(mark);
        folder.is_dir().then_some(Self { folder, limits_memory: false })
    }

    /// The command that makes a process join the group before it becomes the program.
    pub(super) fn wrap(&self, command: &[String]) -> Vec<String> {
        // A shell: joining after the start would leave behind what the program forks at once.
        let script = "echo 0 > \"$1\" || exit 126; shift; exec \"$@\"";
        let procs = self.folder.join("cgroup.procs").to_string_lossy().into_owned();
        let shell = ["/bin/sh", "-c", script, "sh", &procs].map(str::to_owned);
        shell.into_iter().chain(command.iter().cloned()).collect()
    }

    /// The processes in it.
    pub(super) fn processes(&self) -> Vec<Process> {
        let text = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| Process::of(line.trim().parse().ok()?)).collect()
    }

    /// CPU time of all that ever were in it.
    pub(super) fn cpu(&self) -> Option<Duration> {
        let text = fs::read_to_string(self.folder.join("cpu.stat")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
        line.trim().parse().ok().map(Duration::from_micros)
    }

    /// Whether the kernel ended something in it for want of memory.
    pub(super) fn was_out_of_memory(&self) -> bool {
        let text = fs::read_to_string(self.folder.join("memory.events")).unwrap_or_default();
        self.limits_memory
            && text.lines().filter_map(|line| line.strip_prefix("oom_kill ")).any(|count| count.trim() != "0")
    }

    /// Ends everything in it by force.
    pub(super) fn kill(&self) {
        let _ = fs::write(self.folder.join("cgroup.kill"), "1");
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // The last process may be on its way out. A group with one that cannot be ended stays, as that process does.
        for _ in 0..50 {
            match fs::remove_dir(&self.folder) {
                Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                _ => break,
            }
        }
    }
}

/// The folder of our own group.
fn own_folder() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    // `36 35 98:0 /root /mount options - type source options`.
    let mount = mounts.lines().find_map(|line| {
        let (before, behind) = line.split_once(" - ")?;
        behind.starts_with("cgroup2 ").then(|| before.split(' ').nth(4))?
    })?;
    let folder = Path::new(mount).join(own.trim_start_matches('/'));
    folder.is_dir().then_some(folder)
}
