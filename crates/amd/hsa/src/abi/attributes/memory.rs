//! Regions, pools, pointers and shared virtual memory.

use super::super::constants::constants;

constants! {
    /// Attributes of a region.
    RegionInfo: u32 as "hsa_region_info_t" {
        "HSA_REGION_INFO_": {
            SEGMENT = 0, "[`Segment`]: its segment";
            GLOBAL_FLAGS = 1, "[`RegionGlobalFlag`]: for the global segment";
            SIZE = 2, "`usize`: size in bytes";
            ALLOC_MAX_SIZE = 4, "`usize`: maximum bytes of one allocation";
            RUNTIME_ALLOC_ALLOWED = 5, "`bool`: whether the runtime can allocate from it";
            RUNTIME_ALLOC_GRANULE = 6, "`usize`: allocation granule in bytes";
            RUNTIME_ALLOC_ALIGNMENT = 7, "`usize`: alignment of allocations in bytes";
            ALLOC_MAX_PRIVATE_WORKGROUP_SIZE = 8, "`u32`: maximum private segment of a workgroup in bytes";
        }
        "HSA_AMD_REGION_INFO_": {
            HOST_ACCESSIBLE = 0xA000, "`bool`: whether the host can access it";
            BASE = 0xA001, "`void *`: start address, if it has one";
            BUS_WIDTH = 0xA002, "`u32`: memory bus width in bits";
            MAX_CLOCK_FREQUENCY = 0xA003, "`u32`: maximum clock in MHz";
        }
    }
}

constants! {
    /// Memory segment.
    Segment: u32 as "hsa_region_segment_t" {
        "HSA_REGION_SEGMENT_": {
            GLOBAL = 0, "memory of all work-items";
            READONLY = 1, "constants";
            PRIVATE = 2, "memory of one work-item";
            GROUP = 3, "memory of a workgroup";
            KERNARG = 4, "arguments of kernels";
        }
    }
}

constants! { flags
    /// Flags of a region of the global segment.
    RegionGlobalFlag: u32 as "hsa_region_global_flag_t" {
        "HSA_REGION_GLOBAL_FLAG_": {
            KERNARG = 1, "usable for kernel arguments";
            FINE_GRAINED = 2, "writes are visible to other agents while a kernel runs";
            COARSE_GRAINED = 4, "one agent owns it at a time";
            EXTENDED_SCOPE_FINE_GRAINED = 8, "fine-grained through device-specific mechanisms";
        }
    }
}

constants! {
    /// Attributes of a memory pool.
    MemoryPoolInfo: u32 as "hsa_amd_memory_pool_info_t" {
        "HSA_AMD_MEMORY_POOL_INFO_": {
            SEGMENT = 0, "[`Segment`]: its segment";
            GLOBAL_FLAGS = 1, "[`MemoryPoolGlobalFlag`]: for the global segment";
            SIZE = 2, "`usize`: size in bytes";
            RUNTIME_ALLOC_ALLOWED = 5, "`bool`: whether the runtime can allocate from it";
            RUNTIME_ALLOC_GRANULE = 6, "`usize`: allocation granule in bytes";
            RUNTIME_ALLOC_ALIGNMENT = 7, "`usize`: alignment of allocations in bytes";
            ACCESSIBLE_BY_ALL = 15, "`bool`: whether every agent has access";
            ALLOC_MAX_SIZE = 16, "`usize`: maximum bytes of one allocation";
            LOCATION = 17, "[`MemoryPoolLocation`]: its location";
            RUNTIME_ALLOC_REC_GRANULE = 18, "`usize`: recommended allocation granule in bytes";
        }
    }
}

constants! { flags
    /// Flags of a pool of the global segment.
    MemoryPoolGlobalFlag: u32 as "hsa_amd_memory_pool_global_flag_t" {
        "HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_": {
            KERNARG_INIT = 1, "usable for kernel arguments";
            FINE_GRAINED = 2, "writes are visible to other agents while a kernel runs";
            COARSE_GRAINED = 4, "one agent owns it at a time";
            EXTENDED_SCOPE_FINE_GRAINED = 8, "fine-grained through device-specific mechanisms";
        }
    }
}

constants! {
    /// Location of the memory of a pool.
    MemoryPoolLocation: u32 as "hsa_amd_memory_pool_location_t" {
        "HSA_AMD_MEMORY_POOL_LOCATION_": {
            CPU = 0, "in the host's memory";
            GPU = 1, "in a GPU's memory";
        }
    }
}

constants! { flags
    /// Allocation flags of a pool.
    MemoryPoolFlag: u32 as "hsa_amd_memory_pool_flag_t" {
        "HSA_AMD_MEMORY_POOL_": {
            STANDARD_FLAG = 0, "default";
            PCIE_FLAG = 1, "PCIe write ordering";
            CONTIGUOUS_FLAG = 1 << 1, "physically contiguous";
            EXECUTABLE_FLAG = 1 << 2, "executable";
            UNCACHED_FLAG = 1 << 3, "not cached by the GPU";
        }
    }
}

constants! {
    /// Attributes of an agent and a pool.
    AgentMemoryPoolInfo: u32 as "hsa_amd_agent_memory_pool_info_t" {
        "HSA_AMD_AGENT_MEMORY_POOL_INFO_": {
            ACCESS = 0, "[`MemoryPoolAccess`]: access of the agent to the pool";
            NUM_LINK_HOPS = 1, "`u32`: number of links between them";
            LINK_INFO = 2, "[`LinkInfo`](crate::abi::LinkInfo) for each link";
        }
    }
}

constants! {
    /// Access of an agent to a pool.
    MemoryPoolAccess: u32 as "hsa_amd_memory_pool_access_t" {
        "HSA_AMD_MEMORY_POOL_ACCESS_": {
            NEVER_ALLOWED = 0, "access is impossible";
            ALLOWED_BY_DEFAULT = 1, "access without a grant";
            DISALLOWED_BY_DEFAULT = 2, "access must be granted";
        }
    }
}

constants! {
    /// Type of a link between an agent and a pool.
    LinkInfoType: u32 as "hsa_amd_link_info_type_t" {
        "HSA_AMD_LINK_INFO_TYPE_": {
            HYPERTRANSPORT = 0, "HyperTransport";
            QPI = 1, "QPI";
            PCIE = 2, "PCI Express";
            INFINBAND = 3, "InfiniBand";
            XGMI = 4, "XGMI";
        }
    }
}

constants! { flags
    /// Properties of the memory of an agent.
    MemoryProperty: u32 as "hsa_amd_agent_memory_properties_t" {
        "HSA_AMD_MEMORY_PROPERTY_": {
            AGENT_IS_APU = 1, "it shares memory with the host";
        }
    }
}

constants! {
    /// Kind of memory behind a pointer.
    PointerType: u32 as "hsa_amd_pointer_type_t" {
        "HSA_EXT_POINTER_TYPE_": {
            UNKNOWN = 0, "unknown to the runtime";
            HSA = 1, "an allocation of the runtime";
            LOCKED = 2, "host memory that was locked";
            GRAPHICS = 3, "memory shared with a graphics API";
            IPC = 4, "memory of another process";
            RESERVED_ADDR = 5, "reserved addresses without memory";
            HSA_VMEM = 6, "reserved addresses with mapped memory";
        }
    }
}

constants! {
    /// Access permission.
    AccessPermission: u32 as "hsa_access_permission_t" {
        "HSA_ACCESS_PERMISSION_": {
            NONE = 0, "no access";
            RO = 1, "read-only";
            WO = 2, "write-only";
            RW = 3, "read and write";
        }
    }
}

constants! {
    /// Coherency type of an agent.
    CoherencyType: u32 as "hsa_amd_coherency_type_t" {
        "HSA_AMD_COHERENCY_TYPE_": {
            COHERENT = 0, "coherent";
            NONCOHERENT = 1, "not coherent without flushes";
        }
    }
}

constants! {
    /// Memory type behind a virtual memory handle.
    MemoryType: u32 as "hsa_amd_memory_type_t" {
        "MEMORY_TYPE_": {
            NONE = 0, "not pinned";
            PINNED = 1, "pinned";
        }
    }
}

constants! {
    /// Coherency model of shared virtual memory.
    SvmModel: u32 as "hsa_amd_svm_model_t" {
        "HSA_AMD_SVM_GLOBAL_FLAG_": {
            FINE_GRAINED = 0, "writes are visible to other agents while a kernel runs";
            COARSE_GRAINED = 1, "one agent owns it at a time";
            INDETERMINATE = 2, "parts of the range differ";
        }
    }
}

constants! {
    /// Attributes of shared virtual memory.
    SvmAttribute: u64 as "hsa_amd_svm_attribute_t" {
        "HSA_AMD_SVM_ATTRIB_": {
            GLOBAL_FLAG = 0, "[`SvmModel`]";
            READ_ONLY = 1, "whether it is only read";
            HIVE_LOCAL = 2, "whether it is coherent only inside a hive of GPUs";
            MIGRATION_GRANULARITY = 3, "log2 of the number of pages that migrate together";
            PREFERRED_LOCATION = 4, "preferred agent";
            PREFETCH_LOCATION = 5, "agent of the last prefetch";
            READ_MOSTLY = 6, "whether it is mostly read";
            GPU_EXEC = 7, "whether it contains machine code";
            AGENT_ACCESSIBLE = 0x200, "an agent with access";
            AGENT_ACCESSIBLE_IN_PLACE = 0x201, "an agent with access in place";
            AGENT_NO_ACCESS = 0x202, "an agent without access";
            ACCESS_QUERY = 0x203, "access of an agent";
        }
    }
}

/// Direction of a rectangular copy. In C: `hsa_amd_copy_direction_t`, whose constants have another
/// naming style.
#[repr(transparent)]
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct CopyDirection(pub u32);

impl CopyDirection {
    /// `hsaHostToHost`
    pub const HOST_TO_HOST: Self = Self(0);
    /// `hsaHostToDevice`
    pub const HOST_TO_DEVICE: Self = Self(1);
    /// `hsaDeviceToHost`
    pub const DEVICE_TO_HOST: Self = Self(2);
    /// `hsaDeviceToDevice`
    pub const DEVICE_TO_DEVICE: Self = Self(3);
}
