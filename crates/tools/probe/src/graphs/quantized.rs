//! Quantized integer operations.

use roci_graph::ops::{Product, Quantize};
use roci_graph::{DType, Tensor, ValueId};

use super::ProbeList;
use super::builder::{CaseBuilder, window};
use super::tolerance;

fn linear(axis: i64, dtype: DType) -> Quantize {
    Quantize::Linear { axis, block: 0, dtype, precision: None }
}

fn back(axis: i64) -> Quantize {
    Quantize::Dequantize { axis, block: 0, dtype: None }
}

pub(super) fn add(list: &mut ProbeList) {
    for dtype in [DType::U8, DType::I8] {
        list.add(format!("quantize to {dtype}"), move |builder| {
            let (x, scale) = (builder.input_in(&[5, 33], -3.0, 3.0), builder.number(0.03));
            vec![builder.op(linear(1, dtype), &[x, scale])]
        });
    }
    list.add("quantize, by channel", |builder| {
        let (x, scales) = (builder.input(&[2, 5, 9]), builder.weight_in(&[5], 0.01, 0.02));
        let zeros = builder.known(Tensor::vector(vec![120u8, 128, 100, 140, 131]));
        vec![builder.op(linear(1, DType::U8), &[x, scales, zeros])]
    });
    list.add("dequantize", |builder| {
        let x = builder.input_of(DType::U8, &[5, 33], 0.0, 255.0);
        let (scale, zero) = (builder.number(0.03), builder.known(Tensor::scalar(128u8)));
        vec![builder.op(back(1), &[x, scale, zero])]
    });
    list.add("quantize by its own range", |builder| {
        let x = builder.input_in(&[5, 33], -2.0, 3.0);
        builder.op_with(Quantize::Dynamic, &[Some(x)], 3)
    });
    list.add("integer matmul", |builder| {
        let sums = product(builder);
        vec![sums]
    });
    list.add("integer conv2d", |builder| {
        let sums = convolution(builder);
        vec![sums]
    });
    list.add("quantized matmul", |builder| {
        let sums = product(builder);
        requantized(builder, sums, [-2, -1])
    });
    list.add("quantized conv2d", |builder| {
        let sums = convolution(builder);
        requantized(builder, sums, [0, 1])
    });
    list.add("conv2d between dequantize and quantize", |builder| {
        builder.tolerance = tolerance::sums(builder.dtype);
        let x = builder.input_of(DType::U8, &[1, 4, 9, 7], 0.0, 255.0);
        let (scale, zero) = (builder.number(0.02), builder.known(Tensor::scalar(128u8)));
        let floats = builder.op(back(1), &[x, scale, zero]);
        let w = builder.weight(&[6, 4, 3, 3]);
        let conv = builder.op(Product::Conv { window: window(&[], &[1, 1], &[]), groups: 1 }, &[floats, w]);
        vec![conv, builder.op(linear(1, DType::U8), &[floats, scale, zero])]
    });
}

fn zero_points(builder: &mut CaseBuilder) -> [ValueId; 2] {
    [builder.known(Tensor::scalar(121u8)), builder.known(Tensor::scalar(0i8))]
}

fn product(builder: &mut CaseBuilder) -> ValueId {
    let a = builder.input_of(DType::U8, &[9, 37], 0.0, 255.0);
    let b = builder.input_of(DType::I8, &[37, 13], -127.0, 127.0);
    let [zero_a, zero_b] = zero_points(builder);
    builder.op(Product::MatMulInteger, &[a, b, zero_a, zero_b])
}

fn convolution(builder: &mut CaseBuilder) -> ValueId {
    let x = builder.input_of(DType::U8, &[1, 4, 9, 7], 0.0, 255.0);
    let w = builder.input_of(DType::I8, &[6, 4, 3, 3], -127.0, 127.0);
    let [zero_x, zero_w] = zero_points(builder);
    let op = Product::ConvInteger { window: window(&[], &[1, 1], &[]), groups: 1 };
    builder.op(op, &[x, w, zero_x, zero_w])
}

/// Requantizes 32-bit sums to bytes.
fn requantized(builder: &mut CaseBuilder, sums: ValueId, axes: [i64; 2]) -> Vec<ValueId> {
    let (left, right, result) = (builder.number(0.02), builder.number(0.01), builder.number(0.11));
    let zero = builder.known(Tensor::scalar(125u8));
    vec![builder.op(Product::Requantize { axes }, &[sums, left, right, result, zero])]
}
