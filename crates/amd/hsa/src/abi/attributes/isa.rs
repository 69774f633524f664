//! Instruction set architectures.

use super::super::constants::constants;

constants! {
    /// Attributes of an ISA.
    IsaInfo: u32 as "hsa_isa_info_t" {
        "HSA_ISA_INFO_": {
            NAME_LENGTH = 0, "`u32`: length of its name in bytes, with the NUL";
            NAME = 1, "`char[NAME_LENGTH]`: such as amdgcn-amd-amdhsa--gfx1010:xnack-";
            CALL_CONVENTION_COUNT = 2, "`u32`: number of call conventions";
            CALL_CONVENTION_INFO_WAVEFRONT_SIZE = 3, "`u32`: lanes of a wave";
            CALL_CONVENTION_INFO_WAVEFRONTS_PER_COMPUTE_UNIT = 4, "`u32`: maximum resident waves of a compute unit";
            MACHINE_MODELS = 5, "`[bool; 2]`: which machine models it supports";
            PROFILES = 6, "`[bool; 2]`: which profiles it supports";
            DEFAULT_FLOAT_ROUNDING_MODES = 7, "`[bool; 3]`: which rounding modes it supports";
            BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES = 8, "`[bool; 3]`: which of them in the base profile";
            FAST_F16_OPERATION = 9, "`bool`: whether f16 is as fast as f32";
            WORKGROUP_MAX_DIM = 12, "`[u16; 3]`: maximum work-items of a workgroup per dimension";
            WORKGROUP_MAX_SIZE = 13, "`u32`: maximum work-items of a workgroup";
            GRID_MAX_DIM = 14, "[`Dim3`](crate::abi::Dim3): maximum work-items of a grid per dimension";
            GRID_MAX_SIZE = 16, "`u64`: maximum work-items of a grid";
            FBARRIER_MAX_SIZE = 17, "`u32`: maximum fbarriers of a workgroup";
        }
    }
}

constants! {
    /// Attributes of a wavefront.
    WavefrontInfo: u32 as "hsa_wavefront_info_t" {
        "HSA_WAVEFRONT_INFO_": {
            SIZE = 0, "`u32`: lanes of a wave";
        }
    }
}

constants! {
    /// A floating-point type.
    FpType: u32 as "hsa_fp_type_t" {
        "HSA_FP_TYPE": {
            _16 = 1, "of 16 bits";
            _32 = 2, "of 32 bits";
            _64 = 4, "of 64 bits";
        }
    }
}

constants! {
    /// Handling of denormal numbers.
    FlushMode: u32 as "hsa_flush_mode_t" {
        "HSA_FLUSH_MODE_": {
            FTZ = 1, "flushed to zero";
            NON_FTZ = 2, "kept";
        }
    }
}

constants! {
    /// Number of roundings of a fused operation.
    RoundMethod: u32 as "hsa_round_method_t" {
        "HSA_ROUND_METHOD_": {
            SINGLE = 1, "once, at the end";
            DOUBLE = 2, "after each operation";
        }
    }
}
