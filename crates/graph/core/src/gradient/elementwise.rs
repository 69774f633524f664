//! Gradients of elementwise operations.

use std::f64::consts::PI;

use super::BackwardNode;
use crate::ValueId;
use crate::interpreter::RunError;
use crate::ops::Elementwise;
use crate::ops::elementwise::{Binary, Compare, Unary};

pub(super) fn backward(op: &Elementwise, backward: &mut BackwardNode<'_>) -> Result<(), RunError> {
    let g = backward.output_gradient()?;
    match op {
        Elementwise::Unary(kind) => {
            let result = unary(*kind, backward, g)?;
            backward.add_gradient(0, result)
        }
        Elementwise::Binary(kind) => binary(*kind, backward, g),
        Elementwise::Where => {
            let condition = backward.input(0)?;
            let zero = backward.builder.number_like(g, 0.0)?;
            for (index, [yes, no]) in [(1, [g, zero]), (2, [zero, g])] {
                if backward.needs_gradient(index) {
                    let part = backward.builder.op(Elementwise::Where, &[condition, yes, no])?;
                    backward.add_gradient(index, part)?;
                }
            }
            Ok(())
        }
        Elementwise::Clip => clip(backward, g),
        Elementwise::Cast { .. } | Elementwise::CastLike => {
            let x = backward.input(0)?;
            let to = backward.builder.dtype(x).map_err(|error| backward.error(error))?;
            let result = backward.builder.op(Elementwise::Cast { to }, &[g])?;
            backward.add_gradient(0, result)
        }
        Elementwise::Align { .. } => {
            let shape = backward.shape(backward.input(0)?)?;
            let result = backward.builder.reshape(g, &shape)?;
            backward.add_gradient(0, result)
        }
        _ => Err(backward.no_gradient()),
    }
}

/// Selects one value where an element of `x` is above a bound, and another elsewhere.
fn above(
    backward: &mut BackwardNode<'_>,
    x: ValueId,
    bound: f64,
    yes: ValueId,
    no: ValueId,
) -> Result<ValueId, RunError> {
    let bound = backward.builder.number_like(x, bound)?;
    let condition = backward.builder.op(Compare::Less, &[bound, x])?;
    backward.builder.op(Elementwise::Where, &[condition, yes, no])
}

fn unary(kind: Unary, backward: &mut BackwardNode<'_>, g: ValueId) -> Result<ValueId, RunError> {
    let (x, y) = (backward.input(0)?, backward.output()?);
    let zero = backward.builder.number_like(x, 0.0)?;
    let one = backward.builder.number_like(x, 1.0)?;
    let b = &mut *backward.builder;
    // Each arm is the derivative, which is multiplied by the gradient below, unless the arm
    // returns.
    let slope = match kind {
        Unary::Relu => return above(backward, x, 0.0, g, zero),
        Unary::LeakyRelu { alpha } => {
            let less = b.scale(g, alpha.into())?;
            return above(backward, x, 0.0, g, less);
        }
        Unary::ThresholdedRelu { alpha } => return above(backward, x, alpha.into(), g, zero),
        Unary::Elu { alpha } => {
            // y + alpha equals alpha * exp(x) for negative x.
            let alpha = b.number_like(y, alpha.into())?;
            let slope = b.add(y, alpha)?;
            let less = b.mul(g, slope)?;
            return above(backward, x, 0.0, g, less);
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
            let bell = bell(backward, x, 1.0)?;
            backward.builder.scale(bell, 2.0 / PI.sqrt())?
        }
        Unary::Gelu { tanh: false } => {
            // x P(x), with P the cumulative normal distribution: P(x) + x p(x).
            let part = b.scale(x, 0.5f64.sqrt())?;
            let part = b.map(Unary::Erf, part)?;
            let part = b.add(part, one)?;
            let share = b.scale(part, 0.5)?;
            let bell = bell(backward, x, 0.5)?;
            let bell = backward.builder.mul(bell, x)?;
            let bell = backward.builder.scale(bell, 1.0 / (2.0 * PI).sqrt())?;
            backward.builder.add(share, bell)?
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
        _ => return Err(backward.no_gradient()),
    };
    backward.builder.mul(g, slope)
}

/// `exp(-x² sharpness)`.
fn bell(backward: &mut BackwardNode<'_>, x: ValueId, sharpness: f64) -> Result<ValueId, RunError> {
    let square = backward.builder.mul(x, x)?;
    let square = backward.builder.scale(square, -sharpness)?;
    backward.builder.map(Unary::Exp, square)
}

fn binary(kind: Binary, backward: &mut BackwardNode<'_>, g: ValueId) -> Result<(), RunError> {
    let (first, second) = (backward.input(0)?, backward.input(1)?);
    if backward.needs_gradient(0) {
        let b = &mut *backward.builder;
        let result = match kind {
            Binary::Add | Binary::Sub => g,
            Binary::Mul => b.mul(g, second)?,
            Binary::Div => b.div(g, second)?,
            Binary::Pow => power(backward, g, first, second)?,
            Binary::Max => chosen(backward, g, [second, first], true)?,
            Binary::Min => chosen(backward, g, [first, second], true)?,
            _ => return Err(backward.no_gradient()),
        };
        backward.add_gradient(0, result)?;
    }
    if backward.needs_gradient(1) {
        let b = &mut *backward.builder;
        let result = match kind {
            Binary::Add => g,
            Binary::Sub => b.map(Unary::Neg, g)?,
            Binary::Mul => b.mul(g, first)?,
            Binary::Div => {
                // -a / b² = -y / b.
                let y = backward.output()?;
                let slope = backward.builder.div(y, second)?;
                let slope = backward.builder.map(Unary::Neg, slope)?;
                backward.builder.mul(g, slope)?
            }
            Binary::Max => chosen(backward, g, [second, first], false)?,
            Binary::Min => chosen(backward, g, [first, second], false)?,
            Binary::Pow => return Err(backward.unsupported("the gradient with respect to an exponent")),
            _ => return Err(backward.no_gradient()),
        };
        backward.add_gradient(1, result)?;
    }
    Ok(())
}

/// `e x^(e-1)`, times the gradient.
fn power(backward: &mut BackwardNode<'_>, g: ValueId, base: ValueId, exponent: ValueId) -> Result<ValueId, RunError> {
    let b = &mut *backward.builder;
    let one = b.number_like(exponent, 1.0)?;
    let less = b.sub(exponent, one)?;
    let power = b.op(Binary::Pow, &[base, less])?;
    let factor = b.op(Elementwise::CastLike, &[exponent, base])?;
    let slope = b.mul(power, factor)?;
    b.mul(g, slope)
}

/// The gradient where `order[0] <= order[1]` is `holds`, and 0 elsewhere. If both are equal,
/// operand 0 gets all of it.
fn chosen(backward: &mut BackwardNode<'_>, g: ValueId, order: [ValueId; 2], holds: bool) -> Result<ValueId, RunError> {
    let zero = backward.builder.number_like(g, 0.0)?;
    let condition = backward.builder.op(Compare::LessOrEqual, &order)?;
    let [yes, no] = if holds { [g, zero] } else { [zero, g] };
    backward.builder.op(Elementwise::Where, &[condition, yes, no])
}

/// Clipped elements have gradient 0.
fn clip(backward: &mut BackwardNode<'_>, g: ValueId) -> Result<(), RunError> {
    if backward.needs_gradient(1) || backward.needs_gradient(2) {
        return Err(backward.unsupported("the gradient with respect to a bound"));
    }
    let x = backward.input(0)?;
    let zero = backward.builder.number_like(g, 0.0)?;
    let mut result = g;
    for index in [1, 2].into_iter().filter(|&index| backward.has_input(index)).collect::<Vec<_>>() {
        let bound = backward.input(index)?;
        let bound = backward.builder.op(Elementwise::CastLike, &[bound, x])?;
        let bound = backward.builder.reshape(bound, &[])?;
        let order = if index == 1 { [bound, x] } else { [x, bound] };
        let inside = backward.builder.op(Compare::LessOrEqual, &order)?;
        result = backward.builder.op(Elementwise::Where, &[inside, result, zero])?;
    }
    backward.add_gradient(0, result)
}
