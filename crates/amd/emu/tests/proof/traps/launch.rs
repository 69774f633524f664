//! Initial state of waves.

use libtest_mimic::Failed;
use roci_emu::Chip;

use super::{BOTH, Bench, GENERATIONS, Trap, kernel};
use crate::device::{self, Device};
use crate::toolchain::{CHIPS, Source};

pub(super) const ALL: &[Trap] = &[
    ("unused_work_item_ids_are_zero", unused_numbers),
    ("work_item_ids_are_packed_on_gfx11", packed_numbers),
    ("user_sgprs_are_padded", padding),
    ("workgroup_ids_as_enabled", group_numbers),
    ("the_last_wave_is_partial", holes),
    ("partial_workgroups_in_three_dimensions", partial_groups),
    ("denormals_by_descriptor", denormals),
    ("rounding_by_descriptor", rounding),
    ("clang_pads_user_sgprs_on_gfx1100_only", clang_padding),
];

/// A two-dimensional workgroup whose kernel uses only the first dimension, and uses `v0` without
/// masking it.
fn unused_numbers(bench: &Bench) -> Result<(), Failed> {
    for chip in GENERATIONS {
        let mut kernel = kernel(chip, "v_mov_b32 v4, v10");
        (kernel.grid, kernel.block, kernel.by_item) = ([8, 4, 1], [8, 4, 1], false);
        kernel.first = "v_mov_b32 v10, v0";
        bench.expect(&kernel, |lane| [lane % 8])?;
    }
    Ok(())
}

fn packed_numbers(bench: &Bench) -> Result<(), Failed> {
    for chip in BOTH {
        let mut kernel = kernel(chip, "v_mov_b32 v4, v10\nv_mov_b32 v5, v11\nv_mov_b32 v6, v12");
        (kernel.grid, kernel.block, kernel.by_item) = ([4, 4, 2], [4, 4, 2], false);
        kernel.descriptor = ".amdhsa_system_vgpr_workitem_id 2";
        if chip == Chip::Gfx1100 {
            kernel.first = "v_mov_b32 v10, v0";
            bench.expect(&kernel, |lane| [(lane % 4) | ((lane / 4 % 4) << 10) | ((lane / 16) << 20)])?;
        } else {
            kernel.first = "v_mov_b32 v10, v0\nv_mov_b32 v11, v1\nv_mov_b32 v12, v2";
            bench.expect(&kernel, |lane| [lane % 4, lane / 4 % 4, lane / 16])?;
        }
    }
    Ok(())
}

/// The number of user SGPRs may exceed the enabled ones: the workgroup ID comes after all of them.
fn padding(bench: &Bench) -> Result<(), Failed> {
    for chip in BOTH {
        let mut kernel = kernel(chip, "v_mov_b32 v4, s20");
        (kernel.grid, kernel.descriptor) = ([96, 1, 1], ".amdhsa_user_sgpr_count 15");
        kernel.first = "s_mov_b32 s20, s15\ns_mov_b32 s2, s15";
        bench.expect(&kernel, |lane| [lane / 32])?;
    }
    Ok(())
}

fn group_numbers(bench: &Bench) -> Result<(), Failed> {
    for chip in BOTH {
        let mut kernel = kernel(chip, "v_mov_b32 v4, s20\nv_mov_b32 v5, s21");
        (kernel.grid, kernel.block) = ([32, 3, 2], [32, 1, 1]);
        kernel.descriptor = ".amdhsa_system_sgpr_workgroup_id_x 0\n.amdhsa_system_sgpr_workgroup_id_y 1\n\
                             .amdhsa_system_sgpr_workgroup_id_z 1";
        kernel.first = "s_mov_b32 s20, s2\ns_mov_b32 s21, s3\ns_mul_i32 s3, s3, 3\ns_add_u32 s2, s2, s3";
        bench.expect(&kernel, |lane| [lane / 32 % 3, lane / 96])?;
    }
    Ok(())
}

fn holes(bench: &Bench) -> Result<(), Failed> {
    for chip in BOTH {
        let mut kernel = kernel(chip, "v_mov_b32 v4, s8");
        (kernel.grid, kernel.block) = ([110, 1, 1], [40, 1, 1]);
        // Workgroups of 40, 40 and 30 work-items: waves of 32 and 8 lanes, then one of 30.
        bench.expect(&kernel, |lane| {
            [match lane {
                0..32 | 40..72 => !0,
                32..40 | 72..80 => 0xff,
                _ => 0x3fff_ffff,
            }]
        })?;
    }
    Ok(())
}

/// Workgroups at the upper edges are partial, and their work-items are numbered by the partial
/// size.
fn partial_groups(bench: &Bench) -> Result<(), Failed> {
    const SOURCE: &str = "kernel void ids(global uint *out, uint gx, uint gy, uint bx, uint by, uint bz) {\n\
        uint lx = __builtin_amdgcn_workitem_id_x(), ly = __builtin_amdgcn_workitem_id_y(), \
             lz = __builtin_amdgcn_workitem_id_z();\n\
        uint x = __builtin_amdgcn_workgroup_id_x() * bx + lx, y = __builtin_amdgcn_workgroup_id_y() * by + ly, \
             z = __builtin_amdgcn_workgroup_id_z() * bz + lz;\n\
        out[(z * gy + y) * gx + x] += lx | ly << 8 | lz << 16 | 0x1000000;\n}";
    let (grid, block) = ([13, 7, 5], [8, 4, 2]);
    for chip in CHIPS {
        for options in [&["-O2"][..], &["-O0"], &["-O2", "-mwavefrontsize64"]] {
            let object = bench.toolchain.device(&Source::Text(SOURCE), chip, options)?;
            let device = Device::load(chip, &object)?;
            let output = device.words(&[0; 13 * 7 * 5]);
            let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
            let sizes = [pair(grid[0], grid[1]), pair(block[0], block[1]), u64::from(block[2])];
            let arguments = [output.address(), sizes[0], sizes[1], sizes[2]];
            device.run("ids", grid, block, &arguments).map_err(|error| error.to_string())?;
            for (index, word) in (0u32..).zip(device::words(&output)) {
                let (x, y, z) = (index % 13, index / 13 % 7, index / 91);
                super::equal(word, (x % 8) | ((y % 4) << 8) | ((z % 2) << 16) | 0x0100_0000)?;
            }
        }
    }
    Ok(())
}

/// 5e-40 + 5e-40, and half the smallest normal f16 and f64: each follows its own mode.
fn denormals(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x000571cc\nv_add_f32 v4, v10, v10\n\
                v_mov_b32 v11, 0x200\nv_mov_b32 v5, 0\nv_add_f16 v5, v11, v11\nv_add_f16 v5, v5, 0\n\
                v_mov_b32 v12, 0\nv_mov_b32 v13, 0x40000\nv_add_f64 v[6:7], v[12:13], v[12:13]";
    for chip in BOTH {
        for (mode32, mode16, want) in [
            (3, 3, [0x000a_e398, 0x400, 0, 0x8_0000]),
            (0, 3, [0, 0x400, 0, 0x8_0000]),
            (3, 0, [0x000a_e398, 0, 0, 0]),
            (1, 3, [0, 0x400, 0, 0x8_0000]),
            (2, 3, [0, 0x400, 0, 0x8_0000]),
        ] {
            let descriptor = format!(".amdhsa_float_denorm_mode_32 {mode32}\n.amdhsa_float_denorm_mode_16_64 {mode16}");
            let mut kernel = kernel(chip, body);
            kernel.descriptor = &descriptor;
            bench.expect(&kernel, |_| want)?;
        }
    }
    Ok(())
}

fn rounding(bench: &Bench) -> Result<(), Failed> {
    // 1 + 2^-30, and -1 - 2^-30.
    let body = "v_mov_b32 v10, 0x30800000\nv_add_f32 v4, 1.0, v10\nv_sub_f32 v5, -1.0, v10";
    for chip in BOTH {
        for (mode, want) in [
            (0, [0x3f80_0000, 0xbf80_0000]),
            (1, [0x3f80_0001, 0xbf80_0000]),
            (2, [0x3f80_0000, 0xbf80_0001]),
            (3, [0x3f80_0000, 0xbf80_0000]),
        ] {
            let descriptor = format!(".amdhsa_float_round_mode_32 {mode}");
            let mut kernel = kernel(chip, body);
            kernel.descriptor = &descriptor;
            bench.expect(&kernel, |_| want)?;
        }
    }
    Ok(())
}

/// The workgroup ID in clang's own kernels.
fn clang_padding(bench: &Bench) -> Result<(), Failed> {
    const SOURCE: &str = "kernel void number(global uint *out) { \
        out[__builtin_amdgcn_workgroup_id_x() * 32 + __builtin_amdgcn_workitem_id_x()] = \
        __builtin_amdgcn_workgroup_id_x(); }";
    for chip in CHIPS {
        let device = Device::load(chip, &bench.toolchain.device(&Source::Text(SOURCE), chip, &["-O2"])?)?;
        let kernel = device.module.kernel("number").map_err(|error| error.to_string())?;
        let padded = kernel.descriptor().user_sgpr_count() > 12;
        super::equal((chip, padded), (chip, chip == Chip::Gfx1100))?;
        let output = device.words(&[77; 96]);
        device.run("number", [96, 1, 1], [32, 1, 1], &[output.address()]).map_err(|error| error.to_string())?;
        super::equal(device::words(&output), (0..96).map(|item| item / 32).collect())?;
    }
    Ok(())
}
