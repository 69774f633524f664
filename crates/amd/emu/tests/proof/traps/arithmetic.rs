//! Arithmetic edge cases.

use libtest_mimic::Failed;
use roci_emu::Chip;

use super::{BOTH, Bench, GENERATIONS, Trap, kernel};

const OLD: [Chip; 2] = [Chip::Gfx1010, Chip::Gfx1013];

pub(super) const ALL: &[Trap] = &[
    ("mad_rounds_twice_and_flushes", mad),
    ("fma_rounds_once", fma),
    ("min_and_max_of_signed_zeros_and_signaling_nan", extremes),
    ("clamp_maps_nan_to_zero", clamp),
    ("integer_clamp_saturates", saturation),
    ("output_modifier_is_ignored_with_denormals", output_modifier),
    ("output_modifier_without_denormals", output_modifier_flushed),
    ("conversions_saturate", conversions),
    ("pkrtz_truncates", pkrtz),
    ("shifts_use_their_low_bits", shifts),
    ("24_bit_products", products),
    ("wide_products_carry", wide_products),
    ("transcendentals_flush_denormals", transcendental),
    ("sine_takes_revolutions", sine),
    ("division_steps", division),
    ("dot_products_by_chip", dots),
    ("dot4_signedness_by_modifier", dot_signs),
    ("legacy_products_with_zero_are_zero", legacy),
    ("floating_point_classes", classes),
    ("medians_and_three_operand_extremes", three),
    ("bit_fields", fields),
    ("byte_permutes", bytes),
];

fn mad(bench: &Bench) -> Result<(), Failed> {
    // (1 + 2^-12)^2 - 1 - 2^-11 is exactly 2^-24; with an intermediate rounding it is 0. A denormal
    // product is flushed.
    let body = "v_mov_b32 v10, 0x3f800800\nv_mov_b32 v11, 0xbf801000\nv_mad_f32 v4, v10, v10, v11\n\
                v_fma_f32 v5, v10, v10, v11\nv_mov_b32 v12, 0x000571cc\nv_mad_f32 v6, v12, 1.0, 0\n\
                v_mov_b32 v7, v11\nv_mac_f32 v7, v10, v10";
    bench.same(&OLD, body, [0, 0x3380_0000, 0, 0])
}

fn fma(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x3f800800\nv_mov_b32 v11, 0xbf801000\nv_mov_b32 v4, v11\nv_fmac_f32 v4, v10, v10\n\
                v_fmaak_f32 v5, v10, v10, 0xbf801000\nv_fmamk_f32 v6, v10, 0x3f800800, v11";
    bench.same(&GENERATIONS, body, [0x3380_0000; 3])
}

fn extremes(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x80000000\nv_max_f32 v4, v10, 0\nv_min_f32 v5, 0, v10\nv_mov_b32 v11, 0x7fc00000\n\
                v_max_f32 v6, v11, 2.0\nv_mov_b32 v12, 0x7f800001\nv_min_f32 v7, v12, 2.0";
    // A quiet NaN gives the number; a signaling one in IEEE mode gives a quiet NaN.
    bench.same(&GENERATIONS, body, [0, 0x8000_0000, 0x4000_0000, 0x7fc0_0001])
}

fn clamp(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x7fc00000\nv_add_f32 v4, v10, 1.0 clamp\nv_add_f32 v5, 4.0, 1.0 clamp\n\
                v_add_f32 v6, -4.0, 1.0 clamp\nv_mov_b32 v11, 0x3e800000\nv_add_f32 v7, v11, v11 clamp";
    bench.same(&GENERATIONS, body, [0, 0x3f80_0000, 0, 0x3f00_0000])?;
    for chip in BOTH {
        let mut kernel = kernel(chip, "v_mov_b32 v10, 0x7fc00000\nv_add_f32 v4, v10, 1.0 clamp");
        kernel.descriptor = ".amdhsa_dx10_clamp 0";
        bench.expect(&kernel, |_| [0x7fc0_0000])?;
    }
    Ok(())
}

fn saturation(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0xfffffff0\nv_add_nc_u32 v4, v10, v10 clamp\nv_sub_nc_u32 v5, 3, v10 clamp\n\
                v_mov_b32 v11, 0x7fffffff\nv_add_nc_i32 v6, v11, 5 clamp\nv_mov_b32 v12, 0x80000000\n\
                v_sub_nc_i32 v7, v12, 5 clamp";
    bench.same(&GENERATIONS, body, [!0, 0, 0x7fff_ffff, 0x8000_0000])?;
    let body = "v_mov_b32 v10, 0xfff07fff\nv_mov_b32 v11, 0x00200001\nv_pk_add_u16 v4, v10, v11 clamp\n\
                v_pk_add_i16 v5, v10, v11 clamp\nv_pk_sub_u16 v6, v11, v10 clamp\n\
                v_mad_u32_u24 v7, -1, -1, v10 clamp";
    bench.same(&GENERATIONS, body, [0xffff_8000, 0x0010_7fff, 0, !0])
}

fn output_modifier(bench: &Bench) -> Result<(), Failed> {
    let body = "v_add_f32 v4, 1.0, 1.0 mul:2\nv_add_f32 v5, 1.0, 1.0 div:2";
    bench.same(&GENERATIONS, body, [0x4000_0000, 0x4000_0000])
}

fn output_modifier_flushed(bench: &Bench) -> Result<(), Failed> {
    for chip in BOTH {
        let mut kernel = kernel(chip, "v_add_f32 v4, 1.0, 1.0 mul:4\nv_add_f32 v5, 1.0, 1.0 div:2");
        kernel.descriptor = ".amdhsa_float_denorm_mode_32 0\n.amdhsa_ieee_mode 0";
        bench.expect(&kernel, |_| [0x4100_0000, 0x3f80_0000])?;
    }
    Ok(())
}

fn conversions(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x7fc00000\nv_cvt_i32_f32 v4, v10\nv_mov_b32 v11, 0x4f800000\nv_cvt_i32_f32 v5, v11\n\
                v_cvt_u32_f32 v6, v11\nv_cvt_u32_f32 v7, -v11";
    bench.same(&GENERATIONS, body, [0, 0x7fff_ffff, !0, 0])?;
    let body = "v_mov_b32 v10, 0x40200000\nv_cvt_rpi_i32_f32 v4, v10\nv_cvt_flr_i32_f32 v5, -v10\n\
                v_cvt_off_f32_i4 v6, 9\nv_cvt_f32_ubyte2 v7, v10";
    // 2.5: floor(x + 0.5) = 3; floor(-2.5) = -3; 9 as a signed nibble is -7, in sixteenths; byte 2
    // is 0x20.
    bench.same(&GENERATIONS, body, [3, 0xffff_fffd, 0xbee0_0000, 0x4200_0000])
}

fn pkrtz(bench: &Bench) -> Result<(), Failed> {
    // 1 + 2^-11 + 2^-12 would round up to 1 + 2^-10.
    let body = "v_mov_b32 v10, 0x3f801800\nv_cvt_pkrtz_f16_f32 v4, v10, -v10\nv_mov_b32 v11, 0x477ff000\n\
                v_cvt_pkrtz_f16_f32 v5, v11, 1.0\nv_cvt_pknorm_i16_f32 v6, 1.0, -1.0\nv_cvt_pk_u16_u32 v7, -1, 5";
    bench.same(&GENERATIONS, body, [0xbc01_3c01 - 0x0001_0001, 0x3c00_7bff, 0x8001_7fff, 0x0005_ffff])
}

fn shifts(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x80000001\nv_mov_b32 v11, 33\nv_lshlrev_b32 v4, v11, v10\nv_lshrrev_b32 v5, v11, v10\n\
                v_ashrrev_i32 v6, v11, v10\nv_alignbit_b32 v7, v10, v10, v11";
    bench.same(&GENERATIONS, body, [2, 0x4000_0000, 0xc000_0000, 0xc000_0000])?;
    let body = "v_mov_b32 v10, 1\nv_mov_b32 v11, 0\nv_mov_b32 v12, 65\nv_lshlrev_b64 v[4:5], v12, v[10:11]\n\
                s_mov_b32 s20, 1\ns_lshl_b32 s21, s20, 33\nv_mov_b32 v6, s21\ns_bfm_b32 s22, 4, 8\nv_mov_b32 v7, s22";
    bench.same(&GENERATIONS, body, [2, 0, 2, 0xf00])
}

fn products(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0xff800003\nv_mul_u32_u24 v4, v10, v10\nv_mul_i32_i24 v5, v10, v10\n\
                v_mul_hi_u32_u24 v6, v10, v10\nv_mul_hi_i32_i24 v7, v10, v10";
    let (unsigned, signed) = (0x80_0003u64.pow(2), (-0x7f_fffdi64).pow(2) as u64);
    bench.same(&GENERATIONS, body, [unsigned as u32, signed as u32, (unsigned >> 32) as u32, (signed >> 32) as u32])
}

fn wide_products(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, -1\nv_mov_b32 v11, -1\nv_mad_u64_u32 v[4:5], vcc_lo, v10, v10, v[10:11]\n\
                v_cndmask_b32 v6, 0, 1, vcc_lo\nv_mul_hi_u32 v7, v10, v10";
    bench.same(&GENERATIONS, body, [0, 0xffff_fffe, 1, 0xffff_fffe])
}

/// The mode preserves denormals, but these instructions flush them.
fn transcendental(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x000571cc\nv_rcp_f32 v4, v10\nv_log_f32 v5, v10\nv_sqrt_f32 v6, v10\nv_rsq_f32 v7, v10";
    bench.same(&GENERATIONS, body, [0x7f80_0000, 0xff80_0000, 0, 0x7f80_0000])?;
    let body = "v_mov_b32 v10, 0xc3020000\nv_exp_f32 v4, v10\nv_exp_f32 v5, 0.5\nv_rcp_f32 v6, -4.0\nv_log_f32 v7, 4.0";
    // 2^-130 is denormal.
    bench.same(&GENERATIONS, body, [0, 2f32.sqrt().to_bits(), (-0.25f32).to_bits(), 2f32.to_bits()])
}

fn sine(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x3e800000\nv_sin_f32 v4, v10\nv_cos_f32 v5, 0.5\nv_sin_f32 v6, 0\nv_cos_f32 v7, 1.0";
    bench.same(&GENERATIONS, body, [1f32, -1.0, 0.0, 1.0].map(f32::to_bits))
}

fn division(bench: &Bench) -> Result<(), Failed> {
    // Fixup: 1/0, 0/0, a sign, and inf/inf.
    let body = "v_div_fixup_f32 v4, 1.0, 0, 1.0\nv_div_fixup_f32 v5, 1.0, 0, 0\nv_mov_b32 v10, 0x40400000\n\
                v_div_fixup_f32 v6, v10, -2.0, 4.0\nv_mov_b32 v11, 0x7f800000\nv_div_fixup_f32 v7, 1.0, v11, v11";
    for chip in GENERATIONS {
        let got = bench.run(&kernel(chip, body))?[0];
        let nan = |bits: u32| f32::from_bits(bits).is_nan();
        super::equal((got[0], nan(got[1]), got[2], nan(got[3])), (0x7f80_0000, true, 0xc040_0000, true))?;
    }
    // A denominator that is too large is scaled, and vcc is set.
    let body = "v_mov_b32 v10, 0x7f000000\nv_mov_b32 v11, 1.0\nv_div_scale_f32 v4, vcc_lo, v10, v10, v11\n\
                v_cndmask_b32 v5, 0, 1, vcc_lo\nv_div_scale_f32 v6, vcc_lo, v11, v10, v11\nv_cndmask_b32 v7, 0, 1, vcc_lo";
    bench.same(&GENERATIONS, body, [0x5f00_0000, 1, 0x3f80_0000, 1])
}

fn dots(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0xff02fe7f\nv_mov_b32 v11, 0x02030405\nv_dot4_u32_u8 v4, v10, v11, 7\n\
                v_dot8_u32_u4 v5, v10, v11, 1\nv_mov_b32 v12, 0x40003c00\nv_dot2_f32_f16 v6, v12, v12, 1.0";
    let bytes = 0xff * 2 + 2 * 3 + 0xfe * 4 + 0x7f * 5 + 7;
    let nibbles: u32 = (0..8).map(|at| (0xff02_fe7f_u32 >> (4 * at) & 15) * (0x0203_0405 >> (4 * at) & 15)).sum();
    bench.same(&[Chip::Gfx1012, Chip::Gfx1030, Chip::Gfx1100], body, [bytes, nibbles + 1, 6f32.to_bits()])
}

fn dot_signs(bench: &Bench) -> Result<(), Failed> {
    let data = "v_mov_b32 v10, 0xff02fe7f\nv_mov_b32 v11, 0x80030405\n";
    let old = format!("{data}v_dot4_i32_i8 v4, v10, v11, 7");
    let (a, b) = ([-1i32, 2, -2, 127], [-128i32, 3, 4, 5]);
    let sum = |a: [i32; 4], b: [i32; 4]| (7 + a.iter().zip(b).map(|(a, b)| a * b).sum::<i32>()).cast_unsigned();
    bench.same(&[Chip::Gfx1012, Chip::Gfx1030], &old, [sum(a, b)])?;
    let (ua, ub) = ([255, 2, 254, 127], [128, 3, 4, 5]);
    let new = format!(
        "{data}v_dot4_i32_iu8 v4, v10, v11, 7 neg_lo:[1,1,0]\nv_dot4_i32_iu8 v5, v10, v11, 7\n\
         v_dot4_i32_iu8 v6, v10, v11, 7 neg_lo:[1,0,0]\nv_dot4_i32_iu8 v7, v10, v11, 7 neg_lo:[0,1,0]"
    );
    bench.same(&[Chip::Gfx1100, Chip::Gfx1151], &new, [sum(a, b), sum(ua, ub), sum(a, ub), sum(ua, b)])
}

/// Zero times anything is zero.
fn legacy(bench: &Bench) -> Result<(), Failed> {
    let body =
        "v_mov_b32 v10, 0x7f800000\nv_mul_legacy_f32 v4, v10, 0\nv_mul_f32 v5, v10, 0\nv_mul_legacy_f32 v6, 2.0, 4.0";
    for chip in GENERATIONS {
        let body =
            body.replace("mul_legacy_f32", if chip < Chip::Gfx1100 { "mul_legacy_f32" } else { "mul_dx9_zero_f32" });
        let got = bench.run(&kernel(chip, &body))?[0];
        super::equal((got[0], f32::from_bits(got[1]).is_nan(), got[2]), (0, true, 8f32.to_bits()))?;
    }
    Ok(())
}

fn classes(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x7f800001\nv_cmp_class_f32 vcc_lo, v10, 1\nv_cndmask_b32 v4, 0, 1, vcc_lo\n\
                v_mov_b32 v11, 0x80000001\nv_cmp_class_f32 s20, v11, 16\nv_cndmask_b32 v5, 0, 1, s20\n\
                v_mov_b32 v12, 0x3f8\nv_cmp_class_f32 vcc_lo, -1.0, v12\nv_cndmask_b32 v6, 0, 1, vcc_lo\n\
                v_cmp_u_f32 vcc_lo, v10, 1.0\nv_cndmask_b32 v7, 0, 1, vcc_lo";
    bench.same(&GENERATIONS, body, [1, 1, 1, 1])
}

fn three(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, -5\nv_med3_i32 v4, v10, 3, 1\nv_med3_f32 v5, 4.0, 1.0, 2.0\nv_min3_u32 v6, v10, 7, 9\n\
                v_max3_i32 v7, v10, -7, -9";
    bench.same(&GENERATIONS, body, [1, 2f32.to_bits(), 7, 0xffff_fffb])
}

fn fields(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x12348765\nv_bfe_u32 v4, v10, 8, 8\nv_bfe_i32 v5, v10, 8, 8\nv_bfi_b32 v6, 0xff00, v10, 0\n\
                v_ffbh_i32 v7, v10";
    bench.same(&GENERATIONS, body, [0x87, 0xffff_ff87, 0x8700, 3])?;
    let body = "v_ffbh_u32 v4, 0\nv_ffbl_b32 v5, 0\nv_ffbh_i32 v6, -1\ns_mov_b32 s20, 0x00070004\ns_bfe_i32 s21, 0x785, s20\n\
                v_mov_b32 v7, s21";
    bench.same(&GENERATIONS, body, [!0, !0, !0, 0xffff_fff8])
}

fn bytes(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x44332281\nv_mov_b32 v11, 0x88776655\nv_perm_b32 v4, v10, v11, 0x07020c0d\n\
                v_perm_b32 v5, v10, v11, 0x0a0b0908\nv_alignbyte_b32 v6, v10, v11, 1\nv_sad_u8 v7, v10, v11, 5";
    let sad = 0x44 + (0x77 - 0x33) + (0x66 - 0x22) + (0x81 - 0x55) + 5;
    bench.same(&GENERATIONS, body, [0x4477_00ff, 0xff00, 0x8188_7766, sad])
}
