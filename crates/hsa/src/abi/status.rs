//! What every function returns.

use super::constants::constants;

constants! {
    /// The result of a call.
    Status: u32 as "hsa_status_t" {
        "HSA_STATUS_": {
            SUCCESS = 0, "the call did what it was asked";
            INFO_BREAK = 1, "a callback ended the traversal; not an error";
            ERROR = 0x1000, "an error without a closer description";
            ERROR_INVALID_ARGUMENT = 0x1001, "an argument is wrong, or this library does not know the attribute";
            ERROR_INVALID_QUEUE_CREATION = 0x1002, "the agent does not make queues of this kind";
            ERROR_INVALID_ALLOCATION = 0x1003, "such memory cannot be had, or a dispatch wants too much group memory";
            ERROR_INVALID_AGENT = 0x1004, "the agent is not one";
            ERROR_INVALID_REGION = 0x1005, "the region is not one";
            ERROR_INVALID_SIGNAL = 0x1006, "the signal is not one";
            ERROR_INVALID_QUEUE = 0x1007, "the queue is not one";
            ERROR_OUT_OF_RESOURCES = 0x1008, "memory, queues or another resource ran out, or there is no kernel driver";
            ERROR_INVALID_PACKET_FORMAT = 0x1009, "a packet in the queue is not well formed";
            ERROR_RESOURCE_FREE = 0x100A, "a resource could not be freed";
            ERROR_NOT_INITIALIZED = 0x100B, "the runtime is not initialised, or already shut down";
            ERROR_REFCOUNT_OVERFLOW = 0x100C, "the count of initialisations is at its maximum";
            ERROR_INCOMPATIBLE_ARGUMENTS = 0x100D, "arguments contradict each other, or a workgroup is too large";
            ERROR_INVALID_INDEX = 0x100E, "an index is out of range";
            ERROR_INVALID_ISA = 0x100F, "the instruction set architecture is not one, or not this agent's";
            ERROR_INVALID_CODE_OBJECT = 0x1010, "the code object is damaged or not for this agent";
            ERROR_INVALID_EXECUTABLE = 0x1011, "the executable is not one";
            ERROR_FROZEN_EXECUTABLE = 0x1012, "the executable is frozen, nothing can be added";
            ERROR_INVALID_SYMBOL_NAME = 0x1013, "the executable has no symbol of this name";
            ERROR_VARIABLE_ALREADY_DEFINED = 0x1014, "the variable is defined already";
            ERROR_VARIABLE_UNDEFINED = 0x1015, "a variable that the code uses is not defined";
            ERROR_EXCEPTION = 0x1016, "the hardware raised an exception while a kernel ran";
            ERROR_INVALID_ISA_NAME = 0x1017, "the name is not that of an instruction set architecture";
            ERROR_INVALID_CODE_SYMBOL = 0x1018, "the code symbol is not one";
            ERROR_INVALID_EXECUTABLE_SYMBOL = 0x1019, "the executable symbol is not one";
            ERROR_INVALID_FILE = 0x1020, "the file descriptor cannot be read";
            ERROR_INVALID_CODE_OBJECT_READER = 0x1021, "the code object reader is not one";
            ERROR_INVALID_CACHE = 0x1022, "the cache is not one";
            ERROR_INVALID_WAVEFRONT = 0x1023, "the wavefront is not one";
            ERROR_INVALID_SIGNAL_GROUP = 0x1024, "the signal group is not one";
            ERROR_INVALID_RUNTIME_STATE = 0x1025, "the runtime is in a state in which this cannot be done";
            ERROR_FATAL = 0x1026, "the queue is lost for good";
            ERROR_INVALID_MEMORY_POOL = 40, "the memory pool is not one";
            ERROR_MEMORY_APERTURE_VIOLATION = 41, "a kernel used an address outside of every aperture";
            ERROR_ILLEGAL_INSTRUCTION = 42, "a kernel holds an instruction that the chip does not have";
            ERROR_MEMORY_FAULT = 43, "a kernel used memory that is not there or not allowed";
            CU_MASK_REDUCED = 44, "the mask of compute units was set, but names some that do not exist; not an error";
            ERROR_OUT_OF_REGISTERS = 45, "a workgroup needs more registers than a compute unit has";
            ERROR_RESOURCE_BUSY = 46, "the resource is in use";
            ERROR_NOT_SUPPORTED = 47, "the library does not support this";
        }
        "HSA_EXT_STATUS_": {
            ERROR_INVALID_PROGRAM = 0x2000, "the program for a finalizer is not one";
            ERROR_INVALID_MODULE = 0x2001, "the module is not one";
            ERROR_INCOMPATIBLE_MODULE = 0x2002, "the module's model or profile is not the program's";
            ERROR_MODULE_ALREADY_INCLUDED = 0x2003, "the program has the module already";
            ERROR_SYMBOL_MISMATCH = 0x2004, "a symbol is declared in two ways";
            ERROR_FINALIZATION_FAILED = 0x2005, "the finalizer could not translate the program";
            ERROR_DIRECTIVE_MISMATCH = 0x2006, "directives of the program contradict the call's";
            ERROR_IMAGE_FORMAT_UNSUPPORTED = 0x3000, "the image format is not supported";
            ERROR_IMAGE_SIZE_UNSUPPORTED = 0x3001, "the image size is not supported";
            ERROR_IMAGE_PITCH_UNSUPPORTED = 0x3002, "the image pitch is not supported";
            ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED = 0x3003, "the sampler is not supported";
        }
    }
}

impl Status {
    /// Whether the call did its work: success, and the two codes that only inform.
    pub const fn is_ok(self) -> bool {
        matches!(self, Status::SUCCESS | Status::INFO_BREAK | Status::CU_MASK_REDUCED)
    }

    /// What the user of a device can do about it, where there is something.
    pub fn remedy(self) -> Option<&'static str> {
        Some(match self {
            Status::ERROR_OUT_OF_RESOURCES => {
                "close other programs that use the GPU, or ask for less memory or fewer queues"
            }
            Status::ERROR_INVALID_CODE_OBJECT | Status::ERROR_INVALID_ISA => {
                "load code that was built for this agent's target, and leave HSA_OVERRIDE_GFX_VERSION unset"
            }
            Status::ERROR_ILLEGAL_INSTRUCTION => {
                "run code that was built for this very chip: unset HSA_OVERRIDE_GFX_VERSION, which loads another chip's"
            }
            Status::ERROR_MEMORY_FAULT | Status::ERROR_MEMORY_APERTURE_VIOLATION => {
                "look for an index out of bounds in the kernel, or for memory that was freed or never granted"
            }
            Status::ERROR_INCOMPATIBLE_ARGUMENTS | Status::ERROR_OUT_OF_REGISTERS => "use smaller workgroups",
            Status::ERROR_INVALID_ALLOCATION => "ask for less memory, or for less group memory in each dispatch",
            Status::ERROR_EXCEPTION | Status::ERROR_FATAL => {
                "read the kernel's log (`dmesg`) for a GPU reset, and open the device again"
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
    fn what_only_informs_is_no_error() {
        assert!(Status::SUCCESS.is_ok() && Status::INFO_BREAK.is_ok() && Status::CU_MASK_REDUCED.is_ok());
        assert!(!Status::ERROR.is_ok() && !Status::ERROR_MEMORY_FAULT.is_ok() && !Status(0x7777).is_ok());
    }
}
