//! The system.

use super::super::constants::constants;

constants! {
    /// Attributes of the system.
    SystemInfo: u32 as "hsa_system_info_t" {
        "HSA_SYSTEM_INFO_": {
            VERSION_MAJOR = 0, "`u16`: major version of the HSA specification";
            VERSION_MINOR = 1, "`u16`: minor version of the HSA specification";
            TIMESTAMP = 2, "`u64`: current system clock in ticks";
            TIMESTAMP_FREQUENCY = 3, "`u64`: clock frequency in Hz";
            SIGNAL_MAX_WAIT = 4, "`u64`: maximum wait for a signal in ticks";
            ENDIANNESS = 5, "[`Endianness`]: byte order";
            MACHINE_MODEL = 6, "[`MachineModel`]: address width";
            EXTENSIONS = 7, "`[u8; 128]`: bit mask of supported extensions";
        }
        "HSA_AMD_SYSTEM_INFO_": {
            BUILD_VERSION = 0x200, "`const char *`: version string of the library";
            SVM_SUPPORTED = 0x201, "`bool`: whether shared virtual memory is supported";
            SVM_ACCESSIBLE_BY_DEFAULT = 0x202, "`bool`: whether devices can access all host memory";
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
    /// Address width.
    MachineModel: u32 as "hsa_machine_model_t" {
        "HSA_MACHINE_MODEL_": {
            SMALL = 0, "32 bits";
            LARGE = 1, "64 bits";
        }
    }
}

constants! {
    /// Profile: which floating-point behavior is guaranteed.
    Profile: u32 as "hsa_profile_t" {
        "HSA_PROFILE_": {
            BASE = 0, "the base profile";
            FULL = 1, "the full profile";
        }
    }
}

constants! {
    /// Default floating-point rounding mode.
    FloatRoundingMode: u32 as "hsa_default_float_rounding_mode_t" {
        "HSA_DEFAULT_FLOAT_ROUNDING_MODE_": {
            DEFAULT = 0, "default of the agent";
            ZERO = 1, "toward zero";
            NEAR = 2, "to nearest, ties to even";
        }
    }
}

constants! { flags
    /// Policy on a hardware exception.
    ExceptionPolicy: u32 as "hsa_exception_policy_t" {
        "HSA_EXCEPTION_POLICY_": {
            BREAK = 1, "the kernel stops";
            DETECT = 2, "a flag is set";
        }
    }
}

constants! {
    /// Extensions, each with a function table.
    Extension: u16 as "hsa_extension_t" {
        "HSA_EXTENSION_": {
            FINALIZER = 0, "finalizer; no longer available";
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
    /// Type of a system event.
    EventType: u32 as "hsa_amd_event_type_t" {
        "HSA_AMD_GPU_": {
            MEMORY_FAULT_EVENT = 0, "a kernel accessed memory that is not mapped or not accessible";
            HW_EXCEPTION_EVENT = 1, "the GPU was reset";
            MEMORY_ERROR_EVENT = 2, "memory error of the GPU";
        }
    }
}

constants! { flags
    /// Reasons of a memory fault.
    MemoryFaultReason: u32 as "hsa_amd_memory_fault_reason_t" {
        "HSA_AMD_MEMORY_FAULT_": {
            PAGE_NOT_PRESENT = 1, "nothing is mapped there, or the GPU has no access";
            READ_ONLY = 1 << 1, "read-only memory";
            NX = 1 << 2, "not executable";
            HOST_ONLY = 1 << 3, "only accessible to the host";
            DRAMECC = 1 << 4, "the memory has an uncorrectable error";
            IMPRECISE = 1 << 5, "the address is not exact";
            SRAMECC = 1 << 6, "a cache or register file has an uncorrectable error";
            HANG = 1 << 31, "the GPU hung and was reset";
        }
    }
}

constants! { flags
    /// Kind of a GPU reset.
    HwExceptionResetType: u32 as "hsa_amd_hw_exception_reset_type_t" {
        "HSA_AMD_HW_EXCEPTION_RESET_TYPE_": {
            OTHER = 1, "unspecified";
        }
    }
}

constants! { flags
    /// Cause of a GPU reset.
    HwExceptionResetCause: u32 as "hsa_amd_hw_exception_reset_cause_t" {
        "HSA_AMD_HW_EXCEPTION_CAUSE_": {
            GPU_HANG = 1, "GPU hang";
            ECC = 1 << 1, "uncorrectable memory error";
        }
    }
}
