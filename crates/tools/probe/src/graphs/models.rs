//! Small whole models: an error that one operation hides may show after the next one.

use roci_graph::ops::elementwise::{Binary, Unary};
use roci_graph::ops::movement::Movement;
use roci_graph::ops::pool::PoolKind;
use roci_graph::ops::recurrent::{Direction, Kind};
use roci_graph::ops::reduction::{Reduction, SoftmaxKind};
use roci_graph::ops::{Indexing, Norm, Pool, Product};
use roci_graph::{DType, ValueId};

use super::ProbeList;
use super::builder::{CaseBuilder, sized, window};
use super::products::matmul;
use super::recurrent::layer;
use super::tolerance;

pub(super) fn add(list: &mut ProbeList) {
    list.add_both("residual CNN", residual);
    list.add("mobile CNN", mobile);
    list.add("U-Net", unet);
    list.add_both("transformer encoder block", encoder);
    list.add("LSTM classifier", classifier);
}

/// Convolution, batch norm, activation.
fn conv(
    builder: &mut CaseBuilder,
    x: ValueId,
    weights: [usize; 4],
    stride: usize,
    groups: usize,
    by: Option<Unary>,
) -> ValueId {
    let pad = weights[2] / 2;
    let channels = [weights[0]];
    let w = builder.weight_in(&weights, -0.3, 0.3);
    let op = Product::Conv { window: window(&[stride; 2], &[pad; 2], &[]), groups };
    let result = builder.op(op, &[x, w]);
    let (scale, bias, mean) =
        (builder.weight_in(&channels, 0.5, 1.5), builder.weight(&channels), builder.weight(&channels));
    let variance = builder.weight_in(&channels, 0.5, 2.0);
    let norm = Norm::Batch { epsilon: 1e-5, momentum: None };
    let result = builder.op(norm, &[result, scale, bias, mean, variance]);
    by.map_or(result, |function| builder.op(function, &[result]))
}

/// Global average pooling, a linear layer, softmax.
fn head(builder: &mut CaseBuilder, x: ValueId, channels: usize) -> Vec<ValueId> {
    let pooled = builder.op(Pool::Global { kind: PoolKind::Average { with_padding: false } }, &[x]);
    let flat = builder.op(Movement::Flatten { axis: 1 }, &[pooled]);
    let (w, bias) = (builder.weight(&[channels, 10]), builder.weight(&[10]));
    let result = builder.op(matmul(), &[flat, w, bias]);
    vec![builder.op(softmax(), &[result])]
}

fn softmax() -> Reduction {
    Reduction::Softmax { kind: SoftmaxKind::Softmax, axis: -1, to_end: false }
}

fn residual(builder: &mut CaseBuilder) -> Vec<ValueId> {
    builder.tolerance = tolerance::layers(builder.dtype);
    let image = builder.input(&[1, 3, 24, 24]);
    let mut x = conv(builder, image, [16, 3, 5, 5], 2, 1, Some(Unary::Relu));
    let window = sized(&[3, 3], &[2, 2], &[1, 1]);
    x = builder.op(Pool::Slide { kind: PoolKind::Max { column_major: false }, window, ceil: false }, &[x]);
    for (from, to, stride) in [(16, 16, 1), (16, 24, 2)] {
        let inner = conv(builder, x, [to, from, 3, 3], stride, 1, Some(Unary::Relu));
        let inner = conv(builder, inner, [to, to, 3, 3], 1, 1, None);
        let short = if stride == 1 { x } else { conv(builder, x, [to, from, 1, 1], stride, 1, None) };
        let sum = builder.op(Binary::Add, &[inner, short]);
        x = builder.op(Unary::Relu, &[sum]);
    }
    head(builder, x, 24)
}

/// MobileNet-style inverted bottlenecks with squeeze-and-excitation.
fn mobile(builder: &mut CaseBuilder) -> Vec<ValueId> {
    builder.tolerance = tolerance::layers(builder.dtype);
    let image = builder.input(&[1, 3, 20, 20]);
    let stem = conv(builder, image, [8, 3, 3, 3], 2, 1, Some(Unary::HardSwish));
    let wide = conv(builder, stem, [24, 8, 1, 1], 1, 1, Some(Unary::HardSwish));
    let deep = conv(builder, wide, [24, 1, 3, 3], 1, 24, Some(Unary::HardSwish));
    let pooled = builder.op(Pool::Global { kind: PoolKind::Average { with_padding: false } }, &[deep]);
    let gate = conv(builder, pooled, [24, 24, 1, 1], 1, 1, Some(Unary::HardSigmoid { alpha: 1.0 / 6.0, beta: 0.5 }));
    let gated = builder.op(Binary::Mul, &[deep, gate]);
    let narrow = conv(builder, gated, [8, 24, 1, 1], 1, 1, None);
    let sum = builder.op(Binary::Add, &[narrow, stem]);
    head(builder, sum, 8)
}

/// U-Net: downsampling, upsampling by a transposed convolution, concatenation.
fn unet(builder: &mut CaseBuilder) -> Vec<ValueId> {
    builder.tolerance = tolerance::layers(builder.dtype);
    let image = builder.input(&[1, 3, 16, 16]);
    let high = conv(builder, image, [8, 3, 3, 3], 1, 1, Some(Unary::Relu));
    let low = conv(builder, high, [16, 8, 3, 3], 2, 1, Some(Unary::Relu));
    let w = builder.weight(&[16, 8, 2, 2]);
    let up = Product::ConvTranspose {
        window: window(&[2, 2], &[], &[]),
        groups: 1,
        output_padding: Vec::new(),
        output_shape: None,
    };
    let up = builder.op(up, &[low, w]);
    let joined = builder.op(Movement::Concat { axis: 1 }, &[up, high]);
    let mask = conv(builder, joined, [2, 16, 3, 3], 1, 1, None);
    vec![builder.op(Unary::Sigmoid, &[mask])]
}

/// A linear layer with bias on the last axis.
fn linear(builder: &mut CaseBuilder, x: ValueId, from: usize, to: usize) -> ValueId {
    let (w, bias) = (builder.weight_in(&[from, to], -0.2, 0.2), builder.weight(&[to]));
    let product = builder.op(matmul(), &[x, w]);
    builder.op(Binary::Add, &[product, bias])
}

fn norm(builder: &mut CaseBuilder, x: ValueId, width: usize) -> ValueId {
    let (scale, bias) = (builder.weight_in(&[width], 0.5, 1.5), builder.weight(&[width]));
    builder.op(Norm::Layer { axis: -1, epsilon: 1e-5, rms: false, stash: DType::F32 }, &[x, scale, bias])
}

fn encoder(builder: &mut CaseBuilder) -> Vec<ValueId> {
    const WIDTH: usize = 32;
    builder.tolerance = tolerance::layers(builder.dtype);
    let x = builder.input(&[1, 9, WIDTH]);
    let normed = norm(builder, x, WIDTH);
    let sizes = builder.list(&[1, 9, 4, 8]);
    let heads = |builder: &mut CaseBuilder, perm: [usize; 4]| {
        let projected = linear(builder, normed, WIDTH, WIDTH);
        let split = builder.op(Movement::Reshape { allow_zero: false }, &[projected, sizes]);
        builder.op(Movement::Transpose { perm: Some(perm.to_vec()) }, &[split])
    };
    let (q, k, v) = (heads(builder, [0, 2, 1, 3]), heads(builder, [0, 2, 3, 1]), heads(builder, [0, 2, 1, 3]));
    let scores = builder.op(matmul(), &[q, k]);
    let root = builder.number(8.0_f64.sqrt());
    let scaled = builder.op(Binary::Div, &[scores, root]);
    let weights = builder.op(softmax(), &[scaled]);
    let mixed = builder.op(matmul(), &[weights, v]);
    let turned = builder.op(Movement::Transpose { perm: Some(vec![0, 2, 1, 3]) }, &[mixed]);
    let sizes = builder.list(&[1, 9, -1]);
    let joined = builder.op(Movement::Reshape { allow_zero: false }, &[turned, sizes]);
    let attended = linear(builder, joined, WIDTH, WIDTH);
    let x = builder.op(Binary::Add, &[x, attended]);
    let normed = norm(builder, x, WIDTH);
    let wide = linear(builder, normed, WIDTH, 4 * WIDTH);
    let wide = builder.op(Unary::Gelu { tanh: false }, &[wide]);
    let narrow = linear(builder, wide, 4 * WIDTH, WIDTH);
    vec![builder.op(Binary::Add, &[x, narrow])]
}

/// Text classifier: embedding, LSTM, and the class of its last state.
fn classifier(builder: &mut CaseBuilder) -> Vec<ValueId> {
    builder.tolerance = tolerance::layers(builder.dtype);
    let (table, words) = (builder.weight(&[40, 12]), builder.input_of(DType::I64, &[7, 2], 0.0, 40.0));
    let sequence = builder.op(Indexing::Gather { axis: 0 }, &[table, words]);
    let outputs = layer(builder, Kind::Lstm { coupled: false }, Direction::Forward, sequence, [12, 16]);
    let axes = builder.list(&[0]);
    let last = builder.op(Movement::Squeeze, &[outputs[1], axes]);
    let scores = linear(builder, last, 16, 5);
    vec![builder.op(softmax(), &[scores])]
}
