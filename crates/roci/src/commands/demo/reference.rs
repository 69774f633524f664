//! The right answers in double precision, by the plainest code there is, and how far a device may be from them.
//!
//! Nothing here is shared with the kernels or their native twins: an error would have to be made twice to go unseen.

use roci_kernels::params;
use serde::Serialize;

use super::cases::{MARGIN, Problem};
use super::input::{Element, Input};

/// What an output that nobody wrote holds: all bits set, which is no number in any format.
pub(super) const POISON: u32 = u32::MAX;

/// One element of the right answer.
#[derive(Clone, Copy, Debug)]
pub(in crate::commands) struct Expected {
    /// The value.
    pub(super) value: f64,
    /// What rounding errors are proportional to: the value's magnitude, or for a sum that of all its terms.
    pub(super) magnitude: f64,
}

/// How far a result may be off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::commands) enum Tolerance {
    /// The very value: data is moved or chosen.
    Exact,
    /// One correctly rounded operation: a unit in the last place of f32.
    Rounded,
    /// 4 units in the last place: a division or a root, as WGSL allows them.
    FewUlps,
    /// 64 units in the last place: exponentials and what is made of them, as WGSL allows them for these inputs.
    ManyUlps,
    /// An absolute 2^-11: what WGSL allows for sine and cosine.
    Trigonometric,
    /// 1e-5 of the sum of magnitudes: sums in f32, in any order.
    Sum,
    /// A sum in f32, then rounded to f16.
    HalfSum,
}

/// What a comparison found.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::commands) enum Verdict {
    /// All within tolerance; the largest error relative to the magnitude.
    Right {
        /// 0 when every value is the very one.
        largest_error: f64,
    },
    /// Some are not.
    Wrong {
        /// How many.
        wrong: usize,
        /// Of how many.
        count: usize,
        /// The worst one.
        index: usize,
        /// What came back.
        got: f64,
        /// What should have.
        want: f64,
    },
}

impl Verdict {
    /// What is wrong, in words; `None` if nothing is.
    pub(in crate::commands) fn complaint(&self) -> Option<String> {
        match self {
            Self::Right { .. } => None,
            Self::Wrong { wrong, count, index, got, want } => {
                Some(format!("{wrong} of {count}, worst at {index}: got {got:.9e}, want {want:.9e}"))
            }
        }
    }
}

impl Tolerance {
    /// The absolute error allowed at one element.
    fn allowed(self, expected: Expected) -> f64 {
        const ULP: f64 = f32::EPSILON as f64;
        // Half a unit in the last place of f16, and of its smallest numbers.
        const HALF_ROUNDING: f64 = 1.0 / 2048.0;
        const HALF_SMALLEST: f64 = 1.0 / (1u64 << 25) as f64;
        let Expected { value, magnitude } = expected;
        match self {
            Self::Exact => 0.0,
            Self::Rounded => ULP * magnitude,
            Self::FewUlps => 4.0 * ULP * magnitude,
            Self::ManyUlps => 64.0 * ULP * magnitude,
            Self::Trigonometric => 1.0 / 2048.0,
            Self::Sum => 1e-5 * magnitude,
            Self::HalfSum => 1e-5 * magnitude + HALF_ROUNDING * value.abs() + HALF_SMALLEST,
        }
    }
}

/// The tolerance of each kernel.
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
        _ if output == Element::F16 => Tolerance::HalfSum,
        _ => Tolerance::Sum,
    }
}

/// Whether a reduction is one of integers.
pub(super) fn is_integral(kernel: &str) -> bool {
    kernel.ends_with("_i32") || kernel.ends_with("_u32")
}

/// The right answer of a problem.
pub(super) fn expect(kernel: &str, problem: &Problem, inputs: &[Input]) -> Vec<Expected> {
    let values = |index: usize| inputs[index].values.as_slice();
    match problem {
        Problem::Fill(params) => inside_margins(std::iter::repeat_n(f64::from(params.value), params.count as usize)),
        Problem::Copy(params) => inside_margins(values(0)[params.source_offset as usize..].iter().copied()),
        Problem::Unary(_) => values(0).iter().map(|x| unary(kernel, *x)).collect(),
        Problem::Binary(params) => binary(kernel, params, values(0), values(1)),
        Problem::Reduce(params) => reduce(kernel, params, values(0)),
        Problem::Softmax(params) => softmax(kernel, params, values(0)),
        Problem::Matmul(params, _, _) => {
            product(values(0), values(1), params.m as usize, params.n as usize, params.k as usize)
        }
        Problem::Matvec(params, _) => product(values(0), values(1), params.m as usize, 1, params.k as usize),
        Problem::Layer(layer) => layer.make().1,
    }
}

/// Compares what a device wrote with the right answer.
pub(in crate::commands) fn verify(
    output: &[u8],
    expected: &[Expected],
    element: Element,
    tolerance: Tolerance,
) -> Verdict {
    let mut largest_error = 0.0f64;
    let mut wrong = 0;
    let mut worst: Option<(f64, usize, f64)> = None;
    let results = element.decode(output);
    for (index, expected) in expected.iter().enumerate() {
        // What did not come back at all is as wrong as what is no number.
        let got = results.get(index).copied().unwrap_or(f64::NAN);
        let error = (got - expected.value).abs();
        if error <= tolerance.allowed(*expected) {
            largest_error = largest_error.max(error / expected.magnitude.max(f64::MIN_POSITIVE));
            continue;
        }
        wrong += 1;
        // A result that is no number is the worst there is.
        let distance = if error.is_nan() { f64::INFINITY } else { error / expected.magnitude.max(f64::MIN_POSITIVE) };
        if worst.is_none_or(|(most, ..)| distance > most) {
            worst = Some((distance, index, got));
        }
    }
    match worst {
        None => Verdict::Right { largest_error },
        Some((_, index, got)) => {
            Verdict::Wrong { wrong, count: expected.len(), index, got, want: expected[index].value }
        }
    }
}

pub(super) fn exactly(value: f64) -> Expected {
    Expected { value, magnitude: value.abs() }
}

/// Words with untouched ones in front and behind.
fn inside_margins(values: impl Iterator<Item = f64>) -> Vec<Expected> {
    let margin = || std::iter::repeat_n(f64::from(POISON), MARGIN as usize);
    margin().chain(values).chain(margin()).map(exactly).collect()
}

fn unary(kernel: &str, x: f64) -> Expected {
    let value = match kernel {
        "unary_neg" => -x,
        "unary_abs" => x.abs(),
        "unary_exp" => x.exp(),
        // Near one the logarithm is near zero, but its error is not.
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
    exactly(value)
}

/// The error function by its series without cancellation, for arguments up to about 6.
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
                    expected.push(exactly(operation(a[at(params.a_strides, place)], b[at(params.b_strides, place)])));
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
            "reduce_max" => return exactly(terms().fold(f64::NEG_INFINITY, f64::max)),
            "reduce_min" => return exactly(terms().fold(f64::INFINITY, f64::min)),
            "reduce_prod" => return exactly(terms().product()),
            "reduce_sum_i32" => return exactly(words().fold(0, u32::wrapping_add).into()),
            "reduce_prod_i32" => return exactly(words().fold(1, u32::wrapping_mul).into()),
            "reduce_max_i32" => return exactly((signed().fold(i32::MIN, i32::max) as u32).into()),
            "reduce_min_i32" => return exactly((signed().fold(i32::MAX, i32::min) as u32).into()),
            "reduce_max_u32" => return exactly(words().fold(0, u32::max).into()),
            "reduce_min_u32" => return exactly(words().fold(u32::MAX, u32::min).into()),
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
                return exactly(power / sum);
            }
            let value = (power / sum).ln();
            // As for the logarithm itself.
            Expected { value, magnitude: value.abs().max(1.0) }
        };
        powers.into_iter().map(one)
    };
    x.chunks(params.columns as usize).flat_map(row).collect()
}

/// The dense product of an `m x k` matrix and a `k x n` one.
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
        values.iter().copied().map(exactly).collect()
    }

    #[test]
    fn one_wrong_element_is_found_and_named() {
        let mut values: Vec<f64> = (1..=100).map(f64::from).collect();
        let right = expected(&values);
        let memory = Element::F32.encode(&values);
        let verdict = verify(&memory, &right, Element::F32, Tolerance::Exact);
        assert_eq!(verdict, Verdict::Right { largest_error: 0.0 });
        values[41] = 42.001;
        let verdict = verify(&Element::F32.encode(&values), &right, Element::F32, Tolerance::FewUlps);
        assert!(matches!(verdict, Verdict::Wrong { wrong: 1, count: 100, index: 41, .. }), "{verdict:?}");
    }

    #[test]
    fn what_was_not_written_is_wrong_under_every_tolerance() {
        use Tolerance::{Exact, FewUlps, HalfSum, ManyUlps, Rounded, Sum, Trigonometric};
        for tolerance in [Exact, Rounded, FewUlps, ManyUlps, Trigonometric, Sum, HalfSum] {
            for element in [Element::U32, Element::F32, Element::F16] {
                let poison = vec![0xff; 16];
                let verdict = verify(&poison, &expected(&[1.0, 2.0]), element, tolerance);
                assert!(matches!(verdict, Verdict::Wrong { wrong: 2, .. }), "{tolerance:?} {element:?} {verdict:?}");
                let verdict = verify(&[], &expected(&[1.0]), element, tolerance);
                assert!(matches!(verdict, Verdict::Wrong { wrong: 1, .. }), "{tolerance:?} {element:?} {verdict:?}");
            }
        }
    }

    #[test]
    fn a_missing_term_of_a_sum_is_wrong() {
        let terms: Vec<f64> = (0..773).map(|index| f64::from(index % 17) / 8.0 - 1.0).collect();
        let right = product(&terms, &vec![1.0; 773], 1, 1, 773);
        for (element, tolerance) in [(Element::F32, Tolerance::Sum), (Element::F16, Tolerance::HalfSum)] {
            let without_last = terms[..772].iter().sum::<f64>();
            let verdict = verify(&element.encode(&[without_last]), &right, element, tolerance);
            assert!(matches!(verdict, Verdict::Wrong { .. }), "{element:?}: {verdict:?}");
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
