//! Products: matrices, convolutions, einsum, and their integer forms.

mod conv;
mod deform;
mod det;
mod einsum;
mod matmul;
mod requantize;
mod transposed;

pub use einsum::Subscript;
pub use transposed::transposed_axes;

use super::window::Window;
use super::{Facts, Inputs, Operation};
use crate::{DType, Fact, OpError, Tensor, Value};

/// An operation of this family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Product {
    /// Matrix product as NumPy's `matmul`, plus an optional operand 2 that broadcasts to the
    /// result.
    MatMul {
        /// Whether the last two axes of operand 0 are transposed.
        transpose_a: bool,
        /// Whether the last two axes of operand 1 are transposed.
        transpose_b: bool,
        /// The factor of the product.
        alpha: f32,
        /// The factor of operand 2.
        beta: f32,
    },
    /// Matrix product of bytes minus their zero points (operands 2 and 3: a scalar, by row, or by
    /// column), in 32 bits.
    MatMulInteger,
    /// Products summed over labeled axes.
    Einsum {
        /// The subscripts of the operands.
        inputs: Vec<Subscript>,
        /// The subscript of the result.
        output: Subscript,
    },
    /// Determinants of the matrices in the last two axes.
    Det,
    /// Convolution. Operands: input, weights, optional bias.
    Conv {
        /// The window of the kernel.
        window: Window,
        /// The number of channel groups.
        groups: usize,
    },
    /// Convolution of bytes minus their zero points (operands 2 and 3: a scalar, or by output
    /// channel), in 32 bits, plus operand 4.
    ConvInteger {
        /// The window of the kernel.
        window: Window,
        /// The number of channel groups.
        groups: usize,
    },
    /// Transposed convolution: the gradient of a convolution with respect to its input. Operands:
    /// input, weights, optional bias.
    ConvTranspose {
        /// The window of the kernel on the output.
        window: Window,
        /// The number of channel groups.
        groups: usize,
        /// Additional elements at the end of the output, by axis.
        output_padding: Vec<usize>,
        /// The spatial sizes of the output, which determine the padding.
        output_shape: Option<Vec<usize>>,
    },
    /// Convolution whose sampling positions are moved by operand 2. Operands: input, weights,
    /// offsets, optional bias, optional mask.
    DeformConv {
        /// The window of the kernel.
        window: Window,
        /// The number of channel groups.
        groups: usize,
        /// The number of channel groups with their own offsets.
        offset_groups: usize,
    },
    /// Requantizes 32-bit sums to bytes: operand 0 times operand 1 times operand 2 divided by
    /// operand 3, rounded, plus operand 4.
    Requantize {
        /// The axes of one-dimensional scales (operands 1 and 2).
        axes: [i64; 2],
    },
}

impl Operation for Product {
    fn name(&self) -> &'static str {
        match self {
            Self::MatMul { .. } => "MatMul",
            Self::MatMulInteger => "MatMulInteger",
            Self::Einsum { .. } => "Einsum",
            Self::Det => "Det",
            Self::Conv { .. } => "Conv",
            Self::ConvInteger { .. } => "ConvInteger",
            Self::ConvTranspose { .. } => "ConvTranspose",
            Self::DeformConv { .. } => "DeformConv",
            Self::Requantize { .. } => "Requantize",
        }
    }

    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        let fact = match self {
            Self::MatMul { transpose_a, transpose_b, .. } => matmul::infer(inputs, *transpose_a, *transpose_b),
            Self::MatMulInteger => matmul::infer_integer(inputs),
            Self::Einsum { inputs: names, output } => einsum::infer(names, output, inputs),
            Self::Det => det::infer(inputs),
            Self::Conv { window, groups } => conv::infer(window, *groups, inputs),
            Self::ConvInteger { window, groups } => conv::infer_integer(window, *groups, inputs),
            Self::ConvTranspose { window, groups, output_padding, output_shape } => {
                transposed::infer(window, *groups, output_padding, output_shape.as_deref(), inputs)
            }
            Self::DeformConv { window, groups, offset_groups } => {
                deform::infer(window, *groups, *offset_groups, inputs)
            }
            Self::Requantize { axes } => requantize::infer(*axes, inputs),
        };
        Ok(vec![fact?])
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let facts = inputs.facts()?;
        let produced = self.infer(&Facts::new(&facts, inputs.outputs()))?;
        let to = produced.first().map_or(Ok(&[][..]), Fact::shape)?;
        let result = match self {
            Self::MatMul { transpose_a, transpose_b, alpha, beta } => {
                let factors = [*alpha, *beta].map(f64::from);
                matmul::eval(inputs, [*transpose_a, *transpose_b], factors, to)
            }
            Self::MatMulInteger => matmul::eval_integer(inputs, to),
            Self::Einsum { inputs: names, output } => einsum::eval(names, output, inputs, to),
            Self::Det => det::eval(inputs.tensor(0)?, to),
            Self::Conv { window, groups } => conv::eval(window, *groups, inputs, to),
            Self::ConvInteger { window, groups } => conv::eval_integer(window, *groups, inputs, to),
            Self::ConvTranspose { window, groups, output_padding, output_shape } => {
                transposed::eval(window, *groups, output_padding, output_shape.as_deref(), inputs, to)
            }
            Self::DeformConv { window, groups, offset_groups } => {
                deform::eval(window, *groups, *offset_groups, inputs, to)
            }
            Self::Requantize { axes } => requantize::eval(*axes, inputs, to),
        };
        Ok(vec![result?.into()])
    }
}

/// The common floating-point type of all operands; an error if there is none.
fn common_float(inputs: &Facts<'_>) -> Result<DType, OpError> {
    let dtype = common(inputs)?;
    if dtype.is_float() { Ok(dtype) } else { Err(OpError::dtype("a product", dtype)) }
}

/// The common numeric type of all operands.
fn common(inputs: &Facts<'_>) -> Result<DType, OpError> {
    let dtype = inputs.get(0)?.dtype;
    let all = (0..inputs.len()).filter_map(|index| inputs.optional(index));
    if let Some(other) = all.map(|fact| fact.dtype).find(|other| *other != dtype) {
        return Err(OpError::invalid(format!("operands have different types: {dtype} and {other}")));
    }
    if !dtype.is_float() && !dtype.is_integer() {
        return Err(OpError::dtype("a product", dtype));
    }
    Ok(dtype)
}

fn byte(inputs: &Facts<'_>, index: usize) -> Result<(), OpError> {
    match inputs.optional(index) {
        Some(fact) if !matches!(fact.dtype, DType::U8 | DType::I8) => {
            Err(OpError::dtype(format!("operand {index}"), fact.dtype))
        }
        _ => Ok(()),
    }
}

/// Wraps sums that are exact in `f64` to 32 bits.
fn wrapped(to: &[usize], sums: &[f64]) -> Result<Tensor, OpError> {
    Tensor::new(to, sums.iter().map(|&sum| sum as i64 as i32).collect())
}

/// Calls a function for each piece of `size` elements of the result, on several threads if there is
/// much work.
fn pieces<W: Send>(result: &mut [W], size: usize, work: usize, each: impl Fn(usize, &mut [W]) + Sync) {
    if size == 0 || result.is_empty() {
        return;
    }
    let count = result.len().div_ceil(size);
    let threads = if work < 1 << 22 { 1 } else { std::thread::available_parallelism().map_or(1, |count| count.get()) };
    let share = count.div_ceil(threads);
    if share == count {
        return result.chunks_mut(size).enumerate().for_each(|(index, piece)| each(index, piece));
    }
    std::thread::scope(|scope| {
        for (part, many) in result.chunks_mut(share * size).enumerate() {
            let each = &each;
            scope.spawn(move || {
                many.chunks_mut(size).enumerate().for_each(|(index, piece)| each(part * share + index, piece));
            });
        }
    });
}

#[cfg(test)]
mod tests;
