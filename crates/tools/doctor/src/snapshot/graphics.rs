//! Installed Vulkan and OpenCL drivers, from the files that register them. No driver is started.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::root::Root;

/// Installed Vulkan and OpenCL drivers.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Graphics {
    vulkan: Vulkan,
    opencl: OpenCl,
    mesa: Mesa,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Vulkan {
    loader: bool,
    icd: Vec<String>,
    driver: BTreeSet<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct OpenCl {
    loader: bool,
    icd: BTreeSet<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Mesa {
    version: Option<String>,
}

const LIBRARIES: &[&str] =
    &["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib/x86_64-linux-gnu", "/usr/local/lib"];

impl Graphics {
    pub(super) fn gather(root: &Root, env: &BTreeMap<String, String>) -> Self {
        let has = |library: &str| LIBRARIES.iter().any(|folder| root.has(&format!("{folder}/{library}")));
        let icd = vulkan_files(root, env);
        let driver = icd.iter().filter_map(|file| vulkan_driver(file)).map(str::to_owned).collect();
        Self {
            vulkan: Vulkan { loader: has("libvulkan.so.1"), icd, driver },
            opencl: OpenCl { loader: has("libOpenCL.so.1"), icd: opencl_drivers(root, env) },
            mesa: Mesa { version: mesa(root) },
        }
    }
}

fn vulkan_files(root: &Root, env: &BTreeMap<String, String>) -> Vec<String> {
    // If one of these is set, the loader searches nowhere else.
    if let Some(named) = env.get("VK_DRIVER_FILES").or_else(|| env.get("VK_ICD_FILENAMES")) {
        return named.split(':').filter(|path| root.has(path)).map(str::to_owned).collect();
    }
    let folders = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"];
    let files =
        |folder: &&str| root.list(folder).into_iter().map(move |name| format!("{folder}/{name}")).collect::<Vec<_>>();
    folders.iter().flat_map(files).filter(|path| path.ends_with(".json")).collect()
}

fn vulkan_driver(file: &str) -> Option<&'static str> {
    let known = [
        ("radeon_icd", "radv"),
        ("amd_icd", "amdvlk"),
        ("amd_pro", "amdgpu-pro"),
        ("lvp_icd", "llvmpipe"),
        ("nvidia", "nvidia"),
        ("intel", "anv"),
        ("dzn", "dozen"),
    ];
    let name = file.rsplit('/').next().unwrap_or(file);
    known.iter().find(|(word, _)| name.contains(word)).map(|(_, driver)| *driver)
}

fn opencl_drivers(root: &Root, env: &BTreeMap<String, String>) -> BTreeSet<String> {
    let folder = env.get("OCL_ICD_VENDORS").map_or("/etc/OpenCL/vendors", String::as_str);
    let files = if folder.ends_with(".icd") {
        vec![folder.to_owned()]
    } else {
        root.list(folder).into_iter().map(|name| format!("{folder}/{name}")).collect()
    };
    let known = [
        ("RusticlOpenCL", "rusticl"),
        ("MesaOpenCL", "clover"),
        ("amdocl-orca", "amdgpu-pro"),
        ("amdocl", "rocm"),
        ("pocl", "pocl"),
        ("nvidia", "nvidia"),
        ("igdrcl", "intel"),
    ];
    let driver = |path: String| {
        let library = root.text(&path)?;
        let found = known.iter().find(|(word, _)| library.contains(word)).map(|(_, name)| (*name).to_owned());
        Some(found.unwrap_or_else(|| path.rsplit('/').next().unwrap_or(&path).trim_end_matches(".icd").to_owned()))
    };
    files.into_iter().filter(|path| path.ends_with(".icd")).filter_map(driver).collect()
}

/// Version of Mesa, from its packages or from its library's file name.
fn mesa(root: &Root) -> Option<String> {
    let named = LIBRARIES.iter().flat_map(|folder| root.list(folder)).find_map(|name| {
        let version = name.strip_prefix("libgallium-")?.strip_suffix(".so")?;
        Some(version.split('-').next().unwrap_or(version).to_owned())
    });
    named.or_else(|| {
        let bytes = root.bytes("/var/lib/dpkg/status")?;
        let text = String::from_utf8_lossy(&bytes);
        let entry = text.split("\n\n").find(|entry| {
            ["Package: mesa-vulkan-drivers", "Package: libgl1-mesa-dri"]
                .iter()
                .any(|name| entry.lines().next() == Some(*name))
        })?;
        Some(entry.lines().find_map(|line| line.strip_prefix("Version: "))?.to_owned())
    })
}
