//! Executables, their symbols and their loaded code objects.

use super::super::constants::constants;

constants! {
    /// What can be asked of an executable.
    ExecutableInfo: u32 as "hsa_executable_info_t" {
        "HSA_EXECUTABLE_INFO_": {
            PROFILE = 1, "[`Profile`](super::Profile)";
            STATE = 2, "[`ExecutableState`]";
            DEFAULT_FLOAT_ROUNDING_MODE = 3, "[`FloatRoundingMode`](super::FloatRoundingMode)";
        }
    }
}

constants! {
    /// Whether an executable still changes.
    ExecutableState: u32 as "hsa_executable_state_t" {
        "HSA_EXECUTABLE_STATE_": {
            UNFROZEN = 0, "code and definitions can be added";
            FROZEN = 1, "it can be run";
        }
    }
}

constants! {
    /// What can be asked of a symbol.
    ExecutableSymbolInfo: u32 as "hsa_executable_symbol_info_t" {
        "HSA_EXECUTABLE_SYMBOL_INFO_": {
            TYPE = 0, "[`SymbolKind`]";
            NAME_LENGTH = 1, "`u32`: bytes of its name, without a zero";
            NAME = 2, "`char[NAME_LENGTH]`: its name";
            MODULE_NAME_LENGTH = 3, "`u32`: bytes of its module's name";
            MODULE_NAME = 4, "`char[MODULE_NAME_LENGTH]`: its module's name";
            LINKAGE = 5, "[`SymbolLinkage`]";
            VARIABLE_ALLOCATION = 6, "[`VariableAllocation`]";
            VARIABLE_SEGMENT = 7, "[`VariableSegment`]";
            VARIABLE_ALIGNMENT = 8, "`u32`: the variable's alignment";
            VARIABLE_SIZE = 9, "`u32`: the variable's bytes";
            VARIABLE_IS_CONST = 10, "`bool`: whether the variable is constant";
            KERNEL_KERNARG_SEGMENT_SIZE = 11, "`u32`: bytes of the kernel's arguments";
            KERNEL_KERNARG_SEGMENT_ALIGNMENT = 12, "`u32`: alignment of the kernel's arguments";
            KERNEL_GROUP_SEGMENT_SIZE = 13, "`u32`: the kernel's static group memory in bytes";
            KERNEL_PRIVATE_SEGMENT_SIZE = 14, "`u32`: the kernel's private memory of a work-item in bytes";
            KERNEL_DYNAMIC_CALLSTACK = 15, "`bool`: whether the kernel's private memory is not known";
            INDIRECT_FUNCTION_CALL_CONVENTION = 16, "`u32`: the function's call convention";
            IS_DEFINITION = 17, "`bool`: whether it is a definition";
            KERNEL_CALL_CONVENTION = 18, "`u32`: the kernel's call convention";
            AGENT = 20, "[`Agent`](crate::abi::Agent): where it lies";
            VARIABLE_ADDRESS = 21, "`u64`: the variable's address";
            KERNEL_OBJECT = 22, "`u64`: what a dispatch packet names the kernel by";
            INDIRECT_FUNCTION_OBJECT = 23, "`u64`: the function's address";
        }
    }
}

constants! {
    /// What a symbol is.
    SymbolKind: u32 as "hsa_symbol_kind_t" {
        "HSA_SYMBOL_KIND_": {
            VARIABLE = 0, "a variable";
            KERNEL = 1, "a kernel";
            INDIRECT_FUNCTION = 2, "a function that is called by address";
        }
    }
}

constants! {
    /// Who sees a symbol.
    SymbolLinkage: u32 as "hsa_symbol_linkage_t" {
        "HSA_SYMBOL_LINKAGE_": {
            MODULE = 0, "its module";
            PROGRAM = 1, "all of the program";
        }
    }
}

constants! {
    /// How many copies of a variable there are.
    VariableAllocation: u32 as "hsa_variable_allocation_t" {
        "HSA_VARIABLE_ALLOCATION_": {
            AGENT = 0, "one on each agent";
            PROGRAM = 1, "one";
        }
    }
}

constants! {
    /// Where a variable lies.
    VariableSegment: u32 as "hsa_variable_segment_t" {
        "HSA_VARIABLE_SEGMENT_": {
            GLOBAL = 0, "in global memory";
            READONLY = 1, "among the constants";
        }
    }
}

constants! {
    /// Where the bytes of a loaded code object come from.
    CodeObjectStorageType: u32 as "hsa_ven_amd_loader_code_object_storage_type_t" {
        "HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_": {
            NONE = 0, "from nowhere that is known";
            FILE = 1, "from a file";
            MEMORY = 2, "from memory";
        }
    }
}

constants! {
    /// For whom a code object is loaded.
    LoadedCodeObjectKind: u32 as "hsa_ven_amd_loader_loaded_code_object_kind_t" {
        "HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_": {
            PROGRAM = 1, "for the program";
            AGENT = 2, "for one agent";
        }
    }
}

constants! {
    /// What can be asked of a loaded code object.
    LoadedCodeObjectInfo: u32 as "hsa_ven_amd_loader_loaded_code_object_info_t" {
        "HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_": {
            EXECUTABLE = 1, "[`Executable`](crate::abi::Executable): to which it belongs";
            KIND = 2, "[`LoadedCodeObjectKind`]";
            AGENT = 3, "[`Agent`](crate::abi::Agent): on which it is loaded";
            CODE_OBJECT_STORAGE_TYPE = 4, "[`CodeObjectStorageType`]";
            CODE_OBJECT_STORAGE_MEMORY_BASE = 5, "`u64`: where its bytes came from in memory";
            CODE_OBJECT_STORAGE_MEMORY_SIZE = 6, "`u64`: how many they were";
            CODE_OBJECT_STORAGE_FILE = 7, "`int`: the file they came from";
            LOAD_DELTA = 8, "`i64`: what to add to an address of the ELF file to get the loaded one";
            LOAD_BASE = 9, "`u64`: where it is loaded";
            LOAD_SIZE = 10, "`u64`: how many bytes it takes";
            URI_LENGTH = 11, "`u32`: bytes of its URI, without a zero";
            URI = 12, "`char[URI_LENGTH]`: its URI";
        }
    }
}
