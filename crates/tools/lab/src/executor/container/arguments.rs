//! Arguments of container engines: Podman and Docker take the same ones, where possible.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::executor::{RunSpec, StartError, command};

/// Label that identifies the containers of a run.
pub(super) const LABEL: &str = "roci.lab.run";

/// Device nodes of AMD GPUs: KFD and the render nodes.
const GPU: [&str; 2] = ["/dev/kfd", "/dev/dri"];

/// Properties of the machine and the engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Host {
    /// Existing device nodes of GPUs.
    pub(super) devices: Vec<String>,
    /// Groups that own them, or the nodes in them.
    pub(super) groups: BTreeSet<u32>,
    /// Whether it is rootless Podman, where host groups have no number inside the container.
    pub(super) keeps_groups: bool,
    /// Whether the engine provides an init process.
    pub(super) has_init: bool,
}

impl Host {
    /// Inspects this machine and an engine.
    pub(super) fn look(engine: &str) -> Self {
        let devices: Vec<_> = GPU.into_iter().filter(|path| Path::new(path).exists()).map(str::to_owned).collect();
        let groups =
            devices.iter().flat_map(|device| nodes(Path::new(device))).filter_map(|node| group(&node)).collect();
        let docker = Path::new(engine).file_name().is_some_and(|name| name == "docker");
        let inits: &[&str] = if docker {
            &["/usr/bin/docker-init", "/usr/libexec/docker/docker-init", "/usr/local/bin/docker-init"]
        } else {
            &[
                "/usr/libexec/podman/catatonit",
                "/usr/lib/podman/catatonit",
                "/usr/bin/catatonit",
                "/usr/local/bin/catatonit",
            ]
        };
        Self {
            devices,
            groups,
            keeps_groups: !docker && !rustix::process::geteuid().is_root(),
            has_init: inits.iter().any(|path| Path::new(path).exists()),
        }
    }
}

/// A device node, or the nodes in a folder.
fn nodes(path: &Path) -> Vec<PathBuf> {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| !path.is_dir()).collect(),
        Err(_) => vec![path.to_owned()],
    }
}

/// The group that owns a node; none for root.
fn group(node: &Path) -> Option<u32> {
    std::fs::metadata(node).ok().map(|data| data.gid()).filter(|group| *group != 0)
}

/// Arguments of the engine that create the container of a run.
///
/// # Errors
/// If the run cannot be expressed as a container.
pub(super) fn create(spec: &RunSpec, host: &Host) -> Result<Vec<String>, StartError> {
    command::check(spec)?;
    let options = &spec.options.container;
    let image = spec.image.as_deref().filter(|image| !image.is_empty()).ok_or_else(command::no_image)?;
    let mut words = vec!["create".to_owned()];
    let mut add = |name: &str, value: &str| words.push(format!("--{name}={value}"));
    add("name", &spec.mark);
    add("label", &format!("{LABEL}={}", spec.mark));
    // The image is present; a pull would have no timeout.
    add("pull", "never");
    // The engine would write all output to disk a second time.
    add("log-driver", "none");
    // AMD's documentation requires this: the default seccomp filter blocks ROCm's memory mappings,
    // and SELinux has no policy for GPUs.
    add("security-opt", "seccomp=unconfined");
    add("security-opt", "label=disable");
    for device in options.devices.as_ref().unwrap_or(&host.devices) {
        add("device", device);
    }
    match &options.groups {
        Some(groups) => groups.iter().for_each(|group| add("group-add", group)),
        None if host.keeps_groups => add("group-add", "keep-groups"),
        // By number: the image may not have the name, or give it another number.
        None => host.groups.iter().for_each(|group| add("group-add", &group.to_string())),
    }
    for mount in &options.mounts {
        command::mount(mount)?;
        add("volume", mount);
    }
    if let Some(bytes) = spec.limits.memory {
        add("memory", &format!("{bytes}b"));
        // Equal to the memory limit: a run that swaps would look like a hang.
        add("memory-swap", &format!("{bytes}b"));
    }
    if let Some(network) = &options.network {
        add("network", network);
    }
    if let Some(folder) = &spec.directory {
        add("workdir", &folder.display().to_string());
    }
    for (name, value) in command::variables(spec) {
        add("env", &format!("{name}={value}"));
    }
    let mut command = command::without_unset(spec).into_iter();
    // Replaces the image's entry point, so that a command means the same with every executor.
    add("entrypoint", &command.next().unwrap_or_default());
    if host.has_init {
        // PID 1 of a container ignores signals without a handler, including its own abort.
        words.push("--init".to_owned());
    }
    words.extend(options.arguments.iter().cloned());
    words.push(image.to_owned());
    words.extend(command);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::command::tests::spec;

    fn host() -> Host {
        let devices = GPU.map(str::to_owned).to_vec();
        Host { devices, groups: [44, 109].into(), keeps_groups: false, has_init: false }
    }

    #[test]
    fn gpu_nodes_and_their_groups_are_passed_in() {
        let words = create(&spec(&["llama-bench", "-ngl", "99"]), &host()).expect("a container");
        for expected in [
            "--name=roci-lab-0123456789abcdef",
            "--label=roci.lab.run=roci-lab-0123456789abcdef",
            "--device=/dev/kfd",
            "--device=/dev/dri",
            "--group-add=44",
            "--group-add=109",
            "--security-opt=seccomp=unconfined",
            "--security-opt=label=disable",
            "--env=HSA_ENABLE_SDMA=0",
            "--env=ROCI_LAB_RUN=roci-lab-0123456789abcdef",
            "--entrypoint=env",
        ] {
            assert!(words.iter().any(|word| word == expected), "{expected} in {words:?}");
        }
        let behind = words.iter().skip_while(|word| *word != "localhost/llama:rocm").skip(1);
        assert!(behind.eq(&["-u", "HSA_OVERRIDE_GFX_VERSION", "llama-bench", "-ngl", "99"]), "{words:?}");
        assert!(!words.iter().any(|word| word == "--init"));
    }

    #[test]
    fn rootless_podman_keeps_groups() {
        let words =
            create(&spec(&["true"]), &Host { keeps_groups: true, has_init: true, ..host() }).expect("a container");
        assert!(words.iter().any(|word| word == "--group-add=keep-groups"));
        assert!(!words.iter().any(|word| word == "--group-add=44"), "Podman refuses both together");
        assert!(words.iter().any(|word| word == "--init"));
    }

    #[test]
    fn options_override_detected_devices() {
        let mut spec = spec(&["true"]);
        spec.unset.clear();
        spec.directory = Some("/models".into());
        spec.limits.memory = Some(4096);
        let options = &mut spec.options.container;
        options.devices = Some(vec!["/dev/dri/renderD129".into()]);
        options.groups = Some(vec!["render".into()]);
        options.mounts = vec!["/models:/models:ro".into()];
        options.network = Some("none".into());
        options.arguments = vec!["--ipc=host".into()];
        let words = create(&spec, &host()).expect("a container");
        let start = |with: &str| words.iter().filter(|word| word.starts_with(with)).cloned().collect::<Vec<_>>();
        assert_eq!(start("--device"), ["--device=/dev/dri/renderD129"]);
        assert_eq!(start("--group-add"), ["--group-add=render"]);
        assert_eq!(start("--volume"), ["--volume=/models:/models:ro"]);
        assert_eq!(start("--memory"), ["--memory=4096b", "--memory-swap=4096b"]);
        assert_eq!(start("--network"), ["--network=none"]);
        assert_eq!(start("--workdir"), ["--workdir=/models"]);
        assert_eq!(words[words.len() - 3..], ["--entrypoint=true", "--ipc=host", "localhost/llama:rocm"]);
    }

    #[test]
    fn a_machine_without_a_gpu_passes_no_devices() {
        let words = create(&spec(&["true"]), &Host::default()).expect("a container");
        assert!(!words.iter().any(|word| word.starts_with("--device") || word.starts_with("--group-add")));
    }

    #[test]
    fn impossible_runs_are_rejected_with_a_remedy() {
        let mut spec = spec(&["true"]);
        spec.options.container.mounts = vec!["models".into()];
        assert_eq!(create(&spec, &host()).expect_err("no mount").reason, "`models` is not a mount");
        spec.image = None;
        let error = create(&spec, &host()).expect_err("no image");
        assert!(error.reason == "the strategy has no image" && error.hint.is_some());
    }
}
