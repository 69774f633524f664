//! Attributes of agents, ISAs, memory pools, and of the links between agents and pools.

mod attribute_value;
mod cpu;
mod gpu;
mod host;
mod isas;
mod links;
mod pools;

pub(crate) use attribute_value::AttributeValue;
pub(crate) use cpu::cpu_info;
pub(crate) use gpu::gpu_info;
pub(crate) use host::{Cache, host};
pub(crate) use isas::{compatible, isa_from_name, isa_info, isas};
pub(crate) use links::agent_pool_info;
pub(crate) use pools::{pool_info, region_info};

use roci_hsa::abi::Extension;

/// Maximum work-items of a workgroup, in total and per dimension.
pub(crate) const MAX_WORKGROUP: u32 = 1024;
/// Maximum work-items of a grid per dimension.
pub(crate) const MAX_GRID: [u32; 3] = [i32::MAX as u32, u16::MAX as u32, u16::MAX as u32];
/// Maximum fbarriers of a workgroup.
pub(crate) const MAX_FBARRIERS: u32 = 32;

/// Bit mask of the extensions: AMD's loader and profiler, and `additional`.
pub(crate) fn extensions(additional: &[Extension]) -> AttributeValue {
    let mut bits = [0_u8; 128];
    for extension in [Extension::AMD_LOADER, Extension::AMD_PROFILER].iter().chain(additional) {
        bits[usize::from(extension.0 / 8)] |= 1 << (extension.0 % 8);
    }
    bits.into()
}
