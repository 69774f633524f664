//! Agents and their caches.

use super::super::constants::constants;

constants! {
    /// Attributes of an agent: core, AMD's extension, and images.
    AgentInfo: u32 as "hsa_agent_info_t" {
        "HSA_AGENT_INFO_": {
            NAME = 0, "`char[64]`: processor name such as gfx1010, or CPU name";
            VENDOR_NAME = 1, "`char[64]`: vendor name";
            FEATURE = 2, "[`AgentFeature`]: packet kinds of its queues";
            MACHINE_MODEL = 3, "[`MachineModel`](super::MachineModel): address width";
            PROFILE = 4, "[`Profile`](super::Profile): base or full";
            DEFAULT_FLOAT_ROUNDING_MODE = 5, "[`FloatRoundingMode`](super::FloatRoundingMode): default rounding mode";
            WAVEFRONT_SIZE = 6, "`u32`: lanes of a wave";
            WORKGROUP_MAX_DIM = 7, "`[u16; 3]`: maximum work-items of a workgroup per dimension";
            WORKGROUP_MAX_SIZE = 8, "`u32`: maximum work-items of a workgroup";
            GRID_MAX_DIM = 9, "[`Dim3`](crate::abi::Dim3): maximum work-items of a grid per dimension";
            GRID_MAX_SIZE = 10, "`u32`: maximum work-items of a grid";
            FBARRIER_MAX_SIZE = 11, "`u32`: maximum fbarriers of a workgroup";
            QUEUES_MAX = 12, "`u32`: maximum queues at once";
            QUEUE_MIN_SIZE = 13, "`u32`: minimum packets of a queue";
            QUEUE_MAX_SIZE = 14, "`u32`: maximum packets of a queue";
            QUEUE_TYPE = 15, "[`QueueType`](super::QueueType): maximum general type of its queues";
            NODE = 16, "`u32`: node in the topology";
            DEVICE = 17, "[`DeviceType`]: CPU, GPU or other";
            CACHE_SIZE = 18, "`[u32; 4]`: cache sizes in bytes by level";
            ISA = 19, "[`Isa`](crate::abi::Isa): its ISA";
            EXTENSIONS = 20, "`[u8; 128]`: bit mask of supported extensions";
            VERSION_MAJOR = 21, "`u16`: major version of the HSA specification";
            VERSION_MINOR = 22, "`u16`: minor version of the HSA specification";
            BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES = 23, "`u32`: rounding modes of the base profile";
            FAST_F16_OPERATION = 24, "`bool`: whether f16 is as fast as f32";
        }
        "HSA_AMD_AGENT_INFO_": {
            CHIP_ID = 0xA000, "`u32`: the PCI device id";
            CACHELINE_SIZE = 0xA001, "`u32`: bytes of a cache line";
            COMPUTE_UNIT_COUNT = 0xA002, "`u32`: compute units";
            MAX_CLOCK_FREQUENCY = 0xA003, "`u32`: maximum clock in MHz";
            DRIVER_NODE_ID = 0xA004, "`u32`: node in the kernel driver";
            MAX_ADDRESS_WATCH_POINTS = 0xA005, "`u32`: hardware watch points";
            BDFID = 0xA006, "`u32`: PCI bus, device and function";
            MEMORY_WIDTH = 0xA007, "`u32`: memory bus width in bits";
            MEMORY_MAX_FREQUENCY = 0xA008, "`u32`: maximum clock in MHz";
            PRODUCT_NAME = 0xA009, "`char[64]`: marketing name";
            MAX_WAVES_PER_CU = 0xA00A, "`u32`: maximum resident waves of a compute unit";
            NUM_SIMDS_PER_CU = 0xA00B, "`u32`: SIMD units of a compute unit";
            NUM_SHADER_ENGINES = 0xA00C, "`u32`: shader engines";
            NUM_SHADER_ARRAYS_PER_SE = 0xA00D, "`u32`: shader arrays of an engine";
            HDP_FLUSH = 0xA00E, "[`HdpFlush`](crate::abi::HdpFlush): HDP flush registers";
            DOMAIN = 0xA00F, "`u32`: PCI domain";
            COOPERATIVE_QUEUES = 0xA010, "`bool`: whether it supports cooperative queues";
            UUID = 0xA011, "`char[21]`: `GPU-` and 16 hexadecimal digits, or `GPU-XX`";
            ASIC_REVISION = 0xA012, "`u32`: revision of the chip";
            SVM_DIRECT_HOST_ACCESS = 0xA013, "`bool`: whether the host can access its memory directly";
            COOPERATIVE_COMPUTE_UNIT_COUNT = 0xA014, "`u32`: compute units for cooperative dispatches";
            MEMORY_AVAIL = 0xA015, "`u64`: free device memory in bytes";
            TIMESTAMP_FREQUENCY = 0xA016, "`u64`: clock frequency in Hz";
            ASIC_FAMILY_ID = 0xA107, "`u32`: family of the chip";
            UCODE_VERSION = 0xA108, "`u32`: compute firmware version";
            SDMA_UCODE_VERSION = 0xA109, "`u32`: copy engine firmware version";
            NUM_SDMA_ENG = 0xA10A, "`u32`: copy engines";
            NUM_SDMA_XGMI_ENG = 0xA10B, "`u32`: copy engines for XGMI";
            IOMMU_SUPPORT = 0xA110, "[`IommuVersion`]: IOMMU support";
            NUM_XCC = 0xA111, "`u32`: number of XCCs (compute dies)";
            DRIVER_UID = 0xA112, "`u32`: id in the kernel driver";
            NEAREST_CPU = 0xA113, "[`Agent`](crate::abi::Agent): nearest CPU";
            MEMORY_PROPERTIES = 0xA114, "`[u8; 8]`: bits of [`MemoryProperty`](super::MemoryProperty)";
            AQL_EXTENSIONS = 0xA115, "`[u8; 8]`: bit mask of additional AQL packet types";
            SCRATCH_LIMIT_MAX = 0xA116, "`u64`: maximum bytes of scratch memory it can retain";
            SCRATCH_LIMIT_CURRENT = 0xA117, "`u64`: bytes of scratch memory it may retain now";
            CLOCK_COUNTERS = 0xA118, "four `u64`: GPU, CPU and system clock counters, and the system clock frequency in Hz";
        }
        "HSA_EXT_AGENT_INFO_": {
            IMAGE_1D_MAX_ELEMENTS = 0x3000, "`u32`: maximum elements of a 1D image";
            IMAGE_1DA_MAX_ELEMENTS = 0x3001, "`u32`: maximum elements of a 1D image array";
            IMAGE_1DB_MAX_ELEMENTS = 0x3002, "`u32`: maximum elements of a 1D image buffer";
            IMAGE_2D_MAX_ELEMENTS = 0x3003, "`[u32; 2]`: maximum elements of a 2D image";
            IMAGE_2DA_MAX_ELEMENTS = 0x3004, "`[u32; 2]`: maximum elements of a 2D image array";
            IMAGE_2DDEPTH_MAX_ELEMENTS = 0x3005, "`[u32; 2]`: maximum elements of a 2D depth image";
            IMAGE_2DADEPTH_MAX_ELEMENTS = 0x3006, "`[u32; 2]`: maximum elements of a 2D depth image array";
            IMAGE_3D_MAX_ELEMENTS = 0x3007, "`[u32; 3]`: maximum elements of a 3D image";
            IMAGE_ARRAY_MAX_LAYERS = 0x3008, "`u32`: maximum layers of an image array";
            MAX_IMAGE_RD_HANDLES = 0x3009, "`u32`: maximum read-only images at once";
            MAX_IMAGE_RORW_HANDLES = 0x300A, "`u32`: maximum other images at once";
            MAX_SAMPLER_HANDLERS = 0x300B, "`u32`: maximum samplers at once";
            IMAGE_LINEAR_ROW_PITCH_ALIGNMENT = 0x300C, "`u32`: row pitch alignment of a linear image";
        }
    }
}

constants! { flags
    /// Packet kinds that the queues of an agent support.
    AgentFeature: u32 as "hsa_agent_feature_t" {
        "HSA_AGENT_FEATURE_": {
            KERNEL_DISPATCH = 1, "kernel dispatch packets";
            AGENT_DISPATCH = 2, "agent dispatch packets";
        }
    }
}

constants! {
    /// Type of an agent.
    DeviceType: u32 as "hsa_device_type_t" {
        "HSA_DEVICE_TYPE_": {
            CPU = 0, "a CPU";
            GPU = 1, "a GPU";
            DSP = 2, "a DSP";
            AIE = 3, "an AI engine";
        }
    }
}

constants! {
    /// IOMMU support of an agent.
    IommuVersion: u32 as "hsa_amd_iommu_version_t" {
        "HSA_IOMMU_SUPPORT_": {
            NONE = 0, "nothing";
            V2 = 1, "shared address translation";
        }
    }
}

constants! {
    /// Attributes of a cache.
    CacheInfo: u32 as "hsa_cache_info_t" {
        "HSA_CACHE_INFO_": {
            NAME_LENGTH = 0, "`u32`: length of its name in bytes, without a NUL";
            NAME = 1, "`char[NAME_LENGTH]`: its name";
            LEVEL = 2, "`u8`: cache level";
            SIZE = 3, "`u32`: size in bytes";
        }
    }
}
