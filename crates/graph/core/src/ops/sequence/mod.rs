//! Sequences and optional values.
//!
//! The [`Fact`] of a sequence or an optional value is that of its elements, without a shape.

pub mod concat;

use super::{Facts, Inputs, Operation};
use crate::{DType, Fact, OpError, Tensor, Value, shape};

/// An operation of this family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Sequence {
    /// A sequence of the operands.
    Construct,
    /// A sequence without elements.
    Empty {
        /// The type of its elements.
        dtype: DType,
    },
    /// The element at an index.
    At,
    /// Inserts an element before an index, or at the end.
    Insert,
    /// Removes the element at an index, or the last one.
    Erase,
    /// The number of elements.
    Length,
    /// Splits a tensor along an axis, into the sizes of the second operand.
    Split {
        /// The axis; negative ones count from the end.
        axis: i64,
        /// Whether the parts keep the axis if no sizes are given and all are 1.
        keep: bool,
    },
    /// Concatenates all elements along an axis.
    Concat {
        /// The axis; negative ones count from the end.
        axis: i64,
        /// Whether the axis is new.
        new: bool,
    },
    /// An optional value: the operand, or an absent value without an operand.
    Optional {
        /// The element type of an absent value.
        dtype: DType,
    },
    /// Whether an optional value is present.
    Has,
    /// The value of an optional.
    Get,
}

impl Operation for Sequence {
    fn name(&self) -> &'static str {
        match self {
            Self::Construct => "SequenceConstruct",
            Self::Empty { .. } => "SequenceEmpty",
            Self::At => "SequenceAt",
            Self::Insert => "SequenceInsert",
            Self::Erase => "SequenceErase",
            Self::Length => "SequenceLength",
            Self::Split { .. } => "SplitToSequence",
            Self::Concat { .. } => "ConcatFromSequence",
            Self::Optional { .. } => "Optional",
            Self::Has => "OptionalHasElement",
            Self::Get => "OptionalGetElement",
        }
    }

    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        let fact = match self {
            Self::Length => Fact::new(DType::I64, []),
            Self::Has => Fact::new(DType::Bool, []),
            Self::Empty { dtype } => Fact::unknown(*dtype),
            Self::Optional { dtype } => {
                inputs.optional(0).map_or(Fact::unknown(*dtype), |one| Fact::unknown(one.dtype))
            }
            _ => Fact::unknown(inputs.get(0)?.dtype),
        };
        Ok(vec![fact])
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let value = match self {
            Self::Construct => {
                let all = (0..inputs.len()).map(|index| inputs.value(index).cloned());
                Value::Sequence(all.collect::<Result<_, _>>()?)
            }
            Self::Empty { .. } => Value::Sequence(Vec::new()),
            Self::At => {
                let all = elements(inputs.value(0)?)?;
                all[place(inputs.tensor(1)?.integer()?, all.len(), all.len())?].clone()
            }
            Self::Insert => {
                let mut all = elements(inputs.value(0)?)?.to_vec();
                let at = match inputs.optional(2)? {
                    Some(at) => place(at.integer()?, all.len(), all.len() + 1)?,
                    None => all.len(),
                };
                all.insert(at, inputs.value(1)?.clone());
                Value::Sequence(all)
            }
            Self::Erase => {
                let mut all = elements(inputs.value(0)?)?.to_vec();
                let at = inputs.optional(1)?.map_or(Ok(-1), Tensor::integer)?;
                all.remove(place(at, all.len(), all.len())?);
                Value::Sequence(all)
            }
            Self::Length => Tensor::scalar(elements(inputs.value(0)?)?.len() as i64).into(),
            Self::Split { axis, keep } => split(inputs, *axis, *keep)?,
            Self::Concat { axis, new } => {
                let all = elements(inputs.value(0)?)?;
                let all = all.iter().map(Value::tensor).collect::<Result<Vec<_>, _>>()?;
                let rank = all.first().map_or(0, |tensor| tensor.rank());
                let axis = shape::axis(*axis, rank + usize::from(*new))?;
                if *new { concat::stack(&all, axis)?.into() } else { concat::concat(&all, axis)?.into() }
            }
            Self::Optional { .. } => Value::Optional(inputs.value(0).ok().cloned().map(Box::new)),
            Self::Has => {
                let there = !matches!(inputs.value(0), Err(_) | Ok(Value::Optional(None)));
                Tensor::scalar(there).into()
            }
            Self::Get => match inputs.value(0)? {
                Value::Optional(Some(inner)) => (**inner).clone(),
                Value::Optional(None) => return Err(OpError::invalid("the optional value is absent")),
                other => other.clone(),
            },
        };
        Ok(vec![value])
    }
}

pub(super) fn elements(value: &Value) -> Result<&[Value], OpError> {
    match value {
        Value::Sequence(all) => Ok(all),
        Value::Optional(Some(inner)) => elements(inner),
        other => Err(OpError::invalid(format!("the value is {}, expected a sequence", other.kind()))),
    }
}

/// Converts an index below `end` into a sequence of `length`; negative ones count from its end.
fn place(given: i64, length: usize, end: usize) -> Result<usize, OpError> {
    let from_front = if given < 0 { given.checked_add(length as i64) } else { Some(given) };
    from_front
        .and_then(|place| usize::try_from(place).ok())
        .filter(|place| *place < end)
        .ok_or_else(|| OpError::invalid(format!("index {given} is out of range for a sequence of length {length}")))
}

fn split(inputs: &Inputs<'_>, axis: i64, keep: bool) -> Result<Value, OpError> {
    let tensor = inputs.tensor(0)?;
    let axis = shape::axis(axis, tensor.rank())?;
    let whole = tensor.shape()[axis];
    let wrong = || OpError::invalid(format!("the sizes of the parts do not add up to {whole}"));
    let sizes = match inputs.optional(1)? {
        None => vec![1; whole],
        Some(size) if size.rank() == 0 => {
            let size = usize::try_from(size.integer()?).ok().filter(|size| *size > 0).ok_or_else(wrong)?;
            (0..whole).step_by(size).map(|start| size.min(whole - start)).collect()
        }
        Some(sizes) => {
            let sizes = sizes.integers()?.into_iter().map(usize::try_from).collect::<Result<Vec<_>, _>>();
            sizes.map_err(|_| wrong())?
        }
    };
    if sizes.iter().try_fold(0usize, |sum, size| sum.checked_add(*size)) != Some(whole) {
        return Err(wrong());
    }
    let keep = keep || inputs.optional(1)?.is_some();
    let mut parts = Vec::with_capacity(sizes.len());
    let mut start = 0;
    for size in sizes {
        let part = if keep { concat::part(tensor, axis, start, size)? } else { concat::at(tensor, axis, start)? };
        parts.push(part.into());
        start += size;
    }
    Ok(Value::Sequence(parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(op: &Sequence, operands: &[Value]) -> Result<Value, OpError> {
        let operands: Vec<_> = operands.iter().map(Some).collect();
        op.eval(&Inputs::new(&operands, 1)).map(|mut result| result.remove(0))
    }

    #[test]
    fn sequence_indices_count_from_either_end_and_are_checked() -> Result<(), OpError> {
        let one = |value: i64| Value::from(Tensor::scalar(value));
        let all = Value::Sequence(vec![one(10), one(20)]);
        assert_eq!(eval(&Sequence::At, &[all.clone(), one(-2)])?, one(10));
        for place in [2, -3, i64::MIN, i64::MAX] {
            assert!(eval(&Sequence::At, &[all.clone(), one(place)]).is_err());
        }
        assert_eq!(
            eval(&Sequence::Insert, &[all.clone(), one(5), one(2)])?,
            Value::Sequence(vec![one(10), one(20), one(5)])
        );
        assert_eq!(eval(&Sequence::Erase, &[all])?, Value::Sequence(vec![one(10)]));
        assert!(eval(&Sequence::Erase, &[Value::Sequence(Vec::new())]).is_err());
        Ok(())
    }

    #[test]
    fn split_and_concat_round_trip() -> Result<(), OpError> {
        let whole = Tensor::new([2, 5], (0..10).collect::<Vec<i32>>())?;
        let op = Sequence::Split { axis: -1, keep: true };
        let parts = eval(&op, &[whole.clone().into(), Tensor::scalar(2i64).into()])?;
        assert_eq!(elements(&parts)?.len(), 3);
        assert_eq!(eval(&Sequence::Concat { axis: 1, new: false }, &[parts])?, whole.into());
        let none = Tensor::zeros(DType::F32, [0, 3])?;
        let op = Sequence::Split { axis: 1, keep: true };
        let parts = eval(&op, &[none.clone().into(), Tensor::vector(vec![0i64, 3]).into()])?;
        assert_eq!(eval(&Sequence::Concat { axis: 1, new: false }, &[parts])?, none.clone().into());
        assert!(eval(&op, &[none.into(), Tensor::vector(vec![-1i64, 4]).into()]).is_err());
        Ok(())
    }
}
