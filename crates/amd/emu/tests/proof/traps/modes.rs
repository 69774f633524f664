//! Effects of the MODE register: rounding, denormals, overflow, output modifiers.

use libtest_mimic::Failed;
use roci_emu::Chip;

use super::{BOTH, Bench, GENERATIONS, Trap, kernel};

pub(super) const ALL: &[Trap] = &[
    ("scalar_floats_round_by_the_mode", scalar_rounding),
    ("scalar_floats_flush_by_the_mode", scalar_denormals),
    ("scaled_results_are_flushed", scaled),
    ("scaled_zeros_are_positive", scaled_zeros),
    ("f16_overflow_may_saturate", overflow),
];

fn scalar_rounding(bench: &Bench) -> Result<(), Failed> {
    // 1 + 2^-25 in f32 and 1 + 2^-12 in f16: f32 rounds up, f16 to nearest; then the reverse.
    let operations = "s_add_f32 s22, 1.0, s20\ns_add_f16 s23, 0x3c00, s21\ns_mov_b32 s24, 1.0\ns_fmac_f32 s24, s20, 1.0\n\
                      s_fmaak_f32 s25, s20, 0x3f800000, 0x3f800000\n";
    let store = "v_mov_b32 v4, s22\nv_mov_b32 v5, s23\nv_mov_b32 v6, s24\nv_mov_b32 v7, s25";
    for (mode, f32_bit, f16_bit) in [(0, 0, 0), (1, 1, 0), (4, 0, 1), (5, 1, 1)] {
        let body =
            format!("s_mov_b32 s20, 0x33000000\ns_movk_i32 s21, 0xc00\ns_round_mode {mode}\n{operations}{store}");
        let one = 0x3f80_0000 + f32_bit;
        bench.same(&[Chip::Gfx1151], &body, [one, 0x3c00 + f16_bit, one, one])?;
    }
    let body = "s_round_mode 0xf\ns_mov_b32 s20, 0x01000001\ns_add_u32 s20, s20, 2\ns_cvt_f32_u32 s21, s20\nv_mov_b32 v4, s21\n\
                s_mov_b32 s22, 0x477ff000\ns_cvt_f16_f32 s23, s22\nv_mov_b32 v5, s23\ns_movk_i32 s25, 0x3c01\ns_mul_f16 s24, s25, s25\n\
                v_mov_b32 v6, s24\ns_fmac_f16 s24, s25, 0x1000\nv_mov_b32 v7, s24";
    // 2^24 + 3 lies between 2^24 + 2 and 2^24 + 4; 65520 is halfway beyond the largest f16.
    bench.same(&[Chip::Gfx1151], body, [0x4b80_0001, 0x7bff, 0x3c02, 0x3c02])
}

fn scalar_denormals(bench: &Bench) -> Result<(), Failed> {
    let body = "s_add_f32 s20, s12, s12\nv_mov_b32 v4, s20\ns_add_f16 s21, s12, s12\nv_mov_b32 v5, s21\n\
                s_cmp_gt_f32 s12, 0\ns_cselect_b32 s22, 1, 0\nv_mov_b32 v6, s22\n\
                s_cmp_gt_f16 s12, 0\ns_cselect_b32 s23, 1, 0\nv_mov_b32 v7, s23";
    for (mode, want) in [(0xf, [2, 2, 1, 1]), (0xc, [0, 2, 0, 1]), (3, [2, 0, 1, 0]), (0, [0; 4])] {
        bench.same(&[Chip::Gfx1151], &format!("s_mov_b32 s12, 1\ns_denorm_mode {mode}\n{body}"), want)?;
    }
    Ok(())
}

/// Denormals flushed, no IEEE mode: output modifiers have an effect.
const SCALING: &str = ".amdhsa_float_denorm_mode_32 0\n.amdhsa_float_denorm_mode_16_64 0\n.amdhsa_ieee_mode 0";

fn scaled(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x00800000\nv_mul_f32 v4, v10, 1.0 div:2\nv_mov_b32 v11, 0x400\n\
                v_mov_b32 v12, 0\nv_mov_b32 v13, 0x00100000\nv_mul_f64 v[6:7], v[12:13], 1.0 div:2\n\
                v_mov_b32 v14, 0x7f000000\nv_add_f32 v5, v14, 0 mul:4";
    for chip in BOTH {
        let mut kernel = kernel(chip, body);
        kernel.descriptor = SCALING;
        bench.expect(&kernel, |_| [0, 0x7f80_0000, 0, 0])?;
    }
    let body =
        "v_mov_b32 v10, 0x0400\nv_mul_f16 v4, v10, 1.0 div:2\nv_mov_b32 v11, 0x3c00\nv_mul_f16 v5, v11, 1.0 mul:4";
    let mut kernel = kernel(Chip::Gfx1010, body);
    kernel.descriptor = SCALING;
    bench.expect(&kernel, |_| [0, 0x4400])
}

fn scaled_zeros(bench: &Bench) -> Result<(), Failed> {
    for chip in BOTH {
        let mut kernel =
            kernel(chip, "v_mov_b32 v10, 0x80000000\nv_mul_f32 v4, v10, 1.0 mul:2\nv_mul_f32 v5, v10, 1.0");
        kernel.descriptor = SCALING;
        bench.expect(&kernel, |_| [0, 0x8000_0000])?;
    }
    Ok(())
}

fn overflow(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x7bff7bff\nv_pk_add_f16 v4, v10, v10\nv_mov_b32 v11, 0x47c35000\nv_mov_b32 v5, 0\n\
                v_cvt_f16_f32 v5, -v11\nv_mov_b32 v6, 0x7c00fc00\nv_pk_mul_f16 v6, v6, v10\n\
                v_mov_b32 v7, 0\nv_fma_mixlo_f16 v7, v11, v11, 1.0";
    for chip in GENERATIONS {
        // All chips but gfx1010 have v_fma_mix; true16 names halves.
        let body = if chip == Chip::Gfx1010 {
            body.replace("v_fma_mixlo_f16 v7, v11, v11, 1.0", "v_cvt_f16_f32 v7, v11")
        } else if chip >= Chip::Gfx1100 {
            body.replace("v_cvt_f16_f32 v5, -v11", "v_cvt_f16_f32 v5.l, -v11")
        } else {
            body.to_owned()
        };
        let infinities = [0x7c00_7c00, 0xfc00, 0x7c00_fc00, 0x7c00];
        bench.expect(&kernel(chip, &body), |_| infinities)?;
        let mut saturating = kernel(chip, &body);
        saturating.descriptor = ".amdhsa_fp16_overflow 1";
        let limited = [0x7bff_7bff, 0xfbff, 0x7c00_fc00, 0x7bff];
        bench.expect(&saturating, |_| limited)?;
        let body = format!("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1\n{body}");
        bench.expect(&kernel(chip, &body), |_| limited)?;
    }
    Ok(())
}
