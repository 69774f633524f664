//! Iteration over the elements of operands.

use num_traits::AsPrimitive;

use crate::tensor::with_capacity;
use crate::{Element, OpError, Tensor, shape};

/// A numeric type that converts to the computation type and back, rounded.
pub(super) trait Number: Element + Copy + AsPrimitive<f64> {}
impl<T: Element + Copy + AsPrimitive<f64>> Number for T {}

/// Maps every element.
pub(super) fn map<T: Copy, R: Element>(shape: &[usize], elements: &[T], f: impl Fn(T) -> R) -> Result<Tensor, OpError> {
    Tensor::new(shape, elements.iter().map(|&element| f(element)).collect())
}

/// Maps every element of a floating-point type.
pub(super) fn map_float<T: Number>(shape: &[usize], elements: &[T], f: impl Fn(f64) -> f64) -> Result<Tensor, OpError>
where
    f64: AsPrimitive<T>,
{
    map(shape, elements, |element| f(element.as_()).as_())
}

/// Maps pairs of elements of operands that are broadcast to a shape.
pub(super) fn zip<A: Element, B: Element, R: Element>(
    first: &Tensor,
    second: &Tensor,
    to: &[usize],
    f: impl Fn(&A, &B) -> R,
) -> Result<Tensor, OpError> {
    let (left, right) = (first.slice::<A>()?, second.slice::<B>()?);
    let mut result = with_capacity(shape::count(to)?)?;
    match (left, right) {
        _ if first.shape() == to && second.shape() == to => result.extend(left.iter().zip(right).map(|(a, b)| f(a, b))),
        (_, [one]) if first.shape() == to => result.extend(left.iter().map(|a| f(a, one))),
        _ => {
            let (a, b) = (shape::broadcast_strides(first.shape(), to), shape::broadcast_strides(second.shape(), to));
            let offsets = shape::offsets(to, &a).zip(shape::offsets(to, &b));
            result.extend(offsets.map(|(a, b)| f(&left[a], &right[b])));
        }
    }
    Tensor::new(to, result)
}
