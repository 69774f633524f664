//! The lowerings that every kernel is compiled with.

use roci_kernels::KernelSpec;
use roci_kernels::clc::{Options, Output, Subgroups};

/// A named set of capabilities of OpenCL drivers.
pub(crate) struct Lowering {
    /// Name in test names and golden files.
    pub(crate) name: &'static str,
    /// Which features are native and which are lowered.
    pub(crate) options: Options,
}

/// All sets of writer options for OpenCL drivers: with every capability, and without each of them.
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

/// The lowerings whose output differs for a kernel, each with its source. A kernel without f16 and
/// subgroups has one.
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
