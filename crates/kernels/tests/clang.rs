//! clang compiles every kernel for every AMD target that must work, without a warning. One test a kernel and target.

use libtest_mimic::{Arguments, Failed, Trial};
use roci_kernels::{KernelSpec, clc, kernels, opencl_c};
use roci_testkit::tools::{self, Tool};

const TARGETS: [&str; 6] = ["gfx1010", "gfx1013", "gfx1030", "gfx1100", "gfx1151", "gfx10-1-generic"];

fn compile(clang: &Tool, kernel: &KernelSpec, target: &str) -> Result<(), Failed> {
    let options = clc::Options::amdgcn();
    let source = opencl_c(kernel, &options)?.source;
    let arguments = clc::clang_arguments(target, options.subgroups);
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // The object is thrown away: linking it into a library is another test's work.
    arguments.extend(["-Werror", "-c", "-o", "/dev/null", "-"]);
    Ok(clang.accepts(&arguments, source.as_bytes())?)
}

fn main() {
    let arguments = Arguments::from_args();
    // Asked once, so that absence is reported once.
    let clang = roci_testkit::require("clang", tools::clang());
    let mut trials = Vec::new();
    for kernel in kernels() {
        for target in TARGETS {
            let clang = clang.clone();
            let absent = clang.is_none();
            let run = move || clang.map_or(Ok(()), |clang| compile(&clang, kernel, target));
            trials.push(Trial::test(format!("{}::{target}", kernel.name()), run).with_ignored_flag(absent));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}
