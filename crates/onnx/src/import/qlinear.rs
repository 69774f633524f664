//! Layers on bytes as onnxruntime's quantizer writes them (`com.microsoft`): to floats, the layer, and back to bytes.

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
            // It tells the version of ONNX's operation that it stands for.
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
            let made = node.add(Quantize::Dynamic, &[Some(x)], 3);
            let (x, scale, zero) = (made[0], made[1], made[2]);
            let b_scale = node.required(2)?;
            let unit = node.step(Elementwise::Binary(Binary::Mul), &[scale, b_scale]);
            scaled(node, &[Some(x), Some(node.required(1)?), Some(zero), node.input(3)], unit, 4)
        }
        _ => Ok(false),
    }
}

fn channels_first(node: &NodeContext<'_, '_>) -> Result<(), Error> {
    if node.flag("channels_last", false)? {
        return Err(Error::invalid("channels behind the pixels are not supported"));
    }
    Ok(())
}

/// The floats behind three operands: bytes, scale and zero point. `axis` is what scales of many elements are about.
fn floats(node: &mut NodeContext<'_, '_>, first: usize, axis: i64) -> Result<ValueId, Error> {
    let operands = [Some(node.required(first)?), Some(node.required(first + 1)?), node.input(first + 2)];
    Ok(node.add(Quantize::Back { axis, block: 0, dtype: None }, &operands, 1)[0])
}

/// The node's result: bytes of floats, by a scale and a zero point among the operands.
fn bytes(node: &mut NodeContext<'_, '_>, x: ValueId, scale: usize) -> Result<bool, Error> {
    let operands = [Some(x), Some(node.required(scale)?), node.input(scale + 1)];
    node.emit_with(Quantize::Linear { axis: 1, block: 0, dtype: DType::U8, precision: None }, &operands)
}

/// Operands: bytes, scale, zero point, then scale and zero point of the result.
fn one(node: &mut NodeContext<'_, '_>, op: impl Into<Op>) -> Result<bool, Error> {
    let x = floats(node, 0, 1)?;
    let made = node.step(op, &[x]);
    bytes(node, made, 3)
}

/// Operands: two times bytes, scale and zero point, then scale and zero point of the result.
fn two(node: &mut NodeContext<'_, '_>, op: Binary) -> Result<bool, Error> {
    let (a, b) = (floats(node, 0, 1)?, floats(node, 3, 1)?);
    let made = node.step(Elementwise::Binary(op), &[a, b]);
    bytes(node, made, 6)
}

/// Operands: scale and zero point of the result, then bytes, scale and zero point of each part.
fn concat(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let axis = node.int("axis")?.ok_or_else(|| Error::invalid("attribute `axis` is missing"))?;
    let firsts = (2..node.inputs().len()).step_by(3);
    let parts = firsts.map(|first| floats(node, first, 1)).collect::<Result<Vec<_>, _>>()?;
    let made = node.step(Movement::Concat { axis }, &parts);
    bytes(node, made, 0)
}

/// Operands: what decides, two times bytes, scale and zero point, then scale and zero point of the result.
fn choice(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let decides = node.required(0)?;
    let (a, b) = (floats(node, 1, 1)?, floats(node, 4, 1)?);
    let made = node.step(Elementwise::Where, &[decides, a, b]);
    bytes(node, made, 7)
}

/// The unit of products: that of one operand times that of the other.
fn unit(node: &mut NodeContext<'_, '_>, first: usize, second: usize) -> Result<ValueId, Error> {
    let scales = [node.required(first)?, node.required(second)?];
    Ok(node.step(Elementwise::Binary(Binary::Mul), &scales))
}

/// The node's result: floats, a product of integers in a unit, with a bias that may be there.
fn scaled(
    node: &mut NodeContext<'_, '_>,
    operands: &[Option<ValueId>],
    unit: ValueId,
    bias: usize,
) -> Result<bool, Error> {
    let sums = node.add(Product::MatMulInteger, operands, 1)[0];
    let sums = node.step(Elementwise::Cast { to: DType::F32 }, &[sums]);
    let mut made = node.step(Elementwise::Binary(Binary::Mul), &[sums, unit]);
    if let Some(bias) = node.input(bias) {
        made = node.step(Elementwise::Binary(Binary::Add), &[made, bias]);
    }
    node.bind(0, made)
}

/// Operands: two times bytes, scale and zero point, then sums to start with, then scale and zero point of the result, which
/// is floats without them.
fn gemm(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let alpha = node.float_or("alpha", 1.0)?;
    let (transpose_a, transpose_b) = (node.flag("transA", false)?, node.flag("transB", false)?);
    let (a, b) = (floats(node, 0, 1)?, floats(node, 3, if transpose_b { 0 } else { 1 })?);
    let mut operands = vec![a, b];
    if let Some(bias) = node.input(6) {
        // Its unit is that of the products.
        let unit = unit(node, 1, 4)?;
        let bias = node.step(Elementwise::Cast { to: DType::F32 }, &[bias]);
        operands.push(node.step(Elementwise::Binary(Binary::Mul), &[bias, unit]));
    }
    let product = Product::MatMul { transpose_a, transpose_b, alpha, beta: alpha };
    let made = node.step(product, &operands);
    if node.input(7).is_some() { bytes(node, made, 7) } else { node.bind(0, made) }
}
