//! Windows that slide: pooling and its kin.

mod slide;
mod unpool;

pub use unpool::pooled;

use super::window::Window;
use super::{Facts, Inputs, Operation};
use crate::{DType, Fact, OpError, Value};

/// What becomes of the elements of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PoolKind {
    /// The largest. Output 1 is where it is in the whole input.
    Max {
        /// Places within a channel count the first axis fastest.
        column_major: bool,
    },
    /// Their mean.
    Average {
        /// Padding counts as zeros.
        with_padding: bool,
    },
    /// The root of that order of the sum of their powers.
    Lp {
        /// The order, which is not 0.
        order: f32,
    },
}

/// An operation of this family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Pool {
    /// One element for each place of a window.
    Slide {
        /// What becomes of a window.
        kind: PoolKind,
        /// How it slides.
        window: Window,
        /// Whether a window counts that is not wholly on the padded input.
        ceil: bool,
    },
    /// One element for each channel.
    Global {
        /// What becomes of a channel.
        kind: PoolKind,
    },
    /// Elements back to where pooling took them from. Operands: elements, their places, and the shape of the result or
    /// none.
    MaxUnpool {
        /// How the window slid.
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
        let shape = x.shape.as_deref().map(|shape| slide::shape(self.axes(shape)?, shape)).transpose()?;
        let mut made = vec![Fact { dtype: x.dtype, shape, value: None }];
        if indices {
            made.push(Fact { dtype: DType::I64, ..made[0].clone() });
        }
        Ok(made)
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let facts = inputs.facts()?;
        let made = self.infer(&Facts::new(&facts, inputs.outputs()))?;
        let to = made.first().map_or(Ok(&[][..]), Fact::shape)?;
        let x = inputs.tensor(0)?;
        match self {
            Self::Slide { kind, .. } | Self::Global { kind } => {
                let made = slide::eval(*kind, &self.axes(x.shape())?, x, to, made.len() > 1)?;
                Ok(made.into_iter().map(Value::from).collect())
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
    fn what_is_no_number_is_the_largest() -> Result<(), OpError> {
        let op = Pool::Slide { kind: PoolKind::Max { column_major: false }, window: window(2, (0, 0)), ceil: false };
        let made = run(&op, &[Tensor::new([1, 1, 3], vec![f32::NAN, 1.0, 2.0])?], 2)?;
        assert!(made[0].tensor()?.floats()?[0].is_nan());
        assert_eq!(made[1].tensor()?.integers()?, [0, 2]);
        Ok(())
    }

    #[test]
    fn hostile_windows_are_errors_and_nothing_stays_nothing() -> Result<(), OpError> {
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
    fn unpooling_checks_its_places() -> Result<(), OpError> {
        let op = Pool::MaxUnpool { window: window(2, (0, 0)) };
        let x = Tensor::new([1, 1, 1], vec![3.0f32])?;
        let place = |place: i64| Tensor::new([1, 1, 1], vec![place]);
        let made = run(&op, &[x.clone(), place(1)?], 1)?;
        assert_eq!(made[0].tensor()?, &Tensor::new([1, 1, 2], vec![0.0f32, 3.0])?);
        assert!(run(&op, &[x.clone(), place(2)?], 1).is_err());
        assert!(run(&op, &[x.clone(), place(-1)?], 1).is_err());
        assert!(run(&op, &[x, place(0)?, Tensor::vector(vec![1, 1, 1i64 << 40])], 1).is_err());
        Ok(())
    }
}
