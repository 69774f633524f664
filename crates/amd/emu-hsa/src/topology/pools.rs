//! Attributes of memory pools and of regions, which are the same pools in the core interface.

use roci_hsa::abi::{MemoryPoolInfo, MemoryPoolLocation, RegionInfo, Segment};

use super::{AttributeValue, host};
use crate::chips::{Properties, properties};
use crate::gpu::Gpu;
use crate::pool::{GRANULE, Pool, PoolKind};

/// Recommended allocation granule of device memory in bytes.
const RECOMMENDED_GRANULE: usize = 2 << 20;

/// Attribute of a pool; `gpu` is the GPU of its agent. `None` for unknown attributes.
pub(crate) fn pool_info(pool: Pool, gpu: Option<&Gpu>, attribute: MemoryPoolInfo) -> Option<AttributeValue> {
    let group = pool.kind() == PoolKind::Group;
    let granule = if group { 0 } else { GRANULE };
    Some(match attribute {
        MemoryPoolInfo::SEGMENT => if group { Segment::GROUP } else { Segment::GLOBAL }.into(),
        MemoryPoolInfo::GLOBAL_FLAGS => pool.flags().into(),
        MemoryPoolInfo::SIZE => size(pool, gpu).into(),
        MemoryPoolInfo::RUNTIME_ALLOC_ALLOWED => (!group).into(),
        MemoryPoolInfo::RUNTIME_ALLOC_GRANULE | MemoryPoolInfo::RUNTIME_ALLOC_ALIGNMENT => granule.into(),
        MemoryPoolInfo::RUNTIME_ALLOC_REC_GRANULE => match gpu {
            Some(_) if !group => RECOMMENDED_GRANULE.into(),
            _ => granule.into(),
        },
        MemoryPoolInfo::ACCESSIBLE_BY_ALL => gpu.is_none().into(),
        MemoryPoolInfo::ALLOC_MAX_SIZE if group => 0_usize.into(),
        MemoryPoolInfo::ALLOC_MAX_SIZE => (size(pool, gpu) & !(GRANULE - 1)).into(),
        MemoryPoolInfo::LOCATION if group => return None,
        MemoryPoolInfo::LOCATION => match gpu {
            Some(_) => MemoryPoolLocation::GPU.into(),
            None => MemoryPoolLocation::CPU.into(),
        },
        _ => return None,
    })
}

pub(crate) fn region_info(pool: Pool, gpu: Option<&Gpu>, attribute: RegionInfo) -> Option<AttributeValue> {
    let same = match attribute {
        RegionInfo::SEGMENT => MemoryPoolInfo::SEGMENT,
        RegionInfo::GLOBAL_FLAGS => MemoryPoolInfo::GLOBAL_FLAGS,
        RegionInfo::SIZE => MemoryPoolInfo::SIZE,
        RegionInfo::ALLOC_MAX_SIZE => MemoryPoolInfo::ALLOC_MAX_SIZE,
        RegionInfo::RUNTIME_ALLOC_ALLOWED => MemoryPoolInfo::RUNTIME_ALLOC_ALLOWED,
        RegionInfo::RUNTIME_ALLOC_GRANULE => MemoryPoolInfo::RUNTIME_ALLOC_GRANULE,
        RegionInfo::RUNTIME_ALLOC_ALIGNMENT => MemoryPoolInfo::RUNTIME_ALLOC_ALIGNMENT,
        RegionInfo::HOST_ACCESSIBLE => return Some(gpu.is_none().into()),
        // A region has no fixed address range.
        RegionInfo::BASE => return Some(0_usize.into()),
        RegionInfo::BUS_WIDTH => return Some(gpu.map_or(0, |gpu| properties(gpu.chip).memory_width).into()),
        RegionInfo::MAX_CLOCK_FREQUENCY => return Some(gpu.map_or(0, |gpu| properties(gpu.chip).memory_clock).into()),
        _ => return None,
    };
    pool_info(pool, gpu, same)
}

fn size(pool: Pool, gpu: Option<&Gpu>) -> usize {
    match gpu {
        Some(_) if pool.kind() == PoolKind::Group => Properties::GROUP_SEGMENT,
        Some(gpu) => gpu.memory as usize,
        None => host().memory as usize,
    }
}
