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
    /// Products of matrices, as NumPy's `matmul`, plus operand 2 where there is one, which is broadcast to it.
    MatMul {
        /// The last two axes of operand 0 are exchanged first.
        transpose_a: bool,
        /// The same for operand 1.
        transpose_b: bool,
        /// The factor of the product.
        alpha: f32,
        /// The factor of operand 2.
        beta: f32,
    },
    /// Products of matrices of bytes less their zero points (operands 2 and 3: one, by row, by column), in 32 bits.
    MatMulInteger,
    /// Products summed along named axes.
    Einsum {
        /// The names of the operands' axes.
        inputs: Vec<Subscript>,
        /// Those of the result's.
        output: Subscript,
    },
    /// Determinants of the matrices in the last two axes.
    Det,
    /// Convolution. Operands: input, weights, bias or none.
    Conv {
        /// How the weights slide.
        window: Window,
        /// Groups of channels that have nothing to do with each other.
        groups: usize,
    },
    /// Convolution of bytes less their zero points (operands 2 and 3: one, by output channel), in 32 bits, plus operand
    /// 4.
    ConvInteger {
        /// How the weights slide.
        window: Window,
        /// Groups of channels that have nothing to do with each other.
        groups: usize,
    },
    /// What convolution's gradient is to its input. Operands: input, weights, bias or none.
    ConvTranspose {
        /// How the weights slide over the output.
        window: Window,
        /// Groups of channels that have nothing to do with each other.
        groups: usize,
        /// Elements more behind the output, by axis.
        output_padding: Vec<usize>,
        /// The output's spatial sizes; the padding follows from them.
        output_shape: Option<Vec<usize>>,
    },
    /// Convolution whose weights look at places that operand 2 moves. Operands: input, weights, offsets, bias or none,
    /// mask or none.
    DeformConv {
        /// How the weights slide.
        window: Window,
        /// Groups of channels that have nothing to do with each other.
        groups: usize,
        /// Groups of channels that have offsets of their own.
        offset_groups: usize,
    },
    /// Sums in 32 bits back to bytes: operand 0 times operand 1 and operand 2 over operand 3, rounded, plus operand 4.
    Requantize {
        /// The axes along which scales of one dimension (operands 1 and 2) lie.
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
        let made = self.infer(&Facts::new(&facts, inputs.outputs()))?;
        let to = made.first().map_or(Ok(&[][..]), Fact::shape)?;
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

/// The type that floats in all operands have in common; an error where it is none or differs.
fn common_float(inputs: &Facts<'_>) -> Result<DType, OpError> {
    let dtype = common(inputs)?;
    if dtype.is_float() { Ok(dtype) } else { Err(OpError::dtype("a product", dtype)) }
}

/// The type that numbers in all operands have in common.
fn common(inputs: &Facts<'_>) -> Result<DType, OpError> {
    let dtype = inputs.get(0)?.dtype;
    let all = (0..inputs.len()).filter_map(|index| inputs.optional(index));
    if let Some(other) = all.map(|fact| fact.dtype).find(|other| *other != dtype) {
        return Err(OpError::invalid(format!("operands of the types {dtype} and {other}")));
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

/// Sums that are exact in `f64`, wrapped to 32 bits.
fn wrapped(to: &[usize], sums: &[f64]) -> Result<Tensor, OpError> {
    Tensor::new(to, sums.iter().map(|&sum| sum as i64 as i32).collect())
}

/// Calls something for each piece of `size` of the result, on several threads where `work` is much.
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
