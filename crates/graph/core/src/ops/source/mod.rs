//! Generators: filled tensors, ranges, shapes, identity matrices, windows.

mod signal;

pub use signal::WindowFunction;

use super::{Facts, Inputs, Operation};
use crate::tensor::with_capacity;
use crate::{DType, Element, Fact, OpError, Tensor, Value, each_type, shape};

/// An operation of this family.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Source {
    /// A tensor of the shape that the operand lists, filled with one element (ONNX's
    /// `ConstantOfShape`).
    Fill {
        /// A tensor of that one element.
        value: Tensor,
    },
    /// From the first operand up to but not including the second, in steps of the third.
    Range,
    /// The operand's sizes from one axis to another; negative ones count from the end.
    Shape {
        /// The first axis.
        start: i64,
        /// The axis after the last; `None` for the rank.
        end: Option<i64>,
    },
    /// The operand's number of elements.
    Size,
    /// A matrix of the operand's shape with ones on a diagonal.
    EyeLike {
        /// The type; the operand's type if `None`.
        dtype: Option<DType>,
        /// The diagonal: positive ones are above the main one.
        k: i64,
    },
    /// A window. The operand is the number of elements.
    Window {
        /// The shape of the window.
        window: WindowFunction,
        /// Whether the window is periodic, rather than symmetric.
        periodic: bool,
        /// The type.
        dtype: DType,
    },
    /// A mel filter bank. Operands: number of bins, transform length, samples per second, lowest
    /// and highest frequency.
    MelWeightMatrix {
        /// The type.
        dtype: DType,
    },
}

impl Operation for Source {
    fn name(&self) -> &'static str {
        match self {
            Self::Fill { .. } => "ConstantOfShape",
            Self::Range => "Range",
            Self::Shape { .. } => "Shape",
            Self::Size => "Size",
            Self::EyeLike { .. } => "EyeLike",
            Self::Window { window, .. } => window.name(),
            Self::MelWeightMatrix { .. } => "MelWeightMatrix",
        }
    }

    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        let first = inputs.get(0)?;
        let fact = match self {
            Self::Fill { value } => {
                if value.len() != 1 {
                    return Err(OpError::invalid(format!("the fill value has {} elements, expected one", value.len())));
                }
                known(value.dtype(), first, |sizes| {
                    if sizes.rank() > 1 {
                        return Err(OpError::invalid(format!(
                            "the list of sizes has shape {:?}, expected one dimension",
                            sizes.shape()
                        )));
                    }
                    sizes.integers()?.into_iter().map(size).collect()
                })?
            }
            Self::Range => range_fact(first, inputs.get(1)?, inputs.get(2)?)?,
            Self::Shape { start, end } => match &first.shape {
                // The size must be known before elements are allocated.
                Some(sizes) => Fact::from(&Tensor::vector(part(sizes, *start, *end))),
                None => Fact::unknown(DType::I64),
            },
            Self::Size => match &first.shape {
                Some(sizes) => Fact::from(&Tensor::scalar(shape::count(sizes)? as i64)),
                None => Fact::new(DType::I64, []),
            },
            Self::EyeLike { dtype, .. } => {
                let dtype = dtype.unwrap_or(first.dtype);
                if dtype == DType::String {
                    return Err(OpError::dtype("a matrix", dtype));
                }
                if let Some(sizes) = first.shape.as_ref().filter(|sizes| sizes.len() != 2) {
                    return Err(OpError::invalid(format!("the input has shape {sizes:?}, expected a matrix")));
                }
                Fact { dtype, shape: first.shape.clone(), value: None }
            }
            Self::Window { dtype, .. } => known(*dtype, first, |count| Ok(vec![size(count.integer()?)?]))?,
            Self::MelWeightMatrix { dtype } => {
                let second = inputs.get(1)?;
                match (&first.value, &second.value) {
                    (Some(bins), Some(length)) => {
                        Fact::new(*dtype, [size(length.integer()?)? / 2 + 1, size(bins.integer()?)?])
                    }
                    _ => Fact::unknown(*dtype),
                }
            }
        };
        Ok(vec![fact])
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let facts = inputs.facts()?;
        let fact = self.infer(&Facts::new(&facts, inputs.outputs()))?.swap_remove(0);
        if let Some(value) = fact.value {
            return Ok(vec![value.into()]);
        }
        let to = fact.shape()?;
        let count = shape::count(to)?;
        let first = inputs.tensor(0)?;
        let result = match self {
            Self::Fill { value } => each_type!(any: value, |T, v| fill::<T>(to, v)?),
            Self::Range => range(first, inputs.tensor(2)?, count)?,
            Self::EyeLike { k, .. } => {
                let mut elements = with_capacity(count)?;
                elements.extend((0..count).map(|at| {
                    let (row, column) = ((at / to[1]) as i64, (at % to[1]) as i64);
                    f64::from(u8::from(column.checked_sub(row) == Some(*k)))
                }));
                Tensor::from_floats(fact.dtype, to, &elements)?
            }
            Self::Window { window, periodic, .. } => {
                let mut elements = with_capacity(count)?;
                elements.extend((0..count).map(|at| window.at(at, count, *periodic)));
                Tensor::from_floats(fact.dtype, to, &elements)?
            }
            Self::MelWeightMatrix { .. } => {
                let edges = [inputs.tensor(3)?.float()?, inputs.tensor(4)?.float()?];
                let length = inputs.tensor(1)?.float()?;
                let elements = signal::mel(to, length, inputs.tensor(2)?.float()?, edges)?;
                Tensor::from_floats(fact.dtype, to, &elements)?
            }
            Self::Shape { .. } | Self::Size => return Err(OpError::invalid("the shape is unknown")),
        };
        Ok(vec![result.into()])
    }
}

/// A fact whose shape depends on the elements of an operand.
fn known(dtype: DType, operand: &Fact, to: impl Fn(&Tensor) -> Result<Vec<usize>, OpError>) -> Result<Fact, OpError> {
    if !operand.dtype.is_integer() {
        return Err(OpError::dtype("a size", operand.dtype));
    }
    let Some(value) = &operand.value else { return Ok(Fact::unknown(dtype)) };
    let to = to(value)?;
    shape::count(&to)?;
    Ok(Fact::new(dtype, to))
}

fn size(given: i64) -> Result<usize, OpError> {
    usize::try_from(given).map_err(|_| OpError::invalid(format!("size {given} is negative")))
}

fn part(sizes: &[usize], start: i64, end: Option<i64>) -> Vec<i64> {
    let rank = sizes.len() as i64;
    let place = |at: i64| if at < 0 { at.saturating_add(rank) } else { at }.clamp(0, rank) as usize;
    let (start, end) = (place(start), end.map_or(sizes.len(), place));
    sizes.get(start..end).unwrap_or_default().iter().map(|&size| size as i64).collect()
}

fn fill<T: Element>(to: &[usize], element: &[T]) -> Result<Tensor, OpError> {
    let count = shape::count(to)?;
    let mut elements = with_capacity(count)?;
    elements.extend(element.iter().cycle().take(count).cloned());
    Tensor::new(to, elements)
}

fn range_fact(start: &Fact, limit: &Fact, step: &Fact) -> Result<Fact, OpError> {
    let dtype = start.dtype;
    if [limit, step].iter().any(|other| other.dtype != dtype) {
        return Err(OpError::invalid(format!(
            "start, limit and step of the range have different types: {dtype}, {} and {}",
            limit.dtype, step.dtype
        )));
    }
    let (Some(start), Some(limit), Some(step)) = (&start.value, &limit.value, &step.value) else {
        return Ok(Fact::unknown(dtype));
    };
    let count = if dtype.is_integer() {
        let [start, limit, step] = [start.integer()?, limit.integer()?, step.integer()?].map(i128::from);
        if step == 0 {
            return Err(OpError::invalid("the step of the range is 0"));
        }
        // One more for a partial step.
        let (whole, left) = ((limit - start) / step, (limit - start) % step);
        let more = left != 0 && (left < 0) == (step < 0);
        usize::try_from((whole + i128::from(more)).max(0)).unwrap_or(usize::MAX)
    } else {
        let (start, limit, step) = (start.float()?, limit.float()?, step.float()?);
        let steps = ((limit - start) / step).ceil();
        if step == 0.0 || !steps.is_finite() {
            return Err(OpError::invalid(format!(
                "the range from {start} to {limit} in steps of {step} has no finite length"
            )));
        }
        steps.max(0.0) as usize
    };
    shape::count(&[count])?;
    Ok(Fact::new(dtype, [count]))
}

fn range(start: &Tensor, step: &Tensor, count: usize) -> Result<Tensor, OpError> {
    if start.dtype().is_integer() {
        let (first, step) = (start.integer()?, step.integer()?);
        let mut elements: Vec<i64> = with_capacity(count)?;
        elements.extend((0..count as i64).map(|at| first.wrapping_add(at.wrapping_mul(step))));
        return super::elementwise::cast(&Tensor::vector(elements), start.dtype());
    }
    let (first, step) = (start.float()?, step.float()?);
    let mut elements = with_capacity(count)?;
    elements.extend((0..count).map(|at| first + at as f64 * step));
    Tensor::from_floats(start.dtype(), [count], &elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(op: Source, operands: &[Tensor]) -> Result<Tensor, OpError> {
        let values: Vec<Value> = operands.iter().cloned().map(Value::from).collect();
        let operands: Vec<_> = values.iter().map(Some).collect();
        op.eval(&Inputs::new(&operands, 1))?.swap_remove(0).tensor().cloned()
    }

    #[test]
    fn ranges() -> Result<(), OpError> {
        let integers = |all: [i64; 3]| run(Source::Range, &all.map(Tensor::scalar));
        assert_eq!(integers([5, 0, -2])?, Tensor::vector(vec![5i64, 3, 1]));
        assert_eq!(integers([5, 0, 2])?.len(), 0);
        assert_eq!(integers([0, -5, 2])?.len(), 0);
        assert_eq!(integers([i64::MAX - 1, i64::MAX, 1])?.len(), 1);
        assert!(integers([0, 1, 0]).is_err());
        assert!(integers([i64::MIN, i64::MAX, 1]).is_err());
        let floats = |all: [f32; 3]| run(Source::Range, &all.map(Tensor::scalar));
        assert_eq!(floats([0.0, 1.0, 0.1])?.len(), 10);
        assert!(floats([0.0, 1.0, f32::NAN]).is_err());
        assert!(floats([0.0, 1e30, 1.0]).is_err());
        Ok(())
    }

    #[test]
    fn unknown_sizes_are_errors() -> Result<(), OpError> {
        let fill = || Source::Fill { value: Tensor::scalar(1.0f32) };
        assert!(run(fill(), &[Tensor::vector(vec![-1i64])]).is_err());
        assert!(run(fill(), &[Tensor::vector(vec![1i64 << 40, 1 << 40])]).is_err());
        assert!(run(fill(), &[Tensor::vector(vec![1i64 << 58])]).is_err());
        assert_eq!(run(fill(), &[Tensor::vector(Vec::<i64>::new())])?, Tensor::scalar(1.0f32));
        let window = Source::Window { window: WindowFunction::Hann, periodic: true, dtype: DType::F32 };
        assert!(run(window.clone(), &[Tensor::scalar(i64::MAX)]).is_err());
        assert_eq!(run(window, &[Tensor::scalar(0i64)])?.len(), 0);
        Ok(())
    }

    #[test]
    fn shapes_are_inferred_before_tensors_exist() -> Result<(), OpError> {
        let facts = [Some(Fact::new(DType::F32, [2, 3, 4]))];
        let shape = |start, end| Source::Shape { start, end }.infer(&Facts::new(&facts, 1));
        assert_eq!(shape(-2, None)?[0].value, Some(Tensor::vector(vec![3i64, 4])));
        assert_eq!(shape(i64::MIN, Some(i64::MAX))?[0].value, Some(Tensor::vector(vec![2i64, 3, 4])));
        assert_eq!(shape(2, Some(1))?[0].shape, Some(vec![0]));
        Ok(())
    }

    #[test]
    fn distant_diagonals_are_empty() -> Result<(), OpError> {
        for k in [i64::MIN, i64::MAX] {
            let result = run(Source::EyeLike { dtype: Some(DType::Bool), k }, &[Tensor::zeros(DType::F32, [2, 3])?])?;
            assert_eq!(result, Tensor::zeros(DType::Bool, [2, 3])?);
        }
        Ok(())
    }
}
