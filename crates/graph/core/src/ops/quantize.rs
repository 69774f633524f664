//! Quantization and dequantization.

use half::{bf16, f16};

use super::{Facts, Inputs, Operation};
use crate::{DType, Fact, OpError, Tensor, Value, each_type, shape};

/// An operation of this family.
///
/// Scale and zero point are scalars for the whole tensor, or have one element per index of an axis
/// or per block along it; their shape determines which.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quantize {
    /// Quantizes: `x / scale + zero`, rounded to nearest even and saturated to the type. Operands:
    /// x, scale, zero.
    Linear {
        /// Axis; counted from the last if negative.
        axis: i64,
        /// Elements per block; 0 without blocks.
        block: usize,
        /// The result type, if no zero point determines it.
        dtype: DType,
        /// The type that the quotient is rounded to first; the scale's type if `None`.
        precision: Option<DType>,
    },
    /// Dequantizes: `(x - zero) * scale`. Operands: x, scale, zero.
    Dequantize {
        /// Axis; counted from the last if negative.
        axis: i64,
        /// Elements per block; 0 without blocks.
        block: usize,
        /// The result type; the scale's type if `None`.
        dtype: Option<DType>,
    },
    /// Quantizes to `u8` with a scale that is computed from the elements. Outputs: elements, scale,
    /// zero point.
    Dynamic,
}

impl Operation for Quantize {
    fn name(&self) -> &'static str {
        match self {
            Self::Linear { .. } => "QuantizeLinear",
            Self::Dequantize { .. } => "DequantizeLinear",
            Self::Dynamic => "DynamicQuantizeLinear",
        }
    }

    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        let first = inputs.get(0)?;
        let output = |dtype| Fact { dtype, shape: first.shape.clone(), value: None };
        let (axis, block) = match self {
            Self::Linear { axis, block, .. } | Self::Dequantize { axis, block, .. } => (*axis, *block),
            Self::Dynamic => {
                if first.dtype != DType::F32 {
                    return Err(OpError::dtype("an operand", first.dtype));
                }
                return Ok(vec![output(DType::U8), Fact::new(DType::F32, []), Fact::new(DType::U8, [])]);
            }
        };
        let (scale, zero) = (inputs.get(1)?, inputs.optional(2));
        if let (Some(own), Some(scales)) = (&first.shape, &scale.shape) {
            ScaleLayout::new(own, scales, axis, block)?;
            if let Some(zeros) = zero.and_then(|zero| zero.shape.as_ref())
                && zeros != scales
                && shape::count(zeros)? != shape::count(scales)?
            {
                return Err(OpError::invalid(format!(
                    "the zero points have shape {zeros:?}, expected that of the scales, {scales:?}"
                )));
            }
        }
        let number = |what: &str, dtype: DType| {
            if dtype.is_float() || dtype == DType::I32 { Ok(()) } else { Err(OpError::dtype(what, dtype)) }
        };
        number("a scale", scale.dtype)?;
        let small = |what: &str, dtype: DType| match dtype {
            DType::U8 | DType::I8 | DType::U16 | DType::I16 => Ok(()),
            _ => Err(OpError::dtype(what, dtype)),
        };
        let result = match self {
            Self::Linear { dtype, .. } => {
                number("an operand", first.dtype)?;
                let dtype = zero.map_or(*dtype, |zero| zero.dtype);
                small("a result", dtype)?;
                dtype
            }
            Self::Dequantize { dtype, .. } => {
                if first.dtype != DType::I32 {
                    small("an operand", first.dtype)?;
                }
                if let Some(zero) = zero.filter(|zero| zero.dtype != first.dtype) {
                    return Err(OpError::invalid(format!(
                        "the input has type {}, but the zero point has type {}",
                        first.dtype, zero.dtype
                    )));
                }
                let dtype = dtype.unwrap_or(scale.dtype);
                if !dtype.is_float() {
                    return Err(OpError::dtype("a result", dtype));
                }
                dtype
            }
            Self::Dynamic => DType::U8,
        };
        Ok(vec![output(result)])
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let facts = inputs.facts()?;
        let fact = self.infer(&Facts::new(&facts, inputs.outputs()))?.swap_remove(0);
        let first = inputs.tensor(0)?;
        let (axis, block) = match self {
            Self::Linear { axis, block, .. } | Self::Dequantize { axis, block, .. } => (*axis, *block),
            Self::Dynamic => return dynamic(first),
        };
        let scale = inputs.tensor(1)?;
        let spread = ScaleLayout::new(first.shape(), scale.shape(), axis, block)?;
        let (scales, zeros) = (scale.floats()?, inputs.optional(2)?.map(Tensor::floats).transpose()?);
        let elements = first.floats()?.into_iter().enumerate().map(|(at, element)| {
            let which = spread.at(at);
            (element, scales[which], zeros.as_ref().map_or(0.0, |zeros| zeros[which]))
        });
        let output: Vec<f64> = match self {
            Self::Linear { precision, .. } => {
                let precision = precision.unwrap_or(scale.dtype());
                let (low, high) = limits(fact.dtype)?;
                let one = |(element, scale, zero): (f64, f64, f64)| {
                    (rounded(element / scale, precision).round_ties_even() + zero).clamp(low, high)
                };
                elements.map(one).collect()
            }
            _ => elements.map(|(element, scale, zero)| (element - zero) * scale).collect(),
        };
        Ok(vec![Tensor::from_floats(fact.dtype, first.shape(), &output)?.into()])
    }
}

/// Maps elements to scales.
struct ScaleLayout {
    /// Elements after the axis.
    behind: usize,
    /// The size of the axis.
    size: usize,
    /// Elements along the axis that share a scale.
    block: usize,
    /// Scales along the axis.
    scales: usize,
    /// Whether the indices before and after the axis have their own scales.
    blocked: bool,
}

impl ScaleLayout {
    fn new(own: &[usize], scales: &[usize], axis: i64, block: usize) -> Result<Self, OpError> {
        let wrong = |expected: &[usize]| {
            OpError::invalid(format!(
                "the scales have shape {scales:?}, expected {expected:?} for axis {axis} of shape {own:?}"
            ))
        };
        if block == 0 && shape::count(scales)? == 1 && scales.len() <= 1 {
            return Ok(Self { behind: 1, size: 1, block: 1, scales: 1, blocked: false });
        }
        let at = shape::axis(axis, own.len())?;
        // Scales of an empty tensor are never read.
        let behind = shape::count(&own[at + 1..])?.max(1);
        let size = own[at];
        if block == 0 {
            if scales != [size] {
                return Err(wrong(&[size]));
            }
            return Ok(Self { behind, size: size.max(1), block: 1, scales: size.max(1), blocked: false });
        }
        let mut expected = own.to_vec();
        expected[at] = size.div_ceil(block);
        if scales != expected {
            return Err(wrong(&expected));
        }
        Ok(Self { behind, size: size.max(1), block, scales: expected[at].max(1), blocked: true })
    }

    fn at(&self, element: usize) -> usize {
        let (inner, along) = (element % self.behind, element / self.behind % self.size);
        let scale = along / self.block;
        if self.blocked {
            let outer = element / self.behind / self.size;
            (outer * self.scales + scale) * self.behind + inner
        } else {
            scale
        }
    }
}

/// The minimum and maximum of a type.
fn limits(dtype: DType) -> Result<(f64, f64), OpError> {
    let none = Tensor::zeros(dtype, [0])?;
    each_type!(integer: none, |T, _v| Ok((T::MIN as f64, T::MAX as f64)), else Err(OpError::dtype("a result", dtype)))
}

/// Rounds a number to the precision of a type.
fn rounded(number: f64, dtype: DType) -> f64 {
    match dtype {
        DType::F16 => f16::from_f64(number).to_f64(),
        DType::BF16 => bf16::from_f64(number).to_f64(),
        DType::F32 => f64::from(number as f32),
        _ => number,
    }
}

fn dynamic(operand: &Tensor) -> Result<Vec<Value>, OpError> {
    let elements = operand.slice::<f32>()?;
    // The range always includes zero.
    let (low, high) = elements.iter().fold((0f32, 0f32), |(low, high), &one| (low.min(one), high.max(one)));
    let scale = if low == high { 1.0 } else { (high - low) / 255.0 };
    let zero = (-low / scale).round_ties_even().clamp(0.0, 255.0);
    let quantized = elements.iter().map(|one| ((one / scale).round_ties_even() + zero).clamp(0.0, 255.0) as u8);
    let quantized = Tensor::new(operand.shape(), quantized.collect())?;
    Ok(vec![quantized.into(), Tensor::scalar(scale).into(), Tensor::scalar(zero as u8).into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(op: &Quantize, operands: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let values: Vec<Value> = operands.iter().cloned().map(Value::from).collect();
        let operands: Vec<_> = values.iter().map(Some).collect();
        op.eval(&Inputs::new(&operands, 1))?.iter().map(|value| value.tensor().cloned()).collect()
    }

    #[test]
    fn ties_round_to_even_and_results_saturate() -> Result<(), OpError> {
        let op = Quantize::Linear { axis: 1, block: 0, dtype: DType::U8, precision: None };
        let data = Tensor::vector(vec![0.5f32, 1.5, 2.5, 1e20, -1e20]);
        let output = run(&op, &[data.clone(), Tensor::scalar(1.0f32), Tensor::scalar(10u8)])?;
        assert_eq!(output[0], Tensor::vector(vec![10u8, 12, 12, 255, 0]));
        assert_eq!(run(&op, &[data, Tensor::vector(vec![1.0f32])])?[0].dtype(), DType::U8);
        Ok(())
    }

    #[test]
    fn the_last_block_may_be_short() -> Result<(), OpError> {
        let op = Quantize::Dequantize { axis: -1, block: 2, dtype: None };
        let data = Tensor::new([2, 3], vec![1i8, 1, 1, 1, 1, 1])?;
        let output = run(&op, &[data.clone(), Tensor::new([2, 2], vec![1.0f32, 2.0, 3.0, 4.0])?])?;
        assert_eq!(output[0], Tensor::new([2, 3], vec![1.0f32, 1.0, 2.0, 3.0, 3.0, 4.0])?);
        assert!(run(&op, &[data.clone(), Tensor::scalar(1.0f32)]).is_err());
        let wrong = Quantize::Dequantize { axis: 5, block: 0, dtype: None };
        assert!(run(&wrong, &[data, Tensor::vector(vec![1.0f32, 2.0])]).is_err());
        Ok(())
    }

    #[test]
    fn empty_and_zero_tensors_are_quantized() -> Result<(), OpError> {
        let output = run(&Quantize::Dynamic, &[Tensor::zeros(DType::F32, [0])?])?;
        assert_eq!(output[1..], [Tensor::scalar(1.0f32), Tensor::scalar(0u8)]);
        let axis = Quantize::Dequantize { axis: 0, block: 0, dtype: None };
        let output = run(&axis, &[Tensor::zeros(DType::U8, [0, 3])?, Tensor::zeros(DType::F32, [0])?])?;
        assert_eq!(output[0].shape(), [0, 3]);
        Ok(())
    }
}
