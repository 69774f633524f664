//! Layers on bytes from onnxruntime's quantizer (`com.microsoft`): dequantize, compute, quantize.

use roci_graph::ops::elementwise::{Binary, Unary};
use roci_graph::ops::pool::PoolKind;
use roci_graph::ops::reduction::SoftmaxKind;
use roci_graph::ops::{Elementwise, Movement, Pool, Product, Quantize, Reduction};
use roci_graph::{DType, Op, ValueId};

use super::{NodeContext, pool};
use crate::Error;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let op = node.op();
    let Some(name) = op.strip_prefix("com.microsoft.") else { return Ok(false) };
    match name {
        "QLinearAdd" => two(node, Binary::Add),
        "QLinearMul" => two(node, Binary::Mul),
        "QLinearSigmoid" => one(node, Elementwise::Unary(Unary::Sigmoid)),
        "QLinearLeakyRelu" => {
            let alpha = node.float_or("alpha", 0.01)?;
            one(node, Elementwise::Unary(Unary::LeakyRelu { alpha }))
        }
        "QLinearAveragePool" => {
            let with_padding = node.flag("count_include_pad", false)?;
            let op = pool::sliding(node, PoolKind::Average { with_padding })?;
            channels_first(node)?;
            one(node, op)
        }
        "QLinearGlobalAveragePool" => {
            channels_first(node)?;
            one(node, Pool::Global { kind: PoolKind::Average { with_padding: false } })
        }
        "QLinearSoftmax" => {
            // The version of ONNX's operation that it corresponds to.
            let to_end = node.int_or("opset", 13)? < 13;
            let axis = node.int_or("axis", -1)?;
            one(node, Reduction::Softmax { kind: SoftmaxKind::Softmax, axis, to_end })
        }
        "QLinearConcat" => concat(node),
        "QLinearWhere" => choice(node),
        "QGemm" => gemm(node),
        "MatMulIntegerToFloat" => {
            let operands = [Some(node.required(0)?), Some(node.required(1)?), node.input(4), node.input(5)];
            let unit = unit(node, 2, 3)?;
            scaled(node, &operands, unit, 6)
        }
        "DynamicQuantizeMatMul" => {
            let x = node.required(0)?;
            let result = node.add(Quantize::Dynamic, &[Some(x)], 3);
            let (x, scale, zero) = (result[0], result[1], result[2]);
            let b_scale = node.required(2)?;
            let unit = node.step(Elementwise::Binary(Binary::Mul), &[scale, b_scale]);
            scaled(node, &[Some(x), Some(node.required(1)?), Some(zero), node.input(3)], unit, 4)
        }
        _ => Ok(false),
    }
}

fn channels_first(node: &NodeContext<'_, '_>) -> Result<(), Error> {
    if node.flag("channels_last", false)? {
        return Err(Error::invalid("the channels-last layout is not supported"));
    }
    Ok(())
}

/// Dequantizes three operands: bytes, scale and zero point. `axis` is the axis of scales with
/// several elements.
fn floats(node: &mut NodeContext<'_, '_>, first: usize, axis: i64) -> Result<ValueId, Error> {
    let operands = [Some(node.required(first)?), Some(node.required(first + 1)?), node.input(first + 2)];
    Ok(node.add(Quantize::Dequantize { axis, block: 0, dtype: None }, &operands, 1)[0])
}

/// Quantizes the node's result with a scale and a zero point from the operands.
fn bytes(node: &mut NodeContext<'_, '_>, x: ValueId, scale: usize) -> Result<bool, Error> {
    let operands = [Some(x), Some(node.required(scale)?), node.input(scale + 1)];
    node.emit_with(Quantize::Linear { axis: 1, block: 0, dtype: DType::U8, precision: None }, &operands)
}

/// Operands: bytes, scale, zero point, then scale and zero point of the result.
fn one(node: &mut NodeContext<'_, '_>, op: impl Into<Op>) -> Result<bool, Error> {
    let x = floats(node, 0, 1)?;
    let result = node.step(op, &[x]);
    bytes(node, result, 3)
}

/// Operands: bytes, scale and zero point twice, then scale and zero point of the result.
fn two(node: &mut NodeContext<'_, '_>, op: Binary) -> Result<bool, Error> {
    let (a, b) = (floats(node, 0, 1)?, floats(node, 3, 1)?);
    let result = node.step(Elementwise::Binary(op), &[a, b]);
    bytes(node, result, 6)
}

/// Operands: scale and zero point of the result, then bytes, scale and zero point of each part.
fn concat(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let axis = node.int("axis")?.ok_or_else(|| Error::invalid("attribute `axis` is missing"))?;
    let firsts = (2..node.inputs().len()).step_by(3);
    let parts = firsts.map(|first| floats(node, first, 1)).collect::<Result<Vec<_>, _>>()?;
    let result = node.step(Movement::Concat { axis }, &parts);
    bytes(node, result, 0)
}

/// Operands: a condition, then bytes, scale and zero point twice, then scale and zero point of the
/// result.
fn choice(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let decides = node.required(0)?;
    let (a, b) = (floats(node, 1, 1)?, floats(node, 4, 1)?);
    let result = node.step(Elementwise::Where, &[decides, a, b]);
    bytes(node, result, 7)
}

/// The scale of products: the product of both operands' scales.
fn unit(node: &mut NodeContext<'_, '_>, first: usize, second: usize) -> Result<ValueId, Error> {
    let scales = [node.required(first)?, node.required(second)?];
    Ok(node.step(Elementwise::Binary(Binary::Mul), &scales))
}

/// The node's result as floats: an integer product times its scale, plus an optional bias.
fn scaled(
    node: &mut NodeContext<'_, '_>,
    operands: &[Option<ValueId>],
    unit: ValueId,
    bias: usize,
) -> Result<bool, Error> {
    let sums = node.add(Product::MatMulInteger, operands, 1)[0];
    let sums = node.step(Elementwise::Cast { to: DType::F32 }, &[sums]);
    let mut result = node.step(Elementwise::Binary(Binary::Mul), &[sums, unit]);
    if let Some(bias) = node.input(bias) {
        result = node.step(Elementwise::Binary(Binary::Add), &[result, bias]);
    }
    node.bind(0, result)
}

/// Operands: bytes, scale and zero point twice, then an optional integer bias, then scale and zero
/// point of the result, without which the result is floats.
fn gemm(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let alpha = node.float_or("alpha", 1.0)?;
    let (transpose_a, transpose_b) = (node.flag("transA", false)?, node.flag("transB", false)?);
    let (a, b) = (floats(node, 0, 1)?, floats(node, 3, if transpose_b { 0 } else { 1 })?);
    let mut operands = vec![a, b];
    if let Some(bias) = node.input(6) {
        // The bias has the scale of the products.
        let unit = unit(node, 1, 4)?;
        let bias = node.step(Elementwise::Cast { to: DType::F32 }, &[bias]);
        operands.push(node.step(Elementwise::Binary(Binary::Mul), &[bias, unit]));
    }
    let product = Product::MatMul { transpose_a, transpose_b, alpha, beta: alpha };
    let result = node.step(product, &operands);
    if node.input(7).is_some() { bytes(node, result, 7) } else { node.bind(0, result) }
}
