//! A single-node cluster on loopback: Debian's munged, slurmctld and slurmd with their own
//! configuration, stopped on drop.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Timeout for the node to come up.
const START: Duration = Duration::from_secs(120);

/// Attempts with other ports and settings.
const TRIES: u32 = 3;

pub(crate) struct Cluster {
    /// Dropped first: the daemons write to the folder until they end.
    daemons: Vec<Child>,
    folder: TempDir,
}

impl Cluster {
    /// Starts a cluster, or returns why it cannot.
    pub(crate) fn start() -> Result<Self, String> {
        for program in ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sstat"] {
            find(program).ok_or(format!("there is no program `{program}` (Debian: slurm-wlm, munge)"))?;
        }
        let mut why = String::new();
        for number in 0..TRIES {
            match Self::attempt(number) {
                Ok(cluster) => return Ok(cluster),
                Err(error) => why = error,
            }
        }
        Err(why)
    }

    fn attempt(number: u32) -> Result<Self, String> {
        let text = |error: std::io::Error| error.to_string();
        // Short, since socket paths are limited; and accessible to all, as munged requires.
        let folder = tempfile::Builder::new().prefix("roci-slurm-").tempdir().map_err(text)?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).map_err(text)?;
        let mut cluster = Self { daemons: Vec::new(), folder };
        for name in ["munge", "state", "spool", "runs"] {
            fs::create_dir(cluster.path(name)).map_err(text)?;
            fs::set_permissions(cluster.path(name), fs::Permissions::from_mode(0o755)).map_err(text)?;
        }
        let host = fs::read_to_string("/proc/sys/kernel/hostname").map_err(text)?;
        let host = host.trim().split('.').next().unwrap_or_default().to_owned();
        fs::write(cluster.configuration(), configuration(&host, cluster.folder.path())?).map_err(text)?;
        // Common device nodes stand in for GPUs.
        fs::write(cluster.path("gres.conf"), "Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n").map_err(text)?;
        if number > 0 {
            // Slurm 22.05 does not have this setting; later versions need it without cgroups.
            fs::write(cluster.path("cgroup.conf"), "CgroupPlugin=disabled\n").map_err(text)?;
        }
        let key = fs::OpenOptions::new().write(true).create_new(true).mode(0o400).open(cluster.path("munge/key"));
        let mut random = std::io::Read::take(fs::File::open("/dev/urandom").map_err(text)?, 128);
        std::io::copy(&mut random, &mut key.map_err(text)?).map_err(text)?;
        let munge = |name: &str| cluster.path(&format!("munge/{name}")).display().to_string();
        let munged = [
            "--foreground".to_owned(),
            format!("--key-file={}", munge("key")),
            format!("--socket={}", munge("socket")),
            format!("--pid-file={}", munge("pid")),
            format!("--log-file={}", munge("log")),
            format!("--seed-file={}", munge("seed")),
        ];
        cluster.daemon("munged", &munged)?;
        let socket = cluster.path("munge/socket");
        cluster.wait("munged", || socket.exists())?;
        let file = cluster.configuration().display().to_string();
        cluster.daemon("slurmctld", &["-D".into(), "-f".into(), file.clone()])?;
        cluster.daemon("slurmd", &["-D".into(), "-f".into(), file, "-N".into(), host])?;
        let sinfo = cluster.command("sinfo", &["--noheader", "--format=%T"]);
        cluster.wait("slurmd", || output(&sinfo) == "idle")?;
        Ok(cluster)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The configuration file.
    pub(crate) fn configuration(&self) -> PathBuf {
        self.path("slurm.conf")
    }

    /// The folder for runs.
    pub(crate) fn runs(&self) -> PathBuf {
        self.path("runs")
    }

    /// Output of a Slurm program about the cluster.
    pub(crate) fn ask(&self, program: &str, arguments: &[&str]) -> String {
        output(&self.command(program, arguments))
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Vec<String> {
        let variable = format!("SLURM_CONF={}", self.configuration().display());
        let words = ["env", &variable, program].into_iter().chain(arguments.iter().copied());
        words.map(str::to_owned).collect()
    }

    /// Starts a daemon. Its descendants have the configuration's path in their environment.
    fn daemon(&mut self, name: &str, arguments: &[String]) -> Result<(), String> {
        let log = fs::File::create(self.path(&format!("{name}.said"))).map_err(|error| error.to_string())?;
        let child = Command::new(find(name).unwrap_or_else(|| name.into()))
            .args(arguments)
            .env("SLURM_CONF", self.configuration())
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(|error| error.to_string())?)
            .stderr(log)
            .process_group(0)
            .spawn();
        self.daemons.push(child.map_err(|error| format!("{name} cannot be started: {error}"))?);
        Ok(())
    }

    /// Waits until a condition holds; fails with the last output of a daemon that exits.
    fn wait(&mut self, name: &str, holds: impl Fn() -> bool) -> Result<(), String> {
        let deadline = Instant::now() + START;
        let ended = |daemons: &mut Vec<Child>| daemons.iter_mut().any(|child| !matches!(child.try_wait(), Ok(None)));
        while !holds() {
            if ended(&mut self.daemons) || Instant::now() >= deadline {
                let output = fs::read_to_string(self.path(&format!("{name}.said"))).unwrap_or_default();
                let log = fs::read_to_string(self.path(&format!("{name}.log"))).unwrap_or_default();
                let last = output.lines().chain(log.lines()).rfind(|line| line.contains("rror"));
                return Err(format!("{name} does not come up: {}", last.unwrap_or("it does not say why")));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.daemons.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
        // Job steps have their own sessions.
        let marker = format!("SLURM_CONF={}", self.configuration().display());
        for process in processes_with(&marker) {
            let _ = kill_process(process, Signal::KILL);
        }
    }
}

/// Processes that have this variable in their environment, except this process.
fn processes_with(variable: &str) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let has = |number: &i32| {
        let environment = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
    };
    let own = std::process::id().cast_signed();
    numbers.filter(|number| *number != own).filter(has).filter_map(Pid::from_raw).collect()
}

/// Trimmed output of a command; empty if it fails.
fn output(command: &[String]) -> String {
    let output = Command::new(&command[0]).args(&command[1..]).stdin(Stdio::null()).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

/// Daemons are not in the users' search path.
fn find(program: &str) -> Option<PathBuf> {
    let path = roci_base::env::PATH.get_raw().unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The whole configuration, with long timeouts: a slow machine must not count as lost.
fn configuration(host: &str, folder: &Path) -> Result<String, String> {
    let user = user()?;
    let (first, second) = ports().map_err(|error| error.to_string())?;
    let folder = folder.display();
    Ok(format!(
        "ClusterName=roci\n\
         SlurmctldHost={host}(127.0.0.1)\n\
         SlurmctldPort={first}\n\
         SlurmdPort={second}\n\
         SlurmUser={user}\n\
         SlurmdUser={user}\n\
         AuthType=auth/munge\n\
         AuthInfo=socket={folder}/munge/socket\n\
         CredType=cred/munge\n\
         StateSaveLocation={folder}/state\n\
         SlurmdSpoolDir={folder}/spool\n\
         SlurmctldPidFile={folder}/slurmctld.pid\n\
         SlurmdPidFile={folder}/slurmd.pid\n\
         SlurmctldLogFile={folder}/slurmctld.log\n\
         SlurmdLogFile={folder}/slurmd.log\n\
         ProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\n\
         JobAcctGatherType=jobacct_gather/linux\n\
         AccountingStorageType=accounting_storage/none\n\
         SelectType=select/cons_tres\n\
         SelectTypeParameters=CR_CPU\n\
         SlurmdParameters=config_overrides\n\
         MpiDefault=none\n\
         ReturnToService=2\n\
         KillWait=5\n\
         MinJobAge=3600\n\
         MessageTimeout=100\n\
         TCPTimeout=60\n\
         BatchStartTimeout=600\n\
         SlurmdTimeout=600\n\
         UnkillableStepTimeout=600\n\
         GresTypes=gpu\n\
         NodeName={host} NodeAddr=127.0.0.1 CPUs=16 RealMemory=1000 Gres=gpu:2 State=UNKNOWN\n\
         PartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
    ))
}

/// Two free ports.
fn ports() -> std::io::Result<(u16, u16)> {
    let (first, second) = (TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?);
    Ok((first.local_addr()?.port(), second.local_addr()?.port()))
}

/// Name of the current user.
fn user() -> Result<String, String> {
    let name = output(&["id".to_owned(), "-un".to_owned()]);
    if name.is_empty() { Err("`id -un` does not tell who runs this".into()) } else { Ok(name) }
}
