//! Instruction set architectures.

use super::super::constants::constants;

constants! {
    /// What can be asked of an instruction set architecture.
    IsaInfo: u32 as "hsa_isa_info_t" {
        "HSA_ISA_INFO_": {
            NAME_LENGTH = 0, "`u32`: bytes of its name, with the zero at the end";
            NAME = 1, "`char[NAME_LENGTH]`: such as amdgcn-amd-amdhsa--gfx1010:xnack-";
            CALL_CONVENTION_COUNT = 2, "`u32`: call conventions";
            CALL_CONVENTION_INFO_WAVEFRONT_SIZE = 3, "`u32`: lanes in a wave";
            CALL_CONVENTION_INFO_WAVEFRONTS_PER_COMPUTE_UNIT = 4, "`u32`: waves of a compute unit";
            MACHINE_MODELS = 5, "`[bool; 2]`: which machine models it supports";
            PROFILES = 6, "`[bool; 2]`: which profiles it supports";
            DEFAULT_FLOAT_ROUNDING_MODES = 7, "`[bool; 3]`: which rounding modes it supports";
            BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES = 8, "`[bool; 3]`: which of them in the base profile";
            FAST_F16_OPERATION = 9, "`bool`: whether f16 is as fast as f32";
            WORKGROUP_MAX_DIM = 12, "`[u16; 3]`: the most work-items of a workgroup in each dimension";
            WORKGROUP_MAX_SIZE = 13, "`u32`: the most work-items of a workgroup";
            GRID_MAX_DIM = 14, "[`Dim3`](crate::abi::Dim3): the most work-items of a grid in each dimension";
            GRID_MAX_SIZE = 16, "`u64`: the most work-items of a grid";
            FBARRIER_MAX_SIZE = 17, "`u32`: the most fine barriers of a workgroup";
        }
    }
}
