//! Operand bits: constants, halves, parts, pairs.

use libtest_mimic::Failed;
use roci_emu::Chip;

use super::{BOTH, Bench, GENERATIONS, Trap};

const GFX10: [Chip; 2] = [Chip::Gfx1010, Chip::Gfx1030];
const GFX11: [Chip; 2] = [Chip::Gfx1100, Chip::Gfx1151];

pub(super) const ALL: &[Trap] = &[
    ("vopd_pairs_read_before_they_write", pairs),
    ("vopd_pairs_that_read_each_other", crossed_pairs),
    ("constant_masks", constant_masks),
    ("true16_keeps_the_other_half", true16),
    ("halves_by_op_sel", op_sel),
    ("16_bit_results_keep_the_upper_half", upper_half),
    ("sdwa_parts", sdwa),
    ("wide_literals", wide_literals),
    ("inline_constants_by_type", inline_constants),
    ("packed_constants", packed_constants),
    ("negated_and_absolute_sources", modifiers),
    ("packed_halves_swapped_and_negated", packed_modifiers),
    ("mixed_precision", mixed),
    ("carry_from_any_sgpr", carries),
    ("f16_scalar_constants", scalar_f16),
    ("64_bit_scalar_literals", scalar_pairs),
];

fn pairs(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v4, 1\nv_mov_b32 v5, 2\nv_dual_mov_b32 v4, v5 :: v_dual_mov_b32 v5, v4\n\
                v_mov_b32 v6, 2.0\nv_mov_b32 v7, 4.0\nv_dual_mul_f32 v6, v6, v7 :: v_dual_add_f32 v7, v7, v6";
    bench.same(&GFX11, body, [2, 1, 0x4100_0000, 0x40c0_0000])?;
    // Both halves share a literal; an accumulator is also read.
    let body = "v_mov_b32 v4, 1.0\nv_mov_b32 v5, 2.0\nv_mov_b32 v6, 0x40400000\nv_mov_b32 v7, 4.0\n\
                v_dual_fmac_f32 v4, v6, v7 :: v_dual_fmac_f32 v5, v7, v4\n\
                v_dual_mov_b32 v6, 0x12345 :: v_dual_add_nc_u32 v7, 0x12345, v7";
    bench.same(&GFX11, body, [0x4150_0000, 0x40c0_0000, 0x12345, 0x4081_2345])?;
    let body = "v_mov_b32 v10, 7\ns_mov_b32 vcc_lo, 0xffff0000\nv_mov_b32 v11, 9\n\
                v_dual_cndmask_b32 v4, v10, v11 :: v_dual_lshlrev_b32 v5, 3, v10";
    for chip in GFX11 {
        bench.expect(&super::kernel(chip, body), |lane| [if lane < 16 { 7 } else { 9 }, 56])?;
    }
    Ok(())
}

/// Both halves select by a mask and read what the other one writes.
fn crossed_pairs(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v4, 10\nv_mov_b32 v5, 20\ns_mov_b32 vcc_lo, 0xffff\n\
                v_dual_cndmask_b32 v4, v5, v4 :: v_dual_cndmask_b32 v5, v4, v5\n\
                v_mov_b32 v6, 10\nv_mov_b32 v7, 20\n\
                v_dual_cndmask_b32 v6, v7, v6 :: v_dual_mov_b32 v7, v6";
    for chip in GFX11 {
        bench.expect(&super::kernel(chip, body), |lane| if lane < 16 { [10, 20, 10, 10] } else { [20, 10, 20, 10] })?;
    }
    let body = "v_mov_b32 v4, 10\nv_mov_b32 v5, 20\ns_mov_b32 vcc_lo, 0xffff\n\
                v_dual_mov_b32 v4, v5 :: v_dual_cndmask_b32 v5, v4, v5\n\
                v_mov_b32 v6, 0x40003c00\nv_mov_b32 v7, 1.0\n\
                v_dual_dot2acc_f32_f16 v6, v7, v6 :: v_dual_mov_b32 v7, v6";
    for chip in GFX11 {
        bench.expect(&super::kernel(chip, body), |lane| {
            // (1, 2) times (0, 1.875) plus 0x40003c00 as f32.
            let sum = f32::from_bits(0x4000_3c00) + 2.0 * 1.875;
            [20, if lane < 16 { 20 } else { 10 }, sum.to_bits(), 0x4000_3c00]
        })?;
    }
    Ok(())
}

fn constant_masks(bench: &Bench) -> Result<(), Failed> {
    // LLVM decodes such masks, but does not assemble them: v_cndmask_b32 v4, 1, 2, -1 and
    // v_cndmask_b32 v5, 1, 2, 0.
    let word = |mask: u32| 129 | 130 << 9 | mask << 18;
    let body = format!(".long 0xd5010004, {}\n.long 0xd5010005, {}", word(193), word(128));
    bench.same(&GENERATIONS, &body, [2, 1])
}

fn true16(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x3c004000\nv_mov_b32 v4, 0x11112222\nv_mov_b16 v4.h, v10.l\n\
                v_mov_b32 v5, 0x33334444\nv_add_f16 v5.l, v10.h, v10.l\n\
                v_mov_b32 v6, 0x55556666\nv_add_f16 v6.h, v10.h, v10.h\n\
                v_cmp_lt_f16 vcc_lo, v10.h, v10.l\nv_cndmask_b32 v7, 0, 1, vcc_lo";
    // 1.0 + 2.0 = 3.0 (0x4200); 1.0 + 1.0 = 2.0 (0x4000).
    bench.same(&GFX11, body, [0x4000_2222, 0x3333_4200, 0x4000_6666, 1])?;
    let body = "v_mov_b32 v10, 0xfffe0003\nv_mov_b32 v4, 0\nv_add_nc_u16 v4.h, v10.l, v10.h\n\
                v_cvt_f32_f16 v5, v10.h\nv_mov_b32 v6, -1\nv_cvt_f16_f32 v6.l, 2.0\nv_mov_b32 v7, -1\n\
                v_min_i16 v7.h, v10.h, v10.l";
    bench.same(&GFX11, body, [0x0001_0000, 0xffff_c000, 0xffff_4000, 0xfffe_ffff])?;
    let body = "v_mov_b32 v4, 0x11112222\nv_mov_b32 v5, 0x33334444\nv_swap_b16 v4.h, v5.l\n\
                v_mov_b32 v6, 0x11112222\nv_swap_b16 v6.h, v6.l\nv_mov_b32 v7, 5";
    bench.same(&GFX11, body, [0x4444_2222, 0x3333_1111, 0x2222_1111, 5])
}

fn op_sel(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x00050007\nv_mov_b32 v4, 0xaaaabbbb\nv_add_nc_u16 v4, v10, v10 op_sel:[1,0,0]\n\
                v_mov_b32 v5, 0xaaaabbbb\nv_add_nc_u16 v5, v10, v10 op_sel:[1,1,1]\n\
                v_mov_b32 v6, 0xaaaabbbb\nv_mad_u16 v6, v10, v10, v10 op_sel:[0,1,0,1]";
    bench.same(&GFX10, body, [0xaaaa_000c, 0x000a_bbbb, 0x002a_bbbb])
}

/// 16-bit results preserve the upper half on all these chips.
fn upper_half(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x3c00\nv_mov_b32 v4, 0xaaaabbbb\nv_add_f16 v4, v10, v10\n\
                v_mov_b32 v5, 0xaaaabbbb\nv_cvt_f16_f32 v5, 1.0\nv_mov_b32 v6, 0xaaaabbbb\nv_rcp_f16 v6, v10";
    bench.same(&GFX10, body, [0xaaaa_4000, 0xaaaa_3c00, 0xaaaa_3c00])
}

fn sdwa(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x80f17fff\nv_mov_b32 v11, 0x01020304\nv_mov_b32 v4, 0xaabbccdd\n\
        v_add_nc_u32_sdwa v4, v10, v11 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_2 src1_sel:WORD_1\n\
        v_mov_b32 v5, 0xaabbccdd\n\
        v_or_b32_sdwa v5, v10, v11 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:BYTE_3\n\
        v_mov_b32 v6, 0xaabbccdd\n\
        v_mov_b32_sdwa v6, sext(v10) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2\n\
        v_mov_b32_sdwa v7, v10 dst_sel:BYTE_0 dst_unused:UNUSED_SEXT src0_sel:BYTE_3";
    // 0xf1 + 0x102 = 0x1f3, whose low byte is written to byte 1.
    bench.same(&GFX10, body, [0xaabb_f3dd, 0x00ff_0000, 0xffff_fff1, 0xffff_ff80])?;
    let body = "v_mov_b32 v10, 0xbc004000\nv_mov_b32 v11, 0x00ff0100\n\
        v_add_f16_sdwa v4, -v10, |v10| dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:WORD_0\n\
        v_cmp_lt_u32_sdwa vcc_lo, v11, v11 src0_sel:WORD_1 src1_sel:WORD_0\nv_cndmask_b32 v5, 0, 1, vcc_lo\n\
        v_mul_u32_u24_sdwa v6, v11, v11 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2 src1_sel:WORD_0";
    bench.same(&GFX10, body, [0x4200_0000, 1, 0xff00])
}

fn wide_literals(bench: &Bench) -> Result<(), Failed> {
    // 3.0 as f64 is a literal in the upper half; s_mov_b64 sign-extends.
    let body = "v_mov_b32 v10, 0\nv_mov_b32 v11, 0x3ff00000\nv_add_f64 v[4:5], v[10:11], 0x40080000\n\
                s_mov_b64 s[20:21], 0x7fffffff\nv_mov_b32 v6, s21\ns_mov_b64 s[22:23], -5\nv_mov_b32 v7, s23";
    bench.same(&GENERATIONS, body, [0, 0x4010_0000, 0, !0])?;
    let body = "s_mov_b64 s[20:21], 0\ns_or_b64 s[20:21], s[20:21], 0x80000001\nv_mov_b32 v4, s20\nv_mov_b32 v5, s21\n\
                v_mov_b32 v10, 1\nv_mov_b32 v11, 1\nv_lshlrev_b64 v[6:7], 4, v[10:11]";
    bench.same(&GENERATIONS, body, [0x8000_0001, 0, 0x10, 0x10])
}

fn inline_constants(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\nv_add_f64 v[4:5], v[10:11], 0.5\nv_add_f32 v6, v10, 0.15915494\n\
                v_mul_f32 v7, 4.0, -2.0";
    bench.same(&GENERATIONS, body, [0, 0x3fe0_0000, 0x3e22_f983, 0xc100_0000])?;
    let body = "v_mov_b32 v10, 0\nv_mov_b32 v4, 0\nv_add_f16 v4, 4.0, v10\nv_mov_b32 v5, 0\nv_add_nc_u16 v5, v10, -1\n\
                v_mov_b32 v6, 1.0\ns_mov_b32 s20, 0.5\nv_mov_b32 v7, s20";
    bench.same(&GFX10, body, [0x4400, 0xffff, 0x3f80_0000, 0x3f00_0000])?;
    let body = "v_mov_b32 v10, 0\nv_mov_b32 v4, 0\nv_add_f16 v4.l, 4.0, v10.l\nv_mov_b32 v5, 0\n\
                v_add_nc_u16 v5.l, v10.l, -1\nv_lshlrev_b64 v[6:7], 2, -1";
    bench.same(&GFX11, body, [0x4400, 0xffff, 0xffff_fffc, !0])
}

/// An inline float of a packed operand fills only the low half; an integer is sign-extended.
fn packed_constants(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x3c003c00\nv_pk_add_f16 v4, v10, 1.0 op_sel_hi:[1,0]\nv_pk_add_f16 v5, v10, 1.0\n\
                v_pk_add_u16 v6, v10, -1\nv_pk_lshlrev_b16 v7, 1, v10 op_sel_hi:[0,1]";
    bench.same(&GENERATIONS, body, [0x4000_4000, 0x3c00_4000, 0x3bff_3bff, 0x7800_7800])
}

fn modifiers(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0xc0000000\nv_add_f32 v4, |v10|, 1.0\nv_add_f32 v5, -|v10|, 1.0\nv_mul_f32 v6, -v10, v10\n\
                v_cmp_lt_f32 vcc_lo, -v10, |v10|\nv_cndmask_b32 v7, -v10, v10, vcc_lo";
    // cndmask negates bits: the sign of -2.0 is removed.
    bench.same(&GENERATIONS, body, [0x4040_0000, 0xbf80_0000, 0xc080_0000, 0x4000_0000])?;
    let body = "v_mov_b32 v10, 0\nv_mov_b32 v11, 0xc0000000\nv_add_f64 v[4:5], |v[10:11]|, -v[10:11]\n\
                v_fma_f32 v6, -v11, |v11|, -1.0\nv_max_f32 v7, -v11, |v11|";
    bench.same(&GENERATIONS, body, [0, 0x4010_0000, 0x4040_0000, 0x4000_0000])
}

fn packed_modifiers(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x40003c00\nv_mov_b32 v11, 0x44003800\nv_pk_mul_f16 v4, v10, v11 op_sel:[1,0] op_sel_hi:[0,1]\n\
                v_pk_add_f16 v5, v10, v11 neg_lo:[1,0] neg_hi:[0,1]\n\
                v_pk_fma_f16 v6, v10, v10, v11 op_sel:[1,1,0] op_sel_hi:[1,1,1] neg_lo:[0,0,1]\n\
                v_pk_mad_u16 v7, v10, 2, v11 op_sel_hi:[1,0,1]";
    // 2*0.5, 1*4; -1+0.5, 2-4; 4-0.5, 4+4; words.
    bench.same(&GENERATIONS, body, [0x4400_3c00, 0xc000_b800, 0x4800_4300, 0xc400_b000])
}

fn mixed(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x40003c00\nv_mov_b32 v11, 0x40400000\nv_fma_mix_f32 v4, v10, v11, 1.0 op_sel_hi:[1,0,0]\n\
                v_fma_mix_f32 v5, v10, -v10, |v11| op_sel:[1,0,0] op_sel_hi:[1,1,0]\nv_mov_b32 v6, 0x12345678\n\
                v_fma_mixlo_f16 v6, v10, v11, v11 op_sel:[1,0,0] op_sel_hi:[1,0,0]\nv_mov_b32 v7, 0x12345678\n\
                v_fma_mixhi_f16 v7, v10, v11, v11 op_sel_hi:[1,0,0]";
    // 1*3+1, 2*-1+3, 2*3+3 = 9 (0x4880), 1*3+3 = 6 (0x4600).
    bench.same(&[Chip::Gfx1030, Chip::Gfx1100], body, [0x4080_0000, 0x3f80_0000, 0x1234_4880, 0x4600_5678])
}

fn carries(bench: &Bench) -> Result<(), Failed> {
    let body = "s_mov_b32 s20, 0xf0\nv_mov_b32 v10, -1\nv_add_co_ci_u32 v4, s21, v10, v8, s20\n\
                v_cndmask_b32 v5, 0, 1, s21\nv_sub_co_ci_u32 v6, s22, v8, 3, s20\nv_cndmask_b32 v7, 0, 1, s22";
    for chip in BOTH {
        bench.expect(&super::kernel(chip, body), |lane| {
            let carry = u32::from((4..8).contains(&lane));
            let (sum, borrow) = (u64::from(u32::MAX) + u64::from(lane) + u64::from(carry), lane < 3 + carry);
            [sum as u32, (sum >> 32) as u32, lane.wrapping_sub(3 + carry), u32::from(borrow)]
        })?;
    }
    Ok(())
}

fn scalar_f16(bench: &Bench) -> Result<(), Failed> {
    let body = "s_mov_b32 s20, 0x4000\ns_add_f16 s21, s20, 1.0\ns_cmp_lt_f16 s20, 4.0\ns_cselect_b32 s22, 1, 0\n\
                s_cvt_f32_f16 s23, 0.5\ns_fmac_f16 s20, s20, -2.0\n\
                v_mov_b32 v4, s21\nv_mov_b32 v5, s22\nv_mov_b32 v6, s23\nv_mov_b32 v7, s20";
    // 2 + 1; 2 < 4; 0.5; 2 + 2 * -2.
    bench.same(&[Chip::Gfx1151], body, [0x4200, 1, 0x3f00_0000, 0xc000])
}

fn scalar_pairs(bench: &Bench) -> Result<(), Failed> {
    let body = "s_cmp_eq_u32 0, 0\ns_cmov_b64 s[20:21], 0x80000001\ns_mov_b64 s[22:23], exec\n\
                s_mov_b64 s[24:25], -1\ns_and_b64 s[24:25], s[24:25], 0x80000002\ns_ashr_i64 s[26:27], 0x80000000, 4\n\
                v_mov_b32 v4, s21\nv_mov_b32 v5, s20\nv_mov_b32 v6, s25\nv_mov_b32 v7, s26";
    bench.same(&GENERATIONS, body, [0, 0x8000_0001, 0, 0xf800_0000])
}
