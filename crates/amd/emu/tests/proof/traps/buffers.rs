//! Buffer descriptors: bounds, and loads into LDS.

use libtest_mimic::Failed;
use roci_emu::Chip;

use super::{Bench, Trap, kernel};

pub(super) const ALL: &[Trap] = &[
    ("bounds_checks_ignore_the_scalar_offset", bytes),
    ("each_word_is_bounds_checked", words),
    ("out_of_bounds_small_loads_and_atomics_give_zero", small),
    ("structured_buffers_check_the_index", elements),
    ("bounds_checks_can_be_disabled", unbounded),
    ("buffer_loads_into_lds", into_lds),
    ("private_addresses_wrap", private),
];

/// A descriptor of the input in `s[20:23]`.
fn descriptor(stride: u32, records: u32, word3: u32) -> String {
    format!(
        "s_mov_b32 s20, s6\ns_and_b32 s21, s7, 0xffff\ns_or_b32 s21, s21, {:#x}\ns_mov_b32 s22, {records}\n\
         s_mov_b32 s23, {word3:#x}\nv_lshlrev_b32 v10, 2, v8\n",
        stride << 16
    )
}

/// Chips, with the last descriptor word of raw buffers.
const BYTES: [(Chip, u32); 3] =
    [(Chip::Gfx1010, 0x3101_4fac), (Chip::Gfx1030, 0x3101_4fac), (Chip::Gfx1100, 0x3101_4000)];

fn expect<const WORDS: usize>(
    bench: &Bench,
    [stride, records]: [u32; 2],
    select: u32,
    body: &str,
    want: impl Fn(u32) -> [u32; WORDS],
) -> Result<(), Failed> {
    let input: Vec<u32> = (0..64).map(|word| 1000 + word).collect();
    for (chip, word3) in BYTES {
        let body = descriptor(stride, records, word3 & !(3 << 28) | select << 28) + body;
        let mut kernel = kernel(chip, &body);
        kernel.input = &input;
        kernel.descriptor = ".amdhsa_group_segment_fixed_size 1024";
        bench.expect(&kernel, &want)?;
    }
    Ok(())
}

/// The expected value for a buffer of 16 words.
fn inside(word: u32) -> u32 {
    if word < 16 { 1000 + word } else { 0 }
}

fn bytes(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v4, 7\nbuffer_load_dword v4, v10, s[20:23], 0 offen\n\
                s_movk_i32 s24, 8\nv_mov_b32 v5, 7\nbuffer_load_dword v5, v10, s[20:23], s24 offen offset:4\n\
                s_waitcnt vmcnt(0)\nbuffer_store_dword v8, v10, s[20:23], 0 offen\ns_waitcnt_vscnt null, 0\n\
                global_load_dword v6, v10, s[6:7]\ns_waitcnt vmcnt(0)\nbuffer_load_ubyte v7, off, s[20:23], 0 offset:5\n\
                s_waitcnt vmcnt(0)";
    // A structured descriptor without a stride is treated as raw.
    for select in [3, 0] {
        expect(bench, [0, 64], select, body, |lane| {
            let moved = if lane < 15 { 1003 + lane } else { 0 };
            [inside(lane), moved, if lane < 16 { lane } else { 1000 + lane }, 0]
        })?;
    }
    Ok(())
}

fn words(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v7, 7\nbuffer_load_dwordx4 v[4:7], v10, s[20:23], 0 offen\ns_waitcnt vmcnt(0)";
    expect(bench, [0, 64], 3, body, |lane| [0, 1, 2, 3].map(|word| inside(lane + word)))?;
    let body = "v_mov_b32 v11, 1\nv_mov_b32 v12, 2\nv_mov_b32 v13, 60\nbuffer_store_dwordx2 v[11:12], v13, s[20:23], 0 offen\n\
                s_waitcnt_vscnt null, 0\nglobal_load_dwordx2 v[4:5], v13, s[6:7]\ns_waitcnt vmcnt(0)";
    expect(bench, [0, 64], 3, body, |_| [1, 1016])
}

fn small(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v4, -1\nv_mov_b32 v5, -1\nv_mov_b32 v6, 1\nbuffer_load_ushort v4, v10, s[20:23], 0 offen\n\
                buffer_load_short_d16 v5, v10, s[20:23], 0 offen\nbuffer_atomic_add v6, v10, s[20:23], 0 offen glc\n\
                s_waitcnt vmcnt(0)\nglobal_load_dword v7, v10, s[6:7]\ns_waitcnt vmcnt(0)";
    expect(bench, [0, 64], 3, body, |lane| {
        let is = inside(lane);
        [is, 0xffff_0000 | is, is, 1000 + lane + u32::from(lane < 16)]
    })
}

fn elements(bench: &Bench) -> Result<(), Failed> {
    // Eight elements of two words: by index, and by index and offset.
    let body = "buffer_load_dword v4, v8, s[20:23], 0 idxen offset:4\nbuffer_load_dword v5, v8, s[20:23], 0 idxen offset:8\n\
                s_waitcnt vmcnt(0)";
    expect(bench, [8, 8], 1, body, |lane| if lane < 8 { [1001 + 2 * lane, 1002 + 2 * lane] } else { [0, 0] })?;
    expect(bench, [8, 8], 0, body, |lane| if lane < 8 { [1001 + 2 * lane, 0] } else { [0, 0] })
}

fn unbounded(bench: &Bench) -> Result<(), Failed> {
    let body = "buffer_load_dword v4, v10, s[20:23], 0 offen\ns_waitcnt vmcnt(0)";
    expect(bench, [0, 4], 2, body, |lane| [1000 + lane])?;
    expect(bench, [0, 0], 2, body, |_| [0])
}

fn into_lds(bench: &Bench) -> Result<(), Failed> {
    let body = "s_mov_b32 m0, 0x40\nbuffer_load_dword v10, s[20:23], 0 offen offset:4 lds\n\
                s_mov_b32 m0, 0x200\nbuffer_load_ubyte v10, s[20:23], 0 offen lds\ns_waitcnt vmcnt(0)\n\
                ds_read_b32 v4, v10 offset:0x44\nds_read_b32 v5, v10 offset:0x200\ns_waitcnt lgkmcnt(0)";
    let input: Vec<u32> = (0..64).map(|word| 1000 + word).collect();
    for wave64 in [false, true] {
        let lanes = if wave64 { 64 } else { 32 };
        for (chip, word3) in &BYTES[..2] {
            let body = descriptor(0, 64, *word3) + body;
            let mut kernel = kernel(*chip, &body);
            (kernel.wave64, kernel.grid, kernel.block) = (wave64, [lanes, 1, 1], [lanes, 1, 1]);
            kernel.input = &input;
            kernel.descriptor = ".amdhsa_group_segment_fixed_size 1024";
            bench.expect(&kernel, |lane| [inside(lane + 1), inside(lane) & 0xff])?;
        }
    }
    Ok(())
}

/// A negative index plus a constant, in the private memory of gfx10.
fn private(bench: &Bench) -> Result<(), Failed> {
    let body = "v_mov_b32 v10, -16\nbuffer_store_dword v8, v10, s[20:23], s24 offen offset:60\ns_waitcnt_vscnt null, 0\n\
                buffer_load_dword v4, off, s[20:23], s24 offset:44\ns_waitcnt vmcnt(0)";
    for chip in [Chip::Gfx1010, Chip::Gfx1030] {
        let mut kernel = kernel(chip, body);
        kernel.descriptor = super::PRIVATE_BUFFER;
        kernel.first = super::TAKE_PRIVATE_BUFFER;
        bench.expect(&kernel, |lane| [lane])?;
    }
    Ok(())
}
