//! clang accepts every kernel without a warning: compiled for every required AMD target, and parsed
//! as OpenCL C in every lowering, including those that no driver on the test machine can run. One
//! test per kernel and target or lowering.

mod lowerings;

use libtest_mimic::{Arguments, Failed, Trial};
use roci_kernels::{KernelSpec, clc, kernels, opencl_c};
use roci_testkit::tools::{self, Tool};

const TARGETS: [&str; 6] = ["gfx1010", "gfx1013", "gfx1030", "gfx1100", "gfx1151", "gfx10-1-generic"];

/// Parses OpenCL C as a driver with the usual extensions does. Unused-name warnings are off,
/// because unused names come from the WGSL source.
#[rustfmt::skip]
const READ: [&str; 12] = [
    "-x", "cl", "-cl-std=CL2.0", "-target", "spir64-unknown-unknown", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
    "-Wno-unused-parameter", "-Wno-unused-variable", "-",
];

/// One clang invocation of a test.
type Check = Box<dyn FnOnce(&Tool) -> Result<(), Failed> + Send>;

fn compile(clang: &Tool, kernel: &KernelSpec, target: &str) -> Result<(), Failed> {
    let matrix = if kernel.needs_matrix() { clc::Matrix::Wmma } else { clc::Matrix::None };
    let options = clc::Options { matrix, ..clc::Options::amdgcn() };
    let source = opencl_c(kernel, &options)?.source;
    let arguments = clc::clang_arguments(target, options.subgroups);
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // The object is discarded; another test links it into a library.
    arguments.extend(["-Werror", "-c", "-o", "/dev/null", "-"]);
    Ok(clang.accepts(&arguments, source.as_bytes())?)
}

fn main() {
    let arguments = Arguments::from_args();
    // Looked up once, so that a missing clang is reported once.
    let clang = roci_testkit::require("clang", tools::clang());
    let mut trials = Vec::new();
    let mut add = |name: String, run: Check| {
        let clang = clang.clone();
        let absent = clang.is_none();
        let trial = Trial::test(name, move || clang.map_or(Ok(()), |clang| run(&clang)));
        trials.push(trial.with_ignored_flag(absent));
    };
    for kernel in kernels().iter().filter(|kernel| roci_testkit::may_run(&format!("{}::", kernel.name()))) {
        for target in TARGETS.into_iter().filter(|target| !kernel.needs_matrix() || target.starts_with("gfx11")) {
            add(format!("{}::{target}", kernel.name()), Box::new(move |clang| compile(clang, kernel, target)));
        }
        if kernel.needs_matrix() {
            continue;
        }
        for (lowering, output) in lowerings::distinct_lowerings(kernel) {
            let name = format!("{}::opencl_{}", kernel.name(), lowering.name);
            add(name, Box::new(move |clang| Ok(clang.accepts(&READ, output.source.as_bytes())?)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}
