//! The lowerings that every kernel is translated in.

use roci_kernels::KernelSpec;
use roci_kernels::clc::{Options, Output, Subgroups};

/// A named set of capabilities for OpenCL drivers.
pub(crate) struct Lowering {
    /// Name in test names and golden files.
    pub(crate) name: &'static str,
    /// What is there, and what has to be lowered.
    pub(crate) options: Options,
}

/// Every way to write OpenCL C for a driver: with everything, and without each capability.
pub(crate) fn opencl_lowerings() -> Vec<Lowering> {
    let native = Subgroups::Native { size: 32 };
    let make = |name, fp16, subgroups| Lowering { name, options: Options { fp16, subgroups, ..Options::opencl() } };
    vec![
        make("full", true, native),
        make("no_f16", false, native),
        make("no_subgroups", true, Subgroups::Emulated { size: 32 }),
        make("lowered", false, Subgroups::Emulated { size: 32 }),
        make("lowered_64", false, Subgroups::Emulated { size: 64 }),
        make("lowered_8", false, Subgroups::Emulated { size: 8 }),
        make("lowered_1", false, Subgroups::Emulated { size: 1 }),
    ]
}

/// The lowerings in which a kernel reads differently, each with its source: one without f16 and sub-groups has one.
pub(crate) fn distinct_lowerings(kernel: &KernelSpec) -> Vec<(Lowering, Output)> {
    let mut distinct: Vec<(Lowering, Output)> = Vec::new();
    let module = kernel.module().unwrap_or_else(|error| panic!("{}: {error}", kernel.name()));
    for lowering in opencl_lowerings() {
        let output = module.opencl_c(&lowering.options).unwrap_or_else(|error| panic!("{}: {error}", kernel.name()));
        if distinct.iter().all(|(_, known)| known.source != output.source) {
            distinct.push((lowering, output));
        }
    }
    distinct
}
