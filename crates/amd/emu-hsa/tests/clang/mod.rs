//! Compiles code objects with clang at test time.

use std::path::PathBuf;
use std::process::Command;

use roci_testkit::tools;

/// clang, if it is installed; otherwise the test is reported as skipped.
pub(crate) struct Clang(PathBuf);

impl Clang {
    pub(crate) fn find() -> Option<Self> {
        Some(Self(roci_testkit::require("clang", tools::clang())?.path().to_owned()))
    }

    /// Compiles OpenCL C.
    pub(crate) fn compile(&self, source: &str, target: &str) -> Vec<u8> {
        self.build(source, target, &["-x", "cl", "-cl-std=CL2.0", "-O2", "-w"])
    }

    /// Compiles the language that the options select.
    pub(crate) fn build(&self, source: &str, target: &str, options: &[&str]) -> Vec<u8> {
        let folder = tempfile::tempdir().expect("a folder for clang");
        let (input, output) = (folder.path().join("input"), folder.path().join("output"));
        std::fs::write(&input, source).expect("the file is writable");
        let mut command = Command::new(&self.0);
        command.args(["-target", "amdgcn-amd-amdhsa", "-nogpulib", "-fvisibility=default", "-Wl,-z,undefs"]);
        command.arg(format!("-mcpu={target}")).args(options).arg(&input).arg("-o").arg(&output);
        let message = command.output().expect("clang can be started");
        assert!(message.status.success(), "{}", String::from_utf8_lossy(&message.stderr));
        std::fs::read(&output).expect("clang has written it")
    }
}
