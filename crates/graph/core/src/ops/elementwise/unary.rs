//! Unary elementwise operations.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use num_traits::{AsPrimitive, PrimInt, WrappingSub};

use super::erf::{erf, erfc};
use super::map::{map, map_float};
use crate::{DType, Data, Element, OpError, Tensor, each_type};

/// A unary operation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "ONNX's names, which say what they do")]
pub enum Unary {
    Abs,
    Neg,
    Sign,
    Ceil,
    Floor,
    /// Rounds to the nearest integer, ties to even.
    Round,
    Reciprocal,
    Sqrt,
    Exp,
    Log,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Erf,
    Not,
    BitwiseNot,
    IsNaN,
    IsInf {
        negative: bool,
        positive: bool,
    },
    Relu,
    LeakyRelu {
        alpha: f32,
    },
    ThresholdedRelu {
        alpha: f32,
    },
    Elu {
        alpha: f32,
    },
    Selu {
        alpha: f32,
        gamma: f32,
    },
    Celu {
        alpha: f32,
    },
    Sigmoid,
    HardSigmoid {
        alpha: f32,
        beta: f32,
    },
    HardSwish,
    Softplus,
    Softsign,
    /// GELU; with the tanh approximation if `tanh`.
    Gelu {
        tanh: bool,
    },
    Mish,
    /// `x sigmoid(alpha x)`.
    Swish {
        alpha: f32,
    },
    Shrink {
        bias: f32,
        lambd: f32,
    },
}

impl Unary {
    /// ONNX's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Abs => "Abs",
            Self::Neg => "Neg",
            Self::Sign => "Sign",
            Self::Ceil => "Ceil",
            Self::Floor => "Floor",
            Self::Round => "Round",
            Self::Reciprocal => "Reciprocal",
            Self::Sqrt => "Sqrt",
            Self::Exp => "Exp",
            Self::Log => "Log",
            Self::Sin => "Sin",
            Self::Cos => "Cos",
            Self::Tan => "Tan",
            Self::Asin => "Asin",
            Self::Acos => "Acos",
            Self::Atan => "Atan",
            Self::Sinh => "Sinh",
            Self::Cosh => "Cosh",
            Self::Tanh => "Tanh",
            Self::Asinh => "Asinh",
            Self::Acosh => "Acosh",
            Self::Atanh => "Atanh",
            Self::Erf => "Erf",
            Self::Not => "Not",
            Self::BitwiseNot => "BitwiseNot",
            Self::IsNaN => "IsNaN",
            Self::IsInf { .. } => "IsInf",
            Self::Relu => "Relu",
            Self::LeakyRelu { .. } => "LeakyRelu",
            Self::ThresholdedRelu { .. } => "ThresholdedRelu",
            Self::Elu { .. } => "Elu",
            Self::Selu { .. } => "Selu",
            Self::Celu { .. } => "Celu",
            Self::Sigmoid => "Sigmoid",
            Self::HardSigmoid { .. } => "HardSigmoid",
            Self::HardSwish => "HardSwish",
            Self::Softplus => "Softplus",
            Self::Softsign => "Softsign",
            Self::Gelu { .. } => "Gelu",
            Self::Mish => "Mish",
            Self::Swish { .. } => "Swish",
            Self::Shrink { .. } => "Shrink",
        }
    }

    /// The result type for an operand of a type.
    pub(super) fn result(self, dtype: DType) -> Result<DType, OpError> {
        let (fits, result) = match self {
            Self::Not => (dtype == DType::Bool, dtype),
            Self::BitwiseNot => (dtype.is_integer(), dtype),
            Self::IsNaN | Self::IsInf { .. } => (dtype.is_float(), DType::Bool),
            Self::Abs | Self::Sign | Self::Erf | Self::Shrink { .. } => (dtype.is_float() || dtype.is_integer(), dtype),
            Self::Neg | Self::Relu => (dtype.is_float() || dtype.is_signed_integer(), dtype),
            _ => (dtype.is_float(), dtype),
        };
        if fits { Ok(result) } else { Err(OpError::dtype("an operand", dtype)) }
    }

    /// Evaluates all elements.
    pub(super) fn eval(self, operand: &Tensor) -> Result<Tensor, OpError> {
        let shape = operand.shape();
        if let (Self::Not, Data::Bool(elements)) = (self, operand.data()) {
            return map(shape, elements, |element| !element);
        }
        if let Some(f) = self.predicate() {
            return each_type!(float: operand, |T, v| map(shape, v, |element| f(element.as_())),
                else Err(OpError::dtype("an operand", operand.dtype())));
        }
        if let Some(f) = self.function() {
            return each_type!(number: operand, |T, v| map_float(shape, v, &*f),
                else Err(OpError::dtype("an operand", operand.dtype())));
        }
        // Functions of all numeric types that would lose digits of integers as floats.
        each_type!(integer: operand, |T, v| map(shape, v, |element| self.integer(element)), else {
            each_type!(float: operand, |T, v| map_float(shape, v, |element| self.float(element)),
                else Err(OpError::dtype("an operand", operand.dtype())))
        })
    }

    fn predicate(self) -> Option<Box<dyn Fn(f64) -> bool>> {
        match self {
            Self::IsNaN => Some(Box::new(f64::is_nan)),
            Self::IsInf { negative, positive } => {
                Some(Box::new(move |x| (negative && x == f64::NEG_INFINITY) || (positive && x == f64::INFINITY)))
            }
            _ => None,
        }
    }

    /// Functions that are defined for integers and floats alike, and exact in both.
    fn integer<T: Element + PrimInt + WrappingSub>(self, x: T) -> T {
        let zero = T::zero();
        match self {
            Self::Abs if x < zero => zero.wrapping_sub(&x),
            Self::Neg => zero.wrapping_sub(&x),
            Self::Sign if x < zero => !zero,
            Self::Sign if x > zero => T::one(),
            Self::Relu if x < zero => zero,
            Self::BitwiseNot => !x,
            _ => x,
        }
    }

    fn float(self, x: f64) -> f64 {
        match self {
            Self::Abs => x.abs(),
            Self::Neg => -x,
            Self::Sign if x == 0.0 => 0.0,
            Self::Sign => x.signum(),
            // NaN stays NaN.
            Self::Relu if x < 0.0 => 0.0,
            _ => x,
        }
    }

    /// The function of real numbers.
    fn function(self) -> Option<Box<dyn Fn(f64) -> f64>> {
        let plain: fn(f64) -> f64 = match self {
            Self::Ceil => f64::ceil,
            Self::Floor => f64::floor,
            Self::Round => f64::round_ties_even,
            Self::Reciprocal => f64::recip,
            Self::Sqrt => f64::sqrt,
            Self::Exp => f64::exp,
            Self::Log => f64::ln,
            Self::Sin => f64::sin,
            Self::Cos => f64::cos,
            Self::Tan => f64::tan,
            Self::Asin => f64::asin,
            Self::Acos => f64::acos,
            Self::Atan => f64::atan,
            Self::Sinh => f64::sinh,
            Self::Cosh => f64::cosh,
            Self::Tanh => f64::tanh,
            Self::Asinh => f64::asinh,
            Self::Acosh => f64::acosh,
            Self::Atanh => f64::atanh,
            Self::Erf => erf,
            Self::Sigmoid => sigmoid,
            Self::HardSwish => |x| x * bounded(x / 6.0 + 0.5),
            Self::Softplus => softplus,
            Self::Softsign => |x| x / (1.0 + x.abs()),
            Self::Gelu { tanh: false } => |x| 0.5 * x * erfc(-x * FRAC_1_SQRT_2),
            Self::Gelu { tanh: true } => |x| 0.5 * x * (1.0 + ((2.0 / PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh()),
            Self::Mish => |x| x * softplus(x).tanh(),
            _ => return self.function_with_numbers(),
        };
        Some(Box::new(plain))
    }

    /// Functions with numeric attributes.
    fn function_with_numbers(self) -> Option<Box<dyn Fn(f64) -> f64>> {
        let wide = f64::from;
        Some(match self {
            Self::LeakyRelu { alpha } => Box::new(move |x| if x < 0.0 { wide(alpha) * x } else { x }),
            Self::ThresholdedRelu { alpha } => Box::new(move |x| if x > wide(alpha) { x } else { 0.0 }),
            Self::Elu { alpha } => Box::new(move |x| if x < 0.0 { wide(alpha) * x.exp_m1() } else { x }),
            Self::Selu { alpha, gamma } => {
                Box::new(move |x| wide(gamma) * if x > 0.0 { x } else { wide(alpha) * x.exp_m1() })
            }
            Self::Celu { alpha } => {
                Box::new(move |x| if x < 0.0 { wide(alpha) * (x / wide(alpha)).exp_m1() } else { x })
            }
            Self::HardSigmoid { alpha, beta } => Box::new(move |x| bounded(wide(alpha) * x + wide(beta))),
            Self::Swish { alpha } => Box::new(move |x| x * sigmoid(wide(alpha) * x)),
            Self::Shrink { bias, lambd } => Box::new(move |x| {
                if x < -wide(lambd) {
                    x + wide(bias)
                } else if x > wide(lambd) {
                    x - wide(bias)
                } else {
                    0.0
                }
            }),
            _ => return None,
        })
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Does not overflow for large operands.
fn softplus(x: f64) -> f64 {
    if x.is_nan() { x } else { x.max(0.0) + (-x.abs()).exp().ln_1p() }
}

/// Clamps to 0..1; NaN stays NaN.
fn bounded(x: f64) -> f64 {
    x.clamp(0.0, 1.0)
}
