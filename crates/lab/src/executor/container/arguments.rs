//! What a container engine is told: the same words for Podman and Docker, where they agree.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::executor::{RunSpec, StartError, command};

/// The label by which containers of a run are found.
pub(super) const LABEL: &str = "roci.lab.run";

/// What programs need of an AMD GPU: the compute interface, and the render nodes of all GPUs.
const GPU: [&str; 2] = ["/dev/kfd", "/dev/dri"];

/// What the machine and the engine are like, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Host {
    /// Those of the GPU's device nodes that are there.
    pub(super) devices: Vec<String>,
    /// The groups that own them, or what is below them.
    pub(super) groups: BTreeSet<u32>,
    /// Whether the engine is Podman without root, where groups of the host have no numbers inside.
    pub(super) keeps_groups: bool,
    /// Whether the engine has a first process for containers.
    pub(super) has_init: bool,
}

impl Host {
    /// This machine with this engine.
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

/// A device node, or those in a folder of them.
fn nodes(path: &Path) -> Vec<PathBuf> {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| !path.is_dir()).collect(),
        Err(_) => vec![path.to_owned()],
    }
}

/// The group that may use a node; that of root says nothing.
fn group(node: &Path) -> Option<u32> {
    std::fs::metadata(node).ok().map(|data| data.gid()).filter(|group| *group != 0)
}

/// The words behind the engine's name that make the container of a run.
///
/// # Errors
/// What about the run cannot be said to an engine.
pub(super) fn create(spec: &RunSpec, host: &Host) -> Result<Vec<String>, StartError> {
    command::check(spec)?;
    let options = &spec.options.container;
    let image = spec.image.as_deref().filter(|image| !image.is_empty()).ok_or_else(command::no_image)?;
    let mut words = vec!["create".to_owned()];
    let mut add = |name: &str, value: &str| words.push(format!("--{name}={value}"));
    add("name", &spec.mark);
    add("label", &format!("{LABEL}={}", spec.mark));
    // It is there by now; a pull would not be bounded.
    add("pull", "never");
    // The engine would write a flood of output to the disk a second time.
    add("log-driver", "none");
    // As AMD's documentation asks for: ROCm's memory mappings are not in the default filter; SELinux knows no GPU.
    add("security-opt", "seccomp=unconfined");
    add("security-opt", "label=disable");
    for device in options.devices.as_ref().unwrap_or(&host.devices) {
        add("device", device);
    }
    match &options.groups {
        Some(groups) => groups.iter().for_each(|group| add("group-add", group)),
        None if host.keeps_groups => add("group-add", "keep-groups"),
        // By number: the image may know no such name, or give it another number.
        None => host.groups.iter().for_each(|group| add("group-add", &group.to_string())),
    }
    for mount in &options.mounts {
        command::mount(mount)?;
        add("volume", mount);
    }
    if let Some(bytes) = spec.limits.memory {
        add("memory", &format!("{bytes}b"));
        // Equal: a run that swaps would look like one that hangs.
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
    // The image's own entry point is replaced: a command means the same everywhere.
    add("entrypoint", &command.next().unwrap_or_default());
    if host.has_init {
        // The first process of a container is deaf to signals without a handler, also to its own abort.
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
    fn a_gpu_comes_with_its_nodes_and_the_groups_that_own_them() {
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
    fn podman_without_root_keeps_groups() {
        let words =
            create(&spec(&["true"]), &Host { keeps_groups: true, has_init: true, ..host() }).expect("a container");
        assert!(words.iter().any(|word| word == "--group-add=keep-groups"));
        assert!(!words.iter().any(|word| word == "--group-add=44"), "Podman refuses both together");
        assert!(words.iter().any(|word| word == "--init"));
    }

    #[test]
    fn what_is_asked_for_counts_before_what_is_found() {
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
    fn a_machine_without_a_gpu_gets_none() {
        let words = create(&spec(&["true"]), &Host::default()).expect("a container");
        assert!(!words.iter().any(|word| word.starts_with("--device") || word.starts_with("--group-add")));
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_remedy() {
        let mut spec = spec(&["true"]);
        spec.options.container.mounts = vec!["models".into()];
        assert_eq!(create(&spec, &host()).expect_err("no mount").reason, "`models` is no mount");
        spec.image = None;
        let error = create(&spec, &host()).expect_err("no image");
        assert!(error.reason == "the strategy names no image" && error.hint.is_some());
    }
}
