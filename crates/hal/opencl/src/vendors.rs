//! Determines which OpenCL libraries the loader would load, from the `.icd` files alone.

use std::fs;
use std::path::{Path, PathBuf};

use roci_base::env;
use roci_base::sysfs::Sysfs;

/// The loader's default folder.
const FOLDER: &str = "/etc/OpenCL/vendors";
/// Part of the file name of ROCm's OpenCL, which uses HSA.
const ROCM: &str = "amdocl";

/// Why loading OpenCL may freeze the machine, and what to do; `None` if there is no known hazard.
pub(crate) fn hazard(sysfs: &Sysfs) -> Option<(String, String)> {
    if env::ALLOW_HSA.get().is_some_and(|value| value == "1") {
        return None;
    }
    let vendors = env::OCL_ICD_VENDORS.get_raw().map_or_else(|| PathBuf::from(FOLDER), PathBuf::from);
    hazard_of(sysfs, &vendors)
}

fn hazard_of(sysfs: &Sysfs, vendors: &Path) -> Option<(String, String)> {
    let why = sysfs.hsa_may_freeze()?;
    let rocm = files(vendors).into_iter().find(|file| names_rocm(file))?;
    let reason = format!("{} would start ROCm's OpenCL, and {why}", rocm.display());
    let hint = format!(
        "`{}={FOLDER}/rusticl.icd` skips it; `{}=1`, or `opencl` as the device, starts it anyway",
        env::OCL_ICD_VENDORS.name,
        env::ALLOW_HSA.name
    );
    Some((reason, hint))
}

/// The `.icd` files of a folder, or the given file.
fn files(vendors: &Path) -> Vec<PathBuf> {
    if !vendors.is_dir() {
        return vec![vendors.to_owned()];
    }
    let entries = fs::read_dir(vendors).into_iter().flatten();
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "icd"));
    files.sort();
    files
}

fn names_rocm(file: &Path) -> bool {
    file.to_string_lossy().contains(ROCM) || fs::read_to_string(file).is_ok_and(|text| text.contains(ROCM))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> (tempfile::TempDir, Sysfs, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let node = folder.path().join("class/kfd/kfd/topology/nodes/1");
        fs::create_dir_all(&node).expect("folders");
        fs::write(node.join("properties"), "simd_count 48\ngfx_target_version 100103\n").expect("a file");
        let vendors = folder.path().join("vendors");
        fs::create_dir_all(&vendors).expect("a folder");
        fs::write(vendors.join("rusticl.icd"), "libRusticlOpenCL.so.1\n").expect("a file");
        let sysfs = Sysfs::at(folder.path());
        (folder, sysfs, vendors)
    }

    #[test]
    fn rocm_is_not_started_on_a_chip_that_freezes() {
        let (_folder, sysfs, vendors) = tree();
        assert_eq!(hazard_of(&sysfs, &vendors), None, "RustICL does not use HSA");
        fs::write(vendors.join("10-rocm.icd"), "libamdocl64.so\n").expect("a file");
        let (reason, hint) = hazard_of(&sysfs, &vendors).expect("a hazard");
        assert!(reason.contains("10-rocm.icd") && reason.contains("gfx1013"), "{reason}");
        assert!(hint.contains("OCL_ICD_VENDORS") && hint.contains("ROCI_ALLOW_HSA"), "{hint}");
        assert_eq!(hazard_of(&sysfs, &vendors.join("rusticl.icd")), None, "one library alone");
        assert!(hazard_of(&sysfs, Path::new("libamdocl64.so")).is_some(), "a library by its name");
        assert_eq!(hazard_of(&Sysfs::at("/nowhere"), &vendors), None, "another chip");
    }
}
