//! Agents and their caches.

use super::super::constants::constants;

constants! {
    /// What can be asked of an agent: the core's attributes, AMD's, and those of images.
    AgentInfo: u32 as "hsa_agent_info_t" {
        "HSA_AGENT_INFO_": {
            NAME = 0, "`char[64]`: the processor's name, such as gfx1010, or the CPU's";
            VENDOR_NAME = 1, "`char[64]`: who made it";
            FEATURE = 2, "[`AgentFeature`]: what its queues can do";
            MACHINE_MODEL = 3, "[`MachineModel`](super::MachineModel): the width of its addresses";
            PROFILE = 4, "[`Profile`](super::Profile): base or full";
            DEFAULT_FLOAT_ROUNDING_MODE = 5, "[`FloatRoundingMode`](super::FloatRoundingMode): the default one";
            WAVEFRONT_SIZE = 6, "`u32`: lanes in a wave";
            WORKGROUP_MAX_DIM = 7, "`[u16; 3]`: the most work-items of a workgroup in each dimension";
            WORKGROUP_MAX_SIZE = 8, "`u32`: the most work-items of a workgroup";
            GRID_MAX_DIM = 9, "[`Dim3`](crate::abi::Dim3): the most work-items of a grid in each dimension";
            GRID_MAX_SIZE = 10, "`u32`: the most work-items of a grid";
            FBARRIER_MAX_SIZE = 11, "`u32`: the most fine barriers of a workgroup";
            QUEUES_MAX = 12, "`u32`: the most queues at once";
            QUEUE_MIN_SIZE = 13, "`u32`: the fewest packets of a queue";
            QUEUE_MAX_SIZE = 14, "`u32`: the most packets of a queue";
            QUEUE_TYPE = 15, "[`QueueType`](super::QueueType): the most general type of its queues";
            NODE = 16, "`u32`: its node in the topology";
            DEVICE = 17, "[`DeviceType`]: CPU, GPU or other";
            CACHE_SIZE = 18, "`[u32; 4]`: bytes of its caches by level";
            ISA = 19, "[`Isa`](crate::abi::Isa): its instruction set architecture";
            EXTENSIONS = 20, "`[u8; 128]`: a bit for each extension it supports";
            VERSION_MAJOR = 21, "`u16`: major version of the specification it follows";
            VERSION_MINOR = 22, "`u16`: minor version of the specification it follows";
            BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES = 23, "`u32`: rounding modes of the base profile";
            FAST_F16_OPERATION = 24, "`bool`: whether f16 is as fast as f32";
        }
        "HSA_AMD_AGENT_INFO_": {
            CHIP_ID = 0xA000, "`u32`: the PCI device id";
            CACHELINE_SIZE = 0xA001, "`u32`: bytes of a cache line";
            COMPUTE_UNIT_COUNT = 0xA002, "`u32`: compute units";
            MAX_CLOCK_FREQUENCY = 0xA003, "`u32`: MHz";
            DRIVER_NODE_ID = 0xA004, "`u32`: its node in the kernel driver";
            MAX_ADDRESS_WATCH_POINTS = 0xA005, "`u32`: watch points";
            BDFID = 0xA006, "`u32`: PCI bus, device and function";
            MEMORY_WIDTH = 0xA007, "`u32`: bits of the memory bus";
            MEMORY_MAX_FREQUENCY = 0xA008, "`u32`: MHz";
            PRODUCT_NAME = 0xA009, "`char[64]`: the name on the box";
            MAX_WAVES_PER_CU = 0xA00A, "`u32`: waves that a compute unit holds";
            NUM_SIMDS_PER_CU = 0xA00B, "`u32`: SIMD units of a compute unit";
            NUM_SHADER_ENGINES = 0xA00C, "`u32`: shader engines";
            NUM_SHADER_ARRAYS_PER_SE = 0xA00D, "`u32`: shader arrays of an engine";
            HDP_FLUSH = 0xA00E, "[`HdpFlush`](crate::abi::HdpFlush): registers that flush host writes to device memory";
            DOMAIN = 0xA00F, "`u32`: PCI domain";
            COOPERATIVE_QUEUES = 0xA010, "`bool`: whether it has cooperative queues";
            UUID = 0xA011, "`char[21]`: `GPU-` and 16 hexadecimal digits, or `GPU-XX`";
            ASIC_REVISION = 0xA012, "`u32`: revision of the chip";
            SVM_DIRECT_HOST_ACCESS = 0xA013, "`bool`: whether the host reads its memory directly";
            COOPERATIVE_COMPUTE_UNIT_COUNT = 0xA014, "`u32`: compute units for cooperative dispatches";
            MEMORY_AVAIL = 0xA015, "`u64`: bytes of its memory that are free";
            TIMESTAMP_FREQUENCY = 0xA016, "`u64`: Hz of its clock";
            ASIC_FAMILY_ID = 0xA107, "`u32`: family of the chip";
            UCODE_VERSION = 0xA108, "`u32`: version of the compute firmware";
            SDMA_UCODE_VERSION = 0xA109, "`u32`: version of the copy engine's firmware";
            NUM_SDMA_ENG = 0xA10A, "`u32`: copy engines";
            NUM_SDMA_XGMI_ENG = 0xA10B, "`u32`: copy engines for XGMI";
            IOMMU_SUPPORT = 0xA110, "[`IommuVersion`]: what the IOMMU gives it";
            NUM_XCC = 0xA111, "`u32`: dies with compute units";
            DRIVER_UID = 0xA112, "`u32`: its id in the kernel driver";
            NEAREST_CPU = 0xA113, "[`Agent`](crate::abi::Agent): the CPU nearest to it";
            MEMORY_PROPERTIES = 0xA114, "`[u8; 8]`: bits of [`MemoryProperty`](super::MemoryProperty)";
            AQL_EXTENSIONS = 0xA115, "`[u8; 8]`: bits of the packet types it knows beyond the core's";
            SCRATCH_LIMIT_MAX = 0xA116, "`u64`: the most bytes of scratch memory it can keep";
            SCRATCH_LIMIT_CURRENT = 0xA117, "`u64`: the bytes of scratch memory it may keep now";
            CLOCK_COUNTERS = 0xA118, "four `u64`: GPU, CPU and system clocks, and the system clock's Hz";
        }
        "HSA_EXT_AGENT_INFO_": {
            IMAGE_1D_MAX_ELEMENTS = 0x3000, "`u32`: the most elements of a 1D image";
            IMAGE_1DA_MAX_ELEMENTS = 0x3001, "`u32`: the most elements of a 1D image array";
            IMAGE_1DB_MAX_ELEMENTS = 0x3002, "`u32`: the most elements of a 1D image buffer";
            IMAGE_2D_MAX_ELEMENTS = 0x3003, "`[u32; 2]`: the most elements of a 2D image";
            IMAGE_2DA_MAX_ELEMENTS = 0x3004, "`[u32; 2]`: the most elements of a 2D image array";
            IMAGE_2DDEPTH_MAX_ELEMENTS = 0x3005, "`[u32; 2]`: the most elements of a 2D depth image";
            IMAGE_2DADEPTH_MAX_ELEMENTS = 0x3006, "`[u32; 2]`: the most elements of a 2D depth image array";
            IMAGE_3D_MAX_ELEMENTS = 0x3007, "`[u32; 3]`: the most elements of a 3D image";
            IMAGE_ARRAY_MAX_LAYERS = 0x3008, "`u32`: the most layers of an image array";
            MAX_IMAGE_RD_HANDLES = 0x3009, "`u32`: the most read-only images at once";
            MAX_IMAGE_RORW_HANDLES = 0x300A, "`u32`: the most other images at once";
            MAX_SAMPLER_HANDLERS = 0x300B, "`u32`: the most samplers at once";
            IMAGE_LINEAR_ROW_PITCH_ALIGNMENT = 0x300C, "`u32`: alignment of a linear image's row";
        }
    }
}

constants! { flags
    /// What an agent's queues can do.
    AgentFeature: u32 as "hsa_agent_feature_t" {
        "HSA_AGENT_FEATURE_": {
            KERNEL_DISPATCH = 1, "they run kernels";
            AGENT_DISPATCH = 2, "they take agent dispatch packets";
        }
    }
}

constants! {
    /// What an agent is.
    DeviceType: u32 as "hsa_device_type_t" {
        "HSA_DEVICE_TYPE_": {
            CPU = 0, "a CPU";
            GPU = 1, "a GPU";
            DSP = 2, "a signal processor";
            AIE = 3, "an AI engine";
        }
    }
}

constants! {
    /// What the IOMMU gives an agent.
    IommuVersion: u32 as "hsa_amd_iommu_version_t" {
        "HSA_IOMMU_SUPPORT_": {
            NONE = 0, "nothing";
            V2 = 1, "shared address translation";
        }
    }
}

constants! {
    /// What can be asked of a cache.
    CacheInfo: u32 as "hsa_cache_info_t" {
        "HSA_CACHE_INFO_": {
            NAME_LENGTH = 0, "`u32`: bytes of its name, without a zero";
            NAME = 1, "`char[NAME_LENGTH]`: its name";
            LEVEL = 2, "`u8`: its level";
            SIZE = 3, "`u32`: its bytes";
        }
    }
}
