//! Elementwise operations: arithmetic, comparisons, activations, selection and conversions.
//!
//! Operands are broadcast by NumPy's rules. Floats are computed in `f64` and rounded once; integers
//! wrap around.

mod binary;
mod cast;
mod erf;
mod map;
mod unary;

pub use binary::{Binary, Compare};
pub use cast::cast;
pub use unary::Unary;

use super::{Facts, Inputs, Operation};
use crate::tensor::with_capacity;
use crate::{DType, Data, Element, Fact, OpError, Tensor, Value, each_type, shape};

/// An operation of this family.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Elementwise {
    /// A unary operation.
    Unary(Unary),
    /// A binary operation on operands of one type, which is the result's.
    Binary(Binary),
    /// A comparison of two operands of one type.
    Compare(Compare),
    /// The second operand where the first is true, and the third elsewhere.
    Where,
    /// Clamps to the range from the second to the third operand; either may be omitted. Both are
    /// converted to the type of the first. The upper bound wins if the bounds cross.
    Clip,
    /// Converts to a type.
    Cast {
        /// The type.
        to: DType,
    },
    /// Converts to the type of the second operand.
    CastLike,
    /// Reinterprets the bits as another type of the same size.
    BitCast {
        /// The type.
        to: DType,
    },
    /// A view of the first operand whose dimensions align with those of the second from `axis` on,
    /// so that the two can be broadcast. This is how ONNX broadcast before opset 7.
    Align {
        /// The first aligned dimension; `None` aligns the last ones.
        axis: Option<i64>,
    },
}

impl From<Unary> for super::Op {
    fn from(kind: Unary) -> Self {
        Elementwise::Unary(kind).into()
    }
}

impl From<Binary> for super::Op {
    fn from(kind: Binary) -> Self {
        Elementwise::Binary(kind).into()
    }
}

impl From<Compare> for super::Op {
    fn from(kind: Compare) -> Self {
        Elementwise::Compare(kind).into()
    }
}

impl Operation for Elementwise {
    fn name(&self) -> &'static str {
        match self {
            Self::Unary(kind) => kind.name(),
            Self::Binary(kind) => kind.name(),
            Self::Compare(kind) => kind.name(),
            Self::Where => "Where",
            Self::Clip => "Clip",
            Self::Cast { .. } => "Cast",
            Self::CastLike => "CastLike",
            Self::BitCast { .. } => "BitCast",
            Self::Align { .. } => "Align",
        }
    }

    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        let first = inputs.get(0)?;
        // Kernels broadcast all operands of a node, so there must be no unused ones.
        if (self.operands()..inputs.len()).any(|index| inputs.optional(index).is_some()) {
            let (given, most) = (inputs.len(), self.operands());
            return Err(OpError::invalid(format!(
                "{given} operands are given, but the operation takes at most {most}"
            )));
        }
        let fact = match self {
            Self::Unary(kind) => Fact { dtype: kind.result(first.dtype)?, shape: first.shape.clone(), value: None },
            Self::Binary(kind) => {
                let second = inputs.get(1)?;
                let dtype = kind.result(first.dtype, second.dtype)?;
                let fact = broadcast(dtype, &[first, second])?;
                if let (Binary::PRelu, Some(own), Some(all)) = (kind, &first.shape, &fact.shape)
                    && own != all
                {
                    return Err(OpError::invalid(format!(
                        "the slope must broadcast to the input's shape {own:?}, but together they have shape {all:?}"
                    )));
                }
                fact
            }
            Self::Compare(kind) => {
                let second = inputs.get(1)?;
                kind.check(first.dtype, second.dtype)?;
                broadcast(DType::Bool, &[first, second])?
            }
            Self::Where => {
                let (yes, no) = (inputs.get(1)?, inputs.get(2)?);
                if first.dtype != DType::Bool {
                    return Err(OpError::dtype("a condition", first.dtype));
                }
                same(yes.dtype, no.dtype)?;
                broadcast(yes.dtype, &[first, yes, no])?
            }
            Self::Clip => {
                number("an operand to clip", first.dtype)?;
                for bound in [1, 2].into_iter().filter_map(|index| inputs.optional(index)) {
                    number("a bound", bound.dtype)?;
                    if bound.shape.as_ref().is_some_and(|shape| shape.iter().any(|&size| size != 1)) {
                        return Err(OpError::invalid(format!(
                            "a bound has shape {:?}, expected a scalar",
                            bound.shape()?
                        )));
                    }
                }
                Fact { value: None, ..first.clone() }
            }
            Self::Cast { to } => Fact { dtype: *to, shape: first.shape.clone(), value: None },
            Self::CastLike => Fact { dtype: inputs.get(1)?.dtype, shape: first.shape.clone(), value: None },
            Self::BitCast { to } => {
                if first.dtype.size().is_none() || first.dtype.size() != to.size() {
                    return Err(OpError::invalid(format!(
                        "elements of types {} and {to} have different sizes",
                        first.dtype
                    )));
                }
                Fact { dtype: *to, shape: first.shape.clone(), value: None }
            }
            Self::Align { axis } => match (&first.shape, &inputs.get(1)?.shape) {
                (Some(own), Some(to)) => Fact::new(first.dtype, aligned(own, to, *axis)?),
                _ => Fact::unknown(first.dtype),
            },
        };
        Ok(vec![fact])
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let facts = inputs.facts()?;
        let fact = self.infer(&Facts::new(&facts, inputs.outputs()))?.swap_remove(0);
        let to = fact.shape()?;
        let first = inputs.tensor(0)?;
        let output = match self {
            Self::Unary(kind) => kind.eval(first)?,
            Self::Binary(kind) => kind.eval(first, inputs.tensor(1)?, to)?,
            Self::Compare(kind) => kind.eval(first, inputs.tensor(1)?, to)?,
            Self::Where => choose(first, inputs.tensor(1)?, inputs.tensor(2)?, to)?,
            Self::Clip => clip(first, inputs.optional(1)?, inputs.optional(2)?)?,
            Self::Cast { .. } | Self::CastLike => cast(first, fact.dtype)?,
            Self::BitCast { .. } => {
                let bytes = first.to_bytes().ok_or_else(|| OpError::dtype("bits", first.dtype()))?;
                Tensor::from_bytes(fact.dtype, to, &bytes)?
            }
            Self::Align { .. } => first.reshaped(to)?,
        };
        Ok(vec![output.into()])
    }
}

impl Elementwise {
    /// The maximum number of operands.
    fn operands(&self) -> usize {
        match self {
            Self::Unary(_) | Self::Cast { .. } | Self::BitCast { .. } => 1,
            Self::Binary(_) | Self::Compare(_) | Self::CastLike | Self::Align { .. } => 2,
            Self::Where | Self::Clip => 3,
        }
    }
}

/// The fact of operands that are broadcast to each other.
fn broadcast(dtype: DType, operands: &[&Fact]) -> Result<Fact, OpError> {
    let shapes: Option<Vec<&[usize]>> = operands.iter().map(|fact| fact.shape.as_deref()).collect();
    let Some(shapes) = shapes else { return Ok(Fact::unknown(dtype)) };
    let to = shape::broadcast(&shapes)?;
    shape::count(&to)?;
    Ok(Fact::new(dtype, to))
}

fn same(first: DType, second: DType) -> Result<(), OpError> {
    if first == second {
        return Ok(());
    }
    Err(OpError::invalid(format!("operands have different types: {first} and {second}")))
}

fn number(what: &str, dtype: DType) -> Result<(), OpError> {
    if dtype.is_float() || dtype.is_integer() { Ok(()) } else { Err(OpError::dtype(what, dtype)) }
}

/// See [`Elementwise::Align`].
fn aligned(own: &[usize], to: &[usize], axis: Option<i64>) -> Result<Vec<usize>, OpError> {
    // A single element broadcasts to every shape, at any axis.
    if own.iter().all(|&size| size == 1) {
        return Ok(Vec::new());
    }
    let Some(axis) = axis else { return Ok(own.to_vec()) };
    let axis = shape::axis(axis, to.len())?;
    let behind = (to.len() - axis).checked_sub(own.len());
    let behind =
        behind.ok_or_else(|| OpError::invalid(format!("shape {own:?} does not align with {to:?} at axis {axis}")))?;
    Ok(own.iter().copied().chain(std::iter::repeat_n(1, behind)).collect())
}

fn choose(condition: &Tensor, yes: &Tensor, no: &Tensor, to: &[usize]) -> Result<Tensor, OpError> {
    fn of<T: Element>(condition: &Tensor, yes: (&[T], &Tensor), no: &Tensor, to: &[usize]) -> Result<Tensor, OpError> {
        let (flags, yes, no) = (condition.slice::<bool>()?, (yes.0, yes.1.shape()), (no.slice::<T>()?, no.shape()));
        let strides = [condition.shape(), yes.1, no.1].map(|shape| shape::broadcast_strides(shape, to));
        let [flag, left, right] = [&strides[0], &strides[1], &strides[2]].map(|strides| shape::offsets(to, strides));
        let mut output = with_capacity(shape::count(to)?)?;
        output.extend(
            flag.zip(left).zip(right).map(
                |((flag, left), right)| {
                    if flags[flag] { yes.0[left].clone() } else { no.0[right].clone() }
                },
            ),
        );
        Tensor::new(to, output)
    }
    each_type!(any: yes, |T, v| of::<T>(condition, (v, yes), no, to))
}

fn clip(operand: &Tensor, low: Option<&Tensor>, high: Option<&Tensor>) -> Result<Tensor, OpError> {
    fn bounded<T: Element + Copy + PartialOrd>(
        elements: &[T],
        low: Option<Tensor>,
        high: Option<Tensor>,
    ) -> Result<Data, OpError> {
        let bound = |bound: &Option<Tensor>| -> Result<Option<T>, OpError> {
            Ok(bound.as_ref().map(Tensor::slice::<T>).transpose()?.and_then(|all| all.first().copied()))
        };
        let (low, high) = (bound(&low)?, bound(&high)?);
        // Comparisons with NaN are false: a NaN stays, and a NaN bound has no effect.
        let one = |&element: &T| {
            let raised = low.filter(|low| element < *low).unwrap_or(element);
            high.filter(|high| raised > *high).unwrap_or(raised)
        };
        Ok(T::wrap(elements.iter().map(one).collect()))
    }
    let bound = |bound: Option<&Tensor>| bound.map(|bound| cast(bound, operand.dtype())).transpose();
    let (low, high) = (bound(low)?, bound(high)?);
    let data = each_type!(number: operand, |T, v| bounded::<T>(v, low, high)?,
        else return Err(OpError::dtype("an operand to clip", operand.dtype())));
    Tensor::from_data(operand.shape(), data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(op: impl Into<super::super::Op>, operands: &[Tensor]) -> Result<Tensor, OpError> {
        let values: Vec<Value> = operands.iter().cloned().map(Value::from).collect();
        let operands: Vec<_> = values.iter().map(Some).collect();
        op.into().eval(&Inputs::new(&operands, 1))?.swap_remove(0).tensor().cloned()
    }

    #[test]
    fn integers_wrap_and_never_panic() -> Result<(), OpError> {
        let (low, minus) = (Tensor::vector(vec![i32::MIN, 5]), Tensor::vector(vec![-1, -1]));
        assert_eq!(run(Binary::Div, &[low.clone(), minus.clone()])?, Tensor::vector(vec![i32::MIN, -5]));
        for fmod in [false, true] {
            assert_eq!(run(Binary::Mod { fmod }, &[low.clone(), minus.clone()])?, Tensor::vector(vec![0, 0]));
        }
        let zero = Tensor::vector(vec![-1, 0]);
        for op in [Binary::Div, Binary::Mod { fmod: false }, Binary::Mod { fmod: true }] {
            let error = run(op, &[low.clone(), zero.clone()]).expect_err("there is no result").to_string();
            assert!(error.contains("division by zero") && error.contains("element 1"), "{error}");
            let none = [Tensor::vector(Vec::<i32>::new()), Tensor::vector(vec![0])];
            assert_eq!(run(op, &none)?.len(), 0, "nothing is divided");
        }
        assert_eq!(run(Binary::Sub, &[low.clone(), Tensor::vector(vec![1, 1])])?, Tensor::vector(vec![i32::MAX, 4]));
        assert_eq!(run(Unary::Abs, std::slice::from_ref(&low))?, Tensor::vector(vec![i32::MIN, 5]));
        assert_eq!(run(Unary::Neg, &[low])?, Tensor::vector(vec![i32::MIN, -5]));
        let (base, exponent) = (Tensor::vector(vec![3i64, 2, -1, 2, 0]), Tensor::vector(vec![200i64, 64, -3, -1, -1]));
        let power = run(Binary::Pow, &[base, exponent])?;
        assert_eq!(power.slice::<i64>()?[1..], [0, -1, 0, 0]);
        let shift = [Tensor::vector(vec![255u8, 255]), Tensor::vector(vec![200u8, 1])];
        assert_eq!(run(Binary::ShiftLeft, &shift)?, Tensor::vector(vec![0u8, 254]));
        Ok(())
    }

    #[test]
    fn nan_stays_nan() -> Result<(), OpError> {
        let operands = [Tensor::vector(vec![f32::NAN, 1.0]), Tensor::vector(vec![1.0f32, f32::NAN])];
        for op in [Binary::Max, Binary::Min] {
            assert!(run(op, &operands)?.slice::<f32>()?.iter().all(|element| element.is_nan()));
        }
        let bounds = [operands[0].clone(), Tensor::scalar(3.0f32), Tensor::scalar(2i8)];
        let clipped = run(Elementwise::Clip, &bounds)?;
        assert!(clipped.slice::<f32>()?[0].is_nan());
        assert_eq!(clipped.slice::<f32>()?[1], 2.0);
        Ok(())
    }

    #[test]
    fn empty_operands_are_accepted_and_mismatched_ones_rejected() -> Result<(), OpError> {
        let empty = Tensor::zeros(DType::F32, [2, 0])?;
        assert_eq!(run(Binary::Add, &[empty.clone(), Tensor::scalar(1.0f32)])?, empty);
        assert_eq!(run(Unary::Exp, std::slice::from_ref(&empty))?, empty);
        assert!(run(Binary::Add, &[empty.clone(), Tensor::scalar(1.0f64)]).is_err());
        assert!(run(Binary::Add, std::slice::from_ref(&empty)).is_err());
        assert!(run(Unary::Exp, &[Tensor::scalar(1i32)]).is_err());
        let wide = [Tensor::zeros(DType::Bool, [1 << 20, 1])?, Tensor::zeros(DType::Bool, [1, 1 << 20])?];
        assert!(run(Binary::PRelu, &wide).is_err());
        Ok(())
    }

    #[test]
    fn old_broadcasting_starts_at_an_axis() -> Result<(), OpError> {
        assert_eq!(aligned(&[3, 4], &[2, 3, 4, 5], Some(1))?, [3, 4, 1]);
        assert_eq!(aligned(&[5], &[2, 5], None)?, [5]);
        assert_eq!(aligned(&[1], &[2, 5], Some(9))?, [0; 0]);
        assert!(aligned(&[3, 4], &[2, 3], Some(1)).is_err());
        Ok(())
    }
}
