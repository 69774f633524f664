//! Code objects of the legacy loader, and finalizer programs.

use super::super::constants::constants;

constants! {
    /// Attributes of a code object.
    CodeObjectInfo: u32 as "hsa_code_object_info_t" {
        "HSA_CODE_OBJECT_INFO_": {
            VERSION = 0, "`char[64]`: version";
            TYPE = 1, "[`CodeObjectType`]";
            ISA = 2, "[`Isa`](crate::abi::Isa): its ISA";
            MACHINE_MODEL = 3, "[`MachineModel`](super::MachineModel)";
            PROFILE = 4, "[`Profile`](super::Profile)";
            DEFAULT_FLOAT_ROUNDING_MODE = 5, "[`FloatRoundingMode`](super::FloatRoundingMode)";
        }
    }
}

constants! {
    /// Type of a code object.
    CodeObjectType: u32 as "hsa_code_object_type_t" {
        "HSA_CODE_OBJECT_TYPE_": {
            PROGRAM = 0, "program code";
        }
    }
}

constants! {
    /// Attributes of a symbol of a code object, with the numbers of
    /// [`ExecutableSymbolInfo`](super::ExecutableSymbolInfo).
    CodeSymbolInfo: u32 as "hsa_code_symbol_info_t" {
        "HSA_CODE_SYMBOL_INFO_": {
            TYPE = 0, "[`SymbolKind`](super::SymbolKind)";
            NAME_LENGTH = 1, "`u32`: length of its name in bytes, without a NUL";
            NAME = 2, "`char[NAME_LENGTH]`: its name";
            MODULE_NAME_LENGTH = 3, "`u32`: length of the module name in bytes";
            MODULE_NAME = 4, "`char[MODULE_NAME_LENGTH]`: module name";
            LINKAGE = 5, "[`SymbolLinkage`](super::SymbolLinkage)";
            VARIABLE_ALLOCATION = 6, "[`VariableAllocation`](super::VariableAllocation)";
            VARIABLE_SEGMENT = 7, "[`VariableSegment`](super::VariableSegment)";
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
        }
    }
}

constants! {
    /// Attributes of a finalizer program.
    ExtProgramInfo: u32 as "hsa_ext_program_info_t" {
        "HSA_EXT_PROGRAM_INFO_": {
            MACHINE_MODEL = 0, "[`MachineModel`](super::MachineModel)";
            PROFILE = 1, "[`Profile`](super::Profile)";
            DEFAULT_FLOAT_ROUNDING_MODE = 2, "[`FloatRoundingMode`](super::FloatRoundingMode)";
        }
    }
}
