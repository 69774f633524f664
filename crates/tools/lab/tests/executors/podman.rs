//! Runs in real containers: Podman with its own store, and an image with a static busybox.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use roci_lab::executor::container::Container;
use roci_lab::executor::{Executor, Exit, JobState, RunSpec};
use roci_lab::experiment::{ContainerOptions, ExecutorKind, ExecutorOptions};
use roci_testkit::require;
use tempfile::TempDir;

use crate::drive::{DrivenJob, eventually, spec};

const IMAGE: &str = "localhost/roci-lab-test:1";

/// Podman with its own store, configuration and image.
struct Podman {
    folder: TempDir,
}

impl Podman {
    /// If Podman cannot be used.
    fn start() -> Result<Self, String> {
        let text = |error: std::io::Error| error.to_string();
        let folder = tempfile::Builder::new().prefix("roci-podman-").tempdir().map_err(text)?;
        let podman = Self { folder };
        let archive = podman.archive().map_err(text)?;
        let mut why = String::new();
        // From the default to settings for restricted machines. Each twice: on a busy machine
        // Podman sometimes loses the output of a short container.
        for (own_mounts, limits) in [(false, false), (false, true), (true, true)].into_iter().flat_map(|one| [one; 2]) {
            podman.configure(own_mounts, limits).map_err(text)?;
            let tried = podman
                .output(&["import", &archive, IMAGE])
                .and_then(|_| podman.output(&["run", "--rm", "--network=none", IMAGE, "/bin/echo", "works"]));
            match tried {
                Ok(output) if output.trim() == "works" => return Ok(podman),
                Ok(output) => why = format!("a container says `{}`", output.trim()),
                Err(error) => why = error,
            }
        }
        Err(why)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program for experiments: Podman with its own store.
    fn program(&self) -> String {
        self.path("podman").display().to_string()
    }

    fn configure(&self, own_mounts: bool, limits: bool) -> std::io::Result<()> {
        let limits = if limits { "default_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n" } else { "" };
        let folder = self.folder.path().display();
        let configuration = format!(
            "[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\nlock_type = \"file\"\n\
             tmp_dir = \"{folder}/tmp\"\n[containers]\n{limits}"
        );
        fs::write(self.path("containers.conf"), configuration)?;
        let podman = format!("podman --root '{folder}/root' --runroot '{folder}/run' --storage-driver vfs \"$@\"");
        // crun rejects a machine with both cgroup versions; in our own mount namespace it sees one.
        let hidden = format!(
            "exec unshare --mount sh -c 'umount --lazy /sys/fs/cgroup/unified 2>/dev/null; exec \"$0\" \"$@\"' {podman}"
        );
        let last = if own_mounts { hidden } else { format!("exec {podman}") };
        let script = format!("#!/bin/sh\nexport CONTAINERS_CONF='{folder}/containers.conf'\n{last}\n");
        fs::write(self.path("podman"), script)?;
        fs::set_permissions(self.path("podman"), fs::Permissions::from_mode(0o755))
    }

    /// The image as an archive: a static busybox and its links.
    fn archive(&self) -> std::io::Result<String> {
        let root = self.path("image");
        for name in ["bin", "dev", "proc", "sys", "tmp"] {
            fs::create_dir_all(root.join(name))?;
        }
        let absent = || std::io::Error::other("there is no program `busybox` (Debian: busybox-static)");
        let busybox = ["/usr/bin/busybox", "/bin/busybox"].into_iter().find(|path| Path::new(path).is_file());
        fs::copy(busybox.ok_or_else(absent)?, root.join("bin/busybox"))?;
        for name in ["sh", "echo", "sleep", "env", "dd", "id", "ls", "true"] {
            symlink("busybox", root.join("bin").join(name))?;
        }
        let archive = self.path("image.tar").display().to_string();
        let tar = Command::new("tar").args(["-cf", &archive, "-C"]).arg(&root).arg(".").status()?;
        if tar.success() { Ok(archive) } else { Err(std::io::Error::other("tar failed")) }
    }

    /// Output of a Podman command, if it succeeds.
    fn output(&self, words: &[&str]) -> Result<String, String> {
        let output = Command::new(self.path("podman")).args(words).stdin(Stdio::null()).output();
        let output = output.map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        Err(text(&output.stderr).lines().last().unwrap_or("podman fails without a word").to_owned())
    }

    fn options(&self) -> ContainerOptions {
        ContainerOptions {
            engine: Some(self.program()),
            devices: Some(vec![]),
            groups: Some(vec!["4711".into()]),
            network: Some("none".into()),
            ..ContainerOptions::default()
        }
    }

    fn spec(&self, command: &[&str]) -> RunSpec {
        let container = self.options();
        let mut spec =
            spec(ExecutorOptions { kind: ExecutorKind::Container, container, ..Default::default() }, command);
        spec.image = Some(IMAGE.into());
        spec
    }

    /// Names of all containers.
    fn containers(&self) -> String {
        self.output(&["ps", "--all", "--format={{.Names}}"]).expect("it lists them")
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        if let Ok(all) = self.output(&["ps", "--all", "--quiet"]) {
            for id in all.lines() {
                let _ = self.output(&["rm", "--force", "--time=0", id]);
            }
        }
        // Without root, files of the store can belong to users of the user namespace.
        let _ = self.output(&["image", "rm", "--force", IMAGE]);
    }
}

/// One test, since the image and the container settings must be set up first.
#[test]
fn podman_containers_end_as_expected_and_leave_nothing() {
    let Some(podman) = require("podman", Podman::start()) else { return };
    let executor = Container::new(podman.options());
    let start = |spec: &RunSpec| DrivenJob::new(executor.start(spec).expect("it starts"));

    // Streams, variables, groups, a device, mounts, the folder and the exit code work.
    let mut whole =
        podman.spec(&["sh", "-c", "echo \"$HSA_ENABLE_SDMA\" ${PATH-gone}; pwd; id; ls /data; echo err >&2; exit 7"]);
    let data = podman.path("data");
    fs::create_dir(&data).expect("writable");
    fs::write(data.join("model.gguf"), "weights").expect("writable");
    let options = &mut whole.options.container;
    options.mounts = vec![format!("{}:/data:ro", data.display())];
    options.devices = Some(vec!["/dev/null:/dev/kfd".into()]);
    whole.directory = Some("/tmp".into());
    whole.command[2] += "$(test -c /dev/kfd || echo 1)";
    let mut job = start(&whole);
    let state = job.end();
    assert_eq!(state, JobState::Exited(Exit { code: Some(7), ..Exit::default() }), "{}", job.err);
    assert!(job.out.starts_with("it's 0 /") && job.out.contains("\n/tmp\n"), "{}", job.out);
    assert!(job.out.contains("4711") && job.out.contains("model.gguf"), "{}", job.out);
    assert_eq!(job.err, "err\n");
    assert_eq!(job.job.kill(Duration::ZERO).terminated, 0, "nothing is left of a run that has ended");
    drop(job);

    // A signal, although PID 1 of a container ignores most.
    let mut job = start(&podman.spec(&["sh", "-c", "sh -c 'kill -SEGV $$'; exit $?"]));
    assert_eq!(job.end(), JobState::Exited(Exit { signal: Some(11), ..Exit::default() }));
    drop(job);

    // Variables are unset inside.
    let mut bare = podman.spec(&["/bin/sh", "-c", "echo ${HSA_ENABLE_SDMA-gone}"]);
    bare.unset = vec!["HSA_ENABLE_SDMA".into()];
    let mut job = start(&bare);
    job.end();
    assert_eq!(job.out, "gone\n");
    drop(job);

    // A missing program or image: never started, with a reason.
    let mut job = start(&podman.spec(&["/bin/no-such-program"]));
    let state = job.end();
    assert!(matches!(&state, JobState::Refused(why) if why.contains("no-such-program")), "{state:?}");
    drop(job);
    let mut absent = podman.spec(&["true"]);
    absent.image = Some("127.0.0.1:1/no-such-image:1".into());
    let mut job = start(&absent);
    let state = job.end();
    assert!(matches!(&state, JobState::Refused(why) if why.contains("cannot pull the image")), "{state:?}");
    drop(job);
    let mut wrong = podman.spec(&["true"]);
    wrong.options.container.devices = Some(vec!["/dev/no-such-device".into()]);
    let error = executor.start(&wrong).err().expect("there is no such device");
    assert!(error.reason.contains("no-such-device") && error.hint.is_some(), "{error:?}");

    // A hung run that ignores SIGTERM is detected and killed.
    let hangs = podman.spec(&["sh", "-c", "trap '' TERM; echo begun; while true; do sleep 1000; done"]);
    let mut job = start(&hangs);
    job.until_written("begun");
    let is_visible =
        |job: &mut DrivenJob| job.job.usage().is_some_and(|usage| usage.processes >= 2 && usage.memory > 0);
    job.until("seen", |job, _| is_visible(job));
    let stacks = job.job.stacks();
    assert!(stacks.iter().any(|stack| stack.name == "sleep"), "{stacks:?}");
    let termination = job.job.kill(Duration::from_secs(1));
    assert!(termination.terminated >= 1 && termination.survivors.is_empty(), "{termination:?}");
    let state = job.end();
    assert!(matches!(&state, JobState::Exited(exit) if exit.signal == Some(9) && !exit.out_of_memory), "{state:?}");
    drop(job);

    // A run whose roci was killed before it recorded anything.
    let lost = podman.spec(&["sh", "-c", "echo begun; sleep 100000"]);
    let mut job = start(&lost);
    job.until_written("begun");
    std::mem::forget(job);
    assert!(podman.containers().contains(&lost.mark));
    let termination = executor.recover(&lost.mark, "").expect("the engine can be asked");
    assert!(termination.terminated >= 1 && termination.survivors.is_empty(), "{termination:?}");
    assert_eq!(executor.recover(&lost.mark, "").expect("the engine can be asked").terminated, 0, "nothing is left");

    // A dropped run.
    let mut job = start(&podman.spec(&["sh", "-c", "echo begun; sleep 100000"]));
    job.until_written("begun");
    drop(job);
    eventually("no container is left", || podman.containers().trim().is_empty());
}

#[test]
fn a_missing_engine_is_an_error_with_a_remedy() {
    let container = ContainerOptions { engine: Some("no-such-engine".into()), ..ContainerOptions::default() };
    let options = ExecutorOptions { kind: ExecutorKind::Container, container: container.clone(), ..Default::default() };
    let mut spec = spec(options, &["true"]);
    spec.image = Some(IMAGE.into());
    let error = Container::new(container).start(&spec).err().expect("there is no such engine");
    assert_eq!(error.reason, "there is no program `no-such-engine`");
    assert!(error.hint.is_some());
}
