//! Binary elementwise operations.

use num_traits::{AsPrimitive, PrimInt, WrappingAdd, WrappingMul, WrappingSub};

use super::map::{Number, zip};
use super::{number, same};
use crate::{DType, Element, OpError, Tensor, each_type};

/// A binary operation on operands of one type; [`Binary::Pow`] is the exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "ONNX's names, which say what they do")]
pub enum Binary {
    Add,
    Sub,
    Mul,
    /// Integer quotients are truncated toward zero; division by zero gives zero.
    Div,
    /// The remainder, with the divisor's sign, or with the dividend's if `fmod`. Integers modulo
    /// zero give zero.
    Mod {
        fmod: bool,
    },
    /// The exponent may have any numeric type; the result has the type of the base.
    Pow,
    Max,
    Min,
    And,
    Or,
    Xor,
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
    /// Bits that leave the type are lost: shifts by its width or more give zero.
    ShiftLeft,
    ShiftRight,
    /// The second operand is the slope of negative elements, and must broadcast to the first.
    PRelu,
}

/// A comparison. `Greater` is `Less` with swapped operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "ONNX's names, which say what they do")]
pub enum Compare {
    Equal,
    Less,
    LessOrEqual,
}

impl Binary {
    /// Name of the ONNX operator.
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "Add",
            Self::Sub => "Sub",
            Self::Mul => "Mul",
            Self::Div => "Div",
            Self::Mod { .. } => "Mod",
            Self::Pow => "Pow",
            Self::Max => "Max",
            Self::Min => "Min",
            Self::And => "And",
            Self::Or => "Or",
            Self::Xor => "Xor",
            Self::BitwiseAnd => "BitwiseAnd",
            Self::BitwiseOr => "BitwiseOr",
            Self::BitwiseXor => "BitwiseXor",
            Self::ShiftLeft => "BitShift (left)",
            Self::ShiftRight => "BitShift (right)",
            Self::PRelu => "PRelu",
        }
    }

    /// The result type for operands of these types.
    pub(super) fn result(self, first: DType, second: DType) -> Result<DType, OpError> {
        if self == Self::Pow {
            number("a base", first)?;
            number("an exponent", second)?;
            return Ok(first);
        }
        same(first, second)?;
        let fits = match self {
            Self::And | Self::Or | Self::Xor => first == DType::Bool,
            Self::BitwiseAnd | Self::BitwiseOr | Self::BitwiseXor | Self::Mod { fmod: false } => first.is_integer(),
            Self::ShiftLeft | Self::ShiftRight => first.is_integer() && !first.is_signed_integer(),
            _ => first.is_float() || first.is_integer(),
        };
        if fits { Ok(first) } else { Err(OpError::dtype("an operand", first)) }
    }

    /// Evaluates all pairs of elements.
    pub(super) fn eval(self, first: &Tensor, second: &Tensor, to: &[usize]) -> Result<Tensor, OpError> {
        if self == Self::Pow {
            return power(first, second, to);
        }
        if !to.contains(&0) {
            self.check_divisor(second)?;
        }
        let wrong = || Err(OpError::dtype("an operand", first.dtype()));
        if first.dtype() == DType::Bool {
            let f: fn(bool, bool) -> bool = match self {
                Self::And => |a, b| a & b,
                Self::Or => |a, b| a | b,
                Self::Xor => |a, b| a ^ b,
                _ => return wrong(),
            };
            return zip(first, second, to, |a: &bool, b: &bool| f(*a, *b));
        }
        each_type!(integer: first, |T, _v| {
            let Some(f) = self.of_integers::<T>() else { return wrong() };
            zip(first, second, to, |a: &T, b: &T| f(*a, *b))
        }, else each_type!(float: first, |T, _v| {
            let Some(f) = self.of_floats() else { return wrong() };
            float_zip::<T>(first, second, to, f)
        }, else wrong()))
    }

    /// Fails if an integer division by zero would occur, which has no result.
    pub fn check_divisor(self, divisor: &Tensor) -> Result<(), OpError> {
        if !matches!(self, Self::Div | Self::Mod { .. }) || !divisor.dtype().is_integer() {
            return Ok(());
        }
        let zero = each_type!(integer: divisor, |T, elements| elements.iter().position(|one: &T| *one == 0),
            else None);
        match zero {
            Some(at) => Err(OpError::invalid(format!("integer division by zero: element {at} of the divisor"))),
            None => Ok(()),
        }
    }

    fn of_floats(self) -> Option<fn(f64, f64) -> f64> {
        Some(match self {
            Self::Add => |a, b| a + b,
            Self::Sub => |a, b| a - b,
            Self::Mul => |a, b| a * b,
            Self::Div => |a, b| a / b,
            Self::Mod { fmod: true } => |a, b| a % b,
            Self::Pow => f64::powf,
            Self::Max => |a, b| if a.is_nan() || a > b { a } else { b },
            Self::Min => |a, b| if a.is_nan() || a < b { a } else { b },
            Self::PRelu => |a, b| if a < 0.0 { a * b } else { a },
            _ => return None,
        })
    }

    fn of_integers<T: Element + PrimInt + WrappingAdd + WrappingSub + WrappingMul>(self) -> Option<fn(T, T) -> T> {
        Some(match self {
            Self::Add => |a, b| a.wrapping_add(&b),
            Self::Sub => |a, b| a.wrapping_sub(&b),
            Self::Mul => |a, b| a.wrapping_mul(&b),
            // The one quotient that overflows wraps to the dividend.
            Self::Div => |a, b| a.checked_div(&b).unwrap_or(if b.is_zero() { b } else { a }),
            Self::Mod { fmod: true } => rest,
            Self::Mod { fmod: false } => |a, b| {
                let rest = rest(a, b);
                if rest.is_zero() || (rest < T::zero()) == (b < T::zero()) { rest } else { rest + b }
            },
            Self::Max => |a, b| a.max(b),
            Self::Min => |a, b| a.min(b),
            Self::BitwiseAnd => |a, b| a & b,
            Self::BitwiseOr => |a, b| a | b,
            Self::BitwiseXor => |a, b| a ^ b,
            Self::ShiftLeft => |a, b| width(b).map_or(T::zero(), |by| a << by),
            Self::ShiftRight => |a, b| width(b).map_or(T::zero(), |by| a >> by),
            Self::PRelu => |a, b| if a < T::zero() { a.wrapping_mul(&b) } else { a },
            Self::Pow | Self::And | Self::Or | Self::Xor => return None,
        })
    }
}

/// The remainder with the dividend's sign.
fn rest<T: PrimInt>(a: T, b: T) -> T {
    if a.checked_div(&b).is_some() { a % b } else { T::zero() }
}

/// The shift count, if any bits remain.
fn width<T: PrimInt>(by: T) -> Option<usize> {
    by.to_usize().filter(|by| *by < T::zero().count_zeros() as usize)
}

fn float_zip<T: Number>(
    first: &Tensor,
    second: &Tensor,
    to: &[usize],
    f: fn(f64, f64) -> f64,
) -> Result<Tensor, OpError>
where
    f64: AsPrimitive<T>,
{
    zip(first, second, to, |a: &T, b: &T| f(a.as_(), b.as_()).as_())
}

fn power(base: &Tensor, exponent: &Tensor, to: &[usize]) -> Result<Tensor, OpError> {
    let wrong = || Err(OpError::dtype("a base", base.dtype()));
    // Integer powers of integers are exact, and wrap around as products do.
    let exact = base.dtype().is_integer() && exponent.dtype().is_integer();
    if exact && exponent.dtype() != DType::U64 {
        let exponent = super::cast(exponent, DType::I64)?;
        return each_type!(integer: base, |T, _v| zip(base, &exponent, to, |a: &T, b: &i64| integer_power(*a, *b)),
            else wrong());
    }
    number("a base", base.dtype())?;
    let (base_floats, exponent) = (super::cast(base, DType::F64)?, super::cast(exponent, DType::F64)?);
    let powers = zip(&base_floats, &exponent, to, |a: &f64, b: &f64| a.powf(*b))?;
    Tensor::from_floats(base.dtype(), to, powers.slice::<f64>()?)
}

fn integer_power<T: PrimInt + WrappingMul>(base: T, exponent: i64) -> T {
    let Ok(mut left) = u64::try_from(exponent) else {
        // The reciprocal of a power truncates to zero, unless the base is 1 or -1.
        let unit = base == T::one() || (!base).is_zero() && T::min_value() < T::zero();
        return if unit { integer_power(base, exponent & 1) } else { T::zero() };
    };
    let (mut result, mut square) = (T::one(), base);
    while left > 0 {
        if left & 1 == 1 {
            result = result.wrapping_mul(&square);
        }
        square = square.wrapping_mul(&square);
        left >>= 1;
    }
    result
}

impl Compare {
    /// Name of the ONNX operator.
    pub fn name(self) -> &'static str {
        match self {
            Self::Equal => "Equal",
            Self::Less => "Less",
            Self::LessOrEqual => "LessOrEqual",
        }
    }

    /// Fails if operands of these types cannot be compared.
    pub(super) fn check(self, first: DType, second: DType) -> Result<(), OpError> {
        same(first, second)?;
        if self == Self::Equal { Ok(()) } else { number("an operand", first) }
    }

    /// Evaluates all pairs of elements.
    pub(super) fn eval(self, first: &Tensor, second: &Tensor, to: &[usize]) -> Result<Tensor, OpError> {
        each_type!(any: first, |T, _v| {
            let f: fn(&T, &T) -> bool = match self {
                Self::Equal => T::eq,
                Self::Less => |a, b| a < b,
                Self::LessOrEqual => |a, b| a <= b,
            };
            zip(first, second, to, f)
        })
    }
}
