//! Attributes of the CPU agent.

use roci_hsa::abi::{
    Agent, AgentFeature, AgentInfo, DeviceType, FloatRoundingMode, IommuVersion, Isa, MachineModel, Profile, QueueType,
};

use super::{AttributeValue, host};
use crate::clock::TICKS_PER_SECOND;

/// Attribute of the CPU; `None` where AMD's runtime fails too.
pub(crate) fn cpu_info(attribute: AgentInfo) -> Option<AttributeValue> {
    Some(match attribute {
        AgentInfo::NAME | AgentInfo::PRODUCT_NAME => AttributeValue::name(&host().name),
        AgentInfo::VENDOR_NAME => AttributeValue::name("CPU"),
        AgentInfo::UUID => AttributeValue::c_string("CPU-XX"),
        AgentInfo::FEATURE => AgentFeature::EMPTY.into(),
        AgentInfo::MACHINE_MODEL => MachineModel::LARGE.into(),
        AgentInfo::PROFILE => Profile::FULL.into(),
        AgentInfo::DEFAULT_FLOAT_ROUNDING_MODE | AgentInfo::BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES => {
            FloatRoundingMode::NEAR.into()
        }
        AgentInfo::QUEUE_TYPE => QueueType::MULTI.into(),
        AgentInfo::DEVICE => DeviceType::CPU.into(),
        AgentInfo::CACHE_SIZE => {
            let size = |level| host().caches.iter().find(|cache| cache.level == level).map_or(0, |cache| cache.size);
            [1, 2, 3, 4].map(size).into()
        }
        AgentInfo::ISA => Isa::NULL.into(),
        AgentInfo::EXTENSIONS => AttributeValue::zeros(128),
        AgentInfo::VERSION_MAJOR | AgentInfo::VERSION_MINOR => 1_u16.into(),
        AgentInfo::FAST_F16_OPERATION => false.into(),
        AgentInfo::CACHELINE_SIZE => 64_u32.into(),
        AgentInfo::COMPUTE_UNIT_COUNT => host().cores.into(),
        AgentInfo::MAX_CLOCK_FREQUENCY => host().clock.into(),
        AgentInfo::MAX_ADDRESS_WATCH_POINTS => 1_u32.into(),
        AgentInfo::SVM_DIRECT_HOST_ACCESS => true.into(),
        AgentInfo::TIMESTAMP_FREQUENCY => TICKS_PER_SECOND.into(),
        AgentInfo::IOMMU_SUPPORT => IommuVersion::NONE.into(),
        AgentInfo::NEAREST_CPU => Agent::NULL.into(),
        // The CPU is node 0 and has no waves, workgroups, grids, queues, PCI address or images.
        AgentInfo::WAVEFRONT_SIZE
        | AgentInfo::WORKGROUP_MAX_SIZE
        | AgentInfo::GRID_MAX_SIZE
        | AgentInfo::FBARRIER_MAX_SIZE
        | AgentInfo::QUEUES_MAX
        | AgentInfo::QUEUE_MIN_SIZE
        | AgentInfo::QUEUE_MAX_SIZE
        | AgentInfo::NODE
        | AgentInfo::CHIP_ID
        | AgentInfo::DRIVER_NODE_ID
        | AgentInfo::BDFID
        | AgentInfo::MAX_WAVES_PER_CU
        | AgentInfo::NUM_SIMDS_PER_CU
        | AgentInfo::NUM_SHADER_ENGINES
        | AgentInfo::NUM_SHADER_ARRAYS_PER_SE
        | AgentInfo::DOMAIN
        | AgentInfo::ASIC_REVISION
        | AgentInfo::ASIC_FAMILY_ID
        | AgentInfo::UCODE_VERSION
        | AgentInfo::SDMA_UCODE_VERSION
        | AgentInfo::NUM_SDMA_ENG
        | AgentInfo::NUM_SDMA_XGMI_ENG
        | AgentInfo::NUM_XCC
        | AgentInfo::DRIVER_UID
        | AgentInfo::IMAGE_1D_MAX_ELEMENTS
        | AgentInfo::IMAGE_1DA_MAX_ELEMENTS
        | AgentInfo::IMAGE_1DB_MAX_ELEMENTS
        | AgentInfo::IMAGE_ARRAY_MAX_LAYERS
        | AgentInfo::MAX_IMAGE_RD_HANDLES
        | AgentInfo::MAX_IMAGE_RORW_HANDLES
        | AgentInfo::MAX_SAMPLER_HANDLERS => 0_u32.into(),
        AgentInfo::WORKGROUP_MAX_DIM => [0_u16; 3].into(),
        AgentInfo::GRID_MAX_DIM | AgentInfo::IMAGE_3D_MAX_ELEMENTS => [0_u32; 3].into(),
        AgentInfo::IMAGE_2D_MAX_ELEMENTS
        | AgentInfo::IMAGE_2DA_MAX_ELEMENTS
        | AgentInfo::IMAGE_2DDEPTH_MAX_ELEMENTS
        | AgentInfo::IMAGE_2DADEPTH_MAX_ELEMENTS => [0_u32; 2].into(),
        AgentInfo::HDP_FLUSH => [0_usize; 2].into(),
        AgentInfo::MEMORY_PROPERTIES | AgentInfo::AQL_EXTENSIONS => AttributeValue::zeros(8),
        AgentInfo::SCRATCH_LIMIT_MAX | AgentInfo::SCRATCH_LIMIT_CURRENT => 0_u64.into(),
        AgentInfo::CLOCK_COUNTERS => [0_u64; 4].into(),
        _ => return None,
    })
}
