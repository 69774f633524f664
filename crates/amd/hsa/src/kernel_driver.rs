//! State of the kernel driver. The HSA runtime itself only reports that it lacks resources.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

/// State of `/dev/kfd`, through which the HSA runtime accesses AMD GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelDriver {
    /// The kernel module is not loaded.
    NoModule,
    /// The kernel module is loaded, but `/dev/kfd` does not exist.
    NoDevice,
    /// The user lacks permission to open `/dev/kfd`.
    PermissionDenied,
    /// `/dev/kfd` cannot be opened for another reason.
    Broken(String),
    /// `/dev/kfd` can be opened, so it is not the cause.
    Present,
}

impl KernelDriver {
    /// Checks the running system.
    pub fn probe() -> Self {
        Self::probe_root(Path::new("/"))
    }

    /// Checks the files under another root directory.
    pub fn probe_root(root: &Path) -> Self {
        let opened = std::fs::OpenOptions::new().read(true).write(true).open(root.join("dev/kfd"));
        let module = root.join("sys/module/amdgpu").exists();
        Self::from_attempt(opened.err(), module)
    }

    /// `error` is the result of opening `/dev/kfd`; `module` tells whether the kernel module is
    /// loaded.
    fn from_attempt(error: Option<std::io::Error>, module: bool) -> Self {
        let Some(error) = error else { return KernelDriver::Present };
        match error.kind() {
            ErrorKind::NotFound if module => KernelDriver::NoDevice,
            ErrorKind::NotFound => KernelDriver::NoModule,
            ErrorKind::PermissionDenied => KernelDriver::PermissionDenied,
            _ => KernelDriver::Broken(error.to_string()),
        }
    }

    /// Suggested fix.
    pub fn remedy(&self) -> &'static str {
        match self {
            KernelDriver::NoModule => {
                "with an AMD GPU, load the module (`sudo modprobe amdgpu`) and in a container pass `--device /dev/kfd \
                 --device /dev/dri`; without one, use another device, such as `cpu` or an emulated GPU"
            }
            KernelDriver::NoDevice => {
                "in a container, pass `--device /dev/kfd --device /dev/dri`; else boot a kernel that has CONFIG_HSA_AMD"
            }
            KernelDriver::PermissionDenied => {
                "join the group that owns `/dev/kfd` (`sudo usermod -aG render,video $USER`) and log in again; in a container, \
                 pass `--group-add render` too"
            }
            KernelDriver::Broken(_) => "read the kernel's log (`sudo dmesg | grep -i -e amdgpu -e kfd`)",
            KernelDriver::Present => {
                "read the kernel's log (`sudo dmesg | grep -i -e amdgpu -e kfd`), and use a library as new as the GPU"
            }
        }
    }
}

impl fmt::Display for KernelDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelDriver::NoModule => f.write_str(
                "there is no kernel driver: `/dev/kfd` does not exist and the module `amdgpu` is not loaded",
            ),
            KernelDriver::NoDevice => {
                f.write_str("there is no kernel driver: the module `amdgpu` is loaded, but `/dev/kfd` does not exist")
            }
            KernelDriver::PermissionDenied => {
                f.write_str("this user has no permission to open the kernel driver `/dev/kfd`")
            }
            KernelDriver::Broken(error) => write!(f, "the kernel driver `/dev/kfd` cannot be opened: {error}"),
            KernelDriver::Present => {
                f.write_str("the kernel driver `/dev/kfd` can be opened, so the cause is elsewhere")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_opening_map_to_states() {
        let by = |kind: ErrorKind, module| KernelDriver::from_attempt(Some(kind.into()), module);
        assert_eq!(by(ErrorKind::NotFound, false), KernelDriver::NoModule);
        assert_eq!(by(ErrorKind::NotFound, true), KernelDriver::NoDevice);
        assert_eq!(by(ErrorKind::PermissionDenied, true), KernelDriver::PermissionDenied);
        assert!(matches!(by(ErrorKind::ResourceBusy, true), KernelDriver::Broken(_)));
        assert_eq!(KernelDriver::from_attempt(None, true), KernelDriver::Present);
    }

    #[test]
    fn states_follow_from_the_files() {
        let root = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(KernelDriver::probe_root(root.path()), KernelDriver::NoModule);
        std::fs::create_dir_all(root.path().join("sys/module/amdgpu")).expect("a directory");
        assert_eq!(KernelDriver::probe_root(root.path()), KernelDriver::NoDevice);
        std::fs::create_dir_all(root.path().join("dev")).expect("a directory");
        std::fs::write(root.path().join("dev/kfd"), "").expect("a file");
        assert_eq!(KernelDriver::probe_root(root.path()), KernelDriver::Present);
    }
}
