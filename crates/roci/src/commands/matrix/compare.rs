//! What a device made against what the reference makes.

use roci_graph::{DType, Tensor, Value};

use super::outcome::{Outcome, Verdict};

/// How far a float may be off: so much, and so much of what it should be. Everything else is compared exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tolerance {
    pub(super) absolute: f64,
    pub(super) relative: f64,
}

impl Tolerance {
    /// As much of both.
    pub(super) const fn of(both: f64) -> Self {
        Self { absolute: both, relative: both }
    }

    /// One operation whose result is rounded to this type.
    pub(super) fn rounding(dtype: DType) -> Self {
        match dtype {
            DType::F16 => Self::of(2e-3),
            DType::BF16 => Self::of(1.6e-2),
            _ => Self::of(1e-5),
        }
    }

    /// Functions that drivers may compute roughly: Vulkan asks for 2^-11 of sines and 4096 units in the last place of arcs.
    pub(super) fn rough(dtype: DType) -> Self {
        match dtype {
            DType::F16 | DType::BF16 => Self::rounding(dtype),
            _ => Self::of(5e-4),
        }
    }

    /// Sums of some hundred products.
    pub(super) fn sums(dtype: DType) -> Self {
        match dtype {
            DType::F16 => Self::of(8e-3),
            DType::BF16 => Self::of(6e-2),
            _ => Self::of(1e-4),
        }
    }

    /// Several layers, one behind the other.
    pub(super) fn layers(dtype: DType) -> Self {
        match dtype {
            DType::F16 => Self::of(2e-2),
            DType::BF16 => Self::of(1e-1),
            _ => Self::of(1e-3),
        }
    }

    /// The error in tolerances. What is no number is right where it should be none.
    fn excess(self, got: f64, want: f64) -> f64 {
        if got == want || (got.is_nan() && want.is_nan()) {
            return 0.0;
        }
        let error = (got - want).abs();
        if error.is_nan() || want.is_infinite() {
            return f64::INFINITY;
        }
        error / (self.absolute + self.relative * want.abs())
    }
}

/// Whether all outputs are right.
pub(super) fn compare(got: &[Value], want: &[Value], tolerance: Tolerance) -> Verdict {
    if got.len() != want.len() {
        return Verdict::new(Outcome::Wrong, format!("{} outputs instead of {}", got.len(), want.len()));
    }
    let (mut worst, mut wrong) = (0.0_f64, None);
    for (index, (got, want)) in got.iter().zip(want).enumerate() {
        let (Ok(got), Ok(want)) = (got.tensor(), want.tensor()) else {
            return Verdict::new(Outcome::Wrong, format!("output {index} is no tensor"));
        };
        let (excess, text) = one(got, want, tolerance);
        if let Some(text) = text
            && wrong.is_none()
        {
            wrong = Some(format!("output {index}: {text}"));
        }
        worst = worst.max(excess);
    }
    let outcome = if wrong.is_some() { Outcome::Wrong } else { Outcome::Works };
    Verdict { outcome, detail: wrong, excess: worst.is_finite().then_some(worst) }
}

/// The largest error in tolerances, and what is wrong if that is too much.
fn one(got: &Tensor, want: &Tensor, tolerance: Tolerance) -> (f64, Option<String>) {
    if (got.dtype(), got.shape()) != (want.dtype(), want.shape()) {
        let form = |tensor: &Tensor| format!("{} {:?}", tensor.dtype(), tensor.shape());
        return (f64::INFINITY, Some(format!("{} instead of {}", form(got), form(want))));
    }
    let (Ok(found), Ok(wanted)) = (got.floats(), want.floats()) else {
        let text = (got != want).then(|| "the elements differ".to_owned());
        return (0.0, text);
    };
    let tolerance = if want.dtype().is_float() { tolerance } else { Tolerance::of(0.0) };
    let excess = |(got, want): (&f64, &f64)| tolerance.excess(*got, *want);
    let excesses: Vec<f64> = found.iter().zip(&wanted).map(excess).collect();
    let worst = excesses.iter().copied().fold(0.0, f64::max);
    let off = excesses.iter().filter(|excess| **excess > 1.0).count();
    let Some(first) = excesses.iter().position(|excess| *excess > 1.0) else { return (worst, None) };
    let times = if worst.is_finite() { format!(", up to {worst:.1} times the tolerance") } else { String::new() };
    let (count, got, want) = (wanted.len(), found[first], wanted[first]);
    (worst, Some(format!("{off} of {count} elements are off{times}; the first, {first}: got {got}, want {want}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(got: Tensor, want: Tensor) -> Verdict {
        compare(&[got.into()], &[want.into()], Tolerance::of(1e-3))
    }

    #[test]
    fn errors_are_counted_in_tolerances() {
        let want = Tensor::vector(vec![1.0f32, f32::NAN, f32::INFINITY, 0.0]);
        let right = verdict(Tensor::vector(vec![1.001f32, f32::NAN, f32::INFINITY, 0.0005]), want.clone());
        assert_eq!((right.outcome, right.detail), (Outcome::Works, None));
        assert!(right.excess.is_some_and(|excess| (0.49..0.52).contains(&excess)), "{:?}", right.excess);
        let wrong = verdict(Tensor::vector(vec![1.0f32, f32::NAN, f32::INFINITY, 0.01]), want.clone());
        assert_eq!(wrong.outcome, Outcome::Wrong);
        assert!(wrong.detail.as_deref().is_some_and(|text| text.contains("1 of 4") && text.contains("10.0 times")));
        for got in [f32::NAN, f32::INFINITY] {
            let wrong = verdict(Tensor::vector(vec![got, f32::NAN, f32::INFINITY, 0.0]), want.clone());
            assert_eq!((wrong.outcome, wrong.excess), (Outcome::Wrong, None));
        }
    }

    #[test]
    fn integers_types_and_shapes_must_be_the_same() {
        let want = Tensor::vector(vec![3i32, 4]);
        assert_eq!(verdict(want.clone(), want.clone()).outcome, Outcome::Works);
        assert_eq!(verdict(Tensor::vector(vec![3i32, 5]), want.clone()).outcome, Outcome::Wrong);
        assert_eq!(verdict(Tensor::vector(vec![3i64, 4]), want.clone()).outcome, Outcome::Wrong);
        assert_eq!(verdict(Tensor::vector(vec![3i32]), want.clone()).outcome, Outcome::Wrong);
        assert_eq!(compare(&[], &[want.into()], Tolerance::of(1.0)).outcome, Outcome::Wrong);
    }
}
