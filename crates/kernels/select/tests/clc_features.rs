//! Every feature of the OpenCL C writer as a small WGSL program with known results.
//!
//! Each program runs on PoCL under every lowering. clang compiles and links it for every required
//! AMD target and, with the extensions that PoCL lacks, for a generic OpenCL target.

mod clc;

use libtest_mimic::{Arguments, Failed, Trial};
use roci_kernels::clc::{Dialect, Matrix, Options, Subgroups};
use roci_testkit::opencl::Runner;
use roci_testkit::tools::{self, Tool};

use clc::case::Case;
use clc::{amdgcn, errors};

/// One set of writer options for an OpenCL device, and the extension that it requires.
struct Lowering {
    name: String,
    options: Options,
    needs: Option<&'static str>,
}

/// All lowerings that change the generated source of this case; PoCL runs the case once with each.
fn lowerings(case: &Case) -> Result<Vec<Lowering>, Failed> {
    let base = Options { fp_contract: false, zero_workgroup_memory: case.zero_workgroup_memory, ..Options::opencl() };
    let mut all = Vec::new();
    for &size in case.subgroup_sizes {
        let subgroups = Subgroups::Emulated { size };
        all.push(Lowering {
            name: format!("emulated{size}"),
            options: Options { subgroups, ..base.clone() },
            needs: None,
        });
    }
    if amdgcn::runs_on_opencl(&case.wgsl) {
        for &size in case.subgroup_sizes {
            let options = Options { subgroups: Subgroups::Emulated { size }, dialect: Dialect::AmdGcn, ..base.clone() };
            all.push(Lowering { name: format!("amdgcn-emulated{size}"), options, needs: None });
        }
    }
    let mut native = Vec::new();
    for Lowering { name, options, .. } in &all {
        let lowered = case.write(options)?.source;
        let with_f16 = Options { fp16: true, ..options.clone() };
        let with_dot = Options { integer_dot: true, ..options.clone() };
        for (part, extension, options) in
            [("fp16", "cl_khr_fp16", with_f16), ("integer_dot", "cl_khr_integer_dot_product", with_dot)]
        {
            // clang checks the amdgcn variants.
            if options.dialect == Dialect::OpenCl && case.write(&options)?.source != lowered {
                native.push(Lowering { name: format!("{name}+{part}"), options, needs: Some(extension) });
            }
        }
    }
    all.extend(native);
    Ok(all)
}

/// Runs a case on the OpenCL device. A missing device feature is reported, and the test is listed
/// as ignored.
fn on_device(case: &Case, lowering: Lowering, runner: Option<&Runner>) -> Trial {
    let Lowering { name, options, needs } = lowering;
    let title = format!("{}::pocl::{name}", case.name);
    let lacking = runner.zip(needs).filter(|(runner, extension)| !runner.has_extension(extension));
    if let Some((runner, extension)) = lacking {
        let reason = format!("OpenCL device `{}` lacks `{extension}`: its form is compiled, not run", runner.name());
        roci_testkit::skipped(&title, &reason);
    }
    let ignored = runner.is_none() || lacking.is_some();
    let (case, runner) = (case.clone(), runner.cloned());
    let run = move || runner.map_or(Ok(()), |runner| case.run(&runner, &options));
    Trial::test(title, run).with_ignored_flag(ignored)
}

/// Options that no driver on the test machine supports: compiled but not run.
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
    for case in clc::cases().into_iter().filter(|case| roci_testkit::may_run(&format!("{}::", case.name))) {
        match lowerings(&case) {
            Ok(all) => trials.extend(all.into_iter().map(|lowering| on_device(&case, lowering, runner.as_ref()))),
            Err(error) => trials.push(Trial::test(format!("{}::pocl", case.name), move || Err(error))),
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
