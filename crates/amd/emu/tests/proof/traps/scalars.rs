//! Scalar memory and relative SGPRs.

use libtest_mimic::Failed;
use roci_emu::{Chip, Fault};

use super::{Bench, GENERATIONS, Trap, is_fault, kernel};

/// The chips with scalar stores and atomics.
const STORING: [Chip; 3] = [Chip::Gfx1010, Chip::Gfx1012, Chip::Gfx1013];

pub(super) const ALL: &[Trap] = &[
    ("scalar_stores", stores),
    ("scalar_atomics", atomics),
    ("scalar_buffer_accesses_are_bounded", buffers),
    ("scalar_stores_may_fault", store_fault),
    ("relative_scalar_moves", relative),
    ("relative_scalar_moves_beyond_the_last_register_fault", relative_fault),
    ("addtid_addresses_by_lane", by_lane),
];

fn stores(bench: &Bench) -> Result<(), Failed> {
    let body = "s_mov_b32 s20, 11\ns_mov_b32 s21, 22\ns_mov_b32 s22, 33\ns_mov_b32 s23, 44\ns_mov_b32 s24, 0x20\n\
                s_store_dwordx4 s[20:23], s[6:7], 0x40\ns_store_dword s22, s[6:7], s24 offset:0x24\n\
                s_store_dwordx2 s[20:21], s[6:7], 0x4b\ns_waitcnt lgkmcnt(0)\n\
                s_load_dwordx4 s[28:31], s[6:7], 0x40\ns_waitcnt lgkmcnt(0)\n\
                v_mov_b32 v4, s28\nv_mov_b32 v5, s29\nv_mov_b32 v6, s30\nv_mov_b32 v7, s31";
    // The low bits of the address are ignored.
    bench.same(&STORING, body, [11, 33, 11, 22])
}

fn atomics(bench: &Bench) -> Result<(), Failed> {
    let body = "s_mov_b32 s20, 10\ns_store_dword s20, s[6:7], 0x40\ns_mov_b32 s21, 5\ns_atomic_add s21, s[6:7], 0x40 glc\n\
                s_waitcnt lgkmcnt(0)\nv_mov_b32 v4, s21\ns_mov_b32 s22, 77\ns_mov_b32 s23, 15\n\
                s_atomic_cmpswap s[22:23], s[6:7], 0x40 glc\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v5, s22\n\
                s_mov_b32 s24, -3\ns_atomic_smin s24, s[6:7], 0x40\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v6, s24\n\
                s_load_dword s25, s[6:7], 0x40\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v7, s25";
    bench.same(&STORING, body, [10, 15, 0xffff_fffd, 0xffff_fffd])?;
    let body = "s_mov_b32 s20, 1\ns_mov_b32 s21, 2\ns_store_dwordx2 s[20:21], s[6:7], 0x40\ns_mov_b32 s22, 0\n\
                s_mov_b32 s23, 3\ns_atomic_umax_x2 s[22:23], s[6:7], 0x40 glc\ns_waitcnt lgkmcnt(0)\n\
                v_mov_b32 v4, s22\nv_mov_b32 v5, s23\ns_load_dwordx2 s[24:25], s[6:7], 0x40\ns_waitcnt lgkmcnt(0)\n\
                v_mov_b32 v6, s24\nv_mov_b32 v7, s25";
    bench.same(&STORING, body, [1, 2, 0, 3])
}

fn buffers(bench: &Bench) -> Result<(), Failed> {
    // A buffer of 64 bytes: stores past its end are dropped, atomics past its end return zero.
    let body = "s_mov_b32 s40, s6\ns_mov_b32 s41, s7\ns_mov_b32 s42, 64\ns_mov_b32 s43, 0\ns_mov_b32 s20, 9\ns_mov_b32 s21, 6\n\
                s_buffer_store_dword s20, s[40:43], 0x3c\ns_buffer_store_dword s20, s[40:43], 0x40\n\
                s_buffer_atomic_or s21, s[40:43], 0x3c glc\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v4, s21\n\
                s_buffer_atomic_or s21, s[40:43], 0x40 glc\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v5, s21\n\
                s_load_dwordx2 s[24:25], s[6:7], 0x3c\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v6, s24\nv_mov_b32 v7, s25";
    bench.same(&STORING, body, [9, 0, 15, 0])
}

fn store_fault(bench: &Bench) -> Result<(), Failed> {
    let body = "s_mov_b64 s[20:21], 0\ns_store_dword s20, s[20:21], 0x40";
    let report = bench.fault(&kernel(Chip::Gfx1010, body))?;
    is_fault(&report, |fault| matches!(fault, Fault::Memory { address: 0x40, write: true, .. }))
}

fn relative(bench: &Bench) -> Result<(), Failed> {
    let body = "s_mov_b32 s20, 20\ns_mov_b32 s21, 21\ns_mov_b32 s22, 22\ns_mov_b32 s23, 23\ns_mov_b32 m0, 2\n\
                s_movrels_b32 s30, s20\ns_movreld_b32 s31, s21\ns_mov_b32 m0, 0x00050003\ns_movrelsd_2_b32 s30, s20\n\
                v_mov_b32 v4, s30\nv_mov_b32 v5, s33\nv_mov_b32 v6, s35\ns_mov_b32 m0, 1\n\
                s_movrels_b64 s[36:37], s[20:21]\nv_mov_b32 v7, s37";
    bench.same(&GENERATIONS, body, [22, 21, 23, 22])
}

fn relative_fault(bench: &Bench) -> Result<(), Failed> {
    for body in ["s_movrels_b32 s20, s10", "s_movreld_b32 s10, s20", "s_movreld_b64 s[10:11], s[20:21]"] {
        for chip in GENERATIONS {
            let body = format!("s_mov_b32 m0, 96\n{body}");
            let report = bench.fault(&kernel(chip, &body))?;
            is_fault(&report, |fault| matches!(fault, Fault::ScalarRegisterBeyondLast { last: 105, .. }))?;
        }
    }
    Ok(())
}

fn by_lane(bench: &Bench) -> Result<(), Failed> {
    let body = "global_load_addtid v4, s[6:7] offset:4\ns_waitcnt vmcnt(0)\nv_add_nc_u32 v5, 7, v4\n\
                global_store_addtid v5, s[6:7] offset:8\ns_waitcnt_vscnt null, 0\n\
                v_lshlrev_b32 v10, 2, v8\nglobal_load_dword v5, v10, s[6:7] offset:8\ns_waitcnt vmcnt(0)";
    let input: Vec<u32> = (0..128).map(|at| 1000 + at).collect();
    for (chip, load, store) in [
        (Chip::Gfx1030, "load_dword_addtid", "store_dword_addtid"),
        (Chip::Gfx1100, "load_addtid_b32", "store_addtid_b32"),
    ] {
        let body = body.replace("load_addtid", load).replace("store_addtid", store);
        for wave64 in [false, true] {
            let lanes = if wave64 { 64 } else { 32 };
            let mut kernel = kernel(chip, &body);
            (kernel.wave64, kernel.grid, kernel.block) = (wave64, [lanes, 1, 1], [lanes, 1, 1]);
            kernel.input = &input;
            bench.expect(&kernel, |lane| [1001 + lane, 1008 + lane])?;
        }
    }
    Ok(())
}
