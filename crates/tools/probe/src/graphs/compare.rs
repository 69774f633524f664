//! Compares a device's outputs with those of the reference interpreter.

use roci_graph::{Tensor, Value};

use crate::{Outcome, Tolerance, Verdict};

/// Compares all outputs: floats within the tolerance, all other types exactly.
pub fn compare(got: &[Value], want: &[Value], tolerance: Tolerance) -> Verdict {
    if got.len() != want.len() {
        return Verdict::new(Outcome::Wrong, format!("{} outputs instead of {}", got.len(), want.len()));
    }
    let (mut worst, mut wrong) = (0.0_f64, None);
    for (index, (got, want)) in got.iter().zip(want).enumerate() {
        let (Ok(got), Ok(want)) = (got.tensor(), want.tensor()) else {
            return Verdict::new(Outcome::Wrong, format!("output {index} is not a tensor"));
        };
        let (error_ratio, text) = one(got, want, tolerance);
        if let Some(text) = text
            && wrong.is_none()
        {
            wrong = Some(format!("output {index}: {text}"));
        }
        worst = worst.max(error_ratio);
    }
    let outcome = if wrong.is_some() { Outcome::Wrong } else { Outcome::Works };
    Verdict { outcome, detail: wrong, error_ratio: worst.is_finite().then_some(worst) }
}

/// The largest error as a multiple of the tolerance, and a description if it is above 1.
fn one(got: &Tensor, want: &Tensor, tolerance: Tolerance) -> (f64, Option<String>) {
    if (got.dtype(), got.shape()) != (want.dtype(), want.shape()) {
        let form = |tensor: &Tensor| format!("{} {:?}", tensor.dtype(), tensor.shape());
        return (f64::INFINITY, Some(format!("{} instead of {}", form(got), form(want))));
    }
    let (Ok(found), Ok(expected)) = (got.floats(), want.floats()) else {
        let text = (got != want).then(|| "elements differ".to_owned());
        return (0.0, text);
    };
    let tolerance = if want.dtype().is_float() { tolerance } else { Tolerance::Exact };
    let error_ratio = |(got, want): (&f64, &f64)| tolerance.error_ratio(*got, *want);
    let error_ratios: Vec<f64> = found.iter().zip(&expected).map(error_ratio).collect();
    let worst = error_ratios.iter().copied().fold(0.0, f64::max);
    let off = error_ratios.iter().filter(|error_ratio| **error_ratio > 1.0).count();
    let Some(first) = error_ratios.iter().position(|error_ratio| *error_ratio > 1.0) else { return (worst, None) };
    let times = if worst.is_finite() { format!(", up to {worst:.1} times the tolerance") } else { String::new() };
    let (count, got, want) = (expected.len(), found[first], expected[first]);
    (worst, Some(format!("{off} of {count} elements are off{times}; the first, {first}: got {got}, want {want}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(got: Tensor, want: Tensor) -> Verdict {
        compare(&[got.into()], &[want.into()], Tolerance::Layers)
    }

    #[test]
    fn errors_are_multiples_of_the_tolerance() {
        let want = Tensor::vector(vec![1.0f32, f32::NAN, f32::INFINITY, 0.0]);
        let right = verdict(Tensor::vector(vec![1.001f32, f32::NAN, f32::INFINITY, 0.0005]), want.clone());
        assert_eq!((right.outcome, right.detail), (Outcome::Works, None));
        assert!(right.error_ratio.is_some_and(|ratio| (0.49..0.52).contains(&ratio)), "{:?}", right.error_ratio);
        let wrong = verdict(Tensor::vector(vec![1.0f32, f32::NAN, f32::INFINITY, 0.01]), want.clone());
        assert_eq!(wrong.outcome, Outcome::Wrong);
        assert!(wrong.detail.as_deref().is_some_and(|text| text.contains("1 of 4") && text.contains("10.0 times")));
        for got in [f32::NAN, f32::INFINITY] {
            let wrong = verdict(Tensor::vector(vec![got, f32::NAN, f32::INFINITY, 0.0]), want.clone());
            assert_eq!((wrong.outcome, wrong.error_ratio), (Outcome::Wrong, None));
        }
    }

    #[test]
    fn integers_types_and_shapes_must_be_the_same() {
        let want = Tensor::vector(vec![3i32, 4]);
        assert_eq!(verdict(want.clone(), want.clone()).outcome, Outcome::Works);
        assert_eq!(verdict(Tensor::vector(vec![3i32, 5]), want.clone()).outcome, Outcome::Wrong);
        assert_eq!(verdict(Tensor::vector(vec![3i64, 4]), want.clone()).outcome, Outcome::Wrong);
        assert_eq!(verdict(Tensor::vector(vec![3i32]), want.clone()).outcome, Outcome::Wrong);
        assert_eq!(compare(&[], &[want.into()], Tolerance::BfloatLayers).outcome, Outcome::Wrong);
    }
}
