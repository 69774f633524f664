//! Quantization, with the same bytes as llama.cpp, and as the Python package `gguf` for the types
//! that it quantizes to.
//!
//! | module | contents |
//! |---|---|
//! | `lanes` | groups side by side, so that sums keep their order in vector code |
//! | `fit` | searches for scales |
//! | `small` | Q4_0 to Q8_0, MXFP4 |
//! | `k` | Q2_K to Q6_K |
//! | `iq4` | IQ4_NL, IQ4_XS |
//! | `level` | the same code for the instructions of this CPU |

mod fit;
mod iq4;
mod k;
mod lanes;
mod level;
mod output;
mod small;

use half::slice::HalfFloatSliceExt as _;
use half::{bf16, f16};

use crate::{Error, Type};
use output::Output;

impl Type {
    /// Whether [`quantize`](Self::quantize) supports this type.
    pub fn has_quantizer(self) -> bool {
        use Type::{BF16, F16, F32, MXFP4, Q8_0};
        self.uses_importance() || matches!(self, F32 | F16 | BF16 | Q8_0 | MXFP4)
    }

    /// Whether [`quantize_row`](Self::quantize_row) uses the importance of values.
    pub fn uses_importance(self) -> bool {
        use Type::{IQ4_NL, IQ4_XS, Q2_K, Q3_K, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K};
        matches!(self, Q4_0 | Q4_1 | Q5_0 | Q5_1 | Q2_K | Q3_K | Q4_K | Q5_K | Q6_K | IQ4_NL | IQ4_XS)
    }

    /// Quantizes whole rows of values and appends the blocks.
    ///
    /// # Errors
    /// If the values are not a whole number of blocks, if a block has a value that is not finite or
    /// too large for its scale, or if there is no quantizer for this type.
    pub fn quantize(self, values: &[f32], out: &mut Vec<u8>) -> Result<(), Error> {
        self.quantize_with(values, None, out)
    }

    /// Quantizes one row and appends the blocks. The error of a value is weighted by its
    /// importance: the mean square of the inputs that it is multiplied with. Types that do not [use
    /// it](Self::uses_importance) ignore it.
    ///
    /// # Errors
    /// Those of [`quantize`](Self::quantize), and if the number of importances is not the number of
    /// values.
    pub fn quantize_row(self, row: &[f32], importance: &[f32], out: &mut Vec<u8>) -> Result<(), Error> {
        if importance.len() != row.len() {
            let expected = format!("an importance for each, not {}", importance.len());
            return Err(Error::Length { kind: self, unit: "values", got: row.len(), expected });
        }
        self.quantize_with(row, Some(importance), out)
    }

    /// Greater than all values that the types can represent. The largest values of types with f16
    /// scales are those of Q6_K, 65,504 * 128 * 32. The square of a much larger value is infinite
    /// and would make a scale 0.
    fn limit(self) -> f32 {
        if self == Self::MXFP4 { f32::INFINITY } else { 2f32.powi(28) }
    }

    fn quantize_with(self, values: &[f32], weights: Option<&[f32]>, out: &mut Vec<u8>) -> Result<(), Error> {
        if !values.len().is_multiple_of(self.block_size()) {
            let expected = format!("a multiple of {}", self.block_size());
            return Err(Error::Length { kind: self, unit: "values", got: values.len(), expected });
        }
        match self {
            Self::F32 => out.extend(values.iter().flat_map(|value| value.to_le_bytes())),
            Self::F16 => half_floats(values, out),
            Self::BF16 => out.extend(values.iter().flat_map(|value| bf16::from_f32(*value).to_le_bytes())),
            kind if !kind.has_quantizer() => return Err(Error::NoQuantizer(kind)),
            kind => {
                let start = out.len();
                let mut blocks = Output { bytes: out, is_valid: true };
                level::run(kind, values, weights, &mut blocks);
                if !blocks.is_valid {
                    out.truncate(start);
                    let (index, value) = largest(values);
                    return Err(Error::Range { kind, index, value });
                }
            }
        }
        Ok(())
    }
}

/// Converts to f16 in chunks: the conversion of a slice detects the CPU's f16 instructions once
/// instead of once per value.
fn half_floats(values: &[f32], out: &mut Vec<u8>) {
    let mut buffer = [f16::ZERO; 64];
    for values in values.chunks(64) {
        let buffer = &mut buffer[..values.len()];
        buffer.convert_from_f32_slice(values);
        out.extend(buffer.iter().flat_map(|value| value.to_le_bytes()));
    }
}

/// Quantizes to a block type. Compiled once per instruction-set level.
#[inline(always)]
fn blocks(kind: Type, values: &[f32], weights: Option<&[f32]>, out: &mut Output<'_>) {
    let max = lanes::max_magnitude(values);
    if max.is_nan() || max >= kind.limit() {
        out.is_valid = false;
        return;
    }
    match (kind, weights) {
        (Type::Q4_0, None) => small::centered(values, 8, out),
        (Type::Q5_0, None) => small::centered(values, 16, out),
        (Type::Q4_0, Some(weights)) => small::weighted_centered(values, weights, 8, out),
        (Type::Q5_0, Some(weights)) => small::weighted_centered(values, weights, 16, out),
        (Type::Q4_1, None) => small::from_min(values, 15, out),
        (Type::Q5_1, None) => small::from_min(values, 31, out),
        (Type::Q4_1, Some(weights)) => small::weighted_from_min(values, weights, 15, out),
        (Type::Q5_1, Some(weights)) => small::weighted_from_min(values, weights, 31, out),
        (Type::Q8_0, _) => small::q8_0(values, out),
        (Type::MXFP4, _) => small::mxfp4(values, out),
        (Type::Q2_K, _) => k::q2_k(values, weights, out),
        (Type::Q3_K, _) => k::q3_k(values, weights, out),
        (Type::Q4_K, _) => k::q4_k(values, weights, out),
        (Type::Q5_K, _) => k::q5_k(values, weights, out),
        (Type::Q6_K, _) => k::q6_k(values, weights, out),
        (Type::IQ4_NL, _) => iq4::iq4_nl(values, weights, out),
        (Type::IQ4_XS, _) => iq4::iq4_xs(values, weights, out),
        // `has_quantizer` excludes all others.
        _ => out.is_valid = false,
    }
}

/// The first value with the maximum magnitude, and its index. NaN counts as larger than any number.
fn largest(values: &[f32]) -> (usize, f32) {
    let mut most = (0, 0.0f32);
    for (at, value) in values.iter().enumerate() {
        if value.abs().total_cmp(&most.1.abs()).is_gt() {
            most = (at, *value);
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: [Type; 5] = [Type::Q4_0, Type::Q4_1, Type::Q5_0, Type::Q5_1, Type::Q8_0];

    fn quantizers() -> impl Iterator<Item = Type> {
        Type::all().filter(|kind| kind.has_quantizer())
    }

    #[test]
    fn values_that_do_not_fit_are_rejected_by_index() {
        for kind in quantizers().filter(|kind| kind.is_quantized()) {
            // A scale of MXFP4 is a power of two, up to the largest one of f32.
            let largest = if kind == Type::MXFP4 { 3e38 } else { 1e30 };
            for bad in [f32::NAN, f32::INFINITY, largest] {
                let mut values = [0.25; 512];
                values[37] = bad;
                let mut out = vec![7];
                for importance in [None, Some(&[1.0; 512][..])] {
                    let error = kind.quantize_with(&values, importance, &mut out).expect_err("no scale for this");
                    assert!(error.to_string().starts_with("value 37 ("), "{kind}: {error}");
                    assert!(error.hint().is_some());
                    assert_eq!(out, [7], "no block of a failed row stays");
                }
            }
            let error = kind.quantize(&[0.0; 31], &mut Vec::new()).expect_err("no whole block");
            let expected = format!("31 values of {kind}, expected a multiple of {}", kind.block_size());
            assert_eq!(error.to_string(), expected);
        }
        assert!(matches!(Type::TQ1_0.quantize(&[0.0; 256], &mut Vec::new()), Err(Error::NoQuantizer(Type::TQ1_0))));
        assert!(quantizers().all(|kind| kind.quantize(&[1.0; 256], &mut Vec::new()).is_ok()));
        let error = Type::Q4_K.quantize_row(&[0.0; 256], &[1.0; 255], &mut Vec::new()).expect_err("one is missing");
        assert_eq!(error.to_string(), "256 values of Q4_K, expected an importance for each, not 255");
    }

    #[test]
    fn quantization_error_is_at_most_one_step() {
        let values: Vec<f32> = (0..256).map(|at| ((at * 7919) % 509) as f32 / 509.0 - 0.5).collect();
        for (kind, steps) in SMALL.into_iter().zip([8.0, 15.0, 16.0, 31.0, 127.0]) {
            let mut blocks = Vec::new();
            kind.quantize(&values, &mut blocks).expect("they fit");
            let back = kind.to_f32(&blocks).expect("whole blocks");
            let worst = values.iter().zip(&back).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            // One step, not half: the symmetric types cannot represent the negation of the value of
            // maximum magnitude.
            assert!(worst <= 1.01 / steps, "{kind}: {worst}");
        }
    }

    #[test]
    fn the_error_of_important_values_is_smaller() {
        let values: Vec<f32> = (0..512).map(|at| ((at * 7919) % 509) as f32 / 509.0 - 0.5).collect();
        let important = |at: usize| at % 8 == 3;
        let importance: Vec<f32> = (0..512).map(|at| if important(at) { 100.0 } else { 1.0 }).collect();
        for kind in Type::all().filter(|kind| kind.uses_importance()) {
            let error = |blocks: &[u8]| {
                let back = kind.to_f32(blocks).expect("whole blocks");
                let pairs = values.iter().zip(&back).enumerate().filter(|(at, _)| important(*at));
                pairs.map(|(_, (a, b))| (a - b).powi(2)).sum::<f32>()
            };
            let (mut plain, mut weighted) = (Vec::new(), Vec::new());
            kind.quantize(&values, &mut plain).expect("they fit");
            kind.quantize_row(&values, &importance, &mut weighted).expect("they fit");
            assert!(error(&weighted) < error(&plain), "{kind}: {} and {}", error(&weighted), error(&plain));
        }
    }

    #[test]
    fn every_level_of_instructions_gives_the_same_blocks() {
        let values: Vec<f32> = (0..2816).map(|at| ((at * 7919) % 5099) as f32 / 509.0 - 5.0).collect();
        let importance: Vec<f32> = (0..2816).map(|at| ((at * 31) % 97) as f32).collect();
        for kind in quantizers().filter(|kind| kind.is_quantized()) {
            for importance in [None, Some(&importance[..])] {
                let (mut fast, mut portable) = (Vec::new(), Vec::new());
                kind.quantize_with(&values, importance, &mut fast).expect("they fit");
                blocks(kind, &values, importance, &mut Output { bytes: &mut portable, is_valid: true });
                assert_eq!(fast, portable, "{kind}");
            }
        }
    }
}
