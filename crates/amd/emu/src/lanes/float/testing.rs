//! Test support for floating-point operations.

use crate::lanes::testing::{OperandBlock, Random, run};
use crate::lanes::{LaneOp, find};
use crate::mode::Mode;
use crate::row::{LANES, OperandKind};

/// Rounds to nearest and flushes all denormals.
pub(super) const FLUSH: Mode = Mode(0x300);
/// All types round up, denormals preserved.
pub(super) const UP: Mode = Mode(0x3f5);
/// All types round down, denormals preserved.
pub(super) const DOWN: Mode = Mode(0x3fa);
/// All types round toward zero, denormals flushed.
pub(super) const ZERO_FLUSH: Mode = Mode(0x30f);

/// One value per lane.
pub(super) type Lanes = [u64; LANES];

fn block(kind: OperandKind, lanes: &Lanes) -> OperandBlock {
    (0..kind.rows()).map(|row| lanes.map(|value| (value >> (32 * row)) as u32)).collect()
}

pub(super) fn op(name: &str) -> LaneOp {
    find(name).unwrap_or_else(|| panic!("{name} should be in a table"))
}

/// Runs the function that the engine would call for this instruction and mode. Returns results
/// (sign-extended) and mask.
pub(super) fn lanes(name: &str, mode: Mode, sources: &[Lanes], mask: u32) -> (Lanes, u32) {
    let op = op(name);
    let plain = mode.plain32() && mode.plain16_64();
    let function = if plain { op.function } else { op.special_mode.unwrap_or(op.function) };
    let blocks = std::array::from_fn(|index| block(op.sources[index], sources.get(index).unwrap_or(&[0; LANES])));
    let (result, mask) = run(name, &op, function, &blocks, mode, mask);
    let value = |lane: usize| result.iter().rev().fold(0, |value: u64, row| value << 32 | u64::from(row[lane]));
    (std::array::from_fn(value), mask)
}

/// The same for one lane.
pub(super) fn one(name: &str, mode: Mode, sources: &[u64]) -> u64 {
    let spread: Vec<Lanes> = sources.iter().map(|value| [*value; LANES]).collect();
    lanes(name, mode, &spread, 0).0[0]
}

/// An f32 operation in the default mode.
pub(super) fn f32_of(name: &str, sources: &[f32]) -> f32 {
    let bits: Vec<u64> = sources.iter().map(|value| value.to_bits().into()).collect();
    f32::from_bits(one(name, Mode::DEFAULT, &bits) as u32)
}

/// Random bits of a register pair, often those of special values of some type.
pub(super) fn float_bits(random: &mut Random) -> u64 {
    const HALVES: [u64; 12] = [0, 0x8000, 1, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7c01, 0x7e00];
    const SINGLES: [u64; 12] = [
        0,
        0x8000_0000,
        1,
        0x007f_ffff,
        0x0080_0000,
        0x3f80_0000,
        0xbf80_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7f80_0001,
        0x7fc0_0000,
    ];
    let bits = random.next();
    let pick = (bits >> 8) as usize % 12;
    match bits & 15 {
        0 => HALVES[pick] | HALVES[(bits >> 16) as usize % 12] << 16,
        1 => SINGLES[pick],
        2 => SINGLES[pick] << 32,
        3 => random.next() & 0x800f_ffff_807f_83ff,
        // Exponents close to that of one, in every type.
        4..=9 => random.next() & 0x80ff_ffff_83ff_ffff | 0x3f00_0000_3c00_0000,
        _ => random.next(),
    }
}

#[test]
fn every_function_gives_the_same_at_both_levels() {
    for (name, op) in super::table() {
        // Matrix products have their own test, without NaN.
        if matches!(op.result, OperandKind::Rows(_)) {
            continue;
        }
        let mut random = Random::new(17);
        for round in 0..24 {
            for function in [Some(op.function), op.special_mode].into_iter().flatten() {
                let sources = op.sources.map(|kind| {
                    let words: Vec<Lanes> =
                        (0..kind.rows().div_ceil(2)).map(|_| [(); LANES].map(|()| float_bits(&mut random))).collect();
                    (0..kind.rows()).map(|row| words[row / 2].map(|word| (word >> (32 * (row % 2))) as u32)).collect()
                });
                let mode = [Mode::DEFAULT, FLUSH, UP, DOWN, ZERO_FLUSH][round % 5];
                run(name, &op, function, &sources, mode, random.next() as u32);
            }
        }
    }
}
