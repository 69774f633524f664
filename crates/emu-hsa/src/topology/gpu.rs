//! What a GPU answers: as the real one with AMD's runtime would, but for what an emulated one does not have.

use roci_hsa::abi::{
    AgentFeature, AgentInfo, DeviceType, Extension, FloatRoundingMode, IommuVersion, Isa, MachineModel, MemoryProperty,
    Profile, QueueType,
};

use super::{Answer, FBARRIERS, GRID, Properties, WORKGROUP, extensions, isas, properties, uuid};
use crate::clock::{GPU_TICKS_PER_SECOND, SYSTEM_TICKS, TICKS_PER_SECOND};
use crate::gpu::Gpu;
use crate::runtime::CPU;

/// The PCI bus of the first GPU; each has one of its own.
const FIRST_BUS: u32 = 3;
/// Bytes of scratch memory: as much as the address window holds, and what is kept without being asked.
const SCRATCH: [u64; 2] = [4 << 30, 3 << 30];

/// A GPU's answer at a time of the system clock; none where there is no such attribute.
pub(crate) fn gpu(gpu: &Gpu, ticks: u64, attribute: AgentInfo) -> Option<Answer> {
    let own = properties(gpu.chip);
    Some(match attribute {
        AgentInfo::NAME => Answer::name(gpu.chip.name()),
        AgentInfo::VENDOR_NAME => Answer::name("AMD"),
        AgentInfo::PRODUCT_NAME => Answer::name(own.product),
        AgentInfo::UUID => Answer::text(&uuid(gpu.chip, gpu.place)),
        AgentInfo::FEATURE => AgentFeature::KERNEL_DISPATCH.into(),
        AgentInfo::MACHINE_MODEL => MachineModel::LARGE.into(),
        AgentInfo::PROFILE => Profile::BASE.into(),
        AgentInfo::DEFAULT_FLOAT_ROUNDING_MODE | AgentInfo::BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES => {
            FloatRoundingMode::NEAR.into()
        }
        AgentInfo::FAST_F16_OPERATION => true.into(),
        AgentInfo::WAVEFRONT_SIZE => Properties::WAVE.into(),
        AgentInfo::WORKGROUP_MAX_DIM => [WORKGROUP as u16; 3].into(),
        AgentInfo::WORKGROUP_MAX_SIZE => WORKGROUP.into(),
        AgentInfo::GRID_MAX_DIM => GRID.into(),
        AgentInfo::GRID_MAX_SIZE => u32::MAX.into(),
        AgentInfo::FBARRIER_MAX_SIZE => FBARRIERS.into(),
        AgentInfo::QUEUES_MAX => Properties::QUEUES.into(),
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
        // The chip has images, and HIP lays out rows of plain memory only for chips that have; see `image`.
        AgentInfo::EXTENSIONS => extensions(&[Extension::IMAGES]),
        AgentInfo::VERSION_MAJOR | AgentInfo::VERSION_MINOR => 1_u16.into(),
        AgentInfo::CHIP_ID => own.device_id.into(),
        AgentInfo::CACHELINE_SIZE => own.cache_line.into(),
        AgentInfo::COMPUTE_UNIT_COUNT | AgentInfo::COOPERATIVE_COMPUTE_UNIT_COUNT => own.compute_units.into(),
        AgentInfo::MAX_CLOCK_FREQUENCY => own.clock.into(),
        AgentInfo::MAX_ADDRESS_WATCH_POINTS => Properties::WATCH_POINTS.into(),
        AgentInfo::BDFID => ((FIRST_BUS + gpu.place) << 8).into(),
        AgentInfo::DOMAIN => 0_u32.into(),
        AgentInfo::MEMORY_WIDTH => own.memory_width.into(),
        AgentInfo::MEMORY_MAX_FREQUENCY => own.memory_clock.into(),
        AgentInfo::MAX_WAVES_PER_CU => own.waves_per_cu().into(),
        AgentInfo::NUM_SIMDS_PER_CU => Properties::SIMDS_PER_CU.into(),
        AgentInfo::NUM_SHADER_ENGINES => own.shader_engines.into(),
        AgentInfo::NUM_SHADER_ARRAYS_PER_SE => own.shader_arrays_per_engine.into(),
        // There is nothing between the host and this memory that would want to be flushed, so there are no registers.
        AgentInfo::HDP_FLUSH => [0_usize; 2].into(),
        AgentInfo::COOPERATIVE_QUEUES => own.cooperative().into(),
        AgentInfo::ASIC_REVISION => own.asic_revision.into(),
        AgentInfo::SVM_DIRECT_HOST_ACCESS => false.into(),
        AgentInfo::MEMORY_AVAIL => gpu.free().into(),
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
        AgentInfo::AQL_EXTENSIONS => Answer::zeros(8),
        AgentInfo::SCRATCH_LIMIT_MAX => SCRATCH[0].into(),
        AgentInfo::SCRATCH_LIMIT_CURRENT => SCRATCH[1].into(),
        AgentInfo::CLOCK_COUNTERS => [ticks / SYSTEM_TICKS, ticks, ticks, TICKS_PER_SECOND].into(),
        other => return image(other),
    })
}

/// Limits of images, which are those of every chip here. Images are not emulated: clients that look at the limits alone see
/// the chip's, and the functions refuse.
fn image(attribute: AgentInfo) -> Option<Answer> {
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

/// Its node in the topology, of which the CPU is the first.
fn node(gpu: &Gpu) -> u32 {
    gpu.place + 1
}

/// Bits by their numbers: AMD's header has the constant as if it were a mask, but its functions set and look for the bit of
/// this number.
fn memory_properties(own: &Properties) -> [u8; 8] {
    let mut bits = [0; 8];
    if own.apu {
        bits[0] = 1 << MemoryProperty::AGENT_IS_APU.0;
    }
    bits
}
