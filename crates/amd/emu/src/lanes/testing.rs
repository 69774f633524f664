//! Test support: calls lane functions with scalar operands, and compares the levels.

use super::{LaneFunction, LaneOp, Level};
use crate::mode::Mode;
use crate::row::{LANES, OperandKind, Row, Rows};

/// A register with all bits set.
pub(super) const ONES: u128 = 0xffff_ffff;

/// The rows of an operand.
pub(super) type OperandBlock = Vec<[u32; LANES]>;

/// Pseudorandom register contents, the same in every run.
pub(crate) struct Random(fastrand::Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// Register bits: often small, extreme, or with a distinct byte or half.
    pub(super) fn word(&mut self) -> u32 {
        const CORNERS: [u32; 16] = [
            0,
            1,
            2,
            31,
            32,
            0x7f,
            0x80,
            0xff,
            0x7fff,
            0x8000,
            0xffff,
            0x7fff_ffff,
            0x8000_0000,
            0x8000_8000,
            0xff80_ff80,
            !0,
        ];
        let bits = self.next();
        let word = (bits >> 32) as u32;
        match bits & 7 {
            0 => CORNERS[word as usize % CORNERS.len()],
            1 => word & 0x3f,
            2 => CORNERS[word as usize % CORNERS.len()] ^ 1 << (bits >> 8 & 31),
            3 => word & 0xff00_00ff,
            _ => word,
        }
    }

    /// Rows of random words.
    pub(super) fn block(&mut self, rows: usize) -> OperandBlock {
        (0..rows).map(|_| std::array::from_fn(|_| self.word())).collect()
    }
}

/// The levels that the host supports.
fn levels() -> Vec<Level> {
    if Level::best() == Level::Base { vec![Level::Base] } else { vec![Level::Base, Level::Avx2] }
}

fn rows_of(block: &OperandBlock) -> Vec<Row> {
    // At least one row: a missing operand is passed, too, but never read.
    let rows: Vec<Row> = (0..block.len().max(1)).map(|_| Row::zero()).collect();
    for (row, values) in rows.iter().zip(block) {
        row.assign(values);
    }
    rows
}

/// Replaces all NaNs by one, because the host chooses which NaN an operation propagates.
fn one_nan((block, mask): &(OperandBlock, u32), kind: OperandKind) -> (OperandBlock, u32) {
    let mut block = block.clone();
    let half = |bits: u32, infinity: u32| if bits & 0x7fff > infinity { infinity + 0x40 } else { bits };
    for lane in 0..LANES {
        match kind {
            OperandKind::F32 if f32::from_bits(block[0][lane]).is_nan() => block[0][lane] = 0x7fc0_0000,
            OperandKind::F64
                if f64::from_bits(u64::from(block[1][lane]) << 32 | u64::from(block[0][lane])).is_nan() =>
            {
                block[0][lane] = 0;
                block[1][lane] = 0x7ff8_0000;
            }
            OperandKind::F16 | OperandKind::PackedF16 | OperandKind::Bf16 | OperandKind::PackedBf16 => {
                let infinity = if matches!(kind, OperandKind::F16 | OperandKind::PackedF16) { 0x7c00 } else { 0x7f80 };
                let bits = block[0][lane];
                block[0][lane] = half(bits & 0xffff, infinity) | half(bits >> 16, infinity) << 16;
            }
            _ => {}
        }
    }
    (block, *mask)
}

/// Calls a function. Returns the rows of the result and the mask. With `over`, the result aliases
/// that source.
fn call(
    function: LaneFunction,
    level: Level,
    result: OperandKind,
    sources: &[OperandBlock; 3],
    over: Option<usize>,
    mode: Mode,
    mask: u32,
) -> (OperandBlock, u32) {
    let rows = sources.each_ref().map(rows_of);
    let fresh = rows_of(&vec![[0xdead_beef; LANES]; result.rows()]);
    let out = over.map_or(&fresh, |source| &rows[source]);
    // SAFETY: the rows of the source live while the function runs.
    let [a, b, c] = rows.each_ref().map(|rows| unsafe { Rows::new(rows.as_ptr()) });
    // SAFETY: the rows of the result live while the function runs.
    let output = unsafe { Rows::new(out.as_ptr()) };
    let returned = match function {
        LaneFunction::Map(levels) => {
            // SAFETY: operands have the rows of their kinds, and the host supports the level.
            unsafe { levels.at(level)(mode, output, a, b, c) };
            0
        }
        // SAFETY: as above.
        LaneFunction::Compare(levels) => unsafe { levels.at(level)(mode, a, b) },
        // SAFETY: as above.
        LaneFunction::Mask(levels) => unsafe { levels.at(level)(mode, output, a, b, c, mask) },
    };
    (out.iter().take(result.rows()).map(Row::array).collect(), returned)
}

/// Runs `function` of `op` at every level, also with the result aliasing each source of the same
/// size. All results must have the same bits (or be NaN).
pub(super) fn run(
    name: &str,
    op: &LaneOp,
    function: LaneFunction,
    sources: &[OperandBlock; 3],
    mode: Mode,
    mask: u32,
) -> (OperandBlock, u32) {
    for (source, kind) in sources.iter().zip(op.sources) {
        assert_eq!(source.len(), kind.rows(), "{name}: rows of a source");
    }
    let expected = call(function, Level::Base, op.result, sources, None, mode, mask);
    for level in levels() {
        for over in [None, Some(0), Some(1), Some(2)] {
            if over.is_none_or(|source| op.sources[source].rows() == op.result.rows()) {
                let found = call(function, level, op.result, sources, over, mode, mask);
                assert_eq!(
                    one_nan(&found, op.result),
                    one_nan(&expected, op.result),
                    "{name} at {level:?}, result over source {over:?}, of {sources:x?}"
                );
            }
        }
    }
    expected
}

/// The result when it aliases the third source. All levels must agree.
pub(super) fn over_third(op: &LaneOp, sources: &[OperandBlock; 3]) -> OperandBlock {
    let mut found =
        levels().into_iter().map(|level| call(op.function, level, op.result, sources, Some(2), Mode::DEFAULT, 0).0);
    let first = found.next().expect("there is a level");
    assert!(found.all(|other| other == first));
    first
}

/// Runs all functions of an operation at every level on random operands and compares the bits.
pub(super) fn levels_agree(name: &str, op: &LaneOp, modes: &[Mode]) {
    let mut random = Random::new(name.bytes().fold(7, |seed: u64, byte| seed.wrapping_mul(31) + u64::from(byte)));
    for function in [Some(op.function), op.special_mode, op.saturating].into_iter().flatten() {
        for _ in 0..64 {
            let sources = op.sources.map(|kind| random.block(kind.rows()));
            let mask = random.next() as u32;
            for &mode in modes {
                run(name, op, function, &sources, mode, mask);
            }
        }
    }
}

/// Broadcasts a value to all lanes, low row first.
fn splat(kind: OperandKind, value: u128) -> OperandBlock {
    (0..kind.rows()).map(|row| [(value >> (32 * row)) as u32; LANES]).collect()
}

/// The value that all lanes of a block share.
fn single(name: &str, block: &OperandBlock) -> u128 {
    for row in block {
        assert!(row.iter().all(|value| *value == row[0]), "{name}: lanes differ: {row:x?}");
    }
    block.iter().rev().fold(0, |value, row| value << 32 | u128::from(row[0]))
}

fn evaluate(name: &str, clamp: bool, operands: &[u128], carry: bool) -> (u128, bool) {
    let op = super::find(name).unwrap_or_else(|| panic!("{name} should be in a table"));
    let function = if clamp { op.saturating.unwrap_or_else(|| panic!("{name} should saturate")) } else { op.function };
    let sources = std::array::from_fn(|index| splat(op.sources[index], operands.get(index).copied().unwrap_or(0)));
    let (block, mask) = run(name, &op, function, &sources, Mode::DEFAULT, if carry { !0 } else { 0 });
    assert!(mask == 0 || mask == !0, "{name}: lanes differ: {mask:x}");
    (single(name, &block), mask != 0)
}

/// The result of an instruction for scalar operands.
pub(super) fn value(name: &str, operands: &[u128]) -> u128 {
    evaluate(name, false, operands, false).0
}

/// The same with `clamp`.
pub(super) fn saturated(name: &str, operands: &[u128]) -> u128 {
    evaluate(name, true, operands, false).0
}

/// The result of an instruction with a mask: value and mask bit. A comparison has only the bit.
pub(super) fn with_carry(name: &str, operands: &[u128], carry: bool) -> (u128, bool) {
    evaluate(name, false, operands, carry)
}

/// The same with `clamp`.
pub(super) fn with_carry_saturated(name: &str, operands: &[u128], carry: bool) -> (u128, bool) {
    evaluate(name, true, operands, carry)
}

/// Checks several calls: name, operands, result.
pub(super) fn check(calls: &[(&str, &[u128], u128)]) {
    for (name, operands, expected) in calls {
        let found = value(name, operands);
        assert_eq!(found, *expected, "{name} of {operands:x?} gives {found:x}, not {expected:x}");
    }
}

/// The same with `clamp`.
pub(super) fn check_saturated(calls: &[(&str, &[u128], u128)]) {
    for (name, operands, expected) in calls {
        let found = saturated(name, operands);
        assert_eq!(found, *expected, "{name} with clamp of {operands:x?} gives {found:x}, not {expected:x}");
    }
}
