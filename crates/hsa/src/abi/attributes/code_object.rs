//! Code objects as the first version of the loader knew them, and programs for a finalizer.

use super::super::constants::constants;

constants! {
    /// What can be asked of a code object.
    CodeObjectInfo: u32 as "hsa_code_object_info_t" {
        "HSA_CODE_OBJECT_INFO_": {
            VERSION = 0, "`char[64]`: its version";
            TYPE = 1, "[`CodeObjectType`]";
            ISA = 2, "[`Isa`](crate::abi::Isa): for which it is";
            MACHINE_MODEL = 3, "[`MachineModel`](super::MachineModel)";
            PROFILE = 4, "[`Profile`](super::Profile)";
            DEFAULT_FLOAT_ROUNDING_MODE = 5, "[`FloatRoundingMode`](super::FloatRoundingMode)";
        }
    }
}

constants! {
    /// What a code object holds.
    CodeObjectType: u32 as "hsa_code_object_type_t" {
        "HSA_CODE_OBJECT_TYPE_": {
            PROGRAM = 0, "code of a program";
        }
    }
}

constants! {
    /// What can be asked of a symbol of a code object: the numbers of
    /// [`ExecutableSymbolInfo`](super::ExecutableSymbolInfo).
    CodeSymbolInfo: u32 as "hsa_code_symbol_info_t" {
        "HSA_CODE_SYMBOL_INFO_": {
            TYPE = 0, "[`SymbolKind`](super::SymbolKind)";
            NAME_LENGTH = 1, "`u32`: bytes of its name, without a zero";
            NAME = 2, "`char[NAME_LENGTH]`: its name";
            MODULE_NAME_LENGTH = 3, "`u32`: bytes of its module's name";
            MODULE_NAME = 4, "`char[MODULE_NAME_LENGTH]`: its module's name";
            LINKAGE = 5, "[`SymbolLinkage`](super::SymbolLinkage)";
            VARIABLE_ALLOCATION = 6, "[`VariableAllocation`](super::VariableAllocation)";
            VARIABLE_SEGMENT = 7, "[`VariableSegment`](super::VariableSegment)";
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
        }
    }
}

constants! {
    /// What can be asked of a program for a finalizer.
    ExtProgramInfo: u32 as "hsa_ext_program_info_t" {
        "HSA_EXT_PROGRAM_INFO_": {
            MACHINE_MODEL = 0, "[`MachineModel`](super::MachineModel)";
            PROFILE = 1, "[`Profile`](super::Profile)";
            DEFAULT_FLOAT_ROUNDING_MODE = 2, "[`FloatRoundingMode`](super::FloatRoundingMode)";
        }
    }
}
