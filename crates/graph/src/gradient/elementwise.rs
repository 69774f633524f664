//! Gradients of what works on each element by itself.

use std::f64::consts::PI;

use super::Back;
use crate::ValueId;
use crate::interpreter::RunError;
use crate::ops::Elementwise;
use crate::ops::elementwise::{Binary, Compare, Unary};

pub(super) fn back(op: &Elementwise, back: &mut Back<'_>) -> Result<(), RunError> {
    let g = back.got()?;
    match op {
        Elementwise::Unary(kind) => {
            let made = unary(*kind, back, g)?;
            back.give(0, made)
        }
        Elementwise::Binary(kind) => binary(*kind, back, g),
        Elementwise::Where => {
            let condition = back.input(0)?;
            let zero = back.builder.number_like(g, 0.0)?;
            for (index, [yes, no]) in [(1, [g, zero]), (2, [zero, g])] {
                if back.wants(index) {
                    let part = back.builder.op(Elementwise::Where, &[condition, yes, no])?;
                    back.give(index, part)?;
                }
            }
            Ok(())
        }
        Elementwise::Clip => clip(back, g),
        Elementwise::Cast { .. } | Elementwise::CastLike => {
            let x = back.input(0)?;
            let to = back.builder.dtype(x).map_err(|error| back.error(error))?;
            let made = back.builder.op(Elementwise::Cast { to }, &[g])?;
            back.give(0, made)
        }
        Elementwise::Align { .. } => {
            let shape = back.shape(back.input(0)?)?;
            let made = back.builder.reshape(g, &shape)?;
            back.give(0, made)
        }
        _ => Err(back.without()),
    }
}

/// The gradient where an element of `x` is more than a number, and another elsewhere.
fn above(back: &mut Back<'_>, x: ValueId, bound: f64, yes: ValueId, no: ValueId) -> Result<ValueId, RunError> {
    let bound = back.builder.number_like(x, bound)?;
    let condition = back.builder.op(Compare::Less, &[bound, x])?;
    back.builder.op(Elementwise::Where, &[condition, yes, no])
}

fn unary(kind: Unary, back: &mut Back<'_>, g: ValueId) -> Result<ValueId, RunError> {
    let (x, y) = (back.input(0)?, back.output()?);
    let zero = back.builder.number_like(x, 0.0)?;
    let one = back.builder.number_like(x, 1.0)?;
    let b = &mut *back.builder;
    // Each is the derivative, by which the gradient is multiplied below, unless it returns.
    let slope = match kind {
        Unary::Relu => return above(back, x, 0.0, g, zero),
        Unary::LeakyRelu { alpha } => {
            let less = b.scale(g, alpha.into())?;
            return above(back, x, 0.0, g, less);
        }
        Unary::ThresholdedRelu { alpha } => return above(back, x, alpha.into(), g, zero),
        Unary::Elu { alpha } => {
            // y + alpha is alpha * exp(x) where x is negative.
            let alpha = b.number_like(y, alpha.into())?;
            let slope = b.add(y, alpha)?;
            let less = b.mul(g, slope)?;
            return above(back, x, 0.0, g, less);
        }
        Unary::Neg => return b.map(Unary::Neg, g),
        Unary::Sqrt => {
            let half = b.scale(g, 0.5)?;
            return b.div(half, y);
        }
        Unary::Log => return b.div(g, x),
        Unary::Abs => b.map(Unary::Sign, x)?,
        Unary::Exp => y,
        Unary::Reciprocal => {
            let square = b.mul(y, y)?;
            b.map(Unary::Neg, square)?
        }
        Unary::Sin => b.map(Unary::Cos, x)?,
        Unary::Cos => {
            let sine = b.map(Unary::Sin, x)?;
            b.map(Unary::Neg, sine)?
        }
        Unary::Tanh => {
            let square = b.mul(y, y)?;
            b.sub(one, square)?
        }
        Unary::Sigmoid => {
            let rest = b.sub(one, y)?;
            b.mul(y, rest)?
        }
        Unary::Softplus => b.map(Unary::Sigmoid, x)?,
        Unary::Erf => {
            let bell = bell(back, x, 1.0)?;
            back.builder.scale(bell, 2.0 / PI.sqrt())?
        }
        Unary::Gelu { tanh: false } => {
            // x P(x) with P the share of the normal distribution below x: P(x) + x p(x).
            let part = b.scale(x, 0.5f64.sqrt())?;
            let part = b.map(Unary::Erf, part)?;
            let part = b.add(part, one)?;
            let share = b.scale(part, 0.5)?;
            let bell = bell(back, x, 0.5)?;
            let bell = back.builder.mul(bell, x)?;
            let bell = back.builder.scale(bell, 1.0 / (2.0 * PI).sqrt())?;
            back.builder.add(share, bell)?
        }
        Unary::Swish { alpha } => {
            // s + alpha y (1 - s) with s = sigmoid(alpha x).
            let inner = b.scale(x, alpha.into())?;
            let s = b.map(Unary::Sigmoid, inner)?;
            let rest = b.sub(one, s)?;
            let rest = b.mul(rest, y)?;
            let rest = b.scale(rest, alpha.into())?;
            b.add(s, rest)?
        }
        _ => return Err(back.without()),
    };
    back.builder.mul(g, slope)
}

/// `exp(-x² sharpness)`.
fn bell(back: &mut Back<'_>, x: ValueId, sharpness: f64) -> Result<ValueId, RunError> {
    let square = back.builder.mul(x, x)?;
    let square = back.builder.scale(square, -sharpness)?;
    back.builder.map(Unary::Exp, square)
}

fn binary(kind: Binary, back: &mut Back<'_>, g: ValueId) -> Result<(), RunError> {
    let (first, second) = (back.input(0)?, back.input(1)?);
    if back.wants(0) {
        let b = &mut *back.builder;
        let made = match kind {
            Binary::Add | Binary::Sub => g,
            Binary::Mul => b.mul(g, second)?,
            Binary::Div => b.div(g, second)?,
            Binary::Pow => power(back, g, first, second)?,
            Binary::Max => chosen(back, g, [second, first], true)?,
            Binary::Min => chosen(back, g, [first, second], true)?,
            _ => return Err(back.without()),
        };
        back.give(0, made)?;
    }
    if back.wants(1) {
        let b = &mut *back.builder;
        let made = match kind {
            Binary::Add => g,
            Binary::Sub => b.map(Unary::Neg, g)?,
            Binary::Mul => b.mul(g, first)?,
            Binary::Div => {
                // -a / b² = -y / b.
                let y = back.output()?;
                let slope = back.builder.div(y, second)?;
                let slope = back.builder.map(Unary::Neg, slope)?;
                back.builder.mul(g, slope)?
            }
            Binary::Max => chosen(back, g, [second, first], false)?,
            Binary::Min => chosen(back, g, [first, second], false)?,
            Binary::Pow => return Err(back.refuse("the gradient by an exponent")),
            _ => return Err(back.without()),
        };
        back.give(1, made)?;
    }
    Ok(())
}

/// `e x^(e-1)`, times the gradient.
fn power(back: &mut Back<'_>, g: ValueId, base: ValueId, exponent: ValueId) -> Result<ValueId, RunError> {
    let b = &mut *back.builder;
    let one = b.number_like(exponent, 1.0)?;
    let less = b.sub(exponent, one)?;
    let power = b.op(Binary::Pow, &[base, less])?;
    let factor = b.op(Elementwise::CastLike, &[exponent, base])?;
    let slope = b.mul(power, factor)?;
    b.mul(g, slope)
}

/// The gradient where the first of two is not more than the second, or where it is. Among equals operand 0 has it all.
fn chosen(back: &mut Back<'_>, g: ValueId, order: [ValueId; 2], holds: bool) -> Result<ValueId, RunError> {
    let zero = back.builder.number_like(g, 0.0)?;
    let condition = back.builder.op(Compare::LessOrEqual, &order)?;
    let [yes, no] = if holds { [g, zero] } else { [zero, g] };
    back.builder.op(Elementwise::Where, &[condition, yes, no])
}

/// What was cut off does not change.
fn clip(back: &mut Back<'_>, g: ValueId) -> Result<(), RunError> {
    if back.wants(1) || back.wants(2) {
        return Err(back.refuse("the gradient by a bound"));
    }
    let x = back.input(0)?;
    let zero = back.builder.number_like(g, 0.0)?;
    let mut made = g;
    for index in [1, 2].into_iter().filter(|&index| back.has(index)).collect::<Vec<_>>() {
        let bound = back.input(index)?;
        let bound = back.builder.op(Elementwise::CastLike, &[bound, x])?;
        let bound = back.builder.reshape(bound, &[])?;
        let order = if index == 1 { [bound, x] } else { [x, bound] };
        let inside = back.builder.op(Compare::LessOrEqual, &order)?;
        made = back.builder.op(Elementwise::Where, &[inside, made, zero])?;
    }
    back.give(0, made)
}
