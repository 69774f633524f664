//! PoCL compiles and runs the OpenCL C of every kernel in every lowering and agrees with the native
//! kernels. One test per kernel and lowering.

#[path = "../lowerings/mod.rs"]
mod lowerings;
mod native;

use libtest_mimic::{Arguments, Failed, Trial};
use roci_families::cases::Case;
use roci_kernels::clc::{Argument, EntryInfo, Output};
use roci_kernels::{KernelSpec, kernels};
use roci_testkit::opencl::{Arg, Program, Runner};

/// Whether the device has every extension that the source enables.
fn is_supported(runner: &Runner, source: &str) -> bool {
    let extensions = source.lines().filter_map(|line| line.strip_prefix("#pragma OPENCL EXTENSION "));
    extensions.filter_map(|rest| rest.split_whitespace().next()).all(|extension| runner.has_extension(extension))
}

/// Runs `case` with the OpenCL kernel and returns its buffers.
fn run(program: &Program, entry: &EntryInfo, case: &Case) -> Result<Vec<Vec<u32>>, Failed> {
    let mut buffers = case.buffers.clone();
    let mut by_binding: Vec<Option<&mut Vec<u32>>> = buffers.iter_mut().map(Some).collect();
    let mut arguments = Vec::new();
    for argument in &entry.arguments {
        arguments.push(match *argument {
            Argument::Binding { binding, .. } => {
                let buffer = by_binding[binding as usize].take().ok_or("a buffer is bound twice")?;
                Arg::Buffer(bytemuck::cast_slice_mut(buffer))
            }
            Argument::Constants { .. } => Arg::Bytes(&case.constants),
            Argument::ArrayLength { .. } => return Err("kernels may not use `arrayLength`".into()),
        });
    }
    program.run(&entry.name, case.grid, entry.workgroup_size, &mut arguments)?;
    drop(arguments);
    Ok(buffers)
}

fn check_all(runner: &Runner, kernel: &KernelSpec, output: &Output) -> Result<(), Failed> {
    let program = runner.compile(&output.source, "-cl-std=CL1.2 -Werror")?;
    let entry = output.entry_points.first().ok_or("no entry point was written")?;
    native::check_cases(kernel.name(), |case| case.tolerance, |case| run(&program, entry, case))
}

fn main() {
    let mut arguments = Arguments::from_args();
    // PoCL 3.1 runs a kernel on all cores, and its compiler is serialized.
    arguments.test_threads.get_or_insert(1);
    let runner = roci_testkit::require("pocl", Runner::open());
    let mut trials = Vec::new();
    let selected = |kernel: &&KernelSpec| roci_testkit::may_run(&format!("{}::", kernel.name()));
    for kernel in kernels().iter().filter(|kernel| !kernel.needs_matrix()).filter(selected) {
        for (lowering, output) in lowerings::distinct_lowerings(kernel) {
            // Features that PoCL lacks cannot run natively; their lowerings run instead, and the
            // native form is listed as ignored.
            let ignored = !runner.as_ref().is_some_and(|runner| is_supported(runner, &output.source));
            let name = format!("{}::{}", kernel.name(), lowering.name);
            if let Some(runner) = runner.as_ref().filter(|_| ignored) {
                let reason = format!("OpenCL device `{}` lacks an extension of the lowering", runner.name());
                roci_testkit::skipped(&name, &reason);
            }
            let runner = runner.clone();
            let run = move || runner.map_or(Ok(()), |runner| check_all(&runner, kernel, &output));
            trials.push(Trial::test(name, run).with_ignored_flag(ignored));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}
