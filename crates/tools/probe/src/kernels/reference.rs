//! Reference results in f64, computed by naive code, and the tolerance of each kernel.
//!
//! The code shares nothing with the kernels or their native implementations, so that no bug can be
//! in both.

use roci_kernels::params;

use super::input::{Element, Input};
use super::{GUARD_WORDS, Kind};
use crate::Tolerance;

/// Contents of an output before the kernel runs: all bits set, which is NaN in every float format.
pub(super) const POISON: u32 = u32::MAX;

/// An element of the reference results.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Expected {
    /// The correct value.
    pub value: f64,
    /// Scale of the rounding errors: the value's magnitude or, for a sum, the sum of the magnitudes
    /// of its terms.
    pub magnitude: f64,
}

/// Result of a comparison with the reference.
#[derive(Clone, Debug, PartialEq)]
pub enum Comparison {
    /// All elements are within the tolerance.
    Right {
        /// Largest error relative to the magnitude; 0 if all values are exact.
        largest_error: f64,
    },
    /// At least one element is out of tolerance.
    Wrong {
        /// Number of elements out of tolerance.
        wrong: usize,
        /// Number of all elements.
        count: usize,
        /// Index of the element with the largest error.
        index: usize,
        /// The device's value at this index.
        got: f64,
        /// The reference value at this index.
        want: f64,
    },
}

impl Comparison {
    /// One-line description of the mismatch; `None` if there is none.
    pub fn complaint(&self) -> Option<String> {
        match self {
            Self::Right { .. } => None,
            Self::Wrong { wrong, count, index, got, want } => {
                Some(format!("{wrong} of {count}, worst at {index}: got {got:.9e}, want {want:.9e}"))
            }
        }
    }
}

/// Tolerance of a kernel's output.
pub(super) fn tolerance(kernel: &str, output: Element) -> Tolerance {
    let base = kernel.strip_suffix("_broadcast").unwrap_or(kernel);
    match base {
        "fill" | "copy" | "unary_neg" | "unary_abs" | "unary_relu" | "binary_min" | "binary_max" | "reduce_max"
        | "reduce_min" => Tolerance::Exact,
        _ if is_integral(base) => Tolerance::Exact,
        "binary_add" | "binary_sub" | "binary_mul" => Tolerance::Rounded,
        "binary_div" | "unary_sqrt" | "unary_rsqrt" | "unary_log" => Tolerance::FewUlps,
        "unary_sin" | "unary_cos" => Tolerance::Trigonometric,
        "unary_exp" | "unary_sigmoid" | "unary_tanh" | "unary_gelu" | "unary_silu" | "binary_pow" | "softmax"
        | "log_softmax" => Tolerance::ManyUlps,
        _ if output == Element::F16 => Tolerance::SumF16,
        _ => Tolerance::Sum,
    }
}

/// Whether a kernel works on integers, which must match exactly.
pub(super) fn is_integral(kernel: &str) -> bool {
    kernel.ends_with("_i32") || kernel.ends_with("_u32")
}

/// Computes the reference results of a case.
pub(super) fn expect(kernel: &str, problem: &Kind, inputs: &[Input]) -> Vec<Expected> {
    let values = |index: usize| inputs[index].values.as_slice();
    match problem {
        Kind::Fill(params) => between_guards(std::iter::repeat_n(f64::from(params.value), params.count as usize)),
        Kind::Copy(params) => between_guards(values(0)[params.source_offset as usize..].iter().copied()),
        Kind::Unary(_) => values(0).iter().map(|x| unary(kernel, *x)).collect(),
        Kind::Binary(params) => binary(kernel, params, values(0), values(1)),
        Kind::Reduce(params) => reduce(kernel, params, values(0)),
        Kind::Softmax(params) => softmax(kernel, params, values(0)),
        Kind::Matmul(params, _, _) => {
            product(values(0), values(1), params.m as usize, params.n as usize, params.k as usize)
        }
        Kind::Matvec(params, _) => product(values(0), values(1), params.m as usize, 1, params.k as usize),
        Kind::Layer(layer) => layer.data().1,
        Kind::Twin(problem) => problem.expected(),
    }
}

/// Compares the bytes of an output with the reference results.
pub fn verify(output: &[u8], expected: &[Expected], element: Element, tolerance: Tolerance) -> Comparison {
    let mut largest_error = 0.0f64;
    let mut wrong = 0;
    let mut worst: Option<(f64, usize, f64)> = None;
    let results = element.decode(output);
    for (index, expected) in expected.iter().enumerate() {
        // A missing element counts as NaN.
        let got = results.get(index).copied().unwrap_or(f64::NAN);
        // An infinity matches only itself, and NaN only NaN.
        let is_same = got == expected.value || (got.is_nan() && expected.value.is_nan());
        let error = if is_same { 0.0 } else { (got - expected.value).abs() };
        let is_near = expected.value.is_finite() && error <= tolerance.allowed(expected.value, expected.magnitude);
        if is_same || is_near {
            largest_error = largest_error.max(error / expected.magnitude.max(f64::MIN_POSITIVE));
            continue;
        }
        wrong += 1;
        // NaN counts as an infinite error.
        let distance = if error.is_nan() { f64::INFINITY } else { error / expected.magnitude.max(f64::MIN_POSITIVE) };
        if worst.is_none_or(|(most, ..)| distance > most) {
            worst = Some((distance, index, got));
        }
    }
    match worst {
        None => Comparison::Right { largest_error },
        Some((_, index, got)) => {
            Comparison::Wrong { wrong, count: expected.len(), index, got, want: expected[index].value }
        }
    }
}

pub(super) fn exact(value: f64) -> Expected {
    Expected { value, magnitude: value.abs() }
}

/// Adds guard words, which must keep the poison, around the values.
fn between_guards(values: impl Iterator<Item = f64>) -> Vec<Expected> {
    let margin = || std::iter::repeat_n(f64::from(POISON), GUARD_WORDS as usize);
    margin().chain(values).chain(margin()).map(exact).collect()
}

fn unary(kernel: &str, x: f64) -> Expected {
    let value = match kernel {
        "unary_neg" => -x,
        "unary_abs" => x.abs(),
        "unary_exp" => x.exp(),
        // Near 1 the logarithm is near zero, but its error is not.
        "unary_log" => return Expected { value: x.ln(), magnitude: x.ln().abs().max(1.0) },
        "unary_sqrt" => x.sqrt(),
        "unary_rsqrt" => 1.0 / x.sqrt(),
        "unary_relu" => x.max(0.0),
        "unary_sigmoid" => 1.0 / (1.0 + (-x).exp()),
        "unary_tanh" => x.tanh(),
        "unary_gelu" => 0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2)),
        "unary_silu" => x / (1.0 + (-x).exp()),
        "unary_sin" => x.sin(),
        "unary_cos" => x.cos(),
        _ => f64::NAN,
    };
    exact(value)
}

/// The error function by a series without cancellation, for arguments up to about 6.
fn erf(x: f64) -> f64 {
    let square = x * x;
    let mut term = x;
    let mut sum = x;
    let mut n = 0.0;
    while term.abs() > 1e-17 * sum.abs() {
        n += 1.0;
        term *= 2.0 * square / (2.0 * n + 1.0);
        sum += term;
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-square).exp() * sum
}

fn binary(kernel: &str, params: &params::Binary, a: &[f64], b: &[f64]) -> Vec<Expected> {
    let operation: fn(f64, f64) -> f64 = match kernel.strip_suffix("_broadcast").unwrap_or(kernel) {
        "binary_add" => |p, q| p + q,
        "binary_sub" => |p, q| p - q,
        "binary_mul" => |p, q| p * q,
        "binary_div" => |p, q| p / q,
        "binary_min" => f64::min,
        "binary_max" => f64::max,
        "binary_pow" => f64::powf,
        _ => |_, _| f64::NAN,
    };
    let [d, m, r, c] = params.shape.map(|size| size as usize);
    let at = |strides: [u32; 4], place: [usize; 4]| -> usize {
        place.iter().zip(strides).map(|(index, stride)| index * stride as usize).sum()
    };
    let mut expected = Vec::with_capacity(params.count as usize);
    for i in 0..d {
        for j in 0..m {
            for k in 0..r {
                for l in 0..c {
                    let place = [i, j, k, l];
                    expected.push(exact(operation(a[at(params.a_strides, place)], b[at(params.b_strides, place)])));
                }
            }
        }
    }
    expected
}

fn reduce(kernel: &str, params: &params::Reduce, x: &[f64]) -> Vec<Expected> {
    let (axis, inner) = (params.axis as usize, params.inner as usize);
    let fold = |output: usize| {
        let start = output / inner * axis * inner + output % inner;
        let terms = || (0..axis).map(|r| x[start + r * inner]);
        let words = || terms().map(|word| word as u32);
        let signed = || words().map(|word| word as i32);
        match kernel {
            "reduce_max" => return exact(terms().fold(f64::NEG_INFINITY, f64::max)),
            "reduce_min" => return exact(terms().fold(f64::INFINITY, f64::min)),
            "reduce_prod" => return exact(terms().product()),
            "reduce_sum_i32" => return exact(words().fold(0, u32::wrapping_add).into()),
            "reduce_prod_i32" => return exact(words().fold(1, u32::wrapping_mul).into()),
            "reduce_max_i32" => return exact((signed().fold(i32::MIN, i32::max) as u32).into()),
            "reduce_min_i32" => return exact((signed().fold(i32::MAX, i32::min) as u32).into()),
            "reduce_max_u32" => return exact(words().fold(0, u32::max).into()),
            "reduce_min_u32" => return exact(words().fold(u32::MAX, u32::min).into()),
            _ => {}
        }
        Expected { value: terms().sum(), magnitude: terms().map(f64::abs).sum() }
    };
    (0..params.outer as usize * inner).map(fold).collect()
}

fn softmax(kernel: &str, params: &params::Softmax, x: &[f64]) -> Vec<Expected> {
    let is_logarithm = kernel == "log_softmax";
    let row = |row: &[f64]| {
        let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<_> = row.iter().map(|value| (value - largest).exp()).collect();
        let sum: f64 = powers.iter().sum();
        let one = move |power: f64| {
            if !is_logarithm {
                return exact(power / sum);
            }
            let value = (power / sum).ln();
            // As for the logarithm itself.
            Expected { value, magnitude: value.abs().max(1.0) }
        };
        powers.into_iter().map(one)
    };
    x.chunks(params.columns as usize).flat_map(row).collect()
}

/// The dense product of an `m x k` matrix and a `k x n` matrix.
fn product(a: &[f64], b: &[f64], m: usize, n: usize, k: usize) -> Vec<Expected> {
    let mut expected = vec![Expected { value: 0.0, magnitude: 0.0 }; m * n];
    for (row, sums) in expected.chunks_mut(n).enumerate() {
        for (step, factor) in a[row * k..(row + 1) * k].iter().enumerate() {
            for (sum, other) in sums.iter_mut().zip(&b[step * n..]) {
                let term = factor * other;
                sum.value += term;
                sum.magnitude += term.abs();
            }
        }
    }
    expected
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(values: &[f64]) -> Vec<Expected> {
        values.iter().copied().map(exact).collect()
    }

    #[test]
    fn one_wrong_element_is_found_and_named() {
        let mut values: Vec<f64> = (1..=100).map(f64::from).collect();
        let right = expected(&values);
        let memory = Element::F32.encode(&values);
        let verdict = verify(&memory, &right, Element::F32, Tolerance::Exact);
        assert_eq!(verdict, Comparison::Right { largest_error: 0.0 });
        values[41] = 42.001;
        let verdict = verify(&Element::F32.encode(&values), &right, Element::F32, Tolerance::FewUlps);
        assert!(matches!(verdict, Comparison::Wrong { wrong: 1, count: 100, index: 41, .. }), "{verdict:?}");
    }

    #[test]
    fn poison_and_missing_elements_are_wrong_under_every_tolerance() {
        use Tolerance::{Exact, FewUlps, ManyUlps, Rounded, Sum, SumF16, Trigonometric};
        for tolerance in [Exact, Rounded, FewUlps, ManyUlps, Trigonometric, Sum, SumF16] {
            for element in [Element::U32, Element::F32, Element::F16] {
                let poison = vec![0xff; 16];
                let verdict = verify(&poison, &expected(&[1.0, 2.0]), element, tolerance);
                assert!(matches!(verdict, Comparison::Wrong { wrong: 2, .. }), "{tolerance:?} {element:?} {verdict:?}");
                let verdict = verify(&[], &expected(&[1.0]), element, tolerance);
                assert!(matches!(verdict, Comparison::Wrong { wrong: 1, .. }), "{tolerance:?} {element:?} {verdict:?}");
            }
        }
    }

    #[test]
    fn a_missing_term_of_a_sum_is_wrong() {
        let terms: Vec<f64> = (0..773).map(|index| f64::from(index % 17) / 8.0 - 1.0).collect();
        let right = product(&terms, &vec![1.0; 773], 1, 1, 773);
        for (element, tolerance) in [(Element::F32, Tolerance::Sum), (Element::F16, Tolerance::SumF16)] {
            let without_last = terms[..772].iter().sum::<f64>();
            let verdict = verify(&element.encode(&[without_last]), &right, element, tolerance);
            assert!(matches!(verdict, Comparison::Wrong { .. }), "{element:?}: {verdict:?}");
        }
    }

    #[test]
    fn the_error_function_has_its_known_values() {
        // Abramowitz and Stegun, table 7.1.
        for (x, value) in [(0.0, 0.0), (0.5, 0.520_499_877_8), (1.0, 0.842_700_792_9), (2.0, 0.995_322_265_0)] {
            assert!((erf(x) - value).abs() < 1e-10 && (erf(-x) + value).abs() < 1e-10, "{x}: {}", erf(x));
        }
    }

    #[test]
    fn a_product_is_the_sum_over_the_inner_dimension() {
        let values: Vec<_> =
            product(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], 2, 2, 2).iter().map(|e| e.value).collect();
        assert_eq!(values, [19.0, 22.0, 43.0, 50.0]);
    }
}
