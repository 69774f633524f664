//! A cgroup (version 2) per run, if the system permits it: no process can leave it, and it can be
//! killed as a whole. Otherwise [`super::tree`] finds the processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::process::Process;

/// The cgroup of a run, removed on drop.
#[derive(Debug)]
pub(super) struct Cgroup {
    folder: PathBuf,
    /// Whether the kernel enforces the memory limit.
    limits_memory: bool,
}

impl Cgroup {
    /// Creates a child cgroup named by the mark.
    pub(super) fn create(mark: &str, memory: Option<u64>) -> Option<Self> {
        let folder = own_folder()?.join(mark);
        fs::create_dir(&folder).ok()?;
        let mut group = Self { folder, limits_memory: false };
        // Kernels before 5.14 cannot kill a cgroup.
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

    /// Finds the cgroup of a killed roci.
    pub(super) fn find(mark: &str) -> Option<Self> {
        let folder = own_folder()?.join(mark);
        folder.is_dir().then_some(Self { folder, limits_memory: false })
    }

    /// The command, wrapped so that the process joins the cgroup before it executes the program.
    pub(super) fn wrap(&self, command: &[String]) -> Vec<String> {
        // Uses a shell: joining after the start would miss processes that the program forks
        // immediately.
        let script = "echo 0 > \"$1\" || exit 126; shift; exec \"$@\"";
        let procs = self.folder.join("cgroup.procs").to_string_lossy().into_owned();
        let shell = ["/bin/sh", "-c", script, "sh", &procs].map(str::to_owned);
        shell.into_iter().chain(command.iter().cloned()).collect()
    }

    pub(super) fn processes(&self) -> Vec<Process> {
        let text = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| Process::of(line.trim().parse().ok()?)).collect()
    }

    /// CPU time of all processes that were ever in it.
    pub(super) fn cpu(&self) -> Option<Duration> {
        let text = fs::read_to_string(self.folder.join("cpu.stat")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
        line.trim().parse().ok().map(Duration::from_micros)
    }

    /// Whether the kernel killed a process in it for lack of memory.
    pub(super) fn was_out_of_memory(&self) -> bool {
        let text = fs::read_to_string(self.folder.join("memory.events")).unwrap_or_default();
        self.limits_memory
            && text.lines().filter_map(|line| line.strip_prefix("oom_kill ")).any(|count| count.trim() != "0")
    }

    /// Kills all processes in it.
    pub(super) fn kill(&self) {
        let _ = fs::write(self.folder.join("cgroup.kill"), "1");
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // The last process may still be exiting. A cgroup with an unkillable process remains.
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

/// The folder of this process's cgroup.
fn own_folder() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    // Format: `36 35 98:0 /root /mount options - type source options`.
    let mount = mounts.lines().find_map(|line| {
        let (before, behind) = line.split_once(" - ")?;
        behind.starts_with("cgroup2 ").then(|| before.split(' ').nth(4))?
    })?;
    let folder = Path::new(mount).join(own.trim_start_matches('/'));
    folder.is_dir().then_some(folder)
}
