//! `lm_quantize_i8`: quantizes activations for products by packed dot products.

use roci_tolerance::Tolerance;

use crate::cases::lm::{scaled, whole};
use crate::cases::{Case, Element, Random, case, untouched};
use crate::family::{constants, plain, read, write};
use crate::{Family, Params};

constants! {
    /// `lm_quantize_i8`: quantizes rows of `x` to signed bytes, with one scale per group of 32
    /// columns. A group of `y` has [`Self::GROUP_WORDS`] words: eight of codes, the scale, the sums
    /// of the codes of its halves times the scale, and a zero. RMS norm with the weights `norm` may
    /// be applied first.
    pub struct LmQuantizeI8 {
        /// Rows.
        pub tokens: u32,
        /// Columns, a multiple of 32.
        pub columns: u32,
        /// Row stride of `x` in floats, a multiple of 4. With a norm, the padding between the
        /// model's columns and `columns` is zero.
        pub x_stride: u32,
        /// The columns of the mean square, without padding; 0 without a norm.
        pub model_columns: u32,
        /// Added to the mean square.
        pub epsilon: f32,
    }
}

impl LmQuantizeI8 {
    /// Words of a quantized group of 32 columns.
    pub const GROUP_WORDS: u32 = 12;
}

impl Params for LmQuantizeI8 {
    fn grid(&self) -> [u32; 3] {
        [(self.columns / 4).div_ceil(256), self.tokens, 1]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_quantize_i8.wgsl",
    text: include_str!("lm_quantize_i8.wgsl"),
    entry: "lm_quantize_i8",
    variants: &[plain("lm_quantize_i8")],
    bindings: &[read("x"), read("norm"), write("y")],
    constants: LmQuantizeI8::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |tokens: u32, columns: u32| {
        let params = LmQuantizeI8 { tokens, columns, x_stride: columns + 4, ..LmQuantizeI8::default() };
        // Values whose quantization is exact: devices may divide slightly differently.
        let mut x = Vec::new();
        for token in 0..tokens as i32 {
            x.extend(scaled(whole(random, columns), |group| 0.5f32.powi((group + token) % 5)));
            x.extend(whole(random, params.x_stride - columns));
        }
        let y = untouched((tokens * columns / 32 * LmQuantizeI8::GROUP_WORDS) as usize);
        case(params, vec![x, vec![0; 4], y], Element::Word, Tolerance::Exact, format!("{tokens} x {columns}"))
    };
    let mut cases = vec![make(1, 32), make(3, 96), make(2, 1056), make(9, 2080)];
    cases.extend([(32, 1.0), (1056, 4.0), (4160, 0.25)].map(|(columns, mean)| normed(random, columns, mean)));
    cases
}

/// Rows whose mean square and epsilon add up to `mean`, so that its root is exact.
fn normed(random: &mut Random, columns: u32, mean: f32) -> Case {
    let row = scaled(whole(random, columns), |_| 1.0 / 256.0);
    let squares: f32 = row.iter().map(|word| f32::from_bits(*word).powi(2)).sum();
    let epsilon = mean - squares / columns as f32;
    let negated = row.iter().map(|word| (-f32::from_bits(*word)).to_bits());
    let x = row.iter().copied().chain(negated).collect();
    let weights = scaled(vec![1f32.to_bits(); columns as usize], |group| 0.5f32.powi(group % 3 - 1));
    let params = LmQuantizeI8 { tokens: 2, columns, x_stride: columns, model_columns: columns, epsilon };
    let y = untouched((2 * columns / 32 * LmQuantizeI8::GROUP_WORDS) as usize);
    case(params, vec![x, weights, y], Element::Word, Tolerance::Exact, format!("{columns} normalized columns"))
}
