//! Small models as a whole: what one operation hides, the next one shows.

use roci_graph::ops::elementwise::{Binary, Unary};
use roci_graph::ops::movement::Movement;
use roci_graph::ops::pool::PoolKind;
use roci_graph::ops::recurrent::{Direction, Kind};
use roci_graph::ops::reduction::{Reduction, SoftmaxKind};
use roci_graph::ops::{Indexing, Norm, Pool, Product};
use roci_graph::{DType, ValueId};

use super::List;
use super::products::matmul;
use super::recurrent::layer;
use super::sketch::{Sketch, sized, window};
use crate::commands::matrix::compare::Tolerance;

pub(super) fn add(list: &mut List) {
    list.add_both("residual CNN", residual);
    list.add("mobile CNN", mobile);
    list.add("U-Net", unet);
    list.add_both("transformer encoder block", encoder);
    list.add("LSTM classifier", classifier);
}

/// A convolution, a batch norm, and a function.
fn conv(
    sketch: &mut Sketch,
    x: ValueId,
    weights: [usize; 4],
    stride: usize,
    groups: usize,
    by: Option<Unary>,
) -> ValueId {
    let pad = weights[2] / 2;
    let channels = [weights[0]];
    let w = sketch.weight_in(&weights, -0.3, 0.3);
    let op = Product::Conv { window: window(&[stride; 2], &[pad; 2], &[]), groups };
    let made = sketch.op(op, &[x, w]);
    let (scale, bias, mean) =
        (sketch.weight_in(&channels, 0.5, 1.5), sketch.weight(&channels), sketch.weight(&channels));
    let variance = sketch.weight_in(&channels, 0.5, 2.0);
    let norm = Norm::Batch { epsilon: 1e-5, momentum: None };
    let made = sketch.op(norm, &[made, scale, bias, mean, variance]);
    by.map_or(made, |function| sketch.op(function, &[made]))
}

/// Means over the image, a linear layer, probabilities.
fn head(sketch: &mut Sketch, x: ValueId, channels: usize) -> Vec<ValueId> {
    let pooled = sketch.op(Pool::Global { kind: PoolKind::Average { with_padding: false } }, &[x]);
    let flat = sketch.op(Movement::Flatten { axis: 1 }, &[pooled]);
    let (w, bias) = (sketch.weight(&[channels, 10]), sketch.weight(&[10]));
    let made = sketch.op(matmul(), &[flat, w, bias]);
    vec![sketch.op(softmax(), &[made])]
}

fn softmax() -> Reduction {
    Reduction::Softmax { kind: SoftmaxKind::Softmax, axis: -1, to_end: false }
}

fn residual(sketch: &mut Sketch) -> Vec<ValueId> {
    sketch.tolerance = Tolerance::layers(sketch.dtype);
    let image = sketch.input(&[1, 3, 24, 24]);
    let mut x = conv(sketch, image, [16, 3, 5, 5], 2, 1, Some(Unary::Relu));
    let window = sized(&[3, 3], &[2, 2], &[1, 1]);
    x = sketch.op(Pool::Slide { kind: PoolKind::Max { column_major: false }, window, ceil: false }, &[x]);
    for (from, to, stride) in [(16, 16, 1), (16, 24, 2)] {
        let inner = conv(sketch, x, [to, from, 3, 3], stride, 1, Some(Unary::Relu));
        let inner = conv(sketch, inner, [to, to, 3, 3], 1, 1, None);
        let short = if stride == 1 { x } else { conv(sketch, x, [to, from, 1, 1], stride, 1, None) };
        let sum = sketch.op(Binary::Add, &[inner, short]);
        x = sketch.op(Unary::Relu, &[sum]);
    }
    head(sketch, x, 24)
}

/// Inverted bottlenecks with a gate by channel.
fn mobile(sketch: &mut Sketch) -> Vec<ValueId> {
    sketch.tolerance = Tolerance::layers(sketch.dtype);
    let image = sketch.input(&[1, 3, 20, 20]);
    let stem = conv(sketch, image, [8, 3, 3, 3], 2, 1, Some(Unary::HardSwish));
    let wide = conv(sketch, stem, [24, 8, 1, 1], 1, 1, Some(Unary::HardSwish));
    let deep = conv(sketch, wide, [24, 1, 3, 3], 1, 24, Some(Unary::HardSwish));
    let pooled = sketch.op(Pool::Global { kind: PoolKind::Average { with_padding: false } }, &[deep]);
    let gate = conv(sketch, pooled, [24, 24, 1, 1], 1, 1, Some(Unary::HardSigmoid { alpha: 1.0 / 6.0, beta: 0.5 }));
    let gated = sketch.op(Binary::Mul, &[deep, gate]);
    let narrow = conv(sketch, gated, [8, 24, 1, 1], 1, 1, None);
    let sum = sketch.op(Binary::Add, &[narrow, stem]);
    head(sketch, sum, 8)
}

/// Down, up by a transposed convolution, and joined.
fn unet(sketch: &mut Sketch) -> Vec<ValueId> {
    sketch.tolerance = Tolerance::layers(sketch.dtype);
    let image = sketch.input(&[1, 3, 16, 16]);
    let high = conv(sketch, image, [8, 3, 3, 3], 1, 1, Some(Unary::Relu));
    let low = conv(sketch, high, [16, 8, 3, 3], 2, 1, Some(Unary::Relu));
    let w = sketch.weight(&[16, 8, 2, 2]);
    let up = Product::ConvTranspose {
        window: window(&[2, 2], &[], &[]),
        groups: 1,
        output_padding: Vec::new(),
        output_shape: None,
    };
    let up = sketch.op(up, &[low, w]);
    let joined = sketch.op(Movement::Concat { axis: 1 }, &[up, high]);
    let made = conv(sketch, joined, [2, 16, 3, 3], 1, 1, None);
    vec![sketch.op(Unary::Sigmoid, &[made])]
}

/// A linear layer with a bias on the last axis.
fn linear(sketch: &mut Sketch, x: ValueId, from: usize, to: usize) -> ValueId {
    let (w, bias) = (sketch.weight_in(&[from, to], -0.2, 0.2), sketch.weight(&[to]));
    let product = sketch.op(matmul(), &[x, w]);
    sketch.op(Binary::Add, &[product, bias])
}

fn norm(sketch: &mut Sketch, x: ValueId, width: usize) -> ValueId {
    let (scale, bias) = (sketch.weight_in(&[width], 0.5, 1.5), sketch.weight(&[width]));
    sketch.op(Norm::Layer { axis: -1, epsilon: 1e-5, rms: false, stash: DType::F32 }, &[x, scale, bias])
}

fn encoder(sketch: &mut Sketch) -> Vec<ValueId> {
    const WIDTH: usize = 32;
    sketch.tolerance = Tolerance::layers(sketch.dtype);
    let x = sketch.input(&[1, 9, WIDTH]);
    let normed = norm(sketch, x, WIDTH);
    let sizes = sketch.list(&[1, 9, 4, 8]);
    let heads = |sketch: &mut Sketch, perm: [usize; 4]| {
        let made = linear(sketch, normed, WIDTH, WIDTH);
        let split = sketch.op(Movement::Reshape { allow_zero: false }, &[made, sizes]);
        sketch.op(Movement::Transpose { perm: Some(perm.to_vec()) }, &[split])
    };
    let (q, k, v) = (heads(sketch, [0, 2, 1, 3]), heads(sketch, [0, 2, 3, 1]), heads(sketch, [0, 2, 1, 3]));
    let scores = sketch.op(matmul(), &[q, k]);
    let root = sketch.number(8.0_f64.sqrt());
    let scaled = sketch.op(Binary::Div, &[scores, root]);
    let weights = sketch.op(softmax(), &[scaled]);
    let mixed = sketch.op(matmul(), &[weights, v]);
    let turned = sketch.op(Movement::Transpose { perm: Some(vec![0, 2, 1, 3]) }, &[mixed]);
    let sizes = sketch.list(&[1, 9, -1]);
    let joined = sketch.op(Movement::Reshape { allow_zero: false }, &[turned, sizes]);
    let attended = linear(sketch, joined, WIDTH, WIDTH);
    let x = sketch.op(Binary::Add, &[x, attended]);
    let normed = norm(sketch, x, WIDTH);
    let wide = linear(sketch, normed, WIDTH, 4 * WIDTH);
    let wide = sketch.op(Unary::Gelu { tanh: false }, &[wide]);
    let narrow = linear(sketch, wide, 4 * WIDTH, WIDTH);
    vec![sketch.op(Binary::Add, &[x, narrow])]
}

/// Words, an LSTM, and the class of its last state.
fn classifier(sketch: &mut Sketch) -> Vec<ValueId> {
    sketch.tolerance = Tolerance::layers(sketch.dtype);
    let (table, words) = (sketch.weight(&[40, 12]), sketch.input_of(DType::I64, &[7, 2], 0.0, 40.0));
    let sequence = sketch.op(Indexing::Gather { axis: 0 }, &[table, words]);
    let outputs = layer(sketch, Kind::Lstm { coupled: false }, Direction::Forward, sequence, [12, 16]);
    let axes = sketch.list(&[0]);
    let last = sketch.op(Movement::Squeeze, &[outputs[1], axes]);
    let made = linear(sketch, last, 16, 5);
    vec![sketch.op(softmax(), &[made])]
}
