//! `reduce_*`: sums, products and extremes along an axis.

use roci_tolerance::Tolerance;

use crate::cases::axis::SHAPES;
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, read, variants, write};
use crate::{Family, MAX_GROUPS, Numbers, Params};

constants! {
    /// `reduce_*`: `y[o, i] = fold over r of x[o, r, i]`, all row-major.
    ///
    /// One workgroup, or one CPU thread, computes an output element. Reduce a whole tensor of `n`
    /// elements in two dispatches: `p` rows of `n / p` elements, then the `p` results.
    pub struct Reduce {
        /// Product of the dimensions before the reduced axis.
        pub outer: u32,
        /// Length of the reduced axis.
        pub axis: u32,
        /// Product of the dimensions after the reduced axis.
        pub inner: u32,
    }
}

impl Params for Reduce {
    /// One workgroup per output element; beyond the maximum grid, the kernel loops.
    fn grid(&self) -> [u32; 3] {
        [self.outer.saturating_mul(self.inner).min(MAX_GROUPS), 1, 1]
    }
}

const REDUCE: Family = Family {
    file: "reduce.wgsl",
    text: include_str!("reduce.wgsl"),
    entry: "reduce",
    variants: &[],
    bindings: &[read("x"), write("y")],
    constants: Reduce::CONSTANTS,
    cases,
    ..Family::DEFAULT
};

pub(crate) const FAMILIES: &[Family] = &[
    Family {
        aliases: concat!(include_str!("../shared/words.wgsl"), "alias Element = f32;"),
        variants: variants! {
            "reduce_sum": OP = 0, NUMBERS = 0;
            "reduce_prod": OP = 3, NUMBERS = 0;
        },
        ..REDUCE
    },
    Family {
        aliases: concat!(include_str!("../shared/words.wgsl"), "alias Element = u32;"),
        variants: variants! {
            "reduce_max": OP = 1, NUMBERS = 0;
            "reduce_min": OP = 2, NUMBERS = 0;
            "reduce_sum_i32": OP = 0, NUMBERS = 1;
            "reduce_max_i32": OP = 1, NUMBERS = 1;
            "reduce_min_i32": OP = 2, NUMBERS = 1;
            "reduce_prod_i32": OP = 3, NUMBERS = 1;
            "reduce_max_u32": OP = 1, NUMBERS = 2;
            "reduce_min_u32": OP = 2, NUMBERS = 2;
        },
        ..REDUCE
    },
];

/// Splits a reduction's name into the operation and the element type of its suffix.
fn numbers_of(op: &str) -> (&str, Numbers) {
    match op.rsplit_once('_') {
        Some((op, "i32")) => (op, Numbers::I32),
        Some((op, "u32")) => (op, Numbers::U32),
        _ => (op, Numbers::F32),
    }
}

fn cases(kernel: &str, random: &mut Random) -> Vec<Case> {
    let (op, numbers) = numbers_of(kernel.strip_prefix("reduce_").unwrap_or(kernel));
    let is_extreme = matches!(op, "max" | "min");
    let mut make = |(outer, axis, inner): (u32, u32, u32)| {
        let count = (outer * axis * inner) as usize;
        let x = match numbers {
            Numbers::F32 => {
                let mut x = if op == "prod" { random.floats(count, 0.9, 1.1) } else { random.floats(count, -3.0, 3.0) };
                if is_extreme {
                    let special = [-0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN];
                    x.iter_mut().skip(2).step_by(7).zip(special).for_each(|(x, special)| *x = special);
                }
                words(&x)
            }
            _ => (0..count).map(|_| random.word()).collect(),
        };
        let (element, tolerance) = match numbers {
            Numbers::F32 if is_extreme => (Element::F32, Tolerance::Exact),
            Numbers::F32 => (Element::F32, Tolerance::Approximate),
            _ => (Element::Word, Tolerance::Exact),
        };
        let buffers = vec![x, untouched((outer * inner) as usize)];
        case(Reduce { outer, axis, inner }, buffers, element, tolerance, format!("{outer} x {axis} x {inner}"))
    };
    let mut cases: Vec<_> = SHAPES.into_iter().map(&mut make).collect();
    cases.push(make((9, 20, 2)).with_one_group());
    cases.push(make((9, 20, 60)).with_one_group());
    cases
}
