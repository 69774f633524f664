//! Executables, their symbols and their loaded code objects.

use super::super::constants::constants;

constants! {
    /// Attributes of an executable.
    ExecutableInfo: u32 as "hsa_executable_info_t" {
        "HSA_EXECUTABLE_INFO_": {
            PROFILE = 1, "[`Profile`](super::Profile)";
            STATE = 2, "[`ExecutableState`]";
            DEFAULT_FLOAT_ROUNDING_MODE = 3, "[`FloatRoundingMode`](super::FloatRoundingMode)";
        }
    }
}

constants! {
    /// Whether an executable is frozen.
    ExecutableState: u32 as "hsa_executable_state_t" {
        "HSA_EXECUTABLE_STATE_": {
            UNFROZEN = 0, "code and definitions can be added";
            FROZEN = 1, "it can be run";
        }
    }
}

constants! {
    /// Attributes of a symbol.
    ExecutableSymbolInfo: u32 as "hsa_executable_symbol_info_t" {
        "HSA_EXECUTABLE_SYMBOL_INFO_": {
            TYPE = 0, "[`SymbolKind`]";
            NAME_LENGTH = 1, "`u32`: length of its name in bytes, without a NUL";
            NAME = 2, "`char[NAME_LENGTH]`: its name";
            MODULE_NAME_LENGTH = 3, "`u32`: length of the module name in bytes";
            MODULE_NAME = 4, "`char[MODULE_NAME_LENGTH]`: module name";
            LINKAGE = 5, "[`SymbolLinkage`]";
            VARIABLE_ALLOCATION = 6, "[`VariableAllocation`]";
            VARIABLE_SEGMENT = 7, "[`VariableSegment`]";
            VARIABLE_ALIGNMENT = 8, "`u32`: alignment of the variable in bytes";
            VARIABLE_SIZE = 9, "`u32`: size of the variable in bytes";
            VARIABLE_IS_CONST = 10, "`bool`: whether the variable is constant";
            KERNEL_KERNARG_SEGMENT_SIZE = 11, "`u32`: kernarg segment size in bytes";
            KERNEL_KERNARG_SEGMENT_ALIGNMENT = 12, "`u32`: kernarg segment alignment in bytes";
            KERNEL_GROUP_SEGMENT_SIZE = 13, "`u32`: static group segment of the kernel in bytes";
            KERNEL_PRIVATE_SEGMENT_SIZE = 14, "`u32`: private segment of a work-item in bytes";
            KERNEL_DYNAMIC_CALLSTACK = 15, "`bool`: whether the kernel uses a dynamic stack";
            INDIRECT_FUNCTION_CALL_CONVENTION = 16, "`u32`: the function's call convention";
            IS_DEFINITION = 17, "`bool`: whether it is a definition";
            KERNEL_CALL_CONVENTION = 18, "`u32`: the kernel's call convention";
            AGENT = 20, "[`Agent`](crate::abi::Agent): its agent";
            VARIABLE_ADDRESS = 21, "`u64`: the variable's address";
            KERNEL_OBJECT = 22, "`u64`: kernel object for dispatch packets";
            INDIRECT_FUNCTION_OBJECT = 23, "`u64`: the function's address";
        }
    }
}

constants! {
    /// Kind of a symbol.
    SymbolKind: u32 as "hsa_symbol_kind_t" {
        "HSA_SYMBOL_KIND_": {
            VARIABLE = 0, "a variable";
            KERNEL = 1, "a kernel";
            INDIRECT_FUNCTION = 2, "a function that is called by address";
        }
    }
}

constants! {
    /// Linkage of a symbol.
    SymbolLinkage: u32 as "hsa_symbol_linkage_t" {
        "HSA_SYMBOL_LINKAGE_": {
            MODULE = 0, "visible in its module";
            PROGRAM = 1, "visible in the program";
        }
    }
}

constants! {
    /// Whether a variable exists once per program or once per agent.
    VariableAllocation: u32 as "hsa_variable_allocation_t" {
        "HSA_VARIABLE_ALLOCATION_": {
            AGENT = 0, "once per agent";
            PROGRAM = 1, "once per program";
        }
    }
}

constants! {
    /// Segment of a variable.
    VariableSegment: u32 as "hsa_variable_segment_t" {
        "HSA_VARIABLE_SEGMENT_": {
            GLOBAL = 0, "global segment";
            READONLY = 1, "readonly segment";
        }
    }
}

constants! {
    /// Storage of a loaded code object.
    CodeObjectStorageType: u32 as "hsa_ven_amd_loader_code_object_storage_type_t" {
        "HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_": {
            NONE = 0, "unknown";
            FILE = 1, "a file";
            MEMORY = 2, "memory";
        }
    }
}

constants! {
    /// Whether a code object is loaded for the program or for an agent.
    LoadedCodeObjectKind: u32 as "hsa_ven_amd_loader_loaded_code_object_kind_t" {
        "HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_": {
            PROGRAM = 1, "program";
            AGENT = 2, "agent";
        }
    }
}

constants! {
    /// Attributes of a loaded code object.
    LoadedCodeObjectInfo: u32 as "hsa_ven_amd_loader_loaded_code_object_info_t" {
        "HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_": {
            EXECUTABLE = 1, "[`Executable`](crate::abi::Executable): its executable";
            KIND = 2, "[`LoadedCodeObjectKind`]";
            AGENT = 3, "[`Agent`](crate::abi::Agent): its agent";
            CODE_OBJECT_STORAGE_TYPE = 4, "[`CodeObjectStorageType`]";
            CODE_OBJECT_STORAGE_MEMORY_BASE = 5, "`u64`: address of the code object in memory";
            CODE_OBJECT_STORAGE_MEMORY_SIZE = 6, "`u64`: size of the code object in bytes";
            CODE_OBJECT_STORAGE_FILE = 7, "`int`: file descriptor of the code object";
            LOAD_DELTA = 8, "`i64`: difference between loaded and ELF addresses";
            LOAD_BASE = 9, "`u64`: load address";
            LOAD_SIZE = 10, "`u64`: size of the loaded image in bytes";
            URI_LENGTH = 11, "`u32`: length of its URI in bytes, without a NUL";
            URI = 12, "`char[URI_LENGTH]`: its URI";
        }
    }
}
