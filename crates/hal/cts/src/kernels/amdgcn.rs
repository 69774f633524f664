//! The suite's kernels as AMD code objects, compiled by clang on first use.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;

use roci_testkit::tools;
use roci_wgsl::{Compiled, clc};

use super::KernelError;

/// Compiles a code object for a chip.
pub(super) fn compile(label: &str, compiled: &Compiled, chip: &str) -> Result<Vec<u8>, KernelError> {
    let options = clc::Options { subgroups: clc::Subgroups::Native { size: 32 }, ..clc::Options::amdgcn() };
    let text = compiled.opencl_c(&options).map_err(std::sync::Arc::new)?.source;
    let mut arguments = clc::clang_arguments(chip, options.subgroups);
    arguments.extend(["-mcode-object-version=5", "-Werror"].map(str::to_owned));
    let mut hasher = DefaultHasher::new();
    (&text, &arguments).hash(&mut hasher);
    // Every case may run in its own process, so the compiled file is shared through the temporary
    // directory.
    let cached = std::env::temp_dir().join(format!("roci-cts-{:016x}.co", hasher.finish()));
    if let Ok(bytes) = std::fs::read(&cached) {
        return Ok(bytes);
    }
    let wrong = |reason: String| KernelError::Clang { kernel: label.to_owned(), reason };
    let clang = tools::clang().map_err(|absence| KernelError::Absent { tool: "clang", reason: absence.to_string() })?;
    let folder = tempfile::tempdir().map_err(|error| wrong(format!("a folder for clang: {error}")))?;
    let code_object = run(clang.path(), &arguments, folder.path(), &text).map_err(wrong)?;
    // If another process was faster, its file has the same content.
    let _ = std::fs::rename(folder.path().join(OUTPUT), &cached);
    Ok(code_object)
}

const OUTPUT: &str = "kernels.co";

fn run(clang: &Path, arguments: &[String], folder: &Path, text: &str) -> Result<Vec<u8>, String> {
    let message = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::write(folder.join("kernels.cl"), text).map_err(message)?;
    let output = Command::new(clang)
        .current_dir(folder)
        .args(arguments)
        .args(["-o", OUTPUT, "kernels.cl"])
        .output()
        .map_err(|error| format!("cannot run {}: {error}", clang.display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    std::fs::read(folder.join(OUTPUT)).map_err(message)
}
