//! SPIR-V for Vulkan 1.1 and later, written by naga.

use naga::ResourceBinding;
use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};

use crate::memory_model::share_accesses;
use crate::{Compiled, Error};

/// How to write SPIR-V.
#[derive(Clone, Copy, Debug)]
pub struct SpirvOptions {
    /// Let every access outside a buffer or an array read zero and write nothing. Off: kernels check their own extents.
    pub bounds_checks: bool,
    /// Keep the names of the source, for profilers and for readers of the text form.
    pub names: bool,
    /// Make sub-groups of so many invocations of workgroup memory, for devices that have none. Absent: the device's
    /// own.
    pub emulated_subgroups: Option<u32>,
}

impl Default for SpirvOptions {
    fn default() -> Self {
        Self { bounds_checks: false, names: true, emulated_subgroups: None }
    }
}

/// Writes all entry points of `compiled` as one SPIR-V 1.3 module.
///
/// Buffers are storage buffers of descriptor set 0, the constants block is the push constant block. Workgroup memory is
/// not cleared at the start: no kernel may rely on that, and it costs a barrier.
pub fn write(compiled: &Compiled, options: &SpirvOptions) -> Result<Vec<u32>, Error> {
    let lowered;
    let compiled = match options.emulated_subgroups {
        Some(size) => {
            lowered = compiled.without_subgroups(size)?;
            &lowered
        }
        None => compiled,
    };
    let policy =
        if options.bounds_checks { BoundsCheckPolicy::ReadZeroSkipWrite } else { BoundsCheckPolicy::Unchecked };
    let flags = if options.names { spv::WriterFlags::DEBUG } else { spv::WriterFlags::empty() };
    let bindings = compiled.module.global_variables.iter().filter_map(|(_, variable)| variable.binding);
    let place = |at: ResourceBinding| {
        (at, spv::BindingInfo { descriptor_set: at.group, binding: at.binding, binding_array_size: None })
    };
    let options = spv::Options {
        lang_version: (1, 3),
        flags,
        fake_missing_bindings: false,
        binding_map: bindings.map(place).collect(),
        bounds_check_policies: BoundsCheckPolicies {
            index: policy,
            buffer: policy,
            image_load: policy,
            binding_array: policy,
        },
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        // Bounding loops hides the trip count from the driver's unroller; a loop that never ends is the deadline's work.
        force_loop_bounding: false,
        ..spv::Options::default()
    };
    spv::write_vec(&compiled.module, &compiled.info, &options, None)
        .map(share_accesses)
        .map_err(|source| Error::Spirv { file: compiled.file.clone(), source: Box::new(source) })
}
