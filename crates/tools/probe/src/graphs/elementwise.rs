//! Elementwise operations: arithmetic, comparisons, selection, activations.

use roci_graph::ops::Elementwise;
use roci_graph::ops::elementwise::{Binary, Compare, Unary};
use roci_graph::ops::reduction::{Reduction, SoftmaxKind};
use roci_graph::{DType, Tensor};

use super::ProbeList;
use super::tolerance;

const SHAPE: [usize; 3] = [4, 7, 33];

pub(super) fn arithmetic(list: &mut ProbeList) {
    unary(list);
    binary(list);
    integers(list);
    choices(list);
}

/// Unary functions, on inputs within their domain.
fn unary(list: &mut ProbeList) {
    let plain = [
        ("abs", Unary::Abs, -2.0, 2.0),
        ("neg", Unary::Neg, -2.0, 2.0),
        ("sign", Unary::Sign, -2.0, 2.0),
        ("ceil", Unary::Ceil, -9.0, 9.0),
        ("floor", Unary::Floor, -9.0, 9.0),
        ("reciprocal", Unary::Reciprocal, 0.5, 2.0),
        ("sqrt", Unary::Sqrt, 0.0, 4.0),
        ("exp", Unary::Exp, -3.0, 3.0),
        ("log", Unary::Log, 0.1, 5.0),
        ("erf", Unary::Erf, -2.0, 2.0),
    ];
    for (name, kind, low, high) in plain {
        list.add(name, move |builder| {
            let x = builder.input_in(&SHAPE, low, high);
            vec![builder.op(kind, &[x])]
        });
    }
    let rough = [
        ("sin", Unary::Sin, -3.0, 3.0),
        ("cos", Unary::Cos, -3.0, 3.0),
        ("tan", Unary::Tan, -1.0, 1.0),
        ("asin", Unary::Asin, -0.9, 0.9),
        ("acos", Unary::Acos, -0.9, 0.9),
        ("atan", Unary::Atan, -3.0, 3.0),
        ("sinh", Unary::Sinh, -2.0, 2.0),
        ("cosh", Unary::Cosh, -2.0, 2.0),
        ("asinh", Unary::Asinh, -2.0, 2.0),
        ("acosh", Unary::Acosh, 1.1, 4.0),
        ("atanh", Unary::Atanh, -0.9, 0.9),
    ];
    for (name, kind, low, high) in rough {
        list.add(name, move |builder| {
            builder.tolerance = tolerance::native(builder.dtype);
            let x = builder.input_in(&SHAPE, low, high);
            vec![builder.op(kind, &[x])]
        });
    }
    list.add("round, halves to even", |builder| {
        let halves: Vec<f64> = (-20..20).map(|half| f64::from(half) / 2.0).collect();
        let x = builder.listed(DType::F32, &[40], &halves);
        vec![builder.op(Unary::Round, &[x])]
    });
    list.add("is-nan, is-inf", |builder| {
        let x = builder.listed(DType::F32, &[5], &[1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0]);
        let infinite = Unary::IsInf { negative: true, positive: true };
        vec![builder.op(Unary::IsNaN, &[x]), builder.op(infinite, &[x])]
    });
}

fn binary(list: &mut ProbeList) {
    let kinds = [
        ("add", Binary::Add),
        ("sub", Binary::Sub),
        ("mul", Binary::Mul),
        ("max", Binary::Max),
        ("min", Binary::Min),
        ("prelu", Binary::PRelu),
    ];
    for (name, kind) in kinds {
        list.add(name, move |builder| {
            let (a, b) = (builder.input(&SHAPE), builder.input(&SHAPE));
            vec![builder.op(kind, &[a, b])]
        });
    }
    for (name, kind) in [("div", Binary::Div), ("mod, fmod", Binary::Mod { fmod: true })] {
        list.add(name, move |builder| {
            let (a, b) = (builder.input_in(&SHAPE, -2.0, 2.0), builder.input_in(&SHAPE, 0.5, 2.0));
            vec![builder.op(kind, &[a, b])]
        });
    }
    list.add("pow", |builder| {
        builder.tolerance = roci_tolerance::Tolerance::Approximate;
        let (a, b) = (builder.input_in(&SHAPE, 0.2, 2.0), builder.input_in(&SHAPE, -2.0, 2.0));
        vec![builder.op(Binary::Pow, &[a, b])]
    });
    list.add_typed(DType::F16, "add, f16", |builder| {
        let (a, b) = (builder.input(&SHAPE), builder.input(&SHAPE));
        vec![builder.op(Binary::Add, &[a, b])]
    });
    list.add("add, broadcast", |builder| {
        let (a, b) = (builder.input(&[4, 1, 33]), builder.input(&[7, 1]));
        vec![builder.op(Binary::Add, &[a, b])]
    });
    list.add("chain of five, one kernel", |builder| {
        let (a, b) = (builder.input(&SHAPE), builder.input(&[33]));
        let sum = builder.op(Binary::Add, &[a, b]);
        let product = builder.op(Binary::Mul, &[sum, a]);
        let positive = builder.op(Unary::Relu, &[product]);
        let two = builder.number(2.0);
        let scaled = builder.op(Binary::Mul, &[positive, two]);
        vec![builder.op(Binary::Sub, &[scaled, a])]
    });
}

fn integers(list: &mut ProbeList) {
    let kinds = [
        ("add, i32", Binary::Add),
        ("mul, i32", Binary::Mul),
        ("div, i32", Binary::Div),
        ("mod, i32", Binary::Mod { fmod: false }),
        ("bitwise and, i32", Binary::BitwiseAnd),
        ("bitwise or, i32", Binary::BitwiseOr),
        ("bitwise xor, i32", Binary::BitwiseXor),
    ];
    for (name, kind) in kinds {
        list.add(name, move |builder| {
            let a = builder.input_of(DType::I32, &SHAPE, -1000.0, 1000.0);
            let b = builder.input_of(DType::I32, &SHAPE, 1.0, 50.0);
            vec![builder.op(kind, &[a, b])]
        });
    }
    for (name, kind) in [("shift left, u32", Binary::ShiftLeft), ("shift right, u32", Binary::ShiftRight)] {
        list.add(name, move |builder| {
            let a = builder.input_of(DType::U32, &SHAPE, 0.0, 4e9);
            let b = builder.input_of(DType::U32, &SHAPE, 0.0, 31.0);
            vec![builder.op(kind, &[a, b])]
        });
    }
    list.add("bitwise not, i32", |builder| {
        let x = builder.input_of(DType::I32, &SHAPE, -1000.0, 1000.0);
        vec![builder.op(Unary::BitwiseNot, &[x])]
    });
}

fn choices(list: &mut ProbeList) {
    let kinds = [("equal", Compare::Equal), ("less", Compare::Less), ("less or equal", Compare::LessOrEqual)];
    for (name, kind) in kinds {
        list.add(name, move |builder| {
            // A small range of values, so that some are equal.
            let a = builder.input_of(DType::I32, &SHAPE, 0.0, 4.0);
            let b = builder.input_of(DType::I32, &SHAPE, 0.0, 4.0);
            let (x, y) = (builder.input(&SHAPE), builder.input(&SHAPE));
            vec![builder.op(kind, &[a, b]), builder.op(kind, &[x, y])]
        });
    }
    list.add("and, or, xor, not", |builder| {
        let (a, b) = (builder.input_of(DType::I32, &SHAPE, 0.0, 2.0), builder.input_of(DType::I32, &SHAPE, 0.0, 2.0));
        let [a, b] = [a, b].map(|x| builder.op(Elementwise::Cast { to: DType::Bool }, &[x]));
        let both = [Binary::And, Binary::Or, Binary::Xor].map(|kind| builder.op(kind, &[a, b]));
        let not = builder.op(Unary::Not, &[a]);
        both.into_iter().chain([not]).collect()
    });
    list.add("where", |builder| {
        let (a, b) = (builder.input(&SHAPE), builder.input(&[33]));
        let less = builder.op(Compare::Less, &[a, b]);
        vec![builder.op(Elementwise::Where, &[less, a, b])]
    });
    list.add("clip", |builder| {
        let x = builder.input(&SHAPE);
        let (low, high) = (builder.number(-0.25), builder.number(0.5));
        vec![builder.op(Elementwise::Clip, &[x, low, high])]
    });
}

pub(super) fn activations(list: &mut ProbeList) {
    for (name, kind) in
        [("relu", Unary::Relu), ("gelu", Unary::Gelu { tanh: false }), ("silu", Unary::Swish { alpha: 1.0 })]
    {
        list.add_both(name, move |builder| {
            let x = builder.input_in(&SHAPE, -4.0, 4.0);
            vec![builder.op(kind, &[x])]
        });
    }
    let kinds = [
        ("leaky relu", Unary::LeakyRelu { alpha: 0.01 }),
        ("thresholded relu", Unary::ThresholdedRelu { alpha: 1.0 }),
        ("elu", Unary::Elu { alpha: 1.0 }),
        ("selu", Unary::Selu { alpha: 1.673_263_2, gamma: 1.050_701 }),
        ("celu", Unary::Celu { alpha: 1.5 }),
        ("sigmoid", Unary::Sigmoid),
        ("hard sigmoid", Unary::HardSigmoid { alpha: 0.2, beta: 0.5 }),
        ("tanh", Unary::Tanh),
        ("hard swish", Unary::HardSwish),
        ("softplus", Unary::Softplus),
        ("softsign", Unary::Softsign),
        ("gelu, tanh form", Unary::Gelu { tanh: true }),
        ("mish", Unary::Mish),
        ("shrink", Unary::Shrink { bias: 0.1, lambd: 0.5 }),
    ];
    for (name, kind) in kinds {
        list.add(name, move |builder| {
            let x = builder.input_in(&SHAPE, -4.0, 4.0);
            vec![builder.op(kind, &[x])]
        });
    }
    let softmax = |kind, axis| Reduction::Softmax { kind, axis, to_end: false };
    list.add_both("softmax", move |builder| {
        let x = builder.input_in(&[5, 133], -4.0, 4.0);
        vec![builder.op(softmax(SoftmaxKind::Softmax, -1), &[x])]
    });
    list.add("softmax, middle axis", move |builder| {
        let x = builder.input_in(&SHAPE, -4.0, 4.0);
        vec![builder.op(softmax(SoftmaxKind::Softmax, 1), &[x])]
    });
    list.add("log-softmax", move |builder| {
        let x = builder.input_in(&[5, 133], -4.0, 4.0);
        vec![builder.op(softmax(SoftmaxKind::LogSoftmax, -1), &[x])]
    });
    list.add("hardmax", move |builder| {
        let x = builder.input(&[5, 17]);
        vec![builder.op(softmax(SoftmaxKind::Hardmax, -1), &[x])]
    });
    list.add("softmax of large numbers", move |builder| {
        // Without subtracting the maximum first, every exponential would overflow.
        let x = builder.feed(Tensor::vector(vec![1000.0f32, 999.0, 998.0, 0.0, -1000.0]));
        vec![builder.op(softmax(SoftmaxKind::Softmax, 0), &[x])]
    });
}
