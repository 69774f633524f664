//! The kernel: release, command line, modules, and parameters with their live and configured
//! values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::root::Root;
use crate::{command_line, secrets};

use super::elf::modinfo;

/// Modules whose parameters are facts.
pub(super) const MODULES: &[&str] = &["amdgpu", "ttm", "amdttm", "radeon", "amdkcl", "iommu"];

/// Kernel, modules and parameters.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct KernelInfo {
    kernel: Kernel,
    /// Parameters of the command line with values.
    cmdline: BTreeMap<String, String>,
    module: BTreeMap<String, Module>,
    /// Live values.
    param: BTreeMap<String, BTreeMap<String, String>>,
    /// Configured values from all sources.
    configured: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    dkms: BTreeMap<String, String>,
    initramfs: Initramfs,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Kernel {
    release: Option<String>,
    /// The command line for output; values that may be secret are masked.
    command_line: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Module {
    is: Option<String>,
    version: Option<String>,
    srcversion: Option<String>,
    blacklisted: Option<String>,
    /// The module file that modprobe would load.
    file: ModuleFile,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct ModuleFile {
    is: Option<String>,
    srcversion: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Initramfs {
    /// Whether modules or their options are newer than the initramfs.
    older: Option<bool>,
}

impl KernelInfo {
    pub(super) fn gather(root: &Root) -> Self {
        let release = root.value("/proc/sys/kernel/osrelease").or_else(|| {
            // Format: `Linux version 6.18.4 (…)`.
            root.text("/proc/version")?.split_whitespace().nth(2).map(str::to_owned)
        });
        let line = root.text("/proc/cmdline");
        let cmdline: BTreeMap<_, _> = command_line::words(line.as_deref().unwrap_or_default()).into_iter().collect();
        let command_line = line.map(|line| command_line::masked(&line));
        let dkms = dkms(root, release.as_deref());
        let mut all = Self { dkms, kernel: Kernel { release, command_line }, ..Self::default() };
        for module in MODULES {
            let folder = format!("/sys/module/{module}");
            if root.has(&folder) {
                let text = |name: &str| root.value(&format!("{folder}/{name}"));
                let entry = all.module.entry((*module).to_owned()).or_default();
                (entry.is, entry.version, entry.srcversion) =
                    (Some("loaded".into()), text("version"), text("srcversion"));
                let read = |name: String| Some((name.clone(), root.value(&format!("{folder}/parameters/{name}"))?));
                let parameters: BTreeMap<_, _> =
                    root.list(&format!("{folder}/parameters")).into_iter().filter_map(read).collect();
                all.param.insert((*module).to_owned(), parameters);
            }
        }
        for (name, value) in &cmdline {
            if let Some((module, parameter)) = name.split_once('.') {
                all.ask(module, parameter, value);
            }
        }
        all.cmdline = cmdline;
        all.find_amdgpu(root);
        all.initramfs.older = all.initramfs_is_older(root);
        all.read_modprobe(root);
        all.read_tmpfiles(root);
        all
    }

    /// Finds the driver's file in `modules.dep`.
    fn find_amdgpu(&mut self, root: &Root) {
        let Some(release) = &self.kernel.release else { return };
        let folder = format!("/lib/modules/{release}");
        let list = root.text(&format!("{folder}/modules.dep")).unwrap_or_default();
        let files = list.lines().filter_map(|line| line.split_once(':')).map(|(file, _)| file);
        let Some(file) = files.into_iter().find(|file| file.contains("/amdgpu.ko")) else { return };
        let path = format!("{folder}/{file}");
        // Compressed modules would have to be decompressed completely.
        let srcversion = path.ends_with(".ko").then(|| modinfo(root, &path, "srcversion")).flatten();
        self.module.entry("amdgpu".into()).or_default().file = ModuleFile { is: Some(path), srcversion };
    }

    /// Compares file times: only root can read the initramfs.
    fn initramfs_is_older(&self, root: &Root) -> Option<bool> {
        let release = self.kernel.release.as_deref()?;
        let names = [
            format!("/boot/initrd.img-{release}"),
            format!("/boot/initramfs-{release}.img"),
            "/boot/initramfs-linux.img".to_owned(),
            "/boot/initramfs-linux-lts.img".to_owned(),
            "/boot/initramfs-linux-zen.img".to_owned(),
        ];
        let built = names.iter().find_map(|path| root.modified(path))?;
        let options = root.list("/etc/modprobe.d").into_iter().map(|name| format!("/etc/modprobe.d/{name}"));
        let module = self.module.get("amdgpu").and_then(|module| module.file.is.clone());
        Some(options.chain(module).filter_map(|path| root.modified(&path)).any(|changed| changed > built))
    }

    /// Masks parameters that may be secret, for a snapshot saved by an earlier version.
    pub(super) fn mask(&mut self) {
        let words = self.cmdline.iter().map(|(name, value)| (name.clone(), command_line::value(name, value)));
        self.cmdline = words.collect();
        self.kernel.command_line = self.kernel.command_line.as_deref().map(command_line::masked);
        for (module, parameters) in std::mem::take(&mut self.configured) {
            for (parameter, values) in parameters {
                values.iter().for_each(|value| self.ask(&module, &parameter, value));
            }
        }
    }

    fn ask(&mut self, module: &str, parameter: &str, value: &str) {
        let value = command_line::value(&format!("{module}.{parameter}"), value.trim_matches('"'));
        let values = self.configured.entry(module.to_owned()).or_default().entry(parameter.to_owned()).or_default();
        if !values.contains(&value) {
            values.push(value);
        }
    }

    /// Parses `options amdgpu gttsize=8192` and `blacklist amdgpu`.
    fn read_modprobe(&mut self, root: &Root) {
        for folder in ["/etc/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d", "/run/modprobe.d"] {
            for file in root.list(folder).into_iter().filter(|name| name.ends_with(".conf")) {
                let path = format!("{folder}/{file}");
                for line in root.text(&path).unwrap_or_default().lines() {
                    let mut parts = line.split_whitespace();
                    match (parts.next(), parts.next()) {
                        (Some("options"), Some(module)) => {
                            for (name, value) in parts.filter_map(|part| part.split_once('=')) {
                                self.ask(module, name, value);
                            }
                        }
                        (Some("blacklist"), Some(module)) if MODULES.contains(&module) => {
                            self.module.entry(module.to_owned()).or_default().blacklisted = Some(path.clone());
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    /// Parses `w /sys/module/ttm/parameters/pages_limit - - - - 4194304`, which is applied last.
    fn read_tmpfiles(&mut self, root: &Root) {
        for file in root.list("/etc/tmpfiles.d").into_iter().filter(|name| name.ends_with(".conf")) {
            for line in root.text(&format!("/etc/tmpfiles.d/{file}")).unwrap_or_default().lines() {
                let parts: Vec<_> = line.split_whitespace().collect();
                let ["w" | "w+" | "w!", path, _, _, _, _, value] = parts.as_slice() else { continue };
                let parameter = path.strip_prefix("/sys/module/").and_then(|rest| rest.split_once("/parameters/"));
                if let Some((module, name)) = parameter {
                    self.ask(module, name, value);
                }
            }
        }
    }
}

/// State of DKMS modules for the running kernel.
fn dkms(root: &Root, release: Option<&str>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for version in root.list("/var/lib/dkms/amdgpu").into_iter().filter(|name| !name.starts_with("kernel-")) {
        let built = release.is_some_and(|release| root.has(&format!("/var/lib/dkms/amdgpu/{version}/{release}")));
        let installed = release.is_some_and(|release| {
            root.list(&format!("/lib/modules/{release}/updates/dkms")).iter().any(|file| file.starts_with("amdgpu.ko"))
        });
        let state = if installed {
            "installed"
        } else if built {
            "built"
        } else {
            "added"
        };
        found.insert("amdgpu".to_owned(), state.to_owned());
    }
    found
}

/// Kernel log lines about GPUs. On most systems only root can read it.
pub(super) fn log(root: &Root) -> Option<String> {
    let whole = if root.is_here() {
        crate::kernel_log::read()?
    } else {
        root.text("/var/log/dmesg").or_else(|| root.text("/dmesg.txt"))?
    };
    const WORDS: &[&str] = &[
        "amdgpu",
        "kfd",
        "drm",
        "gfxhub",
        "mmhub",
        "GCVM",
        "ring ",
        "oom-kill",
        "iommu",
        "AMD-Vi",
        "radeon",
        "unsigned module",
        "SVM mapping",
    ];
    let lines = whole.lines().filter(|line| WORDS.iter().any(|word| line.contains(word)));
    Some(secrets::masked(&lines.collect::<Vec<_>>().join("\n")).into_owned())
}
