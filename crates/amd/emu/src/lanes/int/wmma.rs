//! Integer matrix products of 16x16x16 (WMMA).
//!
//! Lane i of the first source has row i of A, lane j of the second column j of B, each twice in 32
//! lanes. C and D have element (i, j) in row i / 2, lane j + 16 (i mod 2). In wave64, each row and
//! column is repeated four times, and element (i, j) is in row i / 4, lane j + 16 (i mod 4); each
//! half is computed by its own function (`@64.0`, `@64.1`).

use crate::lanes::{LaneFunction, LaneOp, Levels, MapFn};
use crate::mode::Mode;
use crate::row::{CHUNK, CHUNKS, OperandKind, Rows, each};

/// Rows and columns of a matrix.
const SIDE: usize = 16;

/// Sixteen elements of each row or column, two per register: registers, then rows or columns.
type PackedPairs = [[[u32; CHUNK]; SIDE / CHUNK]; SIDE / 2];

/// The functions of a level.
macro_rules! level {
    ($level:ident $(, $feature:literal)?) => {
        mod $level {
            use super::{CHUNK, CHUNKS, Mode, PackedPairs, Rows, SIDE, each};
            use crate::lanes::int::pairs::$level::{dot, widen};

            /// Unpacks `BITS`-bit elements. The two elements of a pair are 16 bits apart in the
            /// source register.
            ///
            /// # Safety
            /// `rows` has the rows of 16 such elements per lane.
            #[inline]
            $(#[cfg_attr(target_arch = "x86_64", target_feature(enable = $feature))])?
            unsafe fn unpack<const BITS: u32, const SIGNED: bool>(rows: Rows<'_>) -> PackedPairs {
                let mut pairs = [[[0; CHUNK]; SIDE / CHUNK]; SIDE / 2];
                for (index, pair) in (0..).zip(&mut pairs) {
                    let (row, position) = (index / (16 / BITS), index % (16 / BITS));
                    for (chunk, lanes) in pair.iter_mut().enumerate() {
                        // SAFETY: by contract eight pairs take this many rows; the first two chunks
                        // are lanes 0 to 15.
                        let bits = unsafe { rows.chunk(row as usize, chunk) };
                        *lanes = widen::<BITS, SIGNED>(bits, position);
                    }
                }
                pairs
            }

            /// A row of the product.
            #[inline(never)]
            $(#[cfg_attr(target_arch = "x86_64", target_feature(enable = $feature))])?
            fn product(a: &PackedPairs, b: &PackedPairs, row: usize) -> [[i32; CHUNK]; SIDE / CHUNK] {
                let mut sums = [[0_i32; CHUNK]; SIDE / CHUNK];
                for (a, b) in a.iter().zip(b) {
                    let taken = [a[row / CHUNK][row % CHUNK]; CHUNK];
                    for (sum, b) in sums.iter_mut().zip(b) {
                        let products = dot(taken, *b);
                        *sum = each!(lane => sum[lane].wrapping_add(products[lane]));
                    }
                }
                sums
            }

            /// Rows `FIRST` and following of every `16 / ROWS` rows of the product, plus C.
            ///
            /// # Safety
            /// As for [`MapFn`](crate::lanes::MapFn): A and B have 16 elements of `BITS` bits per
            /// lane, C and D have `ROWS` rows.
            $(#[cfg_attr(target_arch = "x86_64", target_feature(enable = $feature))])?
            pub(super) unsafe fn run<
                const BITS: u32,
                const A: bool,
                const B: bool,
                const ROWS: usize,
                const FIRST: usize,
                const CLAMP: bool,
            >(
                _mode: Mode,
                out: Rows<'_>,
                a: Rows<'_>,
                b: Rows<'_>,
                c: Rows<'_>,
            ) {
                // SAFETY: by contract A has its rows.
                let a = unsafe { unpack::<BITS, A>(a) };
                // SAFETY: by contract B has its rows.
                let b = unsafe { unpack::<BITS, B>(b) };
                // The result may alias a source, and each lane depends on all lanes of the sources,
                // so compute everything first.
                let mut sums = [[[0; CHUNK]; CHUNKS]; ROWS];
                for (row, sums) in sums.iter_mut().enumerate() {
                    for (upper, sums) in sums.as_chunks_mut::<{ SIDE / CHUNK }>().0.iter_mut().enumerate() {
                        let products = product(&a, &b, row * (SIDE / ROWS) + FIRST + upper);
                        for (column, (sum, product)) in sums.iter_mut().zip(products).enumerate() {
                            // SAFETY: by contract the row exists; the upper half of a row has two
                            // chunks as well.
                            let c = unsafe { c.chunk(row, upper * (SIDE / CHUNK) + column) };
                            *sum = each!(lane => if CLAMP {
                                product[lane].saturating_add(c[lane].cast_signed()).cast_unsigned()
                            } else {
                                product[lane].cast_unsigned().wrapping_add(c[lane])
                            });
                        }
                    }
                }
                for (row, sums) in sums.iter().enumerate() {
                    for (chunk, sum) in sums.iter().enumerate() {
                        // SAFETY: by contract the row exists.
                        unsafe { out.set_chunk(row, chunk, *sum) };
                    }
                }
            }
        }
    };
}

level!(base);
level!(avx2, "avx2,fma,f16c");

/// The operation of an element width, two signednesses and a part of the result.
macro_rules! wmma {
    ($bits:literal, $a:literal, $b:literal, $rows:literal, $first:literal) => {
        LaneOp {
            function: LaneFunction::Map(Levels {
                base: base::run::<$bits, $a, $b, $rows, $first, false> as MapFn,
                avx2: avx2::run::<$bits, $a, $b, $rows, $first, false> as MapFn,
            }),
            saturating: Some(LaneFunction::Map(Levels {
                base: base::run::<$bits, $a, $b, $rows, $first, true> as MapFn,
                avx2: avx2::run::<$bits, $a, $b, $rows, $first, true> as MapFn,
            })),
            special_mode: None,
            sources: [OperandKind::Rows($bits / 2), OperandKind::Rows($bits / 2), OperandKind::Rows($rows)],
            result: OperandKind::Rows($rows),
            accumulates: false,
        }
    };
}

/// The operations of an element width and two signednesses.
macro_rules! layouts {
    ($name:literal, $bits:literal, $a:literal, $b:literal) => {
        [
            ($name, wmma!($bits, $a, $b, 8, 0)),
            (concat!($name, "@64.0"), wmma!($bits, $a, $b, 4, 0)),
            (concat!($name, "@64.1"), wmma!($bits, $a, $b, 4, 2)),
        ]
    };
}

/// As for dot products, two digits after `@` give the signedness of the sources.
pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    [
        layouts!("v_wmma_i32_16x16x16_iu8@00", 8, false, false),
        layouts!("v_wmma_i32_16x16x16_iu8@01", 8, false, true),
        layouts!("v_wmma_i32_16x16x16_iu8@10", 8, true, false),
        layouts!("v_wmma_i32_16x16x16_iu8@11", 8, true, true),
        layouts!("v_wmma_i32_16x16x16_iu4@00", 4, false, false),
        layouts!("v_wmma_i32_16x16x16_iu4@01", 4, false, true),
        layouts!("v_wmma_i32_16x16x16_iu4@10", 4, true, false),
        layouts!("v_wmma_i32_16x16x16_iu4@11", 4, true, true),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use crate::lanes::find;
    use crate::lanes::testing::{OperandBlock, Random, run};
    use crate::mode::Mode;
    use crate::row::LANES;

    /// The elements of a matrix of rows (or columns) in lanes.
    fn numbers(block: &OperandBlock, bits: u32, signed: bool) -> Vec<Vec<i64>> {
        let a_row = 32 / bits;
        let number = |line: usize, k: u32| {
            let part = i64::from(block[(k / a_row) as usize][line] >> (bits * (k % a_row))) & ((1 << bits) - 1);
            if signed && part >> (bits - 1) != 0 { part - (1 << bits) } else { part }
        };
        (0..16).map(|line| (0..16).map(|k| number(line, k)).collect()).collect()
    }

    /// Rows and columns repeat after sixteen lanes.
    fn fragment(random: &mut Random, rows: usize) -> OperandBlock {
        let mut block = random.block(rows);
        for row in &mut block {
            row.copy_within(..16, 16);
        }
        block
    }

    #[test]
    fn products_are_as_defined() {
        let mut random = Random::new(11);
        for (size, bits) in [("iu8", 8), ("iu4", 4)] {
            for (signs, a_signed, b_signed) in
                [("00", false, false), ("01", false, true), ("10", true, false), ("11", true, true)]
            {
                let name = format!("v_wmma_i32_16x16x16_{size}@{signs}");
                let (a, b) = (fragment(&mut random, bits / 2), fragment(&mut random, bits / 2));
                let (left, right) = (numbers(&a, bits as u32, a_signed), numbers(&b, bits as u32, b_signed));
                let c: Vec<Vec<u32>> = (0..16).map(|_| (0..16).map(|_| random.word()).collect()).collect();
                let sum = |i: usize, j: usize| {
                    let product: i64 = left[i].iter().zip(&right[j]).map(|(a, b)| a * b).sum();
                    product + i64::from(c[i][j].cast_signed())
                };
                for clamp in [false, true] {
                    let expected = |i: usize, j: usize| {
                        let sum = if clamp { sum(i, j).clamp(i32::MIN.into(), i32::MAX.into()) } else { sum(i, j) };
                        sum as u32
                    };
                    // Position of an element: its row, its lane in a wave64, and the half of that
                    // lane.
                    let whole = |i: usize, j: usize| (i / 2, j + 16 * (i % 2));
                    let half = |i: usize, j: usize| (i / 4, j + 16 * (i % 4));
                    check(&name, clamp, 8, 0, [&a, &b], &c, &whole, &expected);
                    check(&format!("{name}@64.0"), clamp, 4, 0, [&a, &b], &c, &half, &expected);
                    check(&format!("{name}@64.1"), clamp, 4, LANES, [&a, &b], &c, &half, &expected);
                }
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a matrix product and how it is laid out")]
    fn check(
        name: &str,
        clamp: bool,
        rows: usize,
        first_lane: usize,
        [a, b]: [&OperandBlock; 2],
        c: &[Vec<u32>],
        position: &dyn Fn(usize, usize) -> (usize, usize),
        expected: &dyn Fn(usize, usize) -> u32,
    ) {
        let op = find(name).unwrap();
        let mut sums: OperandBlock = vec![[0; LANES]; rows];
        let mut result = sums.clone();
        for (i, line) in c.iter().enumerate() {
            for (j, value) in line.iter().enumerate() {
                let (row, lane) = position(i, j);
                if (first_lane..first_lane + LANES).contains(&lane) {
                    sums[row][lane - first_lane] = *value;
                    result[row][lane - first_lane] = expected(i, j);
                }
            }
        }
        let function = if clamp { op.saturating.unwrap() } else { op.function };
        let (found, _) = run(name, &op, function, &[a.clone(), b.clone(), sums], Mode::DEFAULT, 0);
        assert_eq!(found, result, "{name}, clamp {clamp}");
    }
}
