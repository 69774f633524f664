//! Pooling and unpooling.

mod pooling;
mod unpool;

pub use unpool::pooled;

use super::window::Window;
use super::{Facts, Inputs, Operation};
use crate::{DType, Fact, OpError, Value};

/// How the elements of a window are pooled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PoolKind {
    /// The maximum. Output 1 is its index in the whole input.
    Max {
        /// Whether indices within a channel are column-major.
        column_major: bool,
    },
    /// The mean.
    Average {
        /// Whether padding counts as zeros.
        with_padding: bool,
    },
    /// The Lp norm.
    Lp {
        /// The order p, which is not 0.
        order: f32,
    },
}

/// An operation of this family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Pool {
    /// One element per position of a window.
    Slide {
        /// The pooling function.
        kind: PoolKind,
        /// Size, strides, dilations and padding.
        window: Window,
        /// Whether partial windows at the end count.
        ceil: bool,
    },
    /// One element per channel.
    Global {
        /// The pooling function.
        kind: PoolKind,
    },
    /// Scatters elements back to the indices that max pooling reported. Operands: elements, their
    /// indices, optional shape of the result.
    MaxUnpool {
        /// Window of the pooling that is inverted.
        window: Window,
    },
}

impl Operation for Pool {
    fn name(&self) -> &'static str {
        match self {
            Self::Slide { kind: PoolKind::Max { .. }, .. } => "MaxPool",
            Self::Slide { kind: PoolKind::Average { .. }, .. } => "AveragePool",
            Self::Slide { kind: PoolKind::Lp { .. }, .. } => "LpPool",
            Self::Global { kind: PoolKind::Max { .. } } => "GlobalMaxPool",
            Self::Global { kind: PoolKind::Average { .. } } => "GlobalAveragePool",
            Self::Global { kind: PoolKind::Lp { .. } } => "GlobalLpPool",
            Self::MaxUnpool { .. } => "MaxUnpool",
        }
    }

    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        let x = inputs.get(0)?;
        let indices = match self {
            Self::Slide { kind, .. } | Self::Global { kind } => {
                let bytes = matches!(kind, PoolKind::Max { .. }) && matches!(x.dtype, DType::I8 | DType::U8);
                if !x.dtype.is_float() && !bytes {
                    return Err(OpError::dtype(self.name(), x.dtype));
                }
                matches!(kind, PoolKind::Max { .. }) && inputs.outputs() > 1
            }
            Self::MaxUnpool { window } => return Ok(vec![unpool::infer(window, inputs)?]),
        };
        let shape = x.shape.as_deref().map(|shape| pooling::shape(self.axes(shape)?, shape)).transpose()?;
        let mut result = vec![Fact { dtype: x.dtype, shape, value: None }];
        if indices {
            result.push(Fact { dtype: DType::I64, ..result[0].clone() });
        }
        Ok(result)
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let facts = inputs.facts()?;
        let result = self.infer(&Facts::new(&facts, inputs.outputs()))?;
        let to = result.first().map_or(Ok(&[][..]), Fact::shape)?;
        let x = inputs.tensor(0)?;
        match self {
            Self::Slide { kind, .. } | Self::Global { kind } => {
                let result = pooling::eval(*kind, &self.axes(x.shape())?, x, to, result.len() > 1)?;
                Ok(result.into_iter().map(Value::from).collect())
            }
            Self::MaxUnpool { window } => Ok(vec![unpool::eval(window, inputs, to)?.into()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tensor;
    use crate::ops::window::Padding;

    fn run(op: &Pool, inputs: &[Tensor], outputs: usize) -> Result<Vec<Value>, OpError> {
        let values: Vec<Value> = inputs.iter().cloned().map(Value::from).collect();
        let operands: Vec<_> = values.iter().map(Some).collect();
        op.eval(&Inputs::new(&operands, outputs))
    }

    fn window(kernel: usize, pads: (usize, usize)) -> Window {
        let padding = Padding::Explicit(vec![pads]);
        Window { kernel: vec![kernel], strides: vec![], dilations: vec![], padding }
    }

    #[test]
    fn nan_is_the_largest() -> Result<(), OpError> {
        let op = Pool::Slide { kind: PoolKind::Max { column_major: false }, window: window(2, (0, 0)), ceil: false };
        let result = run(&op, &[Tensor::new([1, 1, 3], vec![f32::NAN, 1.0, 2.0])?], 2)?;
        assert!(result[0].tensor()?.floats()?[0].is_nan());
        assert_eq!(result[1].tensor()?.integers()?, [0, 2]);
        Ok(())
    }

    #[test]
    fn hostile_windows_are_errors_and_empty_tensors_stay_empty() -> Result<(), OpError> {
        let kind = PoolKind::Average { with_padding: false };
        let x = Tensor::zeros(DType::F32, [1, 1, 3])?;
        for window in [window(0, (0, 0)), window(4, (0, 0)), window(1 << 40, (1 << 40, 0)), window(2, (2, 0))] {
            assert!(run(&Pool::Slide { kind, window, ceil: true }, std::slice::from_ref(&x), 1).is_err());
        }
        let op = Pool::Slide { kind, window: window(2, (0, 0)), ceil: false };
        assert_eq!(run(&op, &[Tensor::zeros(DType::F32, [0, 1, 3])?], 1)?[0].tensor()?.shape(), [0, 1, 2]);
        Ok(())
    }

    #[test]
    fn unpooling_checks_its_indices() -> Result<(), OpError> {
        let op = Pool::MaxUnpool { window: window(2, (0, 0)) };
        let x = Tensor::new([1, 1, 1], vec![3.0f32])?;
        let place = |place: i64| Tensor::new([1, 1, 1], vec![place]);
        let result = run(&op, &[x.clone(), place(1)?], 1)?;
        assert_eq!(result[0].tensor()?, &Tensor::new([1, 1, 2], vec![0.0f32, 3.0])?);
        assert!(run(&op, &[x.clone(), place(2)?], 1).is_err());
        assert!(run(&op, &[x.clone(), place(-1)?], 1).is_err());
        assert!(run(&op, &[x, place(0)?, Tensor::vector(vec![1, 1, 1i64 << 40])], 1).is_err());
        Ok(())
    }
}
