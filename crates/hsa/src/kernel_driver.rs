//! What the kernel offers to the HSA runtime, found by looking: the runtime itself only says that it lacks resources.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

/// The state of `/dev/kfd`, through which the HSA runtime reaches AMD GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelDriver {
    /// The kernel module is not loaded.
    NoModule,
    /// The module is loaded, but there is no `/dev/kfd`.
    NoDevice,
    /// This user may not open it.
    NotAllowed,
    /// It does not open for another reason.
    Broken(String),
    /// It opens: the fault lies elsewhere.
    Present,
}

impl KernelDriver {
    /// Looks.
    pub fn look() -> Self {
        Self::look_under(Path::new("/"))
    }

    /// Looks under another root.
    pub fn look_under(root: &Path) -> Self {
        let opened = std::fs::OpenOptions::new().read(true).write(true).open(root.join("dev/kfd"));
        let module = root.join("sys/module/amdgpu").exists();
        Self::from_attempt(opened.err(), module)
    }

    /// By how opening `/dev/kfd` failed, and whether the module is loaded.
    fn from_attempt(error: Option<std::io::Error>, module: bool) -> Self {
        let Some(error) = error else { return KernelDriver::Present };
        match error.kind() {
            ErrorKind::NotFound if module => KernelDriver::NoDevice,
            ErrorKind::NotFound => KernelDriver::NoModule,
            ErrorKind::PermissionDenied => KernelDriver::NotAllowed,
            _ => KernelDriver::Broken(error.to_string()),
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            KernelDriver::NoModule => {
                "with an AMD GPU, load the module (`sudo modprobe amdgpu`) and in a container pass `--device /dev/kfd \
                 --device /dev/dri`; without one, use another device, such as `cpu` or an emulated GPU"
            }
            KernelDriver::NoDevice => {
                "in a container, pass `--device /dev/kfd --device /dev/dri`; else boot a kernel that has CONFIG_HSA_AMD"
            }
            KernelDriver::NotAllowed => {
                "join the group that owns it (`sudo usermod -aG render,video $USER`) and log in again; in a container, \
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
            KernelDriver::NotAllowed => f.write_str("this user may not open the kernel driver `/dev/kfd`"),
            KernelDriver::Broken(error) => write!(f, "the kernel driver `/dev/kfd` does not open: {error}"),
            KernelDriver::Present => f.write_str("the kernel driver `/dev/kfd` opens, so the cause lies elsewhere"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_is_told_apart() {
        let by = |kind: ErrorKind, module| KernelDriver::from_attempt(Some(kind.into()), module);
        assert_eq!(by(ErrorKind::NotFound, false), KernelDriver::NoModule);
        assert_eq!(by(ErrorKind::NotFound, true), KernelDriver::NoDevice);
        assert_eq!(by(ErrorKind::PermissionDenied, true), KernelDriver::NotAllowed);
        assert!(matches!(by(ErrorKind::ResourceBusy, true), KernelDriver::Broken(_)));
        assert_eq!(KernelDriver::from_attempt(None, true), KernelDriver::Present);
    }

    #[test]
    fn it_looks_at_the_files() {
        let root = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(KernelDriver::look_under(root.path()), KernelDriver::NoModule);
        std::fs::create_dir_all(root.path().join("sys/module/amdgpu")).expect("a folder");
        assert_eq!(KernelDriver::look_under(root.path()), KernelDriver::NoDevice);
        std::fs::create_dir_all(root.path().join("dev")).expect("a folder");
        std::fs::write(root.path().join("dev/kfd"), "").expect("a file");
        assert_eq!(KernelDriver::look_under(root.path()), KernelDriver::Present);
    }
}
