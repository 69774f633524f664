//! Every feature of the OpenCL C writer as a tiny WGSL program with results known by hand.
//!
//! Each program runs on PoCL under every lowering, and clang compiles and links it for every AMD target that must work
//! and, with the extensions that PoCL lacks, for a generic OpenCL target.

mod clc;

use libtest_mimic::{Arguments, Failed, Trial};
use roci_kernels::clc::{Dialect, Matrix, Options, Subgroups};
use roci_testkit::opencl::Runner;
use roci_testkit::tools::{self, Tool};

use clc::case::Case;
use clc::{amdgcn, errors};

/// Lowerings under which PoCL runs a case.
fn lowerings(case: &Case, runner: Option<&Runner>) -> Vec<(String, Options)> {
    let base = Options { fp_contract: false, zero_workgroup_memory: case.zero_workgroup_memory, ..Options::opencl() };
    let mut all = Vec::new();
    for &size in case.subgroup_sizes {
        let subgroups = Subgroups::Emulated { size };
        all.push((format!("emulated{size}"), Options { subgroups, ..base.clone() }));
    }
    if amdgcn::runs_on_opencl(&case.wgsl) {
        for &size in case.subgroup_sizes {
            let options = Options { subgroups: Subgroups::Emulated { size }, dialect: Dialect::AmdGcn, ..base.clone() };
            all.push((format!("amdgcn-emulated{size}"), options));
        }
    }
    let has = |extension: &str| runner.is_some_and(|runner| runner.has_extension(extension));
    if has("cl_khr_fp16") {
        let wide: Vec<_> =
            all.iter().map(|(name, o)| (format!("{name}+fp16"), Options { fp16: true, ..o.clone() })).collect();
        all.extend(wide);
    }
    if has("cl_khr_integer_dot_product") {
        all.push(("integer_dot".to_owned(), Options { integer_dot: true, ..base.clone() }));
    }
    all
}

/// Options for what no driver here has, compiled and not run.
fn natives(case: &Case) -> Vec<(String, Options)> {
    let opencl =
        Options { fp16: true, subgroups: Subgroups::Native { size: 32 }, integer_dot: true, ..Options::opencl() };
    let mut all = vec![("native-opencl".to_owned(), opencl)];
    if !case.subgroup_sizes.is_empty() {
        let subgroups = Subgroups::Emulated { size: case.subgroup_sizes[0] };
        all.push(("amdgcn-emulated".to_owned(), Options { subgroups, ..Options::amdgcn() }));
    }
    all
}

fn compile(clang: &Tool, case: &Case, options: &Options) -> Result<(), Failed> {
    let source = case.write(options)?.source;
    match options.dialect {
        Dialect::AmdGcn => amdgcn::links(clang, &source, "gfx1010", options.subgroups),
        Dialect::OpenCl => amdgcn::accepts_opencl(clang, &source),
    }
}

fn main() {
    let arguments = Arguments::from_args();
    let runner = roci_testkit::require("pocl", Runner::open());
    let clang = roci_testkit::require("clang", tools::clang());
    let mut trials = errors::trials();
    for case in clc::cases() {
        for (name, options) in lowerings(&case, runner.as_ref()) {
            let (title, case, runner) = (case.name, case.clone(), runner.clone());
            let absent = runner.is_none();
            let run = move || runner.map_or(Ok(()), |runner| case.run(&runner, &options));
            trials.push(Trial::test(format!("{title}::pocl::{name}"), run).with_ignored_flag(absent));
        }
        for (name, options) in natives(&case) {
            let (title, case, clang) = (case.name, case.clone(), clang.clone());
            let absent = clang.is_none();
            let run = move || clang.map_or(Ok(()), |clang| compile(&clang, &case, &options));
            trials.push(Trial::test(format!("{title}::clang::{name}"), run).with_ignored_flag(absent));
        }
        for target in amdgcn::targets(&case) {
            let (title, case, clang) = (case.name, case.clone(), clang.clone());
            let absent = clang.is_none();
            let options = Options { matrix: Matrix::None, ..Options::amdgcn() };
            let run = move || {
                clang.map_or(Ok(()), |clang| {
                    amdgcn::links(&clang, &case.write(&options)?.source, target, options.subgroups)
                })
            };
            trials.push(Trial::test(format!("{title}::clang::{target}"), run).with_ignored_flag(absent));
        }
    }
    trials.extend(amdgcn::trials(clang.as_ref()));
    libtest_mimic::run(&arguments, trials).exit();
}
