//! Builds programs by hipcc or clang, once for all tests.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use roci_testkit::tools::{Error, Tool};

/// The HIP compiler.
pub(crate) fn hipcc() -> Result<Tool, Error> {
    Tool::find(&["hipcc"])
}

/// Builds a program from a source file in a folder next to this file.
pub(crate) fn build(hipcc: &Tool, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    build_all(hipcc, name, &[source], flags)
}

/// Builds a program from source files, unless it is newer than they are. Tests may be separate
/// processes, so a lock serializes them.
pub(crate) fn build_all(compiler: &Tool, name: &str, sources: &[&str], flags: &[&str]) -> PathBuf {
    let here = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let sources: Vec<PathBuf> = sources.iter().map(|source| here.join(source)).collect();
    let built = folder.join(name);
    let lock = File::create(folder.join(format!("{name}.lock"))).expect("cargo's folder can be written");
    lock.lock().expect("files can be locked");
    if !is_newer(&built, &sources[0]) {
        let new = folder.join(format!("{name}.new"));
        let output = Command::new(compiler.path()).args(&sources).args(flags).arg("-o").arg(&new).output();
        let output = output.expect("the compiler starts");
        assert!(output.status.success(), "{}", crate::streams(&output));
        fs::rename(&new, &built).expect("it was just built");
    }
    built
}

/// Whether a file is newer than all files in the folder of a source.
fn is_newer(built: &Path, source: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|found| found.modified());
    let Ok(built) = changed(built) else { return false };
    let folder = source.parent().expect("sources are in a folder");
    let sources = fs::read_dir(folder).expect("sources are there");
    sources.map(|entry| entry.expect("it exists").path()).all(|path| changed(&path).expect("it exists") < built)
}
