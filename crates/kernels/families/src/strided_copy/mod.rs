//! `strided_copy`: copies words between strided layouts.

use crate::cases::indexing::{any, moved};
use crate::cases::{Case, Random, untouched};
use crate::family::{constants, linear, plain, read, write};
use crate::{Family, Params};

constants! {
    /// `strided_copy`: copies words between strided layouts. Source word `i` is at the coordinates
    /// of `i` in `shape`, row-major, times `strides`, which may be negative or 0. The target is
    /// `count` words in rows of `run` words, `pitch` apart.
    ///
    /// Pad a shape of fewer than five dimensions with leading ones.
    pub struct StridedCopy {
        /// Words to write: the product of `shape`.
        pub count: u32,
        /// Offset in the source of the element at coordinates 0.
        pub source_offset: u32,
        /// The iterated shape, outermost first.
        pub shape: [u32; 5],
        /// Source strides in words along each dimension.
        pub strides: [i32; 5],
        /// Offset of the first word written.
        pub target_offset: u32,
        /// Words per target row; divides `count`.
        pub run: u32,
        /// Words between the starts of target rows.
        pub pitch: u32,
    }
}

impl Params for StridedCopy {
    fn grid(&self) -> [u32; 3] {
        linear(self.count)
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "strided_copy.wgsl",
    text: include_str!("strided_copy.wgsl"),
    entry: "strided_copy",
    variants: &[plain("strided_copy")],
    bindings: &[read("source_words"), write("target_words")],
    constants: StridedCopy::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    // Shape, source strides, target row length and target pitch.
    let mut make = |shape: [u32; 5], strides: [i32; 5], run: u32, pitch: u32| {
        let count: u32 = shape.iter().product();
        let way = |(&size, stride): (&u32, i32)| i64::from(size.saturating_sub(1)) * i64::from(stride);
        let ways: Vec<i64> = shape.iter().zip(strides).map(way).collect();
        // Negative strides start at the end of their range.
        let low: i64 = ways.iter().filter(|&&way| way < 0).sum();
        let high: i64 = ways.iter().filter(|&&way| way > 0).sum();
        let (source_offset, target_offset) = (3 + low.unsigned_abs() as u32, 2);
        let rows = count.checked_div(run).unwrap_or(0);
        let params = StridedCopy { count, source_offset, shape, strides, target_offset, run, pitch };
        let target = target_offset + rows.saturating_sub(1) * pitch + if rows > 0 { run } else { 0 };
        let source = any(random, 4 + (high - low) as usize);
        let label = format!("{shape:?} of strides {strides:?} in rows of {run}, {pitch} apart");
        moved(params, vec![source, untouched(target as usize)], label)
    };
    let mut cases = vec![
        make([1; 5], [0; 5], 1, 1),
        // Identity, repetition, reversal, every third element.
        make([1, 1, 1, 1, 1000], [0, 0, 0, 0, 1], 1000, 1000),
        make([1, 1, 1, 1, 300], [0; 5], 300, 300),
        make([1, 1, 1, 1, 300], [0, 0, 0, 0, -1], 300, 300),
        make([1, 1, 1, 40, 20], [0, 0, 0, 60, 3], 20, 25),
        // Transposition: two dimensions, then five permuted dimensions, one of them reversed.
        make([1, 1, 1, 33, 70], [0, 0, 0, 1, 33], 33 * 70, 33 * 70),
        make([2, 3, 4, 5, 6], [3, 1, 180, -36, 6], 720, 720),
        // Into a part of each row of a wider target, with rows longer and shorter than the last
        // dimension.
        make([1, 2, 3, 4, 5], [0, 60, 20, 5, 1], 20, 31),
        make([1, 2, 3, 4, 6], [0, 1, 2, 6, 0], 3, 4),
        make([1, 1, 1, 5, 7], [0, 0, 0, 7, 1], 35, 0),
        make([2, 0, 5, 7, 1], [1; 5], 1, 1),
    ];
    cases.push(make([1, 3, 2, 20, 10], [0, 200, 0, 1, 20], 20, 23).with_one_group());
    cases
}
