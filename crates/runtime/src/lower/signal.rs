//! Fourier transforms: products with tables of sines and cosines.

use roci_graph::DType;
use roci_graph::ops::Signal;
use roci_graph::shape;
use roci_kernels::params::ChainOp as Op;

use super::build::{A, B, Step::With};
use super::strided::dimensions;
use super::{Context, Operand};
use crate::error::Refusal;

/// Numbers that a table may have.
const MOST_NUMBERS: usize = 1 << 25;

pub(super) fn lower(op: &Signal, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    match op {
        Signal::Dft { inverse, onesided } => Ok(vec![transform(context, *inverse, *onesided)?]),
        Signal::Stft { .. } => Ok(vec![frames(context)?]),
        other => Err(Refusal::unsupported(format!("{other:?}"))),
    }
}

/// What a transform does.
struct Table {
    /// Its length, to which the signal is cut or filled up with zeros.
    length: usize,
    /// Numbers of the signal, and parts of each.
    given: (usize, usize),
    /// The same of the result.
    made: (usize, usize),
    inverse: bool,
    /// Whether the other half of what is given is its mirror image.
    mirrored: bool,
}

impl Table {
    /// The matrix from the parts of all given numbers to those of all made ones.
    fn matrix(&self, context: &mut Context<'_, '_>) -> Result<Operand, Refusal> {
        let (rows, columns) = (self.given.0 * self.given.1, self.made.0 * self.made.1);
        if rows.saturating_mul(columns) > MOST_NUMBERS {
            return Err(Refusal::unsupported(format!("a transform of length {}", self.length)));
        }
        let (sign, factor) = if self.inverse { (1.0, 1.0 / self.length as f64) } else { (-1.0, 1.0) };
        let mut table = vec![0f32; rows * columns];
        let half = self.length / 2;
        for index in 0..self.given.0.min(self.length) {
            if self.mirrored && index > half {
                break;
            }
            for frequency in 0..self.made.0 {
                // A number (re, im) turned by an angle, and its mirror image turned by the opposite one.
                let angle = |index: usize| {
                    let turns = (index * frequency % self.length) as f64 / self.length as f64;
                    sign * 2.0 * std::f64::consts::PI * turns
                };
                let (sin, cos) = angle(index).sin_cos();
                // [[re to re, re to im], [im to re, im to im]]
                let mut parts = [[cos, sin], [-sin, cos]];
                let image = self.length - index;
                if self.mirrored && image > half && image < self.length {
                    let (sin, cos) = angle(image).sin_cos();
                    let own = [[cos, sin], [sin, -cos]];
                    (0..4).for_each(|at| parts[at / 2][at % 2] += own[at / 2][at % 2]);
                }
                for (from, parts) in parts.iter().enumerate().take(self.given.1) {
                    let at = (index * self.given.1 + from) * columns + frequency * self.made.1;
                    let into = &mut table[at..][..self.made.1];
                    into.iter_mut().zip(parts).for_each(|(into, part)| *into = (part * factor) as f32);
                }
            }
        }
        context.numbers(&table, [rows, columns])
    }
}

fn transform(context: &mut Context<'_, '_>, inverse: bool, onesided: bool) -> Result<Operand, Refusal> {
    let x = context.operand(0)?;
    let to = context.output(0)?.shape()?.to_vec();
    let rank = x.shape.len();
    let axis = match context.fact(2) {
        Some(_) => shape::axis(context.value(2)?.integer()?, rank)?,
        None => rank - 2,
    };
    let length = match context.fact(1) {
        Some(_) => context.value(1)?.integer()? as usize,
        None if onesided && inverse => 2 * (x.shape[axis].saturating_sub(1)),
        None => x.shape[axis],
    };
    let table = Table {
        length,
        given: (x.shape[axis], x.shape[rank - 1]),
        made: (to[axis], to[rank - 1]),
        inverse,
        mirrored: onesided && inverse,
    };
    let matrix = table.matrix(context)?;
    // The axis beside the parts of its numbers.
    let perm: Vec<usize> = (0..rank).filter(|&at| at != axis && at != rank - 1).chain([axis, rank - 1]).collect();
    let moved = context.transposed(&x, &perm)?;
    let (k, n) = (matrix.shape[0], matrix.shape[1]);
    let rows = x.count() / k;
    let product = context.product(&moved.reshaped([rows, k]), &matrix, [rows, n, k])?;
    let mut shape: Vec<usize> = perm.iter().map(|&at| to[at]).collect();
    shape[rank - 1] = to[rank - 1];
    let mut back = vec![0; rank];
    perm.iter().enumerate().for_each(|(at, &from)| back[from] = at);
    context.transposed(&Operand { dtype: x.dtype, slot: product.slot, shape }, &back)
}

fn frames(context: &mut Context<'_, '_>) -> Result<Operand, Refusal> {
    let x = context.operand(0)?;
    let step = context.value(1)?.integer()? as usize;
    let to = context.output(0)?.shape()?.to_vec();
    let (batch, size, parts) = (x.shape[0], x.shape[1], x.shape[2]);
    let window = context.optional(2)?;
    let length = match context.fact(3) {
        Some(_) => context.value(3)?.integer()? as usize,
        None => window.as_ref().map_or(size, Operand::count),
    };
    let (count, bins) = (to[1], to[2]);
    let walk = dimensions(&[batch, count, length * parts], [(size * parts) as i64, (step * parts) as i64, 1]);
    let mut cut = context.arranged(&x, 0, &walk, [batch * count, length, parts])?;
    if let Some(window) = window {
        let shape = cut.shape.clone();
        let code = [With(Op::Load, A), With(Op::Mul, B)];
        cut = context.map(&code, &[&cut, &window.reshaped([length, 1])], DType::F32, &shape)?;
    }
    let table = Table { length, given: (length, parts), made: (bins, 2), inverse: false, mirrored: false };
    let matrix = table.matrix(context)?;
    let (rows, k, n) = (batch * count, length * parts, bins * 2);
    let product = context.product(&cut.reshaped([rows, k]), &matrix, [rows, n, k])?;
    Ok(Operand { dtype: x.dtype, slot: product.slot, shape: to })
}
