//! Python packages for compute: what they were built with, and the targets that they have kernels
//! for.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::root::Root;

use super::elf::{Elf, code_targets};
use super::software::{series, targets};

/// Wheels of interest.
pub(super) const WHEELS: &[&str] = &[
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
/// Prefix of kernel packs, each for one target.
const TORCH_PACK: &str = "amd_torch_device_";
const ROCM_PACKS: &[&str] = &["rocm_sdk_device_", "rocm_sdk_libraries_"];

/// Python packages for compute.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Wheels {
    pub(super) wheel: BTreeMap<String, Wheel>,
    rocm_sdk: RocmSdk,
}

/// A Python package.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Wheel {
    is: String,
    /// ROCm version it was built with.
    rocm: Option<Release>,
    /// CUDA version it was built with.
    cuda: Option<String>,
    /// Targets with kernels, from its library or from file names.
    pub(super) target: BTreeSet<String>,
    /// Targets of the bundled rocBLAS.
    rocblas: BTreeSet<String>,
    /// Version of the bundled ROCm; `false` if it uses the system's.
    bundled_rocm: Option<String>,
    /// Bundled libraries that were replaced.
    replaced: Vec<String>,
    /// Bundled libraries that request an executable stack.
    execstack: Vec<String>,
    /// Folder that it is installed in.
    #[serde(alias = "place")]
    location: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Release {
    is: String,
    series: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct RocmSdk {
    devel: Devel,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Devel {
    /// Whether a kernel pack is newer than the developer tree.
    older: Option<bool>,
}

/// A ROCm installed as Python packages.
pub(super) struct PythonRocm {
    pub(super) prefix: String,
    pub(super) version: Option<String>,
    /// Targets of kernel packs.
    pub(super) targets: BTreeSet<String>,
}

impl Wheels {
    /// Reads the package folders; returns the ROCm installations among them.
    pub(super) fn gather(root: &Root, env: &BTreeMap<String, String>) -> (Self, Vec<PythonRocm>) {
        let mut all = Self::default();
        let installs = site_packages(root, env).iter().filter_map(|folder| all.read(root, folder)).collect();
        (all, installs)
    }

    /// Targets of every bundled rocBLAS.
    pub(super) fn rocblas(&self) -> impl Iterator<Item = &String> {
        self.wheel.values().flat_map(|wheel| &wheel.rocblas)
    }

    fn read(&mut self, root: &Root, folder: &str) -> Option<PythonRocm> {
        let names = root.list(folder);
        let (mut torch_packs, mut rocm_packs) = (BTreeSet::new(), BTreeSet::new());
        let mut newest = None;
        for name in &names {
            let Some((wheel, version)) = name.strip_suffix(".dist-info").and_then(|name| name.split_once('-')) else {
                continue;
            };
            let wheel = wheel.to_ascii_lowercase().replace('.', "_");
            if let Some(target) = wheel.strip_prefix(TORCH_PACK) {
                torch_packs.insert(target.replace('_', "-"));
            } else if let Some(target) = ROCM_PACKS.iter().find_map(|pack| wheel.strip_prefix(pack)) {
                rocm_packs.extend(targets(&[target.to_owned()]));
                newest = newest.max(root.modified(&format!("{folder}/{name}")));
            } else if WHEELS.contains(&wheel.as_str()) {
                let found = read_wheel(root, folder, &wheel, name, version);
                self.wheel.insert(wheel, found);
            }
        }
        if let Some(torch) = self.wheel.get_mut("torch").filter(|torch| torch.location == folder) {
            torch.target.extend(torch_packs);
        }
        let devel = format!("{folder}/_rocm_sdk_devel");
        if let (Some(modified), Some(newest)) = (root.modified(&devel), newest) {
            self.rocm_sdk.devel.older = Some(modified < newest);
        }
        let version =
            self.wheel.get("rocm_sdk_core").filter(|core| core.location == folder).map(|core| core.is.clone());
        let prefix = names.iter().find(|name| name.starts_with("_rocm_sdk_libraries"));
        let prefix = prefix.or_else(|| names.iter().find(|name| *name == "_rocm_sdk_core"))?;
        Some(PythonRocm { prefix: format!("{folder}/{prefix}"), version, targets: rocm_packs })
    }
}

fn read_wheel(root: &Root, folder: &str, wheel: &str, record: &str, version: &str) -> Wheel {
    let inside = format!("{folder}/{wheel}");
    let (mut rocm, mut cuda) = built_with(version);
    // PyTorch's version file is more reliable than the wheel's name: wheels of the main index do
    // not name their build.
    let own = root.text(&format!("{inside}/version.py")).unwrap_or_default();
    let says = |name: &str| {
        let line = own.lines().find_map(|line| line.strip_prefix(name)?.split_once("= "))?.1;
        let value = line.trim().strip_prefix('\'')?.strip_suffix('\'')?;
        (!value.is_empty()).then(|| value.to_owned())
    };
    rocm = rocm.or_else(|| says("hip"));
    cuda = cuda.or_else(|| says("cuda"));
    let libraries = root.list(&format!("{inside}/lib"));
    let library = |name: &str| libraries.iter().find(|file| file.starts_with(name));
    let lists = |part: &str| targets(&root.list(&format!("{inside}/lib/{part}/library")));
    let rocblas = lists("rocblas");
    let mut target =
        library("libtorch_hip.so").map(|file| code_targets(root, &format!("{inside}/lib/{file}"))).unwrap_or_default();
    if target.is_empty() {
        target = rocblas.union(&lists("hipblaslt")).cloned().collect();
    }
    let carries_rocm = library("libamdhip64.so").or_else(|| library("librocblas.so")).is_some();
    let bundled = carries_rocm || root.has(&format!("{folder}/_rocm_sdk_core"));
    let bundled_rocm = rocm.as_ref().map(|rocm| if bundled { rocm.clone() } else { "false".to_owned() });
    let shared = || libraries.iter().filter(|name| name.contains(".so"));
    let executable = |name: &&String| {
        let elf = Elf::open(root, &format!("{inside}/lib/{name}"));
        elf.is_some_and(|elf| elf.needs_executable_stack())
    };
    Wheel {
        is: version.to_owned(),
        execstack: shared().filter(executable).cloned().collect(),
        replaced: replaced(root, folder, &format!("{wheel}/lib/"), record),
        rocm: rocm.map(|is| Release { series: series(&is), is }),
        cuda,
        target,
        rocblas,
        bundled_rocm,
        location: folder.to_owned(),
    }
}

/// Libraries whose size differs from the wheel's RECORD.
fn replaced(root: &Root, folder: &str, libraries: &str, record: &str) -> Vec<String> {
    let text = root.text(&format!("{folder}/{record}/RECORD")).unwrap_or_default();
    let other = |line: &str| {
        let (path, rest) = line.strip_prefix(libraries).map(|_| line)?.split_once(',')?;
        let size: u64 = rest.rsplit(',').next()?.parse().ok()?;
        let name = path.rsplit('/').next().filter(|name| name.contains(".so"))?;
        (root.size(&format!("{folder}/{path}"))? != size).then(|| name.to_owned())
    };
    text.lines().filter_map(other).collect()
}

/// Parses `2.5.1+rocm6.2` and `2.5.1+cu121`.
fn built_with(version: &str) -> (Option<String>, Option<String>) {
    let local = version.split_once('+').map_or("", |(_, local)| local);
    let rocm = local.strip_prefix("rocm").map(str::to_owned);
    let cuda = local.strip_prefix("cu").filter(|digits| digits.len() >= 3).map(|digits| {
        let (major, minor) = digits.split_at(2);
        format!("{major}.{minor}")
    });
    (rocm, cuda)
}

/// Folders of Python packages: the system's, the user's, and those of the active environment.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn gather(files: &[(&str, &str)]) -> (Wheels, Vec<PythonRocm>) {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join("opt/venv/lib/python3.12/site-packages").join(path);
            std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        Wheels::gather(&Root::at(folder.path()), &BTreeMap::new())
    }

    #[test]
    fn a_wheel_gives_its_build_and_replaced_libraries() {
        let (found, _) = gather(&[
            ("torch-2.5.1+rocm6.2.dist-info/RECORD", "torch/lib/libMIOpen.so,sha256=x,7\ntorch/lib/libc10.so,,3\n"),
            ("torch/lib/libMIOpen.so", "other"),
            ("torch/lib/libc10.so", "c10"),
            ("torch/lib/libamdhip64.so", ""),
            ("torch/lib/rocblas/library/TensileLibrary_lazy_gfx1030.dat", ""),
        ]);
        let torch = &found.wheel["torch"];
        assert_eq!(torch.replaced, ["libMIOpen.so"]);
        assert_eq!(torch.bundled_rocm.as_deref(), Some("6.2"));
        assert_eq!(torch.rocm.as_ref().and_then(|rocm| rocm.series.as_deref()), Some("6.2"));
        assert!(torch.target.contains("gfx1030") && found.rocblas().any(|target| target == "gfx1030"));
    }

    #[test]
    fn a_wheel_of_the_main_index_is_a_cuda_build() {
        let (found, _) = gather(&[
            ("torch-2.9.0.dist-info/METADATA", ""),
            (
                "torch/version.py",
                "__version__ = '2.9.0+cu128'\ncuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n",
            ),
        ]);
        let torch = &found.wheel["torch"];
        assert_eq!((torch.cuda.as_deref(), torch.rocm.is_none()), (Some("12.8"), true));
        assert_eq!(built_with("2.5.1+cu118").1.as_deref(), Some("11.8"));
    }

    #[test]
    fn snapshots_with_the_old_name_of_the_location_are_parsed() {
        let old = r#"{"wheel":{"torch":{"is":"2.5.1","place":"/opt/venv"}}}"#;
        let read: Wheels = serde_json::from_str(old).expect("it is a snapshot");
        assert_eq!(read.wheel["torch"].location, "/opt/venv");
    }

    #[test]
    fn kernel_packs_add_targets() {
        let (found, installs) = gather(&[
            ("torch-2.10.0+rocm7.12.0.dist-info/METADATA", ""),
            ("amd_torch_device_gfx1010-2.10.0.dist-info/METADATA", ""),
            ("rocm_sdk_core-7.12.0.dist-info/METADATA", ""),
            ("rocm_sdk_device_gfx1010-7.12.0.dist-info/METADATA", ""),
            ("_rocm_sdk_core/lib/libamdhip64.so.7", ""),
        ]);
        let torch = &found.wheel["torch"];
        assert!(torch.target.contains("gfx1010"), "{torch:?}");
        assert_eq!(torch.bundled_rocm.as_deref(), Some("7.12.0"), "next to it, which is as good");
        let [install] = installs.as_slice() else { panic!("one install") };
        assert_eq!(install.version.as_deref(), Some("7.12.0"));
        assert!(install.targets.contains("gfx1010"));
    }
}
