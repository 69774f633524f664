//! Tests of the gradients of arithmetic, movement and reductions.

use super::{Test, check, numbers};
use crate::builder::GraphBuilder;
use crate::interpreter::RunError;
use crate::ops::elementwise::{Binary, Unary};
use crate::ops::movement::PadMode;
use crate::ops::reduction::{ReduceKind, SoftmaxKind};
use crate::ops::{Elementwise, Movement, Random, Reduction};
use crate::{DType, Op, Tensor, ValueId};

/// A network of one operation.
fn op(op: impl Into<Op>) -> impl Fn(&mut GraphBuilder, &[ValueId]) -> Result<ValueId, RunError> {
    let op = op.into();
    move |builder, inputs| builder.op(op.clone(), inputs)
}

#[test]
fn unary_gradients() -> Test {
    let x = numbers(1, &[3, 5])?;
    let positive = Tensor::new([3, 5], x.floats()?.iter().map(|x| x.abs() + 0.1).collect())?;
    for kind in [
        Unary::Abs,
        Unary::Neg,
        Unary::Exp,
        Unary::Sin,
        Unary::Cos,
        Unary::Tanh,
        Unary::Sigmoid,
        Unary::Softplus,
        Unary::Erf,
        Unary::Relu,
        Unary::LeakyRelu { alpha: 0.1 },
        Unary::ThresholdedRelu { alpha: 0.3 },
        Unary::Elu { alpha: 1.5 },
        Unary::Gelu { tanh: false },
        Unary::Swish { alpha: 1.25 },
    ] {
        check(kind.name(), std::slice::from_ref(&x), &op(kind))?;
    }
    for kind in [Unary::Sqrt, Unary::Log, Unary::Reciprocal] {
        check(kind.name(), std::slice::from_ref(&positive), &op(kind))?;
    }
    check("Cast", &[x], &|b, inputs| b.op(Elementwise::Cast { to: DType::F64 }, inputs))
}

#[test]
fn broadcast_binary_gradients() -> Test {
    let shapes: [[&[usize]; 2]; 4] = [[&[2, 3, 4], &[2, 3, 4]], [&[2, 3, 4], &[3, 1]], [&[4], &[2, 1, 4]], [&[], &[3]]];
    for [a, b] in shapes {
        let (a, mut b) = (numbers(2, a)?, numbers(3, b)?);
        for kind in [Binary::Add, Binary::Sub, Binary::Mul, Binary::Max, Binary::Min] {
            check(kind.name(), &[a.clone(), b.clone()], &op(kind))?;
        }
        let shape = b.shape().to_vec();
        b = Tensor::new(shape, b.floats()?.iter().map(|one| one.abs() + 0.5).collect())?;
        check("Div", &[a.clone(), b], &op(Binary::Div))?;
        let condition = Tensor::from_floats(DType::Bool, a.shape(), &numbers(4, a.shape())?.floats()?)?;
        check("Where", &[condition, a.clone(), numbers(5, a.shape())?], &op(Elementwise::Where))?;
    }
    let base = Tensor::vector(vec![0.5, 1.5, 2.5]);
    check("Pow", &[base], &|b, inputs| {
        let exponent = b.number_like(inputs[0], 2.5)?;
        b.op(Binary::Pow, &[inputs[0], exponent])
    })?;
    check("Clip", &[numbers(6, &[20])?], &|b, inputs| {
        let (low, high) = (b.number_like(inputs[0], -0.5)?, b.number_like(inputs[0], 0.25)?);
        b.op(Elementwise::Clip, &[inputs[0], low, high])
    })?;
    // An operand that is used twice gets the sum of both gradients.
    check("square", &[numbers(7, &[4])?], &|b, inputs| b.mul(inputs[0], inputs[0]))
}

#[test]
fn movement() -> Test {
    let x = numbers(8, &[2, 3, 4])?;
    let one = std::slice::from_ref(&x);
    check("Reshape", one, &|b, inputs| b.reshape(inputs[0], &[4, 6]))?;
    check("Flatten", one, &op(Movement::Flatten { axis: 1 }))?;
    check("Transpose", one, &op(Movement::Transpose { perm: Some(vec![2, 0, 1]) }))?;
    check("Transpose", one, &op(Movement::Transpose { perm: None }))?;
    check("Expand", &[numbers(9, &[3, 1])?], &|b, inputs| b.expand(inputs[0], &[2, 3, 5]))?;
    check("Slice", one, &|b, inputs| {
        let lists = [vec![1, 0], vec![2, -1], vec![1, 2]].map(|list| b.list(list));
        b.op(Movement::Slice, &[inputs[0], lists[0], lists[1], lists[2]])
    })?;
    check("Pad", one, &|b, inputs| {
        let pads = b.list([0, 1, -1, 2, 0, 3]);
        b.op(Movement::Pad { mode: PadMode::Constant }, &[inputs[0], pads])
    })?;
    check("Concat", &[x.clone(), numbers(10, &[2, 1, 4])?], &op(Movement::Concat { axis: -2 }))?;
    check("Split", one, &|b, inputs| {
        let sizes = b.list([1, 2, 1]);
        let parts = b.op_with(Movement::Split { axis: 2, parts: 3 }, &[Some(inputs[0]), Some(sizes)], 3)?;
        // The last part is not used.
        b.mul(parts[0], parts[1])
    })
}

#[test]
fn folds_and_softmax() -> Test {
    let x = numbers(11, &[2, 3, 4])?;
    let one = std::slice::from_ref(&x);
    let folds = [
        ReduceKind::Sum,
        ReduceKind::Mean,
        ReduceKind::SumSquare,
        ReduceKind::L1,
        ReduceKind::L2,
        ReduceKind::LogSumExp,
        ReduceKind::Max,
        ReduceKind::Min,
    ];
    for fold in folds {
        check(&format!("{fold:?}"), one, &|b, inputs| b.fold(inputs[0], fold, &[0, 2]))?;
        let reduce = Reduction::Reduce { fold, keep: false, noop_with_empty_axes: false };
        check(&format!("{fold:?} of all"), one, &op(reduce))?;
    }
    for kind in [SoftmaxKind::Softmax, SoftmaxKind::LogSoftmax] {
        for (axis, to_end) in [(1, false), (-1, false), (1, true)] {
            check(&format!("{kind:?} {axis}"), one, &op(Reduction::Softmax { kind, axis, to_end }))?;
        }
    }
    Ok(())
}

#[test]
fn dropped_elements_get_no_gradient() -> Test {
    check("Dropout", &[numbers(12, &[40])?], &|b, inputs| {
        let share = b.number_like(inputs[0], 0.3)?;
        let training = b.constant(Tensor::scalar(true));
        b.op(Random::Dropout { seed: Some(5) }, &[inputs[0], share, training])
    })?;
    check("Dropout, not in training", &[numbers(13, &[4])?], &|b, inputs| {
        b.op(Random::Dropout { seed: None }, &[inputs[0]])
    })
}
