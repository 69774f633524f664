//! Regions, pools, pointers, and memory that is shared between host and devices.

use super::super::constants::constants;

constants! {
    /// What can be asked of a region.
    RegionInfo: u32 as "hsa_region_info_t" {
        "HSA_REGION_INFO_": {
            SEGMENT = 0, "[`Segment`]: what it is for";
            GLOBAL_FLAGS = 1, "[`RegionGlobalFlag`]: for the global segment";
            SIZE = 2, "`usize`: its bytes";
            ALLOC_MAX_SIZE = 4, "`usize`: the most bytes of one allocation";
            RUNTIME_ALLOC_ALLOWED = 5, "`bool`: whether memory can be allocated from it";
            RUNTIME_ALLOC_GRANULE = 6, "`usize`: sizes are multiples of it";
            RUNTIME_ALLOC_ALIGNMENT = 7, "`usize`: alignment of allocations";
            ALLOC_MAX_PRIVATE_WORKGROUP_SIZE = 8, "`u32`: the most private bytes of a workgroup";
        }
        "HSA_AMD_REGION_INFO_": {
            HOST_ACCESSIBLE = 0xA000, "`bool`: whether the host reads and writes it";
            BASE = 0xA001, "`void *`: where it starts, if it is in the address space";
            BUS_WIDTH = 0xA002, "`u32`: bits of its bus";
            MAX_CLOCK_FREQUENCY = 0xA003, "`u32`: MHz";
        }
    }
}

constants! {
    /// What memory is for.
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
    /// What a region of the global segment promises.
    RegionGlobalFlag: u32 as "hsa_region_global_flag_t" {
        "HSA_REGION_GLOBAL_FLAG_": {
            KERNARG = 1, "it may hold kernel arguments";
            FINE_GRAINED = 2, "writes are seen by others while a kernel runs";
            COARSE_GRAINED = 4, "one agent owns it at a time";
            EXTENDED_SCOPE_FINE_GRAINED = 8, "fine-grained where the chip alone cannot promise it";
        }
    }
}

constants! {
    /// What can be asked of a memory pool.
    MemoryPoolInfo: u32 as "hsa_amd_memory_pool_info_t" {
        "HSA_AMD_MEMORY_POOL_INFO_": {
            SEGMENT = 0, "[`Segment`]: what it is for";
            GLOBAL_FLAGS = 1, "[`MemoryPoolGlobalFlag`]: for the global segment";
            SIZE = 2, "`usize`: its bytes";
            RUNTIME_ALLOC_ALLOWED = 5, "`bool`: whether memory can be allocated from it";
            RUNTIME_ALLOC_GRANULE = 6, "`usize`: sizes are multiples of it";
            RUNTIME_ALLOC_ALIGNMENT = 7, "`usize`: alignment of allocations";
            ACCESSIBLE_BY_ALL = 15, "`bool`: whether every agent can use it";
            ALLOC_MAX_SIZE = 16, "`usize`: the most bytes of one allocation";
            LOCATION = 17, "[`MemoryPoolLocation`]: where it lies";
            RUNTIME_ALLOC_REC_GRANULE = 18, "`usize`: sizes had better be multiples of it";
        }
    }
}

constants! { flags
    /// What a pool of the global segment promises.
    MemoryPoolGlobalFlag: u32 as "hsa_amd_memory_pool_global_flag_t" {
        "HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_": {
            KERNARG_INIT = 1, "it may hold kernel arguments";
            FINE_GRAINED = 2, "writes are seen by others while a kernel runs";
            COARSE_GRAINED = 4, "one agent owns it at a time";
            EXTENDED_SCOPE_FINE_GRAINED = 8, "fine-grained where the chip alone cannot promise it";
        }
    }
}

constants! {
    /// Where a pool's memory lies.
    MemoryPoolLocation: u32 as "hsa_amd_memory_pool_location_t" {
        "HSA_AMD_MEMORY_POOL_LOCATION_": {
            CPU = 0, "in the host's memory";
            GPU = 1, "in a GPU's memory";
        }
    }
}

constants! { flags
    /// How to allocate from a pool.
    MemoryPoolFlag: u32 as "hsa_amd_memory_pool_flag_t" {
        "HSA_AMD_MEMORY_POOL_": {
            STANDARD_FLAG = 0, "as usual";
            PCIE_FLAG = 1, "ordered as PCIe orders writes";
            CONTIGUOUS_FLAG = 1 << 1, "in one piece of physical memory";
            EXECUTABLE_FLAG = 1 << 2, "for machine code";
            UNCACHED_FLAG = 1 << 3, "without caches of the GPU";
        }
    }
}

constants! {
    /// What can be asked of an agent and a pool together.
    AgentMemoryPoolInfo: u32 as "hsa_amd_agent_memory_pool_info_t" {
        "HSA_AMD_AGENT_MEMORY_POOL_INFO_": {
            ACCESS = 0, "[`MemoryPoolAccess`]: whether the agent can use the pool's memory";
            NUM_LINK_HOPS = 1, "`u32`: links between them";
            LINK_INFO = 2, "[`LinkInfo`](crate::abi::LinkInfo) for each link";
        }
    }
}

constants! {
    /// Whether an agent can use a pool's memory.
    MemoryPoolAccess: u32 as "hsa_amd_memory_pool_access_t" {
        "HSA_AMD_MEMORY_POOL_ACCESS_": {
            NEVER_ALLOWED = 0, "it cannot";
            ALLOWED_BY_DEFAULT = 1, "it can at once";
            DISALLOWED_BY_DEFAULT = 2, "it can when it is granted";
        }
    }
}

constants! {
    /// What connects an agent and a pool.
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
    /// What kind of memory an agent has.
    MemoryProperty: u32 as "hsa_amd_agent_memory_properties_t" {
        "HSA_AMD_MEMORY_PROPERTY_": {
            AGENT_IS_APU = 1, "it shares the host's memory";
        }
    }
}

constants! {
    /// What a pointer points to.
    PointerType: u32 as "hsa_amd_pointer_type_t" {
        "HSA_EXT_POINTER_TYPE_": {
            UNKNOWN = 0, "memory that the runtime does not know";
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
    /// How memory may be used.
    AccessPermission: u32 as "hsa_access_permission_t" {
        "HSA_ACCESS_PERMISSION_": {
            NONE = 0, "not at all";
            RO = 1, "reading";
            WO = 2, "writing";
            RW = 3, "reading and writing";
        }
    }
}

constants! {
    /// How an agent's memory agrees with the host's.
    CoherencyType: u32 as "hsa_amd_coherency_type_t" {
        "HSA_AMD_COHERENCY_TYPE_": {
            COHERENT = 0, "by itself";
            NONCOHERENT = 1, "after flushes";
        }
    }
}

constants! {
    /// What backs a virtual memory handle.
    MemoryType: u32 as "hsa_amd_memory_type_t" {
        "MEMORY_TYPE_": {
            NONE = 0, "memory that may move";
            PINNED = 1, "memory that stays";
        }
    }
}

constants! {
    /// How shared virtual memory agrees between agents.
    SvmModel: u32 as "hsa_amd_svm_model_t" {
        "HSA_AMD_SVM_GLOBAL_FLAG_": {
            FINE_GRAINED = 0, "writes are seen by others while a kernel runs";
            COARSE_GRAINED = 1, "one agent owns it at a time";
            INDETERMINATE = 2, "parts of the range differ";
        }
    }
}

constants! {
    /// What can be asked of shared virtual memory, or set.
    SvmAttribute: u64 as "hsa_amd_svm_attribute_t" {
        "HSA_AMD_SVM_ATTRIB_": {
            GLOBAL_FLAG = 0, "[`SvmModel`]";
            READ_ONLY = 1, "whether it is only read";
            HIVE_LOCAL = 2, "whether it is coherent only inside a hive of GPUs";
            MIGRATION_GRANULARITY = 3, "binary logarithm of the pages that move together";
            PREFERRED_LOCATION = 4, "the agent where it should lie";
            PREFETCH_LOCATION = 5, "the agent to which it was last moved";
            READ_MOSTLY = 6, "whether it is mostly read";
            GPU_EXEC = 7, "whether it holds machine code";
            AGENT_ACCESSIBLE = 0x200, "an agent that can use it";
            AGENT_ACCESSIBLE_IN_PLACE = 0x201, "an agent that can use it without a move";
            AGENT_NO_ACCESS = 0x202, "an agent that cannot use it";
            ACCESS_QUERY = 0x203, "how an agent can use it";
        }
    }
}

/// Between whom a rectangle is copied. In C: `hsa_amd_copy_direction_t`, whose constants have names of another style.
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
