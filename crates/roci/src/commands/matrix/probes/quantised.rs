//! Small integers.

use roci_graph::ops::{Product, Quantize};
use roci_graph::{DType, Tensor, ValueId};

use super::List;
use super::sketch::{Sketch, window};
use crate::commands::matrix::compare::Tolerance;

fn linear(axis: i64, dtype: DType) -> Quantize {
    Quantize::Linear { axis, block: 0, dtype, precision: None }
}

fn back(axis: i64) -> Quantize {
    Quantize::Back { axis, block: 0, dtype: None }
}

pub(super) fn add(list: &mut List) {
    for dtype in [DType::U8, DType::I8] {
        list.add(format!("quantize to {dtype}"), move |sketch| {
            let (x, scale) = (sketch.input_in(&[5, 33], -3.0, 3.0), sketch.number(0.03));
            vec![sketch.op(linear(1, dtype), &[x, scale])]
        });
    }
    list.add("quantize, by channel", |sketch| {
        let (x, scales) = (sketch.input(&[2, 5, 9]), sketch.weight_in(&[5], 0.01, 0.02));
        let zeros = sketch.known(Tensor::vector(vec![120u8, 128, 100, 140, 131]));
        vec![sketch.op(linear(1, DType::U8), &[x, scales, zeros])]
    });
    list.add("dequantize", |sketch| {
        let x = sketch.input_of(DType::U8, &[5, 33], 0.0, 255.0);
        let (scale, zero) = (sketch.number(0.03), sketch.known(Tensor::scalar(128u8)));
        vec![sketch.op(back(1), &[x, scale, zero])]
    });
    list.add("quantize by its own range", |sketch| {
        let x = sketch.input_in(&[5, 33], -2.0, 3.0);
        sketch.op_with(Quantize::Dynamic, &[Some(x)], 3)
    });
    list.add("integer matmul", |sketch| {
        let sums = product(sketch);
        vec![sums]
    });
    list.add("integer conv2d", |sketch| {
        let sums = convolution(sketch);
        vec![sums]
    });
    list.add("quantised matmul", |sketch| {
        let sums = product(sketch);
        requantized(sketch, sums, [-2, -1])
    });
    list.add("quantised conv2d", |sketch| {
        let sums = convolution(sketch);
        requantized(sketch, sums, [0, 1])
    });
    list.add("conv2d between dequantize and quantize", |sketch| {
        sketch.tolerance = Tolerance::sums(sketch.dtype);
        let x = sketch.input_of(DType::U8, &[1, 4, 9, 7], 0.0, 255.0);
        let (scale, zero) = (sketch.number(0.02), sketch.known(Tensor::scalar(128u8)));
        let floats = sketch.op(back(1), &[x, scale, zero]);
        let w = sketch.weight(&[6, 4, 3, 3]);
        let made = sketch.op(Product::Conv { window: window(&[], &[1, 1], &[]), groups: 1 }, &[floats, w]);
        vec![made, sketch.op(linear(1, DType::U8), &[floats, scale, zero])]
    });
}

fn zero_points(sketch: &mut Sketch) -> [ValueId; 2] {
    [sketch.known(Tensor::scalar(121u8)), sketch.known(Tensor::scalar(0i8))]
}

fn product(sketch: &mut Sketch) -> ValueId {
    let a = sketch.input_of(DType::U8, &[9, 37], 0.0, 255.0);
    let b = sketch.input_of(DType::I8, &[37, 13], -127.0, 127.0);
    let [zero_a, zero_b] = zero_points(sketch);
    sketch.op(Product::MatMulInteger, &[a, b, zero_a, zero_b])
}

fn convolution(sketch: &mut Sketch) -> ValueId {
    let x = sketch.input_of(DType::U8, &[1, 4, 9, 7], 0.0, 255.0);
    let w = sketch.input_of(DType::I8, &[6, 4, 3, 3], -127.0, 127.0);
    let [zero_x, zero_w] = zero_points(sketch);
    let op = Product::ConvInteger { window: window(&[], &[1, 1], &[]), groups: 1 };
    sketch.op(op, &[x, w, zero_x, zero_w])
}

/// Sums back to bytes.
fn requantized(sketch: &mut Sketch, sums: ValueId, axes: [i64; 2]) -> Vec<ValueId> {
    let (left, right, result) = (sketch.number(0.02), sketch.number(0.01), sketch.number(0.11));
    let zero = sketch.known(Tensor::scalar(125u8));
    vec![sketch.op(Product::Requantize { axes }, &[sums, left, right, result, zero])]
}
