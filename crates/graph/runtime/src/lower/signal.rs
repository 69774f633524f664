//! Fourier transforms, as products with tables of sines and cosines.

use roci_graph::DType;
use roci_graph::ops::Signal;
use roci_graph::shape;
use roci_kernels::params::ElementwiseOp as Op;

use super::Context;
use super::build::{A, B, Instr::ApplyWith};
use super::strided::dimensions;
use crate::error::LoweringError;
use crate::segment::DeviceTensor;

/// Maximum number of elements of a table.
const MAX_NUMBERS: usize = 1 << 25;

pub(super) fn lower(op: &Signal, context: &mut Context<'_, '_>) -> Result<Vec<DeviceTensor>, LoweringError> {
    match op {
        Signal::Dft { inverse, onesided } => Ok(vec![dft(context, *inverse, *onesided)?]),
        Signal::Stft { .. } => Ok(vec![stft(context)?]),
        other => Err(LoweringError::unsupported(format!("{other:?}"))),
    }
}

/// The parameters of a transform.
struct Table {
    /// The length of the transform; the signal is truncated or zero-padded to it.
    length: usize,
    /// The length of the input, and 1 for real or 2 for complex numbers.
    given: (usize, usize),
    /// The length of the output, and 1 for real or 2 for complex numbers.
    result: (usize, usize),
    inverse: bool,
    /// Whether the input is the first half of a conjugate-symmetric signal.
    mirrored: bool,
}

impl Table {
    /// The matrix from all input parts to all output parts.
    fn matrix(&self, context: &mut Context<'_, '_>) -> Result<DeviceTensor, LoweringError> {
        let (rows, columns) = (self.given.0 * self.given.1, self.result.0 * self.result.1);
        if rows.saturating_mul(columns) > MAX_NUMBERS {
            return Err(LoweringError::unsupported(format!("a transform of length {}", self.length)));
        }
        let (sign, factor) = if self.inverse { (1.0, 1.0 / self.length as f64) } else { (-1.0, 1.0) };
        let mut table = vec![0f32; rows * columns];
        let half = self.length / 2;
        for index in 0..self.given.0.min(self.length) {
            if self.mirrored && index > half {
                break;
            }
            for frequency in 0..self.result.0 {
                // The rotation of a number (re, im), plus the opposite rotation of its conjugate.
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
                    let at = (index * self.given.1 + from) * columns + frequency * self.result.1;
                    let into = &mut table[at..][..self.result.1];
                    into.iter_mut().zip(parts).for_each(|(into, part)| *into = (part * factor) as f32);
                }
            }
        }
        context.f32_table(&table, [rows, columns])
    }
}

fn dft(context: &mut Context<'_, '_>, inverse: bool, onesided: bool) -> Result<DeviceTensor, LoweringError> {
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
        result: (to[axis], to[rank - 1]),
        inverse,
        mirrored: onesided && inverse,
    };
    let matrix = table.matrix(context)?;
    // Move the axis next to the real and imaginary parts.
    let perm: Vec<usize> = (0..rank).filter(|&at| at != axis && at != rank - 1).chain([axis, rank - 1]).collect();
    let moved = context.transpose(&x, &perm)?;
    let (k, n) = (matrix.shape[0], matrix.shape[1]);
    let rows = x.count() / k;
    let product = context.product(&moved.reshaped([rows, k]), &matrix, [rows, n, k])?;
    let mut shape: Vec<usize> = perm.iter().map(|&at| to[at]).collect();
    shape[rank - 1] = to[rank - 1];
    let mut back = vec![0; rank];
    perm.iter().enumerate().for_each(|(at, &from)| back[from] = at);
    context.transpose(&DeviceTensor { dtype: x.dtype, tensor_id: product.tensor_id, shape }, &back)
}

fn stft(context: &mut Context<'_, '_>) -> Result<DeviceTensor, LoweringError> {
    let x = context.operand(0)?;
    let step = context.value(1)?.integer()? as usize;
    let to = context.output(0)?.shape()?.to_vec();
    let (batch, size, parts) = (x.shape[0], x.shape[1], x.shape[2]);
    let window = context.optional(2)?;
    let length = match context.fact(3) {
        Some(_) => context.value(3)?.integer()? as usize,
        None => window.as_ref().map_or(size, DeviceTensor::count),
    };
    let (count, bins) = (to[1], to[2]);
    let walk = dimensions(&[batch, count, length * parts], [(size * parts) as i64, (step * parts) as i64, 1]);
    let mut cut = context.strided_copy(&x, 0, &walk, [batch * count, length, parts])?;
    if let Some(window) = window {
        let shape = cut.shape.clone();
        let code = [ApplyWith(Op::Load, A), ApplyWith(Op::Mul, B)];
        cut = context.map(&code, &[&cut, &window.reshaped([length, 1])], DType::F32, &shape)?;
    }
    let table = Table { length, given: (length, parts), result: (bins, 2), inverse: false, mirrored: false };
    let matrix = table.matrix(context)?;
    let (rows, k, n) = (batch * count, length * parts, bins * 2);
    let product = context.product(&cut.reshaped([rows, k]), &matrix, [rows, n, k])?;
    Ok(DeviceTensor { dtype: x.dtype, tensor_id: product.tensor_id, shape: to })
}
