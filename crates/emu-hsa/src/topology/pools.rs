//! What memory pools answer, and regions, which are the same under the core interface's name.

use roci_hsa::abi::{MemoryPoolInfo, MemoryPoolLocation, RegionInfo, Segment};

use super::{Answer, Properties, host, properties};
use crate::gpu::Gpu;
use crate::memory::GRANULE;
use crate::pool::{Pool, PoolKind};

/// What allocations from a GPU's memory had better be multiples of.
const GPU_GRANULE: usize = 2 << 20;

/// A pool's answer; its GPU is given, if it is one's. None where there is no such attribute.
pub(crate) fn pool(pool: Pool, gpu: Option<&Gpu>, attribute: MemoryPoolInfo) -> Option<Answer> {
    let group = pool.kind() == PoolKind::Group;
    let granule = if group { 0 } else { GRANULE };
    Some(match attribute {
        MemoryPoolInfo::SEGMENT => if group { Segment::GROUP } else { Segment::GLOBAL }.into(),
        MemoryPoolInfo::GLOBAL_FLAGS => pool.flags().into(),
        MemoryPoolInfo::SIZE => size(pool, gpu).into(),
        MemoryPoolInfo::RUNTIME_ALLOC_ALLOWED => (!group).into(),
        MemoryPoolInfo::RUNTIME_ALLOC_GRANULE | MemoryPoolInfo::RUNTIME_ALLOC_ALIGNMENT => granule.into(),
        MemoryPoolInfo::RUNTIME_ALLOC_REC_GRANULE => match gpu {
            Some(_) if !group => GPU_GRANULE.into(),
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

/// A region's answer, as a pool's.
pub(crate) fn region(of: Pool, gpu: Option<&Gpu>, attribute: RegionInfo) -> Option<Answer> {
    let same = match attribute {
        RegionInfo::SEGMENT => MemoryPoolInfo::SEGMENT,
        RegionInfo::GLOBAL_FLAGS => MemoryPoolInfo::GLOBAL_FLAGS,
        RegionInfo::SIZE => MemoryPoolInfo::SIZE,
        RegionInfo::ALLOC_MAX_SIZE => MemoryPoolInfo::ALLOC_MAX_SIZE,
        RegionInfo::RUNTIME_ALLOC_ALLOWED => MemoryPoolInfo::RUNTIME_ALLOC_ALLOWED,
        RegionInfo::RUNTIME_ALLOC_GRANULE => MemoryPoolInfo::RUNTIME_ALLOC_GRANULE,
        RegionInfo::RUNTIME_ALLOC_ALIGNMENT => MemoryPoolInfo::RUNTIME_ALLOC_ALIGNMENT,
        RegionInfo::HOST_ACCESSIBLE => return Some(gpu.is_none().into()),
        // It lies at no address of its own.
        RegionInfo::BASE => return Some(0_usize.into()),
        RegionInfo::BUS_WIDTH => return Some(gpu.map_or(0, |gpu| properties(gpu.chip).memory_width).into()),
        RegionInfo::MAX_CLOCK_FREQUENCY => return Some(gpu.map_or(0, |gpu| properties(gpu.chip).memory_clock).into()),
        _ => return None,
    };
    pool(of, gpu, same)
}

fn size(pool: Pool, gpu: Option<&Gpu>) -> usize {
    match gpu {
        Some(_) if pool.kind() == PoolKind::Group => Properties::GROUP_MEMORY,
        Some(gpu) => gpu.memory as usize,
        None => host().memory as usize,
    }
}
