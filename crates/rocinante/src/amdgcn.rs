//! Compiles WGSL to AMD code objects with an installed clang.

use std::path::Path;
use std::process::Command;

use roci_hal::{Code, DeviceInfo, ExecutableSource};
use roci_wgsl::{Compiled, clc};

use crate::error::Error;

/// Programs to try, newest first.
const CLANG: [&str; 8] = ["clang-22", "clang-21", "clang-20", "clang-19", "clang-18", "clang-17", "clang-16", "clang"];

/// Compiles a module for the chip of a device.
pub(crate) fn compile(compiled: &Compiled, info: &DeviceInfo) -> Result<ExecutableSource, Error> {
    let target = info.physical[0].target.clone().unwrap_or_default();
    let failed = |reason: String| Error::Clang { target: target.clone(), reason };
    let size = *info.capabilities().subgroup_sizes.first().unwrap_or(&32);
    let options = clc::Options { subgroups: clc::Subgroups::Native { size }, ..clc::Options::amdgcn() };
    let text = compiled.opencl_c(&options)?.source;
    let mut arguments = clc::clang_arguments(&target, options.subgroups);
    // Version 5 is supported by every HSA runtime of recent years.
    arguments.push("-mcode-object-version=5".into());
    let folder = tempfile::tempdir().map_err(|error| failed(format!("no temporary folder: {error}")))?;
    let bytes = run(folder.path(), &text, &arguments).map_err(failed)?;
    let entry_points = compiled.entry_points();
    Ok(ExecutableSource { label: compiled.file.clone(), entry_points, code: Code::AmdGcn(bytes) })
}

/// Runs the first clang that exists.
fn run(folder: &Path, text: &str, arguments: &[String]) -> Result<Vec<u8>, String> {
    let (source, object) = (folder.join("kernel.cl"), folder.join("kernel.co"));
    std::fs::write(&source, text).map_err(|error| format!("cannot write `{}`: {error}", source.display()))?;
    let mut reason = "no clang is on PATH".to_owned();
    for program in CLANG {
        let output = match Command::new(program).args(arguments).arg("-o").arg(&object).arg(&source).output() {
            Ok(output) => output,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                reason = format!("`{program}` cannot be started: {error}");
                continue;
            }
        };
        if output.status.success() {
            return std::fs::read(&object).map_err(|error| format!("cannot read `{}`: {error}", object.display()));
        }
        let message = String::from_utf8_lossy(&output.stderr);
        reason = format!("`{program}`: {}", message.lines().find(|line| line.contains("error")).unwrap_or("it failed"));
    }
    Err(reason)
}
