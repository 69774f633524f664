//! Addresses, register halves, ranges, atomics.

use libtest_mimic::Failed;
use roci_emu::{Chip, Fault};

use super::{BOTH, Bench, GENERATIONS, Trap, is_fault, kernel};

pub(super) const ALL: &[Trap] = &[
    ("saddr_adds_a_zero_extended_offset", saddr),
    ("negative_offsets", negative),
    ("d16_loads_keep_the_other_half", d16),
    ("unaligned_words", unaligned),
    ("misaligned_atomics_fault", misaligned),
    ("atomics_return_the_old_value_if_requested", returns),
    ("atomics_of_one_address_from_all_lanes", one_address),
    ("float_atomics", float_atomics),
    ("lds_out_of_range_reads_zero_and_drops_writes", lds_range),
    ("lds_addresses_wrap", lds_wrap),
    ("lds_counts_a_wave_once", lds_count),
    ("lds_offset_units", lds_units),
    ("lds_bytes_and_halves", lds_halves),
    ("lds_exchanges_at_two_addresses", lds_exchange),
    ("scalar_loads_force_alignment", scalar_alignment),
    ("scratch_of_gfx11", scratch),
];

fn saddr(bench: &Bench) -> Result<(), Failed> {
    for chip in BOTH {
        let body = "v_mov_b32 v10, 0xfffffff0\nglobal_load_dword v4, v10, s[6:7]";
        let report = bench.fault(&kernel(chip, body))?;
        let Fault::Memory { address, size: 4, write: false, .. } = report.fault else {
            return Err(format!("another fault: {report}").into());
        };
        // The input ends below the address, at a page boundary.
        super::equal((address & 0xfff, address >> 32 > 0), (0xff0, true))?;
        let body = "v_lshlrev_b32 v10, 2, v8\ns_add_u32 s6, s6, 64\ns_addc_u32 s7, s7, 0\n\
                    global_load_dword v4, v10, s[6:7] offset:-64\ns_waitcnt vmcnt(0)";
        let mut kernel = kernel(chip, body);
        let input: Vec<u32> = (0..64).map(|word| 3 * word).collect();
        kernel.input = &input;
        bench.expect(&kernel, |lane| [3 * lane])?;
    }
    Ok(())
}

fn negative(bench: &Bench) -> Result<(), Failed> {
    let body = "v_lshlrev_b32 v10, 2, v8\nv_add_co_u32 v10, vcc_lo, s6, v10\nv_mov_b32 v11, s7\n\
                v_add_co_ci_u32 v11, vcc_lo, 0, v11, vcc_lo\nglobal_load_dword v4, v[10:11], off offset:20\n\
                v_add_co_u32 v10, vcc_lo, v10, 2047\nv_add_co_ci_u32 v11, vcc_lo, 0, v11, vcc_lo\n\
                global_load_dword v5, v[10:11], off offset:-2047\ns_waitcnt vmcnt(0)";
    let input: Vec<u32> = (0..64).map(|word| 3 * word).collect();
    for chip in GENERATIONS {
        let mut kernel = kernel(chip, body);
        kernel.input = &input;
        bench.expect(&kernel, |lane| [3 * (lane + 5), 3 * lane])?;
    }
    Ok(())
}

fn d16(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0\nv_mov_b32 v4, 0xaaaabbbb\nv_mov_b32 v5, 0xaaaabbbb\nv_mov_b32 v6, 0xaaaabbbb\n\
                v_mov_b32 v7, 0xaaaabbbb\nglobal_load_short_d16 v4, v10, s[6:7] offset:2\n\
                global_load_short_d16_hi v5, v10, s[6:7]\nglobal_load_ubyte_d16 v6, v10, s[6:7] offset:3\n\
                global_load_sbyte_d16_hi v7, v10, s[6:7] offset:3\ns_waitcnt vmcnt(0)";
    for chip in GENERATIONS {
        let mut kernel = kernel(chip, body);
        kernel.input = &[0x8765_4321];
        bench.expect(&kernel, |_| [0xaaaa_8765, 0x4321_bbbb, 0xaaaa_0087, 0xff87_bbbb])?;
    }
    let stores = "v_mov_b32 v10, 0\nv_mov_b32 v11, 0x11223344\nglobal_store_short_d16_hi v10, v11, s[6:7]\n\
                  global_store_byte_d16_hi v10, v11, s[6:7] offset:2\nglobal_store_byte v10, v11, s[6:7] offset:3\n\
                  s_waitcnt_vscnt null, 0\nglobal_load_dword v4, v10, s[6:7]\ns_waitcnt vmcnt(0)";
    bench.same(&GENERATIONS, stores, [0x4422_1122])
}

fn unaligned(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0\nglobal_load_dword v4, v10, s[6:7] offset:1\n\
                global_load_dwordx2 v[5:6], v10, s[6:7] offset:3\nglobal_load_ushort v7, v10, s[6:7] offset:5\n\
                s_waitcnt vmcnt(0)";
    for chip in GENERATIONS {
        let mut kernel = kernel(chip, body);
        kernel.input = &[0x4433_2211, 0x8877_6655, 0xccbb_aa99];
        bench.expect(&kernel, |_| [0x5544_3322, 0x7766_5544, 0xbbaa_9988, 0x7766])?;
    }
    Ok(())
}

fn misaligned(bench: &Bench) -> Result<(), Failed> {
    for chip in GENERATIONS {
        let body = "v_mov_b32 v10, 4\nv_mov_b32 v12, 1\nv_mov_b32 v13, 0\nglobal_atomic_add_x2 v10, v[12:13], s[6:7]";
        let report = bench.fault(&kernel(chip, body))?;
        is_fault(&report, |fault| matches!(fault, Fault::Misaligned { size: 8, .. }))?;
    }
    Ok(())
}

fn returns(bench: &Bench) -> Result<(), Failed> {
    let body = "v_lshlrev_b32 v10, 2, v8\nv_mov_b32 v11, 5\nv_mov_b32 v4, 77\nglobal_atomic_add v10, v11, s[6:7]\n\
                s_waitcnt_vscnt null, 0\nglobal_atomic_add v5, v10, v11, s[6:7] glc\ns_waitcnt vmcnt(0)\n\
                v_mov_b32 v12, 9\nv_add_nc_u32 v13, v5, v11\nglobal_atomic_cmpswap v6, v10, v[12:13], s[6:7] glc\n\
                s_waitcnt vmcnt(0)\nglobal_load_dword v7, v10, s[6:7]\ns_waitcnt vmcnt(0)";
    let input: Vec<u32> = (0..64).collect();
    for chip in GENERATIONS {
        let mut kernel = kernel(chip, body);
        kernel.input = &input;
        bench.expect(&kernel, |lane| [77, lane + 5, lane + 10, 9])?;
    }
    Ok(())
}

/// Applied one after another, so the old values are all different. Wrapping increments and
/// decrements.
fn one_address(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0\nv_mov_b32 v11, 1\nglobal_atomic_add v4, v10, v11, s[6:7] glc\ns_waitcnt vmcnt(0)\n\
                v_mov_b32 v11, 9\nglobal_atomic_inc v10, v11, s[6:7] offset:4\nglobal_atomic_dec v10, v11, s[6:7] offset:8\n\
                s_waitcnt_vscnt null, 0\nglobal_load_dwordx3 v[5:7], v10, s[6:7]\ns_waitcnt vmcnt(0)";
    for chip in BOTH {
        let got = bench.run(&kernel(chip, body))?;
        let mut old: Vec<u32> = got[..32].iter().map(|words| words[0]).collect();
        old.sort_unstable();
        super::equal(old, (0..32).collect())?;
        // 32 increments over 0 to 9 give 2; decrements from 0 give 9 first.
        super::equal(got[0][1..].to_vec(), vec![32, 2, 8])?;
    }
    Ok(())
}

fn float_atomics(bench: &Bench) -> Result<(), Failed> {
    let add = "v_mov_b32 v10, 0\nv_mov_b32 v11, 1.0\nglobal_atomic_add_f32 v10, v11, s[6:7]\ns_waitcnt_vscnt null, 0\n\
               global_load_dword v4, v10, s[6:7]\nds_write_b32 v10, v10\ns_waitcnt lgkmcnt(0)\nds_add_f32 v10, v11\n\
               ds_read_b32 v5, v10\ns_waitcnt vmcnt(0) lgkmcnt(0)";
    let mut kernel_of = kernel(Chip::Gfx1100, add);
    kernel_of.descriptor = ".amdhsa_group_segment_fixed_size 16";
    bench.expect(&kernel_of, |_| [32f32.to_bits(), 32f32.to_bits()])?;
    let extremes = "v_mov_b32 v10, 0\nv_cvt_f32_u32 v11, v8\nglobal_atomic_fmax v10, v11, s[6:7]\n\
                    v_sub_f32 v11, 0, v11\nglobal_atomic_fmin v10, v11, s[6:7] offset:4\ns_waitcnt_vscnt null, 0\n\
                    global_load_dwordx2 v[4:5], v10, s[6:7]\ns_waitcnt vmcnt(0)";
    bench.same(&BOTH, extremes, [31f32.to_bits(), (-31f32).to_bits()])
}

fn lds_range(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0x8000\nv_mov_b32 v11, 7\nds_write_b32 v10, v11\nv_mov_b32 v4, 5\nds_read_b32 v4, v10\n\
                v_mov_b32 v12, 0xfffffffc\nds_write_b32 v12, v11\nv_mov_b32 v5, 5\nds_read_b32 v5, v12\n\
                v_mov_b32 v6, 5\nds_read_b32 v6, v12 offset:8\nv_mov_b32 v7, 5\nds_add_rtn_u32 v7, v10, v11\n\
                s_waitcnt lgkmcnt(0)";
    for chip in BOTH {
        let mut kernel = kernel(chip, body);
        kernel.descriptor = ".amdhsa_group_segment_fixed_size 1024";
        bench.expect(&kernel, |_| [0; 4])?;
    }
    Ok(())
}

/// A negative index plus a constant: the sum is in bounds, the register alone is not.
fn lds_wrap(bench: &Bench) -> Result<(), Failed> {
    let body = "v_lshlrev_b32 v10, 2, v8\nv_subrev_nc_u32 v11, 64, v10\nds_write_b32 v11, v8 offset:64\n\
                v_add_nc_u32 v12, 100, v8\nv_subrev_nc_u32 v13, 1024, v10\nds_write2_b32 v13, v12, v12 offset0:255 offset1:0\n\
                s_waitcnt lgkmcnt(0)\nds_read_b32 v4, v11 offset:64\nds_read2_b32 v[10:11], v11 offset0:16 offset1:48\n\
                v_mov_b32 v12, 7\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v5, v10\nv_mov_b32 v6, -4\n\
                ds_wrxchg2_rtn_b32 v[14:15], v6, v12, v12 offset0:1 offset1:2\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v7, v14";
    for chip in BOTH {
        let mut kernel = kernel(chip, body);
        kernel.descriptor = ".amdhsa_group_segment_fixed_size 256";
        bench.expect(&kernel, |lane| {
            // One word below the lane's own; the other address of the two is out of bounds.
            let word = if lane < 31 { 101 + lane } else { 131 - 100 };
            [word, word, -4i32 as u32, if lane == 0 { 101 } else { 7 }]
        })?;
    }
    Ok(())
}

fn lds_count(bench: &Bench) -> Result<(), Failed> {
    let body = "s_mov_b32 m0, 0x80000\nv_mov_b32 v10, 8\nv_mov_b32 v11, 1000\nds_write_b32 v10, v11\ns_waitcnt lgkmcnt(0)\n\
                ds_append v4\nds_consume v5\ns_waitcnt lgkmcnt(0)\nds_read_b32 v6, v10\ns_waitcnt lgkmcnt(0)";
    for (chip, wave64) in BOTH.into_iter().flat_map(|chip| [(chip, false), (chip, true)]) {
        let lanes = if wave64 { 64 } else { 32 };
        let mut kernel = kernel(chip, body);
        (kernel.wave64, kernel.grid, kernel.block) = (wave64, [lanes, 1, 1], [lanes, 1, 1]);
        kernel.descriptor = ".amdhsa_group_segment_fixed_size 16";
        bench.expect(&kernel, |_| [1000, 1000 + lanes, 1000])?;
    }
    Ok(())
}

fn lds_units(bench: &Bench) -> Result<(), Failed> {
    let body = "v_lshlrev_b32 v10, 3, v8\nv_mov_b32 v11, v8\nv_add_nc_u32 v12, 100, v8\n\
                ds_write2_b32 v10, v11, v12 offset0:0 offset1:1\nds_write2st64_b32 v10, v12, v11 offset0:4 offset1:8\n\
                v_mov_b32 v13, 0\nds_read2_b32 v[4:5], v13 offset0:2 offset1:3\n\
                ds_read_b32 v6, v13 offset:1032\nds_read2st64_b32 v[14:15], v13 offset0:8 offset1:4\ns_waitcnt lgkmcnt(0)\n\
                v_add_nc_u32 v7, v14, v15";
    for chip in BOTH {
        let mut kernel = kernel(chip, body);
        kernel.descriptor = ".amdhsa_group_segment_fixed_size 4096";
        bench.expect(&kernel, |_| [1, 101, 101, 100])?;
    }
    Ok(())
}

fn lds_halves(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, 0\nv_mov_b32 v11, 0x11228344\nds_write_b32 v10, v11\nds_write_b16_d16_hi v10, v11 offset:4\n\
                ds_write_b8_d16_hi v10, v11 offset:6\nds_write_b8 v10, v11 offset:7\nv_mov_b32 v4, 0xaaaabbbb\n\
                v_mov_b32 v5, 0xaaaabbbb\nds_read_u16_d16_hi v4, v10\nds_read_i8_d16 v5, v10 offset:1\n\
                ds_read_b32 v6, v10 offset:4\nds_read_i16 v7, v10\ns_waitcnt lgkmcnt(0)";
    for chip in BOTH {
        let mut kernel = kernel(chip, body);
        kernel.descriptor = ".amdhsa_group_segment_fixed_size 64";
        bench.expect(&kernel, |_| [0x8344_bbbb, 0xaaaa_ff83, 0x4422_1122, 0xffff_8344])?;
    }
    Ok(())
}

fn lds_exchange(bench: &Bench) -> Result<(), Failed> {
    let body = "v_lshlrev_b32 v10, 3, v8\nv_mov_b32 v11, 1\nv_mov_b32 v12, 2\nds_write2_b32 v10, v11, v12 offset1:1\n\
                v_mov_b32 v13, 3\nv_mov_b32 v14, 4\nds_wrxchg2_rtn_b32 v[4:5], v10, v13, v14 offset1:1\n\
                ds_cmpst_rtn_b32 v6, v10, v13, v12\nds_read_b32 v7, v10\ns_waitcnt lgkmcnt(0)";
    // On gfx10 the comparand comes first; gfx11's ds_cmpstore has the opposite order.
    let newer = body.replace("ds_cmpst_rtn_b32 v6, v10, v13, v12", "ds_cmpstore_rtn_b32 v6, v10, v12, v13");
    for (chip, body) in [(Chip::Gfx1010, body), (Chip::Gfx1030, body), (Chip::Gfx1100, &newer)] {
        let mut kernel = kernel(chip, body);
        kernel.descriptor = ".amdhsa_group_segment_fixed_size 4096";
        bench.expect(&kernel, |_| [1, 2, 3, 2])?;
    }
    Ok(())
}

fn scalar_alignment(bench: &Bench) -> Result<(), Failed> {
    let body = "s_or_b32 s6, s6, 2\ns_load_dword s20, s[6:7], 0x4\ns_movk_i32 s22, 8\ns_load_dword s21, s[6:7], s22\n\
                s_waitcnt lgkmcnt(0)\nv_mov_b32 v4, s20\nv_mov_b32 v5, s21\ns_add_u32 s6, s6, 6\ns_addc_u32 s7, s7, 0\n\
                s_load_dword s23, s[6:7], -0x8\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v6, s23";
    for chip in GENERATIONS {
        let mut kernel = kernel(chip, body);
        kernel.input = &[10, 11, 12, 13];
        bench.expect(&kernel, |_| [11, 12, 10])?;
    }
    Ok(())
}

fn scratch(bench: &Bench) -> Result<(), Failed> {
    let body = "s_movk_i32 s20, 16\nv_lshlrev_b32 v10, 2, v8\nv_and_b32 v10, 12, v10\nscratch_store_b32 v10, v8, off\n\
                scratch_store_b32 v10, v8, s20 offset:4\nscratch_store_b16 off, v8, off offset:60\n\
                scratch_store_b8 off, v8, s20 offset:46\ns_waitcnt_vscnt null, 0\nscratch_load_b32 v4, v10, off\n\
                scratch_load_b32 v5, v10, off offset:20\nscratch_load_b32 v6, off, s20 offset:44\ns_waitcnt vmcnt(0)";
    for chip in [Chip::Gfx1100, Chip::Gfx1151] {
        let mut kernel = kernel(chip, body);
        kernel.descriptor = ".amdhsa_private_segment_fixed_size 64\n.amdhsa_enable_private_segment 1";
        bench.expect(&kernel, |lane| [lane, lane, lane | lane << 16])?;
    }
    Ok(())
}
