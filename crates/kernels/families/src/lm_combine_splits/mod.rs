//! `lm_combine_splits`: merges the splits of attention.

use roci_tolerance::Tolerance;

use crate::cases::lm::APPROXIMATE;
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, plain, read, write};
use crate::{Family, Params};

constants! {
    /// `lm_combine_splits`: merges the splits of attention.
    pub struct LmCombineSplits {
        /// Number of tokens.
        pub tokens: u32,
        /// Number of query heads.
        pub heads: u32,
        /// Size of a value head.
        pub value_length: u32,
        /// Splits per token and head, at most [`Self::MAX_SPLITS`].
        pub splits: u32,
        /// Row stride of `y` in values.
        pub y_stride: u32,
        /// 1 writes `y` as f16, two values per word. Value heads and strides are even then.
        pub packed: u32,
    }
}

impl LmCombineSplits {
    /// Maximum number of splits.
    pub const MAX_SPLITS: u32 = 256;
    /// Columns per workgroup.
    const WIDTH: u32 = 32;
}

impl Params for LmCombineSplits {
    fn grid(&self) -> [u32; 3] {
        [self.heads, self.tokens, self.value_length.div_ceil(Self::WIDTH)]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_combine_splits.wgsl",
    text: include_str!("lm_combine_splits.wgsl"),
    entry: "lm_combine_splits",
    variants: &[plain("lm_combine_splits")],
    bindings: &[read("x"), write("y")],
    constants: LmCombineSplits::CONSTANTS,
    workgroup: [256, 1, 1],
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |tokens: u32, heads: u32, value_length: u32, splits: u32, packed: bool| {
        let y_stride = heads * value_length + if packed { 4 } else { 3 };
        let params = LmCombineSplits { tokens, heads, value_length, splits, y_stride, packed: packed.into() };
        let x = words(&random.floats((tokens * heads * splits * (value_length + 2)) as usize, 0.1, 2.0));
        let y = untouched((tokens * y_stride) as usize / if packed { 2 } else { 1 });
        let mut label = format!("{splits} splits of {heads} heads, {value_length} long, {tokens} tokens");
        if packed {
            label += ", packed";
            return case(params, vec![x, y], Element::F16, Tolerance::Half, label);
        }
        case(params, vec![x, y], Element::F32, APPROXIMATE, label)
    };
    vec![
        make(1, 1, 8, 2, false),
        make(3, 4, 128, 16, false),
        make(2, 3, 96, 5, false),
        make(2, 3, 96, 5, true),
        make(1, 2, 320, 70, false),
        make(1, 2, 72, 256, true),
    ]
}
