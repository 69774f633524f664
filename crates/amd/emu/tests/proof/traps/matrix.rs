//! Matrix instructions with modifiers.

use libtest_mimic::Failed;
use roci_emu::Chip;

use super::{Bench, Trap, is_fault, kernel};

const GFX11: [Chip; 2] = [Chip::Gfx1100, Chip::Gfx1151];

pub(super) const ALL: &[Trap] = &[
    ("negated_factors", factors),
    ("negated_and_absolute_accumulators", sums),
    ("negated_f16_accumulators", half_sums),
    ("integers_have_no_absolute_values", integers),
];

/// A is 2 (low element) and 3 (high element) in the first register, B is 5 and 7: a product is 10 +
/// 21.
fn start(c: &str, float: &str) -> String {
    let zeros: String = (10..34).map(|register| format!("v_mov_b32 v{register}, 0\n")).collect();
    let (a, b) = if float == "f16" { ("0x42004000", "0x47004500") } else { ("0x40404000", "0x40e040a0") };
    let sums: String = (26..34).map(|register| format!("v_mov_b32 v{register}, {c}\n")).collect();
    format!("{zeros}v_mov_b32 v10, {a}\nv_mov_b32 v18, {b}\n{sums}")
}

fn run(bench: &Bench, body: &str, want: [u32; 1]) -> Result<(), Failed> {
    for chip in GFX11 {
        for wave64 in [false, true] {
            let lanes = if wave64 { 64 } else { 32 };
            // In wave64, C and D have half as many registers.
            let body = if wave64 { body.replace("v[26:33]", "v[26:29]") } else { body.to_owned() };
            let mut kernel = kernel(chip, &body);
            (kernel.wave64, kernel.grid, kernel.block) = (wave64, [lanes, 1, 1], [lanes, 1, 1]);
            kernel.registers = 40;
            bench.expect(&kernel, |_| want)?;
        }
    }
    Ok(())
}

fn factors(bench: &Bench) -> Result<(), Failed> {
    for float in ["f16", "bf16"] {
        for (modifiers, product) in [
            ("", 31.0),
            ("neg_lo:[1,0,0]", 11.0),
            ("neg_hi:[0,1,0]", -11.0),
            ("neg_lo:[1,0,0] neg_hi:[1,0,0]", -31.0),
            ("neg_lo:[1,1,0] neg_hi:[0,0,0]", 31.0),
        ] {
            let instruction = format!(
                "v_wmma_f32_16x16x16_{float} v[26:33], v[10:17], v[18:25], v[26:33] {modifiers}\nv_mov_b32 v4, v26"
            );
            run(bench, &(start("1.0", float) + &instruction), [(product + 1f32).to_bits()])?;
        }
    }
    Ok(())
}

fn sums(bench: &Bench) -> Result<(), Failed> {
    for (modifiers, sum) in [
        ("neg_lo:[0,0,1]", 35.0),
        ("neg_hi:[0,0,1]", 35.0),
        ("neg_lo:[0,0,1] neg_hi:[0,0,1]", 27.0),
        ("neg_lo:[1,0,1] neg_hi:[1,0,0]", -27f32),
    ] {
        let instruction =
            format!("v_wmma_f32_16x16x16_f16 v[26:33], v[10:17], v[18:25], v[26:33] {modifiers}\nv_mov_b32 v4, v26");
        run(bench, &(start("-4.0", "f16") + &instruction), [sum.to_bits()])?;
    }
    Ok(())
}

/// The other half of the result is preserved, with and without modifiers.
fn half_sums(bench: &Bench) -> Result<(), Failed> {
    for (modifiers, want) in [
        // 31 - 1 = 30 (0x4f80), 31 + 1 = 32 (0x5000).
        ("", 0x1234_4f80),
        ("neg_lo:[0,0,1]", 0x1234_5000),
        ("neg_hi:[0,0,1]", 0x1234_5000),
        ("neg_lo:[1,0,0] neg_hi:[1,0,0]", 0x1234_d000),
    ] {
        let instruction =
            format!("v_wmma_f16_16x16x16_f16 v[26:33], v[10:17], v[18:25], v[26:33] {modifiers}\nv_mov_b32 v4, v26");
        run(bench, &(start("0x1234bc00", "f16") + &instruction), [want])?;
    }
    Ok(())
}

fn integers(bench: &Bench) -> Result<(), Failed> {
    let body = "v_wmma_i32_16x16x16_iu8 v[12:19], v[20:23], v[24:27], v[12:19] neg_hi:[1,0,0]";
    let report = bench.fault(&kernel(Chip::Gfx1100, body))?;
    is_fault(&report, |fault| matches!(fault, roci_emu::Fault::Unimplemented))
}
