//! Masks, branches, calls, barriers, modes, clocks.

use libtest_mimic::Failed;
use roci_emu::Chip;

use super::{BOTH, Bench, GENERATIONS, Trap, kernel};

pub(super) const ALL: &[Trap] = &[
    ("readfirstlane_without_active_lanes_reads_lane_0", first_of_none),
    ("vcc_hi_and_exec_hi_are_storage_in_wave32", storage),
    ("cmpx_writes_only_exec", cmpx),
    ("comparisons_write_zero_for_inactive_lanes", inactive),
    ("accesses_without_active_lanes_do_nothing", no_lanes),
    ("barrier_counts_ended_waves", ended_waves),
    ("barriers_in_loops", barriers_in_loops),
    ("calls_and_returns", calls),
    ("a_call_may_overwrite_its_target_registers", own_pair),
    ("a_jump_into_decoded_code_preserves_indices", late_target),
    ("mode_changes_while_running", mode_changes),
    ("getreg_reads_what_setreg_wrote", getreg),
    ("clocks_advance", clocks),
    ("wave_id_in_workgroup", wave_number),
    ("null_reads_zero", null),
    ("vccz_follows_vcc", vccz),
    ("relative_scalar_moves", relative),
    ("saveexec_in_both_wave_sizes", saveexec),
];

fn first_of_none(bench: &Bench) -> Result<(), Failed> {
    let body = "v_add_nc_u32 v10, 100, v8\ns_mov_b32 exec_lo, 0\nv_readfirstlane_b32 s20, v10\n\
                s_mov_b32 exec_lo, 0xffffff00\nv_readfirstlane_b32 s21, v10\ns_mov_b32 exec_lo, s8\n\
                v_mov_b32 v4, s20\nv_mov_b32 v5, s21";
    bench.same(&BOTH, body, [100, 108])
}

fn storage(bench: &Bench) -> Result<(), Failed> {
    let body = "s_mov_b32 exec_hi, 0x1234\ns_mov_b32 vcc_hi, 0x5678\nv_cmp_eq_u32 vcc_lo, v8, v8\n\
                v_cmp_lt_u32 s20, 3, v8\ns_mov_b32 s21, 0x77\nv_cmp_ne_u32 s20, v8, v8\n\
                v_mov_b32 v4, exec_hi\nv_mov_b32 v5, vcc_hi\nv_mov_b32 v6, vcc_lo\nv_mov_b32 v7, s21\n\
                s_cbranch_execz finish\ns_mov_b32 exec_lo, 0\ns_cbranch_execz finish\ns_trap 2";
    bench.same(&GENERATIONS, body, [0x1234, 0x5678, !0, 0x77])
}

fn cmpx(bench: &Bench) -> Result<(), Failed> {
    let body = "s_mov_b32 vcc_lo, 0x77\nv_cmpx_gt_u32 5, v8\nv_mov_b32 v4, 1\ns_mov_b32 s20, exec_lo\n\
                s_mov_b32 exec_lo, s8\nv_mov_b32 v5, vcc_lo\nv_mov_b32 v6, s20";
    for chip in GENERATIONS {
        bench.expect(&kernel(chip, body), |lane| [u32::from(lane < 5), 0x77, 0x1f])?;
    }
    Ok(())
}

fn inactive(bench: &Bench) -> Result<(), Failed> {
    let body = "s_mov_b32 vcc_lo, -1\ns_mov_b32 exec_lo, 0xff\nv_cmp_eq_u32 vcc_lo, v8, v8\ns_mov_b32 exec_lo, s8\n\
                v_mov_b32 v4, vcc_lo\ns_mov_b32 s20, -1\ns_mov_b32 exec_lo, 0\nv_cmp_eq_u32 s20, v8, v8\n\
                s_mov_b32 exec_lo, s8\nv_mov_b32 v5, s20";
    bench.same(&BOTH, body, [0xff, 0])
}

/// `s_cbranch_execz` is an optimization: the code that it skips must have no effect.
fn no_lanes(bench: &Bench) -> Result<(), Failed> {
    let body = "s_mov_b32 exec_lo, 0\nv_mov_b32 v10, 0x10\nv_mov_b32 v11, 0\nglobal_load_dword v4, v[10:11], off\n\
                global_store_dword v[10:11], v4, off\nglobal_atomic_add v4, v[10:11], v4, off glc\n\
                flat_load_dword v5, v[10:11]\nds_write_b32 v10, v10\nds_read_b32 v6, v10\ns_waitcnt vmcnt(0) lgkmcnt(0)\n\
                v_mov_b32 v4, 5\nv_writelane_b32 v7, 9, 3";
    for chip in BOTH {
        bench.expect(&kernel(chip, body), |lane| [0, 0, 0, if lane == 3 { 9 } else { 0 }])?;
    }
    Ok(())
}

fn ended_waves(bench: &Bench) -> Result<(), Failed> {
    // The second wave ends; the others pass two barriers without it.
    let body = "v_readfirstlane_b32 s20, v8\ns_cmp_eq_u32 s20, 32\ns_cbranch_scc1 finish\ns_barrier\n\
                v_mov_b32 v4, 1\ns_barrier\nv_mov_b32 v5, 2";
    for chip in BOTH {
        let mut kernel = kernel(chip, body);
        (kernel.grid, kernel.block) = ([128, 1, 1], [128, 1, 1]);
        bench.expect(&kernel, |lane| if lane / 32 == 1 { [0, 0] } else { [1, 2] })?;
    }
    Ok(())
}

/// In each round, each wave adds to a word that the previous wave wrote.
fn barriers_in_loops(bench: &Bench) -> Result<(), Failed> {
    let body = "v_readfirstlane_b32 s20, v8\ns_lshr_b32 s20, s20, 5\ns_mov_b32 s21, 0\nv_mov_b32 v10, 0\n\
                ds_write_b32 v10, v10\n\
                round:\ns_waitcnt lgkmcnt(0)\ns_barrier\ns_and_b32 s22, s21, 3\ns_cmp_lg_u32 s22, s20\n\
                s_cbranch_scc1 skip\nds_read_b32 v11, v10\ns_waitcnt lgkmcnt(0)\nv_lshl_add_u32 v11, v11, 1, s20\n\
                ds_write_b32 v10, v11\nskip:\ns_add_u32 s21, s21, 1\ns_cmp_lt_u32 s21, 10\ns_cbranch_scc1 round\n\
                s_waitcnt lgkmcnt(0)\ns_barrier\nds_read_b32 v4, v10\ns_waitcnt lgkmcnt(0)";
    let want = (0..10).fold(0u32, |value, round| 2 * value + (round & 3));
    for chip in BOTH {
        let mut kernel = kernel(chip, body);
        (kernel.grid, kernel.block) = ([128, 1, 1], [128, 1, 1]);
        kernel.descriptor = ".amdhsa_group_segment_fixed_size 16";
        bench.expect(&kernel, |_| [want])?;
    }
    Ok(())
}

fn calls(bench: &Bench) -> Result<(), Failed> {
    let body = "s_getpc_b64 s[20:21]\nhere:\ns_add_u32 s20, s20, twice-here\ns_addc_u32 s21, s21, 0\nv_mov_b32 v4, v8\n\
                s_swappc_b64 s[30:31], s[20:21]\ns_swappc_b64 s[30:31], s[20:21]\ns_call_b64 s[30:31], twice\n\
                s_branch over\ntwice:\nv_add_nc_u32 v4, v4, v4\ns_setpc_b64 s[30:31]\nover:";
    for chip in GENERATIONS {
        bench.expect(&kernel(chip, body), |lane| [8 * lane])?;
    }
    Ok(())
}

fn own_pair(bench: &Bench) -> Result<(), Failed> {
    let body = "s_getpc_b64 s[30:31]\nhere:\ns_add_u32 s30, s30, twice-here\ns_addc_u32 s31, s31, 0\nv_mov_b32 v4, v8\n\
                s_swappc_b64 s[30:31], s[30:31]\ns_branch over\ntwice:\nv_add_nc_u32 v4, v4, v4\ns_setpc_b64 s[30:31]\nover:";
    for chip in GENERATIONS {
        bench.expect(&kernel(chip, body), |lane| [2 * lane])?;
    }
    Ok(())
}

/// Code discovered through an indirect jump branches between instructions that were merged into one
/// micro-op.
fn late_target(bench: &Bench) -> Result<(), Failed> {
    let body = "s_mov_b32 s26, 0\ns_getpc_b64 s[20:21]\nbase:\ns_add_u32 s20, s20, far-base\ns_addc_u32 s21, s21, 0\n\
                s_nop 0\njoin:\ns_nop 0\nv_add_nc_u32 v4, 1, v4\ns_cmp_lg_u32 s26, 0\ns_cbranch_scc1 finish\n\
                s_add_u32 s26, s26, 1\nv_add_nc_u32 v4, 16, v4\ns_setpc_b64 s[20:21]\n\
                far:\nv_add_nc_u32 v4, 0x100, v4\ns_branch join";
    bench.same(&GENERATIONS, body, [0x112])
}

fn mode_changes(bench: &Bench) -> Result<(), Failed> {
    // 1 + 2^-30 rounds up after s_round_mode, then to nearest again; a denormal is flushed after
    // s_denorm_mode, then preserved again.
    let body = "v_mov_b32 v10, 0x30800000\nv_mov_b32 v11, 0x000571cc\ns_round_mode 0x1\nv_add_f32 v4, 1.0, v10\n\
                s_round_mode 0x0\nv_add_f32 v5, 1.0, v10\ns_denorm_mode 0xc\nv_add_f32 v6, v11, v11\n\
                s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3\nv_add_f32 v7, v11, v11";
    bench.same(&GENERATIONS, body, [0x3f80_0001, 0x3f80_0000, 0, 0x000a_e398])
}

fn getreg(bench: &Bench) -> Result<(), Failed> {
    let body = "s_mov_b32 s20, 2\ns_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s20\n\
                s_getreg_b32 s21, hwreg(HW_REG_MODE, 0, 8)\ns_getreg_b32 s22, hwreg(HW_REG_MODE, 4, 4)\n\
                v_mov_b32 v4, s21\nv_mov_b32 v5, s22";
    bench.same(&GENERATIONS, body, [0xf2, 0xf])
}

fn clocks(bench: &Bench) -> Result<(), Failed> {
    let forward = "s_waitcnt lgkmcnt(0)\ns_sub_u32 s24, s22, s20\ns_subb_u32 s25, s23, s21\nv_mov_b32 v4, s25";
    let gfx10 = format!("s_memtime s[20:21]\ns_waitcnt lgkmcnt(0)\ns_memtime s[22:23]\n{forward}");
    let real = format!("s_memrealtime s[20:21]\ns_waitcnt lgkmcnt(0)\ns_memrealtime s[22:23]\n{forward}");
    let gfx11 = format!(
        "s_sendmsg_rtn_b64 s[20:21], sendmsg(MSG_RTN_GET_REALTIME)\ns_waitcnt lgkmcnt(0)\n\
         s_sendmsg_rtn_b64 s[22:23], sendmsg(MSG_RTN_GET_REALTIME)\n{forward}"
    );
    let cycles = "s_getreg_b32 s20, hwreg(HW_REG_SHADER_CYCLES, 0, 20)\ns_lshr_b32 s20, s20, 20\nv_mov_b32 v4, s20";
    bench.same(&[Chip::Gfx1010, Chip::Gfx1030], &gfx10, [0])?;
    bench.same(&[Chip::Gfx1010, Chip::Gfx1030], &real, [0])?;
    bench.same(&[Chip::Gfx1100, Chip::Gfx1151], &gfx11, [0])?;
    bench.same(&[Chip::Gfx1030, Chip::Gfx1100, Chip::Gfx1151], cycles, [0])
}

fn wave_number(bench: &Bench) -> Result<(), Failed> {
    let body = "s_get_waveid_in_workgroup s20\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v4, s20";
    for chip in [Chip::Gfx1010, Chip::Gfx1013] {
        let mut kernel = kernel(chip, body);
        (kernel.grid, kernel.block) = ([192, 1, 1], [96, 1, 1]);
        bench.expect(&kernel, |lane| [lane % 96 / 32])?;
    }
    Ok(())
}

fn null(bench: &Bench) -> Result<(), Failed> {
    let body = "s_mov_b32 null, 5\ns_mov_b32 m0, 7\nv_mov_b32 v4, null\nv_mov_b32 v5, m0\n\
                s_add_u32 s20, null, 3\nv_mov_b32 v6, s20\nv_add_co_u32 v7, null, v8, 1";
    for chip in GENERATIONS {
        bench.expect(&kernel(chip, body), |lane| [0, 7, 3, lane + 1])?;
    }
    Ok(())
}

fn vccz(bench: &Bench) -> Result<(), Failed> {
    let body = "s_mov_b32 vcc_hi, 1\ns_mov_b32 vcc_lo, 0\ns_cbranch_vccz empty\ns_branch finish\nempty:\nv_mov_b32 v4, 1\n\
                s_mov_b32 vcc_lo, 2\ns_cbranch_vccz finish\nv_mov_b32 v5, 1";
    bench.same(&GENERATIONS, body, [1, 1])
}

fn relative(bench: &Bench) -> Result<(), Failed> {
    let body = "s_mov_b32 s20, 10\ns_mov_b32 s21, 11\ns_mov_b32 s22, 12\ns_mov_b32 m0, 2\ns_movrels_b32 s30, s20\n\
                s_movreld_b32 s20, s21\nv_mov_b32 v4, s30\nv_mov_b32 v5, s22\nv_mov_b32 v10, 5\nv_mov_b32 v12, 6\n\
                v_movrels_b32 v6, v10\nv_mov_b32 v14, 0\nv_movreld_b32 v12, v10\nv_mov_b32 v7, v14";
    bench.same(&BOTH, body, [12, 11, 6, 5])
}

fn saveexec(bench: &Bench) -> Result<(), Failed> {
    let body = "s_mov_b32 exec_hi, 0x55\nv_cmp_gt_u32 vcc_lo, 4, v8\ns_and_saveexec_b32 s20, vcc_lo\nv_mov_b32 v4, 1\n\
                s_xor_b32 exec_lo, exec_lo, s20\nv_mov_b32 v4, 2\ns_or_b32 exec_lo, exec_lo, s20\nv_mov_b32 v5, s20\n\
                v_mov_b32 v6, exec_hi";
    let wide = "v_cmp_gt_u32 vcc, 40, v8\ns_and_saveexec_b64 s[20:21], vcc\nv_mov_b32 v4, 1\n\
                s_xor_b64 exec, exec, s[20:21]\nv_mov_b32 v4, 2\ns_or_b64 exec, exec, s[20:21]\nv_mov_b32 v5, s21";
    for chip in BOTH {
        bench.expect(&kernel(chip, body), |lane| [if lane < 4 { 1 } else { 2 }, !0, 0x55])?;
        let mut kernel = kernel(chip, wide);
        (kernel.wave64, kernel.grid, kernel.block) = (true, [64, 1, 1], [64, 1, 1]);
        bench.expect(&kernel, |lane| [if lane < 40 { 1 } else { 2 }, !0])?;
    }
    Ok(())
}
