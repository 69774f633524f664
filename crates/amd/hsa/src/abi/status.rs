//! Status codes, which almost every function returns.

use super::constants::constants;

constants! {
    /// Status of a call.
    Status: u32 as "hsa_status_t" {
        "HSA_STATUS_": {
            SUCCESS = 0, "success";
            INFO_BREAK = 1, "a callback ended the traversal; not an error";
            ERROR = 0x1000, "unspecified error";
            ERROR_INVALID_ARGUMENT = 0x1001, "invalid argument, or the library does not support the attribute";
            ERROR_INVALID_QUEUE_CREATION = 0x1002, "the agent does not support queues of this type";
            ERROR_INVALID_ALLOCATION = 0x1003, "the allocation is impossible, or a dispatch needs too much group memory";
            ERROR_INVALID_AGENT = 0x1004, "invalid agent";
            ERROR_INVALID_REGION = 0x1005, "invalid region";
            ERROR_INVALID_SIGNAL = 0x1006, "invalid signal";
            ERROR_INVALID_QUEUE = 0x1007, "invalid queue";
            ERROR_OUT_OF_RESOURCES = 0x1008, "memory, queues or another resource ran out, or there is no kernel driver";
            ERROR_INVALID_PACKET_FORMAT = 0x1009, "malformed packet in the queue";
            ERROR_RESOURCE_FREE = 0x100A, "a resource could not be freed";
            ERROR_NOT_INITIALIZED = 0x100B, "the runtime is not initialized, or already shut down";
            ERROR_REFCOUNT_OVERFLOW = 0x100C, "the reference count of the runtime is at its maximum";
            ERROR_INCOMPATIBLE_ARGUMENTS = 0x100D, "the arguments are incompatible, or a workgroup is too large";
            ERROR_INVALID_INDEX = 0x100E, "an index is out of range";
            ERROR_INVALID_ISA = 0x100F, "invalid ISA, or not an ISA of this agent";
            ERROR_INVALID_CODE_OBJECT = 0x1010, "the code object is damaged or not for this agent";
            ERROR_INVALID_EXECUTABLE = 0x1011, "invalid executable";
            ERROR_FROZEN_EXECUTABLE = 0x1012, "the executable is frozen";
            ERROR_INVALID_SYMBOL_NAME = 0x1013, "the executable has no symbol of this name";
            ERROR_VARIABLE_ALREADY_DEFINED = 0x1014, "the variable is already defined";
            ERROR_VARIABLE_UNDEFINED = 0x1015, "a variable that the code uses is not defined";
            ERROR_EXCEPTION = 0x1016, "the hardware raised an exception while a kernel ran";
            ERROR_INVALID_ISA_NAME = 0x1017, "unknown ISA name";
            ERROR_INVALID_CODE_SYMBOL = 0x1018, "invalid code symbol";
            ERROR_INVALID_EXECUTABLE_SYMBOL = 0x1019, "invalid executable symbol";
            ERROR_INVALID_FILE = 0x1020, "the file descriptor cannot be read";
            ERROR_INVALID_CODE_OBJECT_READER = 0x1021, "invalid code object reader";
            ERROR_INVALID_CACHE = 0x1022, "invalid cache";
            ERROR_INVALID_WAVEFRONT = 0x1023, "invalid wavefront";
            ERROR_INVALID_SIGNAL_GROUP = 0x1024, "invalid signal group";
            ERROR_INVALID_RUNTIME_STATE = 0x1025, "invalid in the current state of the runtime";
            ERROR_FATAL = 0x1026, "the queue cannot recover";
            ERROR_INVALID_MEMORY_POOL = 40, "invalid memory pool";
            ERROR_MEMORY_APERTURE_VIOLATION = 41, "a kernel accessed an address outside of all apertures";
            ERROR_ILLEGAL_INSTRUCTION = 42, "a kernel contains an instruction that the chip does not support";
            ERROR_MEMORY_FAULT = 43, "a kernel accessed memory that is not mapped or not accessible";
            CU_MASK_REDUCED = 44, "the compute unit mask contains nonexistent units and was reduced; not an error";
            ERROR_OUT_OF_REGISTERS = 45, "a workgroup needs more registers than a compute unit has";
            ERROR_RESOURCE_BUSY = 46, "the resource is in use";
            ERROR_NOT_SUPPORTED = 47, "the library does not support this";
        }
        "HSA_EXT_STATUS_": {
            ERROR_INVALID_PROGRAM = 0x2000, "invalid finalizer program";
            ERROR_INVALID_MODULE = 0x2001, "invalid module";
            ERROR_INCOMPATIBLE_MODULE = 0x2002, "machine model or profile of module and program differ";
            ERROR_MODULE_ALREADY_INCLUDED = 0x2003, "the program already contains the module";
            ERROR_SYMBOL_MISMATCH = 0x2004, "a symbol has conflicting declarations";
            ERROR_FINALIZATION_FAILED = 0x2005, "the finalizer could not translate the program";
            ERROR_DIRECTIVE_MISMATCH = 0x2006, "control directives of program and call conflict";
            ERROR_IMAGE_FORMAT_UNSUPPORTED = 0x3000, "the image format is not supported";
            ERROR_IMAGE_SIZE_UNSUPPORTED = 0x3001, "the image size is not supported";
            ERROR_IMAGE_PITCH_UNSUPPORTED = 0x3002, "the image pitch is not supported";
            ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED = 0x3003, "the sampler is not supported";
        }
    }
}

impl Status {
    /// Whether the call succeeded: success and the two informational codes.
    pub const fn is_ok(self) -> bool {
        matches!(self, Status::SUCCESS | Status::INFO_BREAK | Status::CU_MASK_REDUCED)
    }

    /// Suggested fix for the user of a device, if one is known.
    pub fn remedy(self) -> Option<&'static str> {
        Some(match self {
            Status::ERROR_OUT_OF_RESOURCES => {
                "close other programs that use the GPU, or request less memory or fewer queues"
            }
            Status::ERROR_INVALID_CODE_OBJECT | Status::ERROR_INVALID_ISA => {
                "load code that was built for this agent's target, and leave HSA_OVERRIDE_GFX_VERSION unset"
            }
            Status::ERROR_ILLEGAL_INSTRUCTION => {
                "run code that was built for this chip: unset HSA_OVERRIDE_GFX_VERSION, which selects code of another chip"
            }
            Status::ERROR_MEMORY_FAULT | Status::ERROR_MEMORY_APERTURE_VIOLATION => {
                "check the kernel for out-of-bounds accesses, and the host for memory that was freed or never shared with the GPU"
            }
            Status::ERROR_INCOMPATIBLE_ARGUMENTS | Status::ERROR_OUT_OF_REGISTERS => "use smaller workgroups",
            Status::ERROR_INVALID_ALLOCATION => "request less memory, or less group memory per dispatch",
            Status::ERROR_EXCEPTION | Status::ERROR_FATAL => {
                "check the kernel log (`dmesg`) for a GPU reset, and open the device again"
            }
            Status::ERROR_NOT_SUPPORTED => "use a newer libhsa-runtime64",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_shown() {
        assert_eq!(Status::ERROR_OUT_OF_RESOURCES.to_string(), "HSA_STATUS_ERROR_OUT_OF_RESOURCES");
        assert_eq!(format!("{:?}", Status(0x7777)), "Status(0x7777)");
        assert_eq!(Status(0x7777).meaning(), None);
    }

    #[test]
    fn informational_codes_are_not_errors() {
        assert!(Status::SUCCESS.is_ok() && Status::INFO_BREAK.is_ok() && Status::CU_MASK_REDUCED.is_ok());
        assert!(!Status::ERROR.is_ok() && !Status::ERROR_MEMORY_FAULT.is_ok() && !Status(0x7777).is_ok());
    }
}
