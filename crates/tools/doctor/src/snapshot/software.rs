//! Installed ROCm: prefixes, packages, libraries, and the targets that they have kernels for.

use std::collections::{BTreeMap, BTreeSet};

use roci_codeobj::Processor;
use serde::{Deserialize, Serialize};

use crate::root::Root;

use super::elf::code_targets;
use super::wheels::PythonRocm;

/// ROCm, its libraries and packages.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Software {
    glibc: Version,
    rocm: Rocm,
    library: BTreeMap<String, Library>,
    pub(super) package: BTreeMap<String, String>,
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
    /// Major and minor version.
    series: BTreeSet<String>,
    prefix: Vec<String>,
    count: usize,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Library {
    /// Version in the file name, after `.so`.
    version: BTreeSet<String>,
    /// Targets with kernels, from file names, or from the code in the library if there are no such
    /// files.
    target: BTreeSet<String>,
    /// Targets of the code in the library itself.
    code: BTreeSet<String>,
}

/// Packages of interest.
pub(super) const PACKAGES: &[&str] = &[
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
/// Folders of kernel files, below a ROCm prefix or a wheel.
const KERNELS: &[(&str, &[&str])] = &[
    ("rocblas", &["lib/rocblas/library", "lib64/rocblas/library", "rocblas/library"]),
    ("hipblaslt", &["lib/hipblaslt/library", "lib64/hipblaslt/library", "hipblaslt/library"]),
    ("miopen", &["share/miopen/db", "miopen/db"]),
];

/// Libraries by file name.
pub(super) const LIBRARIES: &[(&str, &str)] = &[
    ("rocblas", "librocblas.so"),
    ("hipblaslt", "libhipblaslt.so"),
    ("miopen", "libMIOpen.so"),
    ("rocsparse", "librocsparse.so"),
    ("rocrand", "librocrand.so"),
    ("rocsolver", "librocsolver.so"),
    ("hip", "libamdhip64.so"),
];
/// Library folders of distributions, with their prefixes.
const SYSTEM: &[(&str, &str)] = &[
    ("/usr/lib64", "/usr"),
    ("/usr/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"),
    ("/usr/lib64/rocm/lib", "/usr/lib64/rocm"),
    ("/usr/lib", "/usr"),
];

impl Software {
    pub(super) fn gather(root: &Root, env: &BTreeMap<String, String>, python: &[PythonRocm]) -> Self {
        let mut all = Self { glibc: Version { version: glibc(root) }, package: packages(root), ..Self::default() };
        let mut prefixes: Vec<String> = root
            .list("/opt")
            .into_iter()
            .filter(|name| name.starts_with("rocm"))
            .map(|name| format!("/opt/{name}"))
            .collect();
        // ROCm 7.14 and newer: one folder for each version, and links above them.
        let cores = root.list("/opt/rocm").into_iter().filter(|name| name.starts_with("core-"));
        prefixes.extend(cores.map(|name| format!("/opt/rocm/{name}")));
        prefixes.extend(env.get("ROCM_PATH").filter(|path| !prefixes.contains(path)).cloned());
        // `/opt/rocm` may be a link to one of them.
        prefixes.retain(|prefix| root.path(prefix).read_link().is_err());
        for prefix in prefixes {
            let version = [".info/version", ".info/version-core", "share/rocm/version"]
                .iter()
                .find_map(|file| root.value(&format!("{prefix}/{file}")))
                // A minimal installation may lack these files.
                .or_else(|| prefix.rsplit_once("/core-").map(|(_, version)| version.to_owned()));
            let Some(version) = version else { continue };
            all.rocm.version.push(version);
            all.kernels(root, &prefix);
            all.libraries(root, &format!("{prefix}/lib"));
            all.rocm.prefix.push(prefix);
        }
        for (folder, prefix) in SYSTEM {
            let found = all.kernels(root, prefix) | all.libraries(root, folder);
            if found && !all.rocm.prefix.iter().any(|known| known == prefix) {
                all.rocm.prefix.push((*prefix).to_owned());
            }
        }
        for install in python {
            all.kernels(root, &install.prefix);
            all.libraries(root, &format!("{}/lib", install.prefix));
            if !install.targets.is_empty() {
                all.library.entry("rocblas".into()).or_default().target.extend(install.targets.iter().cloned());
            }
            all.rocm.version.extend(install.version.clone());
            all.rocm.prefix.push(install.prefix.clone());
        }
        all.rocm.version.extend(all.version_of_packages().filter(|_| all.rocm.version.is_empty()));
        all.rocm.series = all.rocm.version.iter().filter_map(|version| series(version)).collect();
        all.rocm.count = all.rocm.prefix.len();
        all
    }

    /// Targets of the installed rocBLAS.
    pub(super) fn rocblas(&self) -> Option<&BTreeSet<String>> {
        self.library.get("rocblas").map(|library| &library.target)
    }

    /// ROCm's version if no prefix has it: that of a package, or of the HIP library, which uses the
    /// same numbers.
    fn version_of_packages(&self) -> Option<String> {
        let package =
            ["rocm-core", "rocm-hip-runtime", "libhsa-runtime64-1"].iter().find_map(|name| self.package.get(*name));
        package.or_else(|| self.library.get("hip")?.version.last()).cloned()
    }

    /// Adds the targets of the libraries below a prefix; returns whether there are any.
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

    /// Adds the libraries in a folder; returns whether there are any.
    fn libraries(&mut self, root: &Root, folder: &str) -> bool {
        let names = root.list(folder);
        let mut found = false;
        for (library, file) in LIBRARIES {
            // Of `.so`, `.so.4` and `.so.4.2.60200`, the last is the file and the others are links.
            let Some(name) = names.iter().filter(|name| name.starts_with(file)).max_by_key(|name| name.len()) else {
                continue;
            };
            let entry = self.library.entry((*library).to_owned()).or_default();
            let version = name[file.len()..].trim_start_matches('.');
            entry.version.extend((!version.is_empty()).then(|| version.to_owned()));
            let code = code_targets(root, &format!("{folder}/{name}"));
            // A library with separate kernel files has some code inside as well, which is less
            // specific.
            if KERNELS.iter().all(|(name, _)| name != library) {
                entry.target.extend(code.iter().cloned());
            }
            entry.code.extend(code);
            found = true;
        }
        found
    }
}

/// Converts `6.2.0-66` to `6.2`.
pub(super) fn series(version: &str) -> Option<String> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit());
    let (major, minor) = (numbers.next()?, numbers.next()?);
    (!major.is_empty() && !minor.is_empty()).then(|| format!("{major}.{minor}"))
}

/// Targets in file names such as `TensileLibrary_lazy_gfx1030.dat`. More digits can follow: the
/// number of compute units in `gfx103036.db`.
pub(super) fn targets(names: &[String]) -> BTreeSet<String> {
    let target = |name: &String| {
        let rest = &name[name.find("gfx")?..];
        let known = Processor::all().map(Processor::name).filter(|known| rest.starts_with(known));
        known.max_by_key(|known| known.len()).map(str::to_owned)
    };
    names.iter().filter_map(target).collect()
}

/// glibc's version, from a string in the library.
fn glibc(root: &Root) -> Option<String> {
    const SAYS: &[u8] = b"GNU C Library ";
    let folders = ["/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib"];
    let bytes = folders.iter().find_map(|folder| root.bytes(&format!("{folder}/libc.so.6")))?;
    let at = memchr::memmem::find(&bytes, SAYS)?;
    let line = String::from_utf8_lossy(&bytes[at..bytes.len().min(at + 200)]).into_owned();
    let (_, version) = line.lines().next()?.split_once("version ")?;
    Some(version.trim_end_matches('.').to_owned())
}

/// Package versions, from the databases of dpkg and pacman. RPM's database is not text and is
/// skipped.
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
                // The epoch is not part of the version.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_give_targets() {
        let names = [
            "TensileLibrary_lazy_gfx1030.dat",
            "gfx103036.db",
            "gfx90a68.HIP.fdb.txt",
            "KernelInfo.so-000-gfx10-1-generic.hsaco",
            "TensileManifest.txt",
        ];
        let found = targets(&names.map(str::to_owned));
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["gfx10-1-generic", "gfx1030", "gfx90a"]);
        assert_eq!(series("6.2.0-66").as_deref(), Some("6.2"));
        assert_eq!(series("7.12.0a20260101").as_deref(), Some("7.12"));
        assert_eq!(series("unknown"), None);
    }

    #[test]
    fn rocm_in_core_folders_is_found_without_its_version_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |path: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
            std::fs::write(path, "").expect("a file");
        };
        file("opt/rocm/core-7.14/lib/libamdhip64.so.7.14.0");
        file("opt/rocm/core-7.14/lib/rocblas/library/TensileLibrary_lazy_gfx1151.dat");
        std::os::unix::fs::symlink("core-7.14", folder.path().join("opt/rocm/core")).expect("a link");
        let found = Software::gather(&Root::at(folder.path()), &BTreeMap::new(), &[]);
        assert_eq!(found.rocm.prefix, ["/opt/rocm/core-7.14"]);
        assert_eq!((found.rocm.version, found.rocm.series), (vec!["7.14".to_owned()], ["7.14".to_owned()].into()));
        assert_eq!(found.library["rocblas"].target.iter().collect::<Vec<_>>(), ["gfx1151"]);
    }
}
