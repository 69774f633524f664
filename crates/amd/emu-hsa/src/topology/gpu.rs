//! Attributes of a GPU agent: those of the real card, except for features that are not emulated.

use roci_hsa::abi::{
    AgentFeature, AgentInfo, DeviceType, Extension, FloatRoundingMode, IommuVersion, Isa, MachineModel, MemoryProperty,
    Profile, QueueType,
};

use super::{AttributeValue, MAX_FBARRIERS, MAX_GRID, MAX_WORKGROUP, extensions, isas};
use crate::agent::CPU;
use crate::chips::{Properties, properties};
use crate::clock::{GPU_TICKS_PER_SECOND, SYSTEM_TICKS, TICKS_PER_SECOND};
use crate::gpu::Gpu;
use crate::visible::uuid;

/// PCI bus number of the first GPU; each has its own bus.
const FIRST_BUS: u32 = 3;
/// Maximum and current scratch limit in bytes.
const SCRATCH_LIMITS: [u64; 2] = [4 << 30, 3 << 30];

/// Attribute of a GPU; `now` is the system clock in ticks. `None` for unknown attributes.
pub(crate) fn gpu_info(gpu: &Gpu, now: u64, attribute: AgentInfo) -> Option<AttributeValue> {
    let own = properties(gpu.chip);
    Some(match attribute {
        AgentInfo::NAME => AttributeValue::name(gpu.chip.name()),
        AgentInfo::VENDOR_NAME => AttributeValue::name("AMD"),
        AgentInfo::PRODUCT_NAME => AttributeValue::name(own.product),
        AgentInfo::UUID => AttributeValue::c_string(&uuid(gpu.chip, gpu.physical_index)),
        AgentInfo::FEATURE => AgentFeature::KERNEL_DISPATCH.into(),
        AgentInfo::MACHINE_MODEL => MachineModel::LARGE.into(),
        AgentInfo::PROFILE => Profile::BASE.into(),
        AgentInfo::DEFAULT_FLOAT_ROUNDING_MODE | AgentInfo::BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES => {
            FloatRoundingMode::NEAR.into()
        }
        AgentInfo::FAST_F16_OPERATION => true.into(),
        AgentInfo::WAVEFRONT_SIZE => Properties::WAVE_SIZE.into(),
        AgentInfo::WORKGROUP_MAX_DIM => [MAX_WORKGROUP as u16; 3].into(),
        AgentInfo::WORKGROUP_MAX_SIZE => MAX_WORKGROUP.into(),
        AgentInfo::GRID_MAX_DIM => MAX_GRID.into(),
        AgentInfo::GRID_MAX_SIZE => u32::MAX.into(),
        AgentInfo::FBARRIER_MAX_SIZE => MAX_FBARRIERS.into(),
        AgentInfo::QUEUES_MAX => Properties::MAX_QUEUES.into(),
        AgentInfo::QUEUE_MIN_SIZE => Properties::QUEUE_SIZES[0].into(),
        AgentInfo::QUEUE_MAX_SIZE => Properties::QUEUE_SIZES[1].into(),
        AgentInfo::QUEUE_TYPE => QueueType::MULTI.into(),
        AgentInfo::NODE | AgentInfo::DRIVER_NODE_ID => node(gpu).into(),
        AgentInfo::DEVICE => DeviceType::GPU.into(),
        AgentInfo::CACHE_SIZE => {
            let [first, second, third] = own.caches;
            [first, second, third, 0].into()
        }
        AgentInfo::ISA => isas(gpu.chip).first().copied().unwrap_or(Isa::NULL).into(),
        // HIP aligns the pitch of linear memory only on chips with image support; see
        // `image_limit`.
        AgentInfo::EXTENSIONS => extensions(&[Extension::IMAGES]),
        AgentInfo::VERSION_MAJOR | AgentInfo::VERSION_MINOR => 1_u16.into(),
        AgentInfo::CHIP_ID => own.device_id.into(),
        AgentInfo::CACHELINE_SIZE => own.cache_line.into(),
        AgentInfo::COMPUTE_UNIT_COUNT | AgentInfo::COOPERATIVE_COMPUTE_UNIT_COUNT => own.compute_units.into(),
        AgentInfo::MAX_CLOCK_FREQUENCY => own.clock.into(),
        AgentInfo::MAX_ADDRESS_WATCH_POINTS => Properties::WATCH_POINTS.into(),
        AgentInfo::BDFID => ((FIRST_BUS + gpu.physical_index) << 8).into(),
        AgentInfo::DOMAIN => 0_u32.into(),
        AgentInfo::MEMORY_WIDTH => own.memory_width.into(),
        AgentInfo::MEMORY_MAX_FREQUENCY => own.memory_clock.into(),
        AgentInfo::MAX_WAVES_PER_CU => own.waves_per_cu().into(),
        AgentInfo::NUM_SIMDS_PER_CU => Properties::SIMDS_PER_CU.into(),
        AgentInfo::NUM_SHADER_ENGINES => own.shader_engines.into(),
        AgentInfo::NUM_SHADER_ARRAYS_PER_SE => own.shader_arrays_per_engine.into(),
        // Host writes need no HDP flush here, so there are no flush registers.
        AgentInfo::HDP_FLUSH => [0_usize; 2].into(),
        AgentInfo::COOPERATIVE_QUEUES => own.cooperative().into(),
        AgentInfo::ASIC_REVISION => own.asic_revision.into(),
        AgentInfo::SVM_DIRECT_HOST_ACCESS => false.into(),
        AgentInfo::MEMORY_AVAIL => gpu.available().into(),
        AgentInfo::TIMESTAMP_FREQUENCY => GPU_TICKS_PER_SECOND.into(),
        AgentInfo::ASIC_FAMILY_ID => own.family.into(),
        AgentInfo::UCODE_VERSION => own.firmware.into(),
        AgentInfo::SDMA_UCODE_VERSION => own.sdma_firmware.into(),
        AgentInfo::NUM_SDMA_ENG => own.sdma_engines.into(),
        AgentInfo::NUM_SDMA_XGMI_ENG => 0_u32.into(),
        AgentInfo::IOMMU_SUPPORT => IommuVersion::NONE.into(),
        AgentInfo::NUM_XCC => 1_u32.into(),
        AgentInfo::DRIVER_UID => (own.device_id << 8 | node(gpu)).into(),
        AgentInfo::NEAREST_CPU => CPU.into(),
        AgentInfo::MEMORY_PROPERTIES => memory_properties(own).into(),
        AgentInfo::AQL_EXTENSIONS => AttributeValue::zeros(8),
        AgentInfo::SCRATCH_LIMIT_MAX => SCRATCH_LIMITS[0].into(),
        AgentInfo::SCRATCH_LIMIT_CURRENT => SCRATCH_LIMITS[1].into(),
        AgentInfo::CLOCK_COUNTERS => [now / SYSTEM_TICKS, now, now, TICKS_PER_SECOND].into(),
        other => return image_limit(other),
    })
}

/// Image limits, which are the same on all chips here. Images themselves are not emulated: their
/// functions return errors.
fn image_limit(attribute: AgentInfo) -> Option<AttributeValue> {
    const WIDTH: u32 = 16_384;
    const LAYERS: u32 = 8_192;
    Some(match attribute {
        AgentInfo::IMAGE_1D_MAX_ELEMENTS | AgentInfo::IMAGE_1DA_MAX_ELEMENTS => WIDTH.into(),
        AgentInfo::IMAGE_1DB_MAX_ELEMENTS => u32::MAX.into(),
        AgentInfo::IMAGE_2D_MAX_ELEMENTS
        | AgentInfo::IMAGE_2DA_MAX_ELEMENTS
        | AgentInfo::IMAGE_2DDEPTH_MAX_ELEMENTS
        | AgentInfo::IMAGE_2DADEPTH_MAX_ELEMENTS => [WIDTH; 2].into(),
        AgentInfo::IMAGE_3D_MAX_ELEMENTS => [WIDTH, WIDTH, LAYERS].into(),
        AgentInfo::IMAGE_ARRAY_MAX_LAYERS => LAYERS.into(),
        AgentInfo::MAX_IMAGE_RD_HANDLES => 128_u32.into(),
        AgentInfo::MAX_IMAGE_RORW_HANDLES => 64_u32.into(),
        AgentInfo::MAX_SAMPLER_HANDLERS => 16_u32.into(),
        AgentInfo::IMAGE_LINEAR_ROW_PITCH_ALIGNMENT => 256_u32.into(),
        _ => return None,
    })
}

/// Topology node; the CPU is node 0.
fn node(gpu: &Gpu) -> u32 {
    gpu.physical_index + 1
}

/// Bit mask of memory properties. AMD's header defines the constant like a mask, but its functions
/// use it as a bit number.
fn memory_properties(own: &Properties) -> [u8; 8] {
    let mut bits = [0; 8];
    if own.apu {
        bits[0] = 1 << MemoryProperty::AGENT_IS_APU.0;
    }
    bits
}
