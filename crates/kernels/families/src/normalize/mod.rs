//! `normalize_rows`, `moments`: normalization of rows.

use roci_tolerance::Tolerance;

use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, plain, read, write};
use crate::shared::ROWS;
use crate::{Family, MAX_GROUPS, Params};

constants! {
    /// `normalize_rows` and `moments`: over the rows of a row-major matrix.
    ///
    /// `normalize_rows`: `y = (x - mean) / sqrt(variance + epsilon)`; `moments`: the mean of each
    /// row, and `1 / sqrt(variance + epsilon)`.
    pub struct Normalize {
        /// Rows, each normalized independently.
        pub rows: u32,
        /// Number of columns.
        pub columns: u32,
        /// Added to the variance.
        pub epsilon: f32,
        /// 0 for RMS norm: the mean is taken as 0, so that the variance is the mean square.
        pub centered: u32,
    }
}

impl Params for Normalize {
    /// One workgroup per row; beyond the maximum grid, the kernel loops.
    fn grid(&self) -> [u32; 3] {
        [self.rows.min(MAX_GROUPS), 1, 1]
    }
}

const NORMALIZE: Family = Family {
    file: "normalize.wgsl",
    text: include_str!("normalize.wgsl"),
    entry: "normalize_rows",
    aliases: ROWS,
    variants: &[plain("normalize_rows")],
    bindings: &[read("x"), write("y")],
    constants: Normalize::CONSTANTS,
    in_place: true,
    cases,
    ..Family::DEFAULT
};

pub(crate) const FAMILIES: &[Family] = &[
    NORMALIZE,
    Family {
        file: "moments.wgsl",
        text: include_str!("moments.wgsl"),
        entry: "moments",
        variants: &[plain("moments")],
        bindings: &[read("x"), write("mean"), write("inverse")],
        in_place: false,
        ..NORMALIZE
    },
];

fn cases(kernel: &str, random: &mut Random) -> Vec<Case> {
    // `moments` has two outputs of one value per row.
    let is_moments = kernel == "moments";
    let mut make = |(rows, columns): (u32, u32), centered: u32, offset: f32| {
        let x = random.floats((rows * columns) as usize, offset - 2.0, offset + 2.0);
        let mut buffers = vec![words(&x)];
        if is_moments {
            // The first output is compared exactly, so the inputs are ones and twos, whose mean has
            // few digits.
            let rounded: Vec<f32> = x.iter().map(|x| x.round()).collect();
            buffers = vec![words(&rounded), vec![0; rows as usize]];
        }
        buffers.push(untouched(if is_moments { rows as usize } else { x.len() }));
        let params = Normalize { rows, columns, epsilon: 1e-5, centered };
        let label = format!("{rows} x {columns}, centered {centered}, about {offset}");
        case(params, buffers, Element::F32, Tolerance::Approximate, label)
    };
    let mut cases = vec![make((3, 1), 1, 0.0), make((2, 256), 1, 3.0), make((2, 256), 0, 1.0), make((0, 4), 1, 0.0)];
    if is_moments {
        // Sums of small powers of two are exact in any order.
        cases.extend([make((4, 16), 1, 9.0), make((1, 32768), 1, 100.0), make((1, 512), 0, 0.0)]);
        cases.push(make((7, 32), 1, 0.0).with_one_group());
    } else {
        cases.extend([
            make((5, 257), 1, 0.0),
            make((1, 20_000), 1, 100.0),
            make((3, 77), 0, 0.0),
            make((4, 0), 1, 0.0),
        ]);
        cases.push(make((7, 30), 1, 0.0).with_one_group());
    }
    cases
}
