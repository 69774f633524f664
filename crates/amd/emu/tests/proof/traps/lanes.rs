//! Cross-lane reads with inactive lanes.

use libtest_mimic::Failed;
use roci_emu::Chip;

use super::{BOTH, Bench, GENERATIONS, Trap, kernel};

pub(super) const ALL: &[Trap] = &[
    ("dpp_masks_keep_the_old_value", masks),
    ("dpp_from_inactive_lanes", inactive),
    ("dpp8_and_its_inactive_lanes", dpp8),
    ("dpp_with_arithmetic", arithmetic),
    ("dpp_on_three_operands", three_operands),
    ("bpermute_from_inactive_lanes_gives_zero", back_permute),
    ("permutes_stay_within_halves_of_wave64", permute_halves),
    ("permlane16_from_inactive_lanes", permlane),
    ("permlane64", permlane64),
    ("readlane_and_writelane_ignore_exec", read_write),
    ("permlane64_of_wave32_does_nothing", permlane64_narrow),
    ("mbcnt_of_wave64", counts),
    ("mbcnt_with_dpp", counts_dpp),
    ("swizzle_from_inactive_lanes", swizzle),
    ("swizzle_rotates", swizzle_rotate),
    ("swizzle_fft_mode", swizzle_fourier),
    ("relative_vector_moves", relative),
    ("relative_vector_moves_beyond_the_last_register_fault", relative_fault),
    ("dpp_modifiers_apply_to_the_zero_of_a_missing_lane", dpp_zero),
];

fn masks(bench: &Bench) -> Result<(), Failed> {
    let body = "v_add_nc_u32 v10, 100, v8\nv_mov_b32 v4, 7\nv_mov_b32_dpp v4, v10 row_shr:1 row_mask:0x2 bank_mask:0xf\n\
                v_mov_b32 v5, 7\nv_mov_b32_dpp v5, v10 row_shl:3 row_mask:0xf bank_mask:0x5 bound_ctrl:1\n\
                v_mov_b32 v6, 7\nv_mov_b32_dpp v6, v10 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1\n\
                v_mov_b32 v7, 7\nv_mov_b32_dpp v7, v10 row_share:5 row_mask:0x1 bank_mask:0x8";
    for chip in GENERATIONS {
        bench.expect(&kernel(chip, body), |lane| {
            let (at, row, bank) = (lane % 16, lane / 16, lane % 16 / 4);
            [
                if row == 1 && at > 0 { 100 + lane - 1 } else { 7 },
                match (bank % 2 == 0, at + 3 < 16) {
                    (false, _) => 7,
                    (true, true) => 100 + lane + 3,
                    (true, false) => 0,
                },
                if at > 0 { 100 + lane - 1 } else { 0 },
                if row == 0 && bank == 3 { 105 } else { 7 },
            ]
        })?;
    }
    Ok(())
}

/// Odd lanes are inactive: they contribute nothing, unless the instruction fetches inactive lanes.
fn inactive(bench: &Bench) -> Result<(), Failed> {
    let body = "v_add_nc_u32 v10, 100, v8\nv_mov_b32 v4, 7\nv_mov_b32 v5, 7\nv_mov_b32 v6, 7\ns_mov_b32 exec_lo, 0x55555555\n\
                v_mov_b32_dpp v4, v10 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n\
                v_mov_b32_dpp v5, v10 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1\n\
                v_mov_b32_dpp v6, v10 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf fi:1";
    for chip in GENERATIONS {
        bench.expect(&kernel(chip, body), |lane| if lane % 2 == 1 { [7, 7, 7] } else { [7, 0, 101 + lane] })?;
    }
    Ok(())
}

fn dpp8(bench: &Bench) -> Result<(), Failed> {
    let body = "v_add_nc_u32 v10, 100, v8\nv_mov_b32 v4, 7\nv_mov_b32 v5, 7\nv_mov_b32_dpp v4, v10 dpp8:[7,6,5,4,3,2,1,0]\n\
                s_mov_b32 exec_lo, 0x55555555\nv_mov_b32_dpp v5, v10 dpp8:[1,0,3,2,5,4,7,6] fi:1";
    for chip in GENERATIONS {
        bench.expect(&kernel(chip, body), |lane| [100 + (lane ^ 7), if lane % 2 == 1 { 7 } else { 101 + lane }])?;
    }
    Ok(())
}

fn arithmetic(bench: &Bench) -> Result<(), Failed> {
    let body = "v_cvt_f32_u32 v10, v8\nv_mov_b32 v11, 1.0\nv_add_f32_dpp v4, -v10, v11 row_ror:4 row_mask:0xf bank_mask:0xf\n\
                v_mov_b32 v5, 7\nv_add_nc_u32_dpp v5, v8, v8 row_half_mirror row_mask:0xf bank_mask:0xf\n\
                v_mov_b32 v6, 1.0\nv_fmac_f32_dpp v6, v10, v10 row_mirror row_mask:0xf bank_mask:0xf\n\
                v_mov_b32 v7, 0";
    for chip in GENERATIONS {
        bench.expect(&kernel(chip, body), |lane| {
            let (at, row) = (lane % 16, lane & 16);
            let rotated = (row | ((at + 12) % 16)) as f32;
            let mirrored = (row | (15 - at)) as f32;
            [
                (1.0 - rotated).to_bits(),
                (row | at & 8 | (7 - (at & 7))) + lane,
                (mirrored * lane as f32 + 1.0).to_bits(),
            ]
        })?;
    }
    Ok(())
}

fn three_operands(bench: &Bench) -> Result<(), Failed> {
    let body = "v_add3_u32_e64_dpp v4, v8, v8, v8 row_xmask:1 row_mask:0xf bank_mask:0xf\n\
                v_cmp_gt_u32_e64_dpp s20, v8, v8 row_xmask:1 row_mask:0xf bank_mask:0xf\nv_cndmask_b32 v5, 0, 1, s20";
    for chip in [Chip::Gfx1100, Chip::Gfx1151] {
        bench.expect(&kernel(chip, body), |lane| [(lane ^ 1) + 2 * lane, u32::from(lane ^ 1 > lane)])?;
    }
    Ok(())
}

fn back_permute(bench: &Bench) -> Result<(), Failed> {
    let body = "v_add_nc_u32 v10, 100, v8\nv_add_nc_u32 v11, 1, v8\nv_lshlrev_b32 v11, 2, v11\nv_mov_b32 v4, 7\n\
                s_mov_b32 exec_lo, 0x33333333\nds_bpermute_b32 v4, v11, v10\ns_waitcnt lgkmcnt(0)\n\
                s_mov_b32 exec_lo, -1\nv_mov_b32 v5, 7\nds_permute_b32 v5, v11, v10 offset:4\ns_waitcnt lgkmcnt(0)";
    for chip in BOTH {
        bench.expect(&kernel(chip, body), |lane| {
            let first = match lane % 4 {
                0 => 101 + lane,
                1 => 0,
                _ => 7,
            };
            [first, 100 + (lane + 30) % 32]
        })?;
    }
    Ok(())
}

fn permute_halves(bench: &Bench) -> Result<(), Failed> {
    let body = "v_add_nc_u32 v10, 100, v8\nv_lshlrev_b32 v11, 2, v8\nv_xor_b32 v11, 0x84, v11\nds_bpermute_b32 v4, v11, v10\n\
                s_waitcnt lgkmcnt(0)";
    for chip in BOTH {
        let mut kernel = kernel(chip, body);
        (kernel.wave64, kernel.grid, kernel.block) = (true, [64, 1, 1], [64, 1, 1]);
        // Bit 5 of the lane is not part of the selector.
        bench.expect(&kernel, |lane| [100 + (lane ^ 1)])?;
    }
    Ok(())
}

fn permlane(bench: &Bench) -> Result<(), Failed> {
    let body = "v_add_nc_u32 v10, 100, v8\nv_mov_b32 v4, 7\nv_mov_b32 v5, 7\nv_mov_b32 v6, 7\ns_mov_b32 s20, 0x67452301\n\
                s_mov_b32 s21, 0xefcdab89\ns_mov_b32 exec_lo, 0x55555555\nv_permlane16_b32 v4, v10, s20, s21\n\
                v_permlane16_b32 v5, v10, s20, s21 op_sel:[0,1]\nv_permlanex16_b32 v6, v10, s20, s21 op_sel:[1,0]";
    for chip in GENERATIONS {
        bench.expect(&kernel(chip, body), |lane| if lane % 2 == 1 { [7; 3] } else { [7, 0, 100 + (lane ^ 16 | 1)] })?;
    }
    Ok(())
}

fn permlane64(bench: &Bench) -> Result<(), Failed> {
    for chip in [Chip::Gfx1100, Chip::Gfx1151] {
        let mut kernel = kernel(chip, "v_add_nc_u32 v10, 100, v8\nv_permlane64_b32 v4, v10");
        (kernel.wave64, kernel.grid, kernel.block) = (true, [64, 1, 1], [64, 1, 1]);
        bench.expect(&kernel, |lane| [100 + (lane ^ 32)])?;
    }
    Ok(())
}

fn read_write(bench: &Bench) -> Result<(), Failed> {
    let body = "v_add_nc_u32 v10, 100, v8\ns_mov_b32 exec_lo, 1\nv_readlane_b32 s20, v10, 31\ns_movk_i32 s21, 37\n\
                v_readlane_b32 s22, v10, s21\nv_writelane_b32 v6, 55, 30\nv_writelane_b32 v6, s20, s21\n\
                s_mov_b32 exec_lo, -1\nv_mov_b32 v4, s20\nv_mov_b32 v5, s22";
    for chip in BOTH {
        bench.expect(&kernel(chip, body), |lane| {
            // Lane numbers are taken modulo the wave size.
            let written = match lane {
                30 => 55,
                5 => 131,
                _ => 0,
            };
            [131, 105, written]
        })?;
    }
    Ok(())
}

fn counts(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0xf0f0f0f0\nv_mbcnt_lo_u32_b32 v4, v10, 3\nv_mbcnt_hi_u32_b32 v5, v10, 3";
    for chip in BOTH {
        let mut kernel = kernel(chip, body);
        (kernel.wave64, kernel.grid, kernel.block) = (true, [64, 1, 1], [64, 1, 1]);
        bench.expect(&kernel, |lane| {
            let below = |lanes: u32| (0xf0f0_f0f0u64 & ((1 << lanes) - 1)).count_ones();
            [3 + below(lane.min(32)), 3 + below(lane.saturating_sub(32))]
        })?;
    }
    Ok(())
}

fn swizzle(bench: &Bench) -> Result<(), Failed> {
    let body = "v_add_nc_u32 v10, 100, v8\nv_mov_b32 v4, 7\ns_mov_b32 exec_lo, 0x55555555\n\
                ds_swizzle_b32 v4, v10 offset:swizzle(QUAD_PERM,1,2,2,3)\ns_mov_b32 exec_lo, -1\n\
                ds_swizzle_b32 v5, v10 offset:swizzle(BITMASK_PERM,\"01pip\")\ns_waitcnt lgkmcnt(0)";
    for chip in BOTH {
        bench.expect(&kernel(chip, body), |lane| {
            let quad = match lane % 4 {
                0 => 0,
                2 => 100 + lane,
                _ => 7,
            };
            // Bit 4 zero, bit 3 one, bit 2 kept, bit 1 inverted, bit 0 kept.
            [quad, 100 + (lane & 7 ^ 2 | 8)]
        })?;
    }
    Ok(())
}

fn permlane64_narrow(bench: &Bench) -> Result<(), Failed> {
    bench.same(&[Chip::Gfx1100, Chip::Gfx1151], "v_mov_b32 v4, 7\nv_permlane64_b32 v4, v8", [7])
}

fn counts_dpp(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mul_lo_u32 v10, 0x01234567, v8\nv_mov_b32 v4, 7\n\
                v_mbcnt_lo_u32_b32_e64_dpp v4, v10, v8 quad_perm:[3,3,3,3] row_mask:0x5 bank_mask:0xf\n\
                v_mbcnt_hi_u32_b32_e64_dpp v5, v10, v8 row_share:2 row_mask:0xf bank_mask:0xf";
    for chip in [Chip::Gfx1100, Chip::Gfx1151] {
        for wave64 in [false, true] {
            let lanes = if wave64 { 64 } else { 32 };
            let mut kernel = kernel(chip, body);
            (kernel.wave64, kernel.grid, kernel.block) = (wave64, [lanes, 1, 1], [lanes, 1, 1]);
            bench.expect(&kernel, |lane| {
                let count = |other: u32, below: u32| {
                    (u64::from(0x0123_4567u32.wrapping_mul(other)) & ((1 << below) - 1)).count_ones()
                };
                let low = lane + count(lane | 3, lane.min(32));
                [if lane / 16 % 2 == 0 { low } else { 7 }, lane + count(lane & !15 | 2, lane.saturating_sub(32))]
            })?;
        }
    }
    Ok(())
}

fn swizzle_rotate(bench: &Bench) -> Result<(), Failed> {
    let body = "v_add_nc_u32 v10, 100, v8\nds_swizzle_b32 v4, v10 offset:swizzle(ROTATE,0,3)\n\
                ds_swizzle_b32 v5, v10 offset:swizzle(ROTATE,1,3)\nds_swizzle_b32 v6, v10 offset:0xc021\n\
                ds_swizzle_b32 v7, v10 offset:0xc421\ns_waitcnt lgkmcnt(0)";
    for chip in BOTH {
        bench.expect(&kernel(chip, body), |lane| {
            // With a mask of one, odd lanes stay odd.
            let odd = |by: u32| lane & 1 | ((lane + by) % 32) & !1;
            [(lane + 3) % 32, (lane + 29) % 32, odd(1), odd(31)].map(|lane| 100 + lane)
        })?;
    }
    Ok(())
}

/// The orders listed in the ISA document.
fn swizzle_fourier(bench: &Bench) -> Result<(), Failed> {
    let body = "v_add_nc_u32 v10, 1, v8\nds_swizzle_b32 v4, v10 offset:swizzle(FFT,0)\n\
                ds_swizzle_b32 v5, v10 offset:swizzle(FFT,16)\nds_swizzle_b32 v6, v10 offset:swizzle(FFT,31)\n\
                s_waitcnt lgkmcnt(0)";
    const ALL: [u32; 32] = [
        0x01, 0x11, 0x09, 0x19, 0x05, 0x15, 0x0d, 0x1d, 0x03, 0x13, 0x0b, 0x1b, 0x07, 0x17, 0x0f, 0x1f, 0x02, 0x12,
        0x0a, 0x1a, 0x06, 0x16, 0x0e, 0x1e, 0x04, 0x14, 0x0c, 0x1c, 0x08, 0x18, 0x10, 0x20,
    ];
    const ROWS: [u32; 16] = [1, 9, 5, 0xd, 3, 0xb, 7, 0xf, 2, 0xa, 6, 0xe, 4, 0xc, 8, 0x10];
    for chip in BOTH {
        bench.expect(&kernel(chip, body), |lane| {
            let at = lane as usize;
            [ALL[at], ROWS[at % 16] + (lane & 16), lane + 1]
        })?;
    }
    Ok(())
}

fn relative(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 10\nv_mov_b32 v11, 11\nv_mov_b32 v12, 12\nv_mov_b32 v13, 13\ns_mov_b32 m0, 2\n\
                v_movrels_b32 v4, v10\nv_movreld_b32 v3, v10\nv_mov_b32 v6, v5\n\
                s_mov_b32 m0, 0x00020003\nv_movrelsd_2_b32 v5, v10\n\
                s_mov_b32 m0, 0x00010000\nv_swaprel_b32 v10, v12\nv_lshl_or_b32 v6, v11, 8, v12";
    for chip in GENERATIONS {
        let body = format!("v_mov_b32 v20, v3\n{body}\nv_mov_b32 v3, v20");
        bench.expect(&kernel(chip, &body), |_| [12, 10, 12 << 8 | 11, 13])?;
    }
    Ok(())
}

fn relative_fault(bench: &Bench) -> Result<(), Failed> {
    for body in ["v_movrels_b32 v4, v10", "v_movreld_b32 v4, v10", "v_swaprel_b32 v4, v10", "v_movrelsd_2_b32 v4, v10"]
    {
        for chip in BOTH {
            let body = format!("s_mov_b32 m0, 0x01000100\n{body}");
            let report = bench.fault(&kernel(chip, &body))?;
            super::is_fault(&report, |fault| matches!(fault, roci_emu::Fault::RegisterBeyondAllocation { .. }))?;
        }
    }
    Ok(())
}

fn dpp_zero(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 1.0\nv_mov_b32 v11, 0x80000000\n\
                v_add_f32_dpp v4, -v10, v11 row_shr:15 row_mask:0xf bank_mask:0xf bound_ctrl:1";
    for chip in GENERATIONS {
        bench.expect(&kernel(chip, body), |lane| [if lane % 16 == 15 { 0xbf80_0000 } else { 0x8000_0000 }])?;
    }
    Ok(())
}
