//! ROCm and what is built with it: installs, packages, Python's wheels, and the targets that the libraries have kernels for.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::root::Root;

/// ROCm, wheels, packages.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Software {
    glibc: Version,
    rocm: Rocm,
    library: BTreeMap<String, Library>,
    wheel: BTreeMap<String, Wheel>,
    package: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Version {
    version: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Rocm {
    version: Vec<String>,
    prefix: Vec<String>,
    count: usize,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Library {
    /// Targets with kernels, by the names of files.
    target: BTreeSet<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Wheel {
    is: String,
    /// The ROCm it was built with.
    rocm: Option<String>,
    /// The CUDA it was built with.
    cuda: Option<String>,
    /// Targets with kernels, by the names of files that it carries.
    target: BTreeSet<String>,
    place: String,
}

/// Packages that tell something.
const PACKAGES: &[&str] = &[
    "linux-firmware",
    "linux-firmware-amdgpu",
    "firmware-amd-graphics",
    "amdgpu-dkms",
    "amdgpu-dkms-firmware",
    "amdvlk",
    "mesa-vulkan-drivers",
    "vulkan-radeon",
    "mesa-opencl-icd",
    "opencl-mesa",
    "mesa-libOpenCL",
    "rocm-core",
    "rocm-hip-runtime",
    "rocblas",
    "librocblas0",
    "hsa-rocr",
    "libhsa-runtime64-1",
    "rocm-opencl",
    "rocm-opencl-runtime",
    "ollama",
    "ollama-rocm",
    "vulkan-icd-loader",
    "libvulkan1",
];
/// Wheels that tell something.
const WHEELS: &[&str] = &[
    "torch",
    "torchvision",
    "onnxruntime_rocm",
    "onnxruntime",
    "tensorflow_rocm",
    "vllm",
    "bitsandbytes",
    "llama_cpp_python",
    "rocm",
    "rocm_sdk_core",
    "jax",
    "triton",
    "pytorch_triton_rocm",
    "flash_attn",
];
/// Where libraries keep kernels, beneath a prefix of ROCm or a wheel.
const KERNELS: &[(&str, &[&str])] = &[
    ("rocblas", &["lib/rocblas/library", "lib64/rocblas/library", "rocblas/library"]),
    ("hipblaslt", &["lib/hipblaslt/library", "lib64/hipblaslt/library", "hipblaslt/library"]),
    ("miopen", &["share/miopen/db", "miopen/db"]),
];

impl Software {
    pub(super) fn gather(root: &Root, env: &BTreeMap<String, String>) -> Self {
        let mut all = Self { glibc: Version { version: glibc(root) }, package: packages(root), ..Self::default() };
        let mut prefixes: Vec<String> = root
            .list("/opt")
            .into_iter()
            .filter(|name| name.starts_with("rocm"))
            .map(|name| format!("/opt/{name}"))
            .collect();
        prefixes.extend(env.get("ROCM_PATH").cloned());
        // A link from `/opt/rocm` to one of them is that one.
        prefixes.retain(|prefix| root.path(prefix).read_link().is_err());
        for prefix in prefixes {
            let version = [".info/version", ".info/version-core", "share/rocm/version"]
                .iter()
                .find_map(|file| root.text(&format!("{prefix}/{file}")));
            let Some(version) = version else { continue };
            all.rocm.version.push(version);
            all.kernels(root, &prefix);
            all.rocm.prefix.push(prefix);
        }
        for prefix in ["/usr", "/usr/lib64/rocm", "/usr/lib/x86_64-linux-gnu"] {
            if all.kernels(root, prefix) {
                all.rocm.prefix.push(prefix.to_owned());
            }
        }
        if let Some(core) = all.package.get("rocm-core").or_else(|| all.package.get("libhsa-runtime64-1"))
            && all.rocm.version.is_empty()
        {
            all.rocm.version.push(core.clone());
        }
        all.rocm.count = all.rocm.prefix.len();
        for folder in site_packages(root, env) {
            all.read_wheels(root, &folder);
        }
        all
    }

    /// Notes the targets that libraries beneath a prefix have kernels for; whether there are any.
    fn kernels(&mut self, root: &Root, prefix: &str) -> bool {
        let mut found = false;
        for (library, folders) in KERNELS {
            let targets: BTreeSet<_> =
                folders.iter().flat_map(|folder| targets(&root.list(&format!("{prefix}/{folder}")))).collect();
            if !targets.is_empty() {
                self.library.entry((*library).to_owned()).or_default().target.extend(targets);
                found = true;
            }
        }
        found
    }

    fn read_wheels(&mut self, root: &Root, folder: &str) {
        for name in root.list(folder) {
            let Some((wheel, version)) = name.strip_suffix(".dist-info").and_then(|name| name.split_once('-')) else {
                continue;
            };
            let wheel = wheel.to_ascii_lowercase();
            if !WHEELS.contains(&wheel.as_str()) {
                continue;
            }
            let (rocm, cuda) = built_with(version);
            let libraries =
                [format!("{folder}/{wheel}/lib/rocblas/library"), format!("{folder}/{wheel}/lib/hipblaslt/library")];
            let target = libraries.iter().flat_map(|library| targets(&root.list(library))).collect();
            self.wheel.insert(wheel, Wheel { is: version.to_owned(), rocm, cuda, target, place: folder.to_owned() });
        }
    }
}

/// `2.5.1+rocm6.2`, `2.5.1+cu121`.
fn built_with(version: &str) -> (Option<String>, Option<String>) {
    let local = version.split_once('+').map_or("", |(_, local)| local);
    let rocm = local.strip_prefix("rocm").map(str::to_owned);
    let cuda = local.strip_prefix("cu").map(str::to_owned);
    (rocm, cuda)
}

/// The targets in names of files such as `TensileLibrary_lazy_gfx1030.dat`.
fn targets(names: &[String]) -> BTreeSet<String> {
    let target = |name: &String| {
        let start = name.find("gfx")?;
        let end = name[start + 3..].find(|c: char| !c.is_ascii_hexdigit()).map_or(name.len(), |end| start + 3 + end);
        (end > start + 5).then(|| name[start..end].to_owned())
    };
    names.iter().filter_map(target).collect()
}

/// Folders that Python's packages are in: the system's, the user's, and of the environment that is active.
fn site_packages(root: &Root, env: &BTreeMap<String, String>) -> Vec<String> {
    let mut homes: Vec<String> =
        vec!["/usr/lib".into(), "/usr/local/lib".into(), "/usr/lib64".into(), "/opt/venv/lib".into()];
    for (variable, below) in [("HOME", ".local/lib"), ("VIRTUAL_ENV", "lib"), ("CONDA_PREFIX", "lib")] {
        homes.extend(env.get(variable).map(|value| format!("{value}/{below}")));
    }
    let mut found = Vec::new();
    for home in homes {
        for version in root.list(&home).into_iter().filter(|name| name.starts_with("python3")) {
            for packages in ["site-packages", "dist-packages"] {
                let folder = format!("{home}/{version}/{packages}");
                if root.has(&folder) && !found.contains(&folder) {
                    found.push(folder);
                }
            }
        }
    }
    found
}

fn glibc(root: &Root) -> Option<String> {
    let folders = ["/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib"];
    folders
        .iter()
        .flat_map(|folder| root.list(folder))
        .find_map(|name| name.strip_prefix("libc-2.")?.strip_suffix(".so").map(|minor| format!("2.{minor}")))
}

/// Versions of packages, from the databases of Debian's and Arch's tools. Fedora's is not text and is left out.
fn packages(root: &Root) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    if let Some(bytes) = root.bytes("/var/lib/dpkg/status") {
        let text = String::from_utf8_lossy(&bytes);
        for entry in text.split("\n\n") {
            let field = |name: &str| entry.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            let installed = field("Status:").is_some_and(|status| status.ends_with(" installed"));
            if let (Some(name), Some(version), true) = (field("Package:"), field("Version:"), installed)
                && PACKAGES.contains(&name)
            {
                // An epoch says nothing.
                let version = version.split_once(':').map_or(version, |(_, version)| version);
                found.insert(name.to_owned(), version.to_owned());
            }
        }
    }
    for folder in root.list("/var/lib/pacman/local") {
        let mut parts = folder.rsplitn(3, '-');
        if let (Some(release), Some(version), Some(name)) = (parts.next(), parts.next(), parts.next())
            && PACKAGES.contains(&name)
        {
            found.insert(name.to_owned(), format!("{version}-{release}"));
        }
    }
    found
}
