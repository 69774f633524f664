//! Elementwise operations.

use roci_graph::ops::Elementwise;
use roci_graph::ops::elementwise::{Binary, Compare, Unary};
use roci_graph::{DType, Op, Tensor, ValueId};

use super::NodeContext;
use crate::Error;

/// Since this version operands are broadcast by NumPy's rules; before it, attributes defined the
/// broadcast.
const NUMPY_BROADCAST: i64 = 7;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let op = node.op();
    if let Some(kind) = unary(node, &op)? {
        return node.emit(kind);
    }
    if let Some((op, swapped)) = binary(node, &op)? {
        return pair(node, op, swapped);
    }
    match op.as_str() {
        "Sum" => chain(node, Binary::Add),
        "Max" => chain(node, Binary::Max),
        "Min" => chain(node, Binary::Min),
        "Mean" => mean(node),
        "PRelu" => prelu(node),
        "Where" => node.emit(Elementwise::Where),
        "Clip" => clip(node),
        "Cast" => {
            let to = target(node)?;
            // They affect only 8-bit and narrower floats, which are not supported.
            let _ = (node.int("saturate")?, node.string("round_mode")?);
            node.emit(Elementwise::Cast { to })
        }
        "CastLike" => {
            let _ = (node.int("saturate")?, node.string("round_mode")?);
            node.emit(Elementwise::CastLike)
        }
        "BitCast" => {
            let to = target(node)?;
            node.emit(Elementwise::BitCast { to })
        }
        "com.microsoft.BiasGelu" => biased(node, Unary::Gelu { tanh: false }),
        "com.microsoft.FastGelu" => biased(node, Unary::Gelu { tanh: true }),
        _ => Ok(false),
    }
}

fn unary(node: &NodeContext<'_, '_>, op: &str) -> Result<Option<Unary>, Error> {
    Ok(Some(match op {
        "Abs" => Unary::Abs,
        "Neg" => Unary::Neg,
        "Sign" => Unary::Sign,
        "Ceil" => Unary::Ceil,
        "Floor" => Unary::Floor,
        "Round" => Unary::Round,
        "Reciprocal" => Unary::Reciprocal,
        "Sqrt" => Unary::Sqrt,
        "Exp" => Unary::Exp,
        "Log" => Unary::Log,
        "Sin" => Unary::Sin,
        "Cos" => Unary::Cos,
        "Tan" => Unary::Tan,
        "Asin" => Unary::Asin,
        "Acos" => Unary::Acos,
        "Atan" => Unary::Atan,
        "Sinh" => Unary::Sinh,
        "Cosh" => Unary::Cosh,
        "Tanh" => Unary::Tanh,
        "Asinh" => Unary::Asinh,
        "Acosh" => Unary::Acosh,
        "Atanh" => Unary::Atanh,
        "Erf" => Unary::Erf,
        "Not" => Unary::Not,
        "BitwiseNot" => Unary::BitwiseNot,
        "IsNaN" => Unary::IsNaN,
        "IsInf" => Unary::IsInf {
            negative: node.flag("detect_negative", true)?,
            positive: node.flag("detect_positive", true)?,
        },
        "Relu" => Unary::Relu,
        "LeakyRelu" => Unary::LeakyRelu { alpha: node.float_or("alpha", 0.01)? },
        "ThresholdedRelu" => Unary::ThresholdedRelu { alpha: node.float_or("alpha", 1.0)? },
        "Elu" => Unary::Elu { alpha: node.float_or("alpha", 1.0)? },
        "Selu" => {
            Unary::Selu { alpha: node.float_or("alpha", 1.673_263_2)?, gamma: node.float_or("gamma", 1.050_701)? }
        }
        "Celu" => Unary::Celu { alpha: node.float_or("alpha", 1.0)? },
        "Sigmoid" => Unary::Sigmoid,
        "HardSigmoid" => Unary::HardSigmoid { alpha: node.float_or("alpha", 0.2)?, beta: node.float_or("beta", 0.5)? },
        "HardSwish" => Unary::HardSwish,
        "Softplus" => Unary::Softplus,
        "Softsign" => Unary::Softsign,
        "Gelu" => match node.string_or("approximate", "none")?.as_str() {
            "none" => Unary::Gelu { tanh: false },
            "tanh" => Unary::Gelu { tanh: true },
            other => return Err(Error::invalid(format!("unknown value `{other}` of attribute `approximate`"))),
        },
        "com.microsoft.Gelu" => Unary::Gelu { tanh: false },
        "Mish" => Unary::Mish,
        "Swish" => Unary::Swish { alpha: node.float_or("alpha", 1.0)? },
        "com.microsoft.QuickGelu" => Unary::Swish { alpha: node.float_or("alpha", 1.702)? },
        "Shrink" => Unary::Shrink { bias: node.float_or("bias", 0.0)?, lambd: node.float_or("lambd", 0.5)? },
        _ => return Ok(None),
    }))
}

/// The binary operation, and whether its operands are swapped.
fn binary(node: &NodeContext<'_, '_>, op: &str) -> Result<Option<(Op, bool)>, Error> {
    let kind = match op {
        "Add" => Binary::Add,
        "Sub" => Binary::Sub,
        "Mul" => Binary::Mul,
        "Div" => Binary::Div,
        "Mod" => Binary::Mod { fmod: node.flag("fmod", false)? },
        "Pow" => Binary::Pow,
        "And" => Binary::And,
        "Or" => Binary::Or,
        "Xor" => Binary::Xor,
        "BitwiseAnd" => Binary::BitwiseAnd,
        "BitwiseOr" => Binary::BitwiseOr,
        "BitwiseXor" => Binary::BitwiseXor,
        "BitShift" => match node.string_or("direction", "")?.as_str() {
            "LEFT" => Binary::ShiftLeft,
            "RIGHT" => Binary::ShiftRight,
            other => return Err(Error::invalid(format!("unknown value `{other}` of attribute `direction`"))),
        },
        "Equal" => return Ok(Some((Compare::Equal.into(), false))),
        "Less" => return Ok(Some((Compare::Less.into(), false))),
        "LessOrEqual" => return Ok(Some((Compare::LessOrEqual.into(), false))),
        "Greater" => return Ok(Some((Compare::Less.into(), true))),
        "GreaterOrEqual" => return Ok(Some((Compare::LessOrEqual.into(), true))),
        _ => return Ok(None),
    };
    Ok(Some((kind.into(), false)))
}

fn pair(node: &mut NodeContext<'_, '_>, op: Op, swapped: bool) -> Result<bool, Error> {
    let (first, mut second) = (node.required(0)?, node.required(1)?);
    if node.version() < NUMPY_BROADCAST {
        let axis = node.int("axis")?;
        if node.flag("broadcast", false)? {
            second = node.step(Elementwise::Align { axis }, &[second, first]);
        }
    }
    let operands = if swapped { [second, first] } else { [first, second] };
    node.emit_with(op, &operands.map(Some))
}

/// The node's operands, at least one.
fn operands(node: &NodeContext<'_, '_>) -> Result<(ValueId, Vec<ValueId>), Error> {
    let first = node.required(0)?;
    Ok((first, (1..node.inputs().len()).map(|index| node.required(index)).collect::<Result<_, _>>()?))
}

/// A variadic operation as a sequence of binary ones.
fn chain(node: &mut NodeContext<'_, '_>, kind: Binary) -> Result<bool, Error> {
    let (first, rest) = operands(node)?;
    let all = rest.into_iter().fold(first, |sum, operand| node.step(kind, &[sum, operand]));
    node.bind(0, all)
}

fn mean(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let (first, rest) = operands(node)?;
    let count = node.constant(Tensor::scalar(rest.len() as f32 + 1.0));
    let count = node.step(Elementwise::CastLike, &[count, first]);
    let sum = rest.into_iter().fold(first, |sum, operand| node.step(Binary::Add, &[sum, operand]));
    let mean = node.step(Binary::Div, &[sum, count]);
    node.bind(0, mean)
}

fn prelu(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let (first, mut slope) = (node.required(0)?, node.required(1)?);
    if node.version() < NUMPY_BROADCAST {
        // One slope per channel.
        slope = node.step(Elementwise::Align { axis: Some(1) }, &[slope, first]);
    }
    node.emit_with(Binary::PRelu, &[Some(first), Some(slope)])
}

fn clip(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    if node.version() >= 11 {
        return node.emit(Elementwise::Clip);
    }
    let bounds = [node.float("min")?, node.float("max")?];
    let [low, high] = bounds.map(|bound| bound.map(|bound| node.constant(Tensor::scalar(bound))));
    let first = node.required(0)?;
    node.emit_with(Elementwise::Clip, &[Some(first), low, high])
}

fn biased(node: &mut NodeContext<'_, '_>, kind: Unary) -> Result<bool, Error> {
    let mut first = node.required(0)?;
    if let Some(bias) = node.input(1) {
        first = node.step(Binary::Add, &[first, bias]);
    }
    node.emit_with(kind, &[Some(first)])
}

/// The target type of a conversion.
fn target(node: &NodeContext<'_, '_>) -> Result<DType, Error> {
    node.dtype("to")?.ok_or_else(|| Error::invalid("attribute `to` is missing"))
}
