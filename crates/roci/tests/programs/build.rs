//! Programs that are built by hipcc, once for all tests of a build.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use roci_testkit::tools::{Error, Tool};

/// The compiler of HIP.
pub(crate) fn hipcc() -> Result<Tool, Error> {
    Tool::find(&["hipcc"])
}

/// Builds a program from one of the folders beside this file, unless that was done after its sources last changed. Each
/// test may be a process of its own, so they take turns by a lock.
pub(crate) fn build(hipcc: &Tool, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let here = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, built) = (here.join(source), folder.join(name));
    let lock = File::create(folder.join(format!("{name}.lock"))).expect("cargo's folder can be written");
    lock.lock().expect("files can be locked");
    if !is_newer(&built, &source) {
        let new = folder.join(format!("{name}.new"));
        let output = Command::new(hipcc.path()).arg(&source).args(flags).arg("-o").arg(&new).output();
        let output = output.expect("hipcc starts");
        assert!(output.status.success(), "{}", crate::said(&output));
        fs::rename(&new, &built).expect("it was just built");
    }
    built
}

/// Whether a file is newer than all files beside a source.
fn is_newer(built: &Path, source: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|found| found.modified());
    let Ok(built) = changed(built) else { return false };
    let folder = source.parent().expect("sources are in a folder");
    let sources = fs::read_dir(folder).expect("sources are there");
    sources.map(|entry| entry.expect("it is there").path()).all(|path| changed(&path).expect("it is there") < built)
}
