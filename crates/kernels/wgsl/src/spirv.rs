//! SPIR-V for Vulkan 1.1 and later, written by naga.

use naga::ResourceBinding;
use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};

use crate::memory_model::share_accesses;
use crate::{Compiled, Error};

/// Options of the SPIR-V writer.
#[derive(Clone, Copy, Debug)]
pub struct SpirvOptions {
    /// Make out-of-bounds reads return zero and discard out-of-bounds writes. Default off: kernels
    /// check their own bounds.
    pub bounds_checks: bool,
    /// Keep source names, for profilers and disassembly.
    pub names: bool,
    /// Size of subgroups to emulate in workgroup memory, for devices without subgroups. `None` uses
    /// the device's own.
    pub emulated_subgroups: Option<u32>,
}

impl Default for SpirvOptions {
    fn default() -> Self {
        Self { bounds_checks: false, names: true, emulated_subgroups: None }
    }
}

/// Writes all entry points of `compiled` as one SPIR-V 1.3 module.
///
/// Buffers are storage buffers of descriptor set 0, the constants block is the push constant block.
/// Workgroup memory is not zero-initialized: that costs a barrier, and kernels may not rely on it.
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
        // Loop bounding hides the trip count from the driver's unroller. The submission timeout
        // handles infinite loops.
        force_loop_bounding: false,
        ..spv::Options::default()
    };
    spv::write_vec(&compiled.module, &compiled.info, &options, None)
        .map(share_accesses)
        .map_err(|source| Error::Spirv { file: compiled.file.clone(), source: Box::new(source) })
}
