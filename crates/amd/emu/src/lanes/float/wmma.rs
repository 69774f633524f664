//! Matrix products of 16x16x16 (WMMA).
//!
//! Lane l of the eight rows of A has row l of the matrix, lane l of B has column l, two elements
//! per register; lanes 16 to 31 repeat them. C and D have element (i, j) in lane `j + 16 * (i % 2)`
//! of row `i / 2`. In wave64, each half of A and B has this layout, and C and D have element (i, j)
//! in lane `j + 16 * (i % 4)` of row `i / 4`. Each half is computed by its own function (`@64.0`,
//! `@64.1`).
//!
//! f16 and bf16 elements of C and D take half a register: the lower one, or the upper one in the
//! functions with `@hi`. The other half of D is preserved, so `out` must contain the old D.
//!
//! The hardware adds two products at a time and rounds f16 and bf16 after each pair, as here. The
//! order of additions and the guard bits within a pair are not documented.

#![expect(unsafe_code, reason = "works on rows as the lane functions do")]

use crate::lanes::{LaneFunction, LaneOp, Levels, MapFn};
use crate::row::OperandKind;

/// Rows and columns of a matrix.
const SIDE: usize = 16;
/// Register rows of A and B.
const REGISTERS: usize = 8;

/// Type and register half of the elements of C and D.
mod sum {
    pub(super) const F32: u8 = 0;
    /// f16 in the lower half.
    pub(super) const F16: u8 = 1;
    /// f16 in the upper half.
    pub(super) const F16_HIGH: u8 = 2;
    /// bf16 in the lower half.
    pub(super) const BF16: u8 = 3;
    /// bf16 in the upper half.
    pub(super) const BF16_HIGH: u8 = 4;

    /// First bit of the element.
    pub(super) const fn shift(sum: u8) -> u32 {
        if sum == F16_HIGH || sum == BF16_HIGH { 16 } else { 0 }
    }
}

/// The functions of one level.
macro_rules! level {
    ($level:ident, $(#[$feature:meta])*) => {
        /// The functions of this level.
        mod $level {
            use half::bf16;

            use super::super::dot::widen_bf16;
            use super::super::f16c::$level::{narrow, widen};
            use super::{REGISTERS, SIDE, sum};
            use crate::mode::{Mode, RoundingMode};
            use crate::row::{CHUNK, Rows, each};

            $(#[$feature])*
            #[inline]
            fn elements<const BRAIN: bool>(words: [u32; CHUNK]) -> [f32; CHUNK] {
                if BRAIN { each!(lane => widen_bf16(bf16::from_bits(words[lane] as u16))) } else { widen(words) }
            }

            /// Loads A or B as f32, indexed by `[k][lane]`.
            ///
            /// # Safety
            /// `rows` has eight rows.
            $(#[$feature])*
            #[inline]
            unsafe fn fragment<const BRAIN: bool>(rows: Rows<'_>) -> [[[f32; CHUNK]; 2]; SIDE] {
                let mut values = [[[0.0; CHUNK]; 2]; SIDE];
                for register in 0..REGISTERS {
                    for chunk in 0..2 {
                        // SAFETY: by contract the rows exist; the first two chunks are lanes 0 to
                        // 15.
                        let words = unsafe { rows.chunk(register, chunk) };
                        values[2 * register][chunk] = elements::<BRAIN>(words);
                        values[2 * register + 1][chunk] = elements::<BRAIN>(each!(lane => words[lane] >> 16));
                    }
                }
                values
            }

            /// Rounds the sums to their type, after each pair of products.
            $(#[$feature])*
            #[inline]
            fn rounded<const SUM: u8>(sums: [f32; CHUNK]) -> [f32; CHUNK] {
                match SUM {
                    sum::F32 => sums,
                    sum::F16 | sum::F16_HIGH => widen(narrow(sums, RoundingMode::Nearest)),
                    _ => each!(lane => f32::from_bits(sums[lane].to_bits() & 0xffff_0000)),
                }
            }

            /// Computes the rows of D in 32 lanes. A register row of the whole wave contains
            /// `STRIDE` rows of the matrix; the first one in these lanes is `FIRST`.
            ///
            /// # Safety
            /// A and B have eight rows, C and D have `16 / STRIDE`.
            $(#[$feature])*
            pub(super) unsafe fn multiply<const BRAIN: bool, const SUM: u8, const STRIDE: usize, const FIRST: usize>(
                _: Mode,
                out: Rows<'_>,
                a: Rows<'_>,
                b: Rows<'_>,
                c: Rows<'_>,
            ) {
                // SAFETY: by contract A has eight rows.
                let a = unsafe { fragment::<BRAIN>(a) };
                // SAFETY: by contract B has eight rows.
                let b = unsafe { fragment::<BRAIN>(b) };
                let shift = sum::shift(SUM);
                let registers = SIDE / STRIDE;
                // D may alias A or B, which have been read, or C, each register of which is read
                // before it is written.
                for register in 0..registers {
                    let row = STRIDE * register + FIRST;
                    // Lanes 0 to 15 are one row of the matrix, lanes 16 to 31 the next.
                    let mut sums = [[0.0f32; CHUNK]; 4];
                    for chunk in 0..4 {
                        // SAFETY: by contract C has this row.
                        let words = unsafe { c.chunk(register, chunk) };
                        sums[chunk] = match SUM {
                            sum::F32 => each!(lane => f32::from_bits(words[lane])),
                            sum::F16 | sum::F16_HIGH => widen(each!(lane => words[lane] >> shift)),
                            _ => each!(lane => widen_bf16(bf16::from_bits((words[lane] >> shift) as u16))),
                        };
                    }
                    // Separate variables, so that they stay in registers.
                    let [mut s0, mut s1, mut s2, mut s3] = sums;
                    for pair in 0..SIDE / 2 {
                        for k in [2 * pair, 2 * pair + 1] {
                            let upper = a[k][row / CHUNK][row % CHUNK];
                            let lower = a[k][row / CHUNK][row % CHUNK + 1];
                            let [left, right] = b[k];
                            s0 = each!(lane => upper.mul_add(left[lane], s0[lane]));
                            s1 = each!(lane => upper.mul_add(right[lane], s1[lane]));
                            s2 = each!(lane => lower.mul_add(left[lane], s2[lane]));
                            s3 = each!(lane => lower.mul_add(right[lane], s3[lane]));
                        }
                        s0 = rounded::<SUM>(s0);
                        s1 = rounded::<SUM>(s1);
                        s2 = rounded::<SUM>(s2);
                        s3 = rounded::<SUM>(s3);
                    }
                    for (chunk, sums) in [s0, s1, s2, s3].into_iter().enumerate() {
                        // SAFETY: by contract D has this row.
                        let old = unsafe { out.chunk(register, chunk) };
                        let numbers = match SUM {
                            sum::F32 => each!(lane => sums[lane].to_bits()),
                            sum::F16 | sum::F16_HIGH => narrow(sums, RoundingMode::Nearest),
                            _ => each!(lane => sums[lane].to_bits() >> 16),
                        };
                        let words = if SUM == sum::F32 {
                            numbers
                        } else {
                            each!(lane => old[lane] & !(0xffff << shift) | numbers[lane] << shift)
                        };
                        // SAFETY: by contract D has this row.
                        unsafe { out.set_chunk(register, chunk, words) };
                    }
                }
            }
        }
    };
}

level!(base,);
level!(avx2, #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]);

/// The operation of an instruction.
fn entry(function: MapFn, at_avx2: MapFn, rows: u8) -> LaneOp {
    LaneOp {
        function: LaneFunction::Map(Levels { base: function, avx2: at_avx2 }),
        special_mode: None,
        saturating: None,
        sources: [OperandKind::Rows(8), OperandKind::Rows(8), OperandKind::Rows(rows)],
        result: OperandKind::Rows(rows),
        accumulates: false,
    }
}

/// The operations of an instruction: wave32, and both halves of wave64.
macro_rules! entries {
    ($name:literal, $suffix:literal, $brain:literal, $sum:expr) => {
        [
            (
                concat!($name, $suffix),
                entry(base::multiply::<$brain, { $sum }, 2, 0>, avx2::multiply::<$brain, { $sum }, 2, 0>, 8),
            ),
            (
                concat!($name, "@64.0", $suffix),
                entry(base::multiply::<$brain, { $sum }, 4, 0>, avx2::multiply::<$brain, { $sum }, 4, 0>, 4),
            ),
            (
                concat!($name, "@64.1", $suffix),
                entry(base::multiply::<$brain, { $sum }, 4, 2>, avx2::multiply::<$brain, { $sum }, 4, 2>, 4),
            ),
        ]
    };
}

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    [
        entries!("v_wmma_f32_16x16x16_f16", "", false, sum::F32),
        entries!("v_wmma_f32_16x16x16_bf16", "", true, sum::F32),
        entries!("v_wmma_f16_16x16x16_f16", "", false, sum::F16),
        entries!("v_wmma_f16_16x16x16_f16", "@hi", false, sum::F16_HIGH),
        entries!("v_wmma_bf16_16x16x16_bf16", "", true, sum::BF16),
        entries!("v_wmma_bf16_16x16x16_bf16", "@hi", true, sum::BF16_HIGH),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::super::testing::op;
    use super::SIDE;
    use crate::lanes::testing::{OperandBlock, Random, run};
    use crate::mode::Mode;
    use crate::row::LANES;

    type Matrix = [[f32; SIDE]; SIDE];

    /// Small multiples of 1/8: sums of their products are exact in f32.
    fn matrix(random: &mut Random) -> Matrix {
        [(); SIDE].map(|()| [(); SIDE].map(|()| ((random.next() % 33) as f32 - 16.0) / 8.0))
    }

    fn product(a: &Matrix, b: &Matrix, c: &Matrix) -> Matrix {
        let mut result = *c;
        for (i, row) in result.iter_mut().enumerate() {
            for (j, value) in row.iter_mut().enumerate() {
                *value += (0..SIDE).map(|k| a[i][k] * b[k][j]).sum::<f32>();
            }
        }
        result
    }

    /// A: row `lane % 16` in each lane, two elements per register.
    fn fragment(rows: &Matrix, bits: fn(f32) -> u16) -> OperandBlock {
        (0..8)
            .map(|register| {
                std::array::from_fn(|lane| {
                    let pair = [0, 1].map(|half| u32::from(bits(rows[lane % SIDE][2 * register + half])));
                    pair[0] | pair[1] << 16
                })
            })
            .collect()
    }

    fn transposed(matrix: &Matrix) -> Matrix {
        std::array::from_fn(|i| std::array::from_fn(|j| matrix[j][i]))
    }

    /// C and D of the lanes from `first` of a wave.
    fn sums(matrix: &Matrix, wave: usize, first: usize, bits: fn(f32) -> u32) -> OperandBlock {
        let rows = wave / SIDE;
        (0..SIDE / rows)
            .map(|register| {
                std::array::from_fn(|lane| bits(matrix[rows * register + (first + lane) / SIDE][lane % SIDE]))
            })
            .collect()
    }

    fn check(name: &str, bits: fn(f32) -> u16) {
        let mut random = Random::new(47);
        for _ in 0..20 {
            let (a, b, c) = (matrix(&mut random), matrix(&mut random), matrix(&mut random));
            let d = product(&a, &b, &c);
            for (suffix, wave, first) in [("", 32, 0), ("@64.0", 64, 0), ("@64.1", 64, LANES)] {
                let name = format!("{name}{suffix}");
                let op = op(&name);
                let sources =
                    [fragment(&a, bits), fragment(&transposed(&b), bits), sums(&c, wave, first, f32::to_bits)];
                let (result, _) = run(&name, &op, op.function, &sources, Mode::DEFAULT, 0);
                assert_eq!(result, sums(&d, wave, first, f32::to_bits), "{name}");
            }
        }
    }

    #[test]
    fn sums_in_f32_are_products_of_matrices() {
        check("v_wmma_f32_16x16x16_f16", |value| f16::from_f32_const(value).to_bits());
        check("v_wmma_f32_16x16x16_bf16", |value| bf16::from_f32(value).to_bits());
    }

    #[test]
    fn sums_in_16_bits_take_a_half_and_keep_the_other() {
        let mut random = Random::new(53);
        let few = |random: &mut Random| [(); SIDE].map(|()| [(); SIDE].map(|()| (random.next() % 3) as f32 - 1.0));
        let (a, b, c) = (few(&mut random), few(&mut random), few(&mut random));
        let d = product(&a, &b, &c);
        let half = |value: f32| f16::from_f32_const(value).to_bits();
        let brain = |value: f32| bf16::from_f32(value).to_bits();
        for (name, bits) in [("v_wmma_f16_16x16x16_f16", half as fn(f32) -> u16), ("v_wmma_bf16_16x16x16_bf16", brain)]
        {
            for (suffix, shift) in [("", 0), ("@hi", 16)] {
                let name = format!("{name}{suffix}");
                let op = op(&name);
                // D aliases C; the other half has different contents.
                let other = 0x1234_1234 & !(0xffff << shift);
                let lay_out = |matrix: &Matrix| -> OperandBlock {
                    sums(matrix, 32, 0, f32::to_bits)
                        .iter()
                        .map(|row| row.map(|value| u32::from(bits(f32::from_bits(value))) << shift | other))
                        .collect()
                };
                let sources = [fragment(&a, bits), fragment(&transposed(&b), bits), lay_out(&c)];
                let found = crate::lanes::testing::over_third(&op, &sources);
                assert_eq!(found, lay_out(&d), "{name}");
            }
        }
    }

    #[test]
    fn sums_in_f16_round_after_each_pair() {
        // 2048 + 1 is a tie that rounds to 2048 each time; a single rounding would give 2064.
        let a = [[1.0; SIDE]; SIDE];
        let mut b = [[0.0; SIDE]; SIDE];
        b.iter_mut().step_by(2).for_each(|row| *row = [1.0; SIDE]);
        let bits = |value: f32| f16::from_f32_const(value).to_bits();
        let sources = [fragment(&a, bits), fragment(&transposed(&b), bits), vec![[0x6800; LANES]; 8]];
        let op = op("v_wmma_f16_16x16x16_f16");
        assert_eq!(crate::lanes::testing::over_third(&op, &sources), vec![[0x6800; LANES]; 8]);
    }
}
