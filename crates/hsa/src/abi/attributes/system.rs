//! The system as a whole.

use super::super::constants::constants;

constants! {
    /// What can be asked of the system.
    SystemInfo: u32 as "hsa_system_info_t" {
        "HSA_SYSTEM_INFO_": {
            VERSION_MAJOR = 0, "`u16`: major version of the specification that the library follows";
            VERSION_MINOR = 1, "`u16`: minor version of it";
            TIMESTAMP = 2, "`u64`: the clock now";
            TIMESTAMP_FREQUENCY = 3, "`u64`: Hz of that clock";
            SIGNAL_MAX_WAIT = 4, "`u64`: the longest wait for a signal, in ticks of that clock";
            ENDIANNESS = 5, "[`Endianness`]: byte order";
            MACHINE_MODEL = 6, "[`MachineModel`]: width of addresses";
            EXTENSIONS = 7, "`[u8; 128]`: a bit for each extension";
        }
        "HSA_AMD_SYSTEM_INFO_": {
            BUILD_VERSION = 0x200, "`const char *`: the library's own version";
            SVM_SUPPORTED = 0x201, "`bool`: whether host and devices share addresses";
            SVM_ACCESSIBLE_BY_DEFAULT = 0x202, "`bool`: whether all of the host's memory is accessible to devices";
            MWAITX_ENABLED = 0x203, "`bool`: whether waits use MWAITX";
            DMABUF_SUPPORTED = 0x204, "`bool`: whether memory can be exported as dmabuf";
            VIRTUAL_MEM_API_SUPPORTED = 0x205, "`bool`: whether the `hsa_amd_vmem` functions work";
            XNACK_ENABLED = 0x206, "`bool`: whether page faults of GPUs are retried";
            EXT_VERSION_MAJOR = 0x207, "`u16`: major version of AMD's extension";
            EXT_VERSION_MINOR = 0x208, "`u16`: minor version of AMD's extension";
        }
    }
}

constants! {
    /// Byte order.
    Endianness: u32 as "hsa_endianness_t" {
        "HSA_ENDIANNESS_": {
            LITTLE = 0, "the least significant byte comes first";
            BIG = 1, "the most significant byte comes first";
        }
    }
}

constants! {
    /// Width of addresses.
    MachineModel: u32 as "hsa_machine_model_t" {
        "HSA_MACHINE_MODEL_": {
            SMALL = 0, "32 bits";
            LARGE = 1, "64 bits";
        }
    }
}

constants! {
    /// How much of the specification's arithmetic is promised.
    Profile: u32 as "hsa_profile_t" {
        "HSA_PROFILE_": {
            BASE = 0, "the base profile";
            FULL = 1, "the full profile";
        }
    }
}

constants! {
    /// How floating-point results are rounded by default.
    FloatRoundingMode: u32 as "hsa_default_float_rounding_mode_t" {
        "HSA_DEFAULT_FLOAT_ROUNDING_MODE_": {
            DEFAULT = 0, "as the agent does";
            ZERO = 1, "towards zero";
            NEAR = 2, "to the nearest, ties to even";
        }
    }
}

constants! { flags
    /// What happens on a hardware exception.
    ExceptionPolicy: u32 as "hsa_exception_policy_t" {
        "HSA_EXCEPTION_POLICY_": {
            BREAK = 1, "the kernel stops";
            DETECT = 2, "it is noted";
        }
    }
}

constants! {
    /// Extensions, each with a table of functions.
    Extension: u16 as "hsa_extension_t" {
        "HSA_EXTENSION_": {
            FINALIZER = 0, "the finalizer, gone by now";
            IMAGES = 1, "images and samplers";
            PERFORMANCE_COUNTERS = 2, "performance counters";
            PROFILING_EVENTS = 3, "profiling events";
            AMD_PROFILER = 0x200, "AMD's profiler";
            AMD_LOADER = 0x201, "AMD's loader: [`LoaderTable1_03`](crate::abi::LoaderTable1_03)";
            AMD_AQLPROFILE = 0x202, "AMD's profiling packets";
            AMD_PC_SAMPLING = 0x203, "AMD's program counter sampling";
        }
    }
}

constants! {
    /// What a system event tells.
    EventType: u32 as "hsa_amd_event_type_t" {
        "HSA_AMD_GPU_": {
            MEMORY_FAULT_EVENT = 0, "a kernel used memory that is not there or not allowed";
            HW_EXCEPTION_EVENT = 1, "the GPU was reset";
            MEMORY_ERROR_EVENT = 2, "memory of the GPU cannot be used as asked";
        }
    }
}

constants! { flags
    /// Why memory could not be used by a kernel.
    MemoryFaultReason: u32 as "hsa_amd_memory_fault_reason_t" {
        "HSA_AMD_MEMORY_FAULT_": {
            PAGE_NOT_PRESENT = 1, "nothing is mapped there, or the GPU has no access";
            READ_ONLY = 1 << 1, "it may only be read";
            NX = 1 << 2, "it may not be executed";
            HOST_ONLY = 1 << 3, "only the host may use it";
            DRAMECC = 1 << 4, "the memory has an uncorrectable error";
            IMPRECISE = 1 << 5, "the address is not exact";
            SRAMECC = 1 << 6, "a cache or register file has an uncorrectable error";
            HANG = 1 << 31, "the GPU hung and was reset";
        }
    }
}

constants! { flags
    /// How a GPU was reset.
    HwExceptionResetType: u32 as "hsa_amd_hw_exception_reset_type_t" {
        "HSA_AMD_HW_EXCEPTION_RESET_TYPE_": {
            OTHER = 1, "in a way that is not named";
        }
    }
}

constants! { flags
    /// Why a GPU was reset.
    HwExceptionResetCause: u32 as "hsa_amd_hw_exception_reset_cause_t" {
        "HSA_AMD_HW_EXCEPTION_CAUSE_": {
            GPU_HANG = 1, "it hung";
            ECC = 1 << 1, "its memory has an uncorrectable error";
        }
    }
}
