//! A small convolutional network for training demos, tests and device comparisons.

use super::Model;
use crate::interpreter::RunError;
use crate::ops::elementwise::Unary;
use crate::ops::pool::PoolKind;
use crate::ops::reduction::{LossReduction, SoftmaxKind};
use crate::ops::window::{Padding, Window};
use crate::ops::{Movement, Norm, Pool, Product, Reduction};
use crate::{DType, ValueId};

/// The height and width of its images.
pub const SIDE: usize = 16;
/// The number of classes.
pub const CLASSES: usize = 5;

/// Builds the network for images `[batch, 1, SIDE, SIDE]`. In training, the classes `[batch]` are
/// the second input. Returns the network and its result: the loss in training, and otherwise the
/// score of each class.
///
/// It has each kind of layer of convolutional networks: convolutions (plain, strided depthwise,
/// pointwise, grouped), batch normalization, max and average pooling, global average pooling, and a
/// linear layer.
pub fn example(dtype: DType, batch: usize, training: bool, seed: u64) -> Result<(Model, ValueId), RunError> {
    let mut model = Model::new("small network", dtype, training, seed);
    let x = model.builder.input("images", dtype, &[batch, 1, SIDE, SIDE]);
    let y = conv(&mut model, "edges", x, [1, 8], 3, 1, 1)?;
    let y = norm(&mut model, "edges", y, 8)?;
    let kind = PoolKind::Max { column_major: false };
    model.builder.name_nodes("largest");
    let y = model.builder.op(Pool::Slide { kind, window: window(2, 2, 0), ceil: false }, &[y])?;
    let y = conv(&mut model, "by channel", y, [8, 8], 3, 2, 8)?;
    let y = conv(&mut model, "by pixel", y, [8, 16], 1, 1, 1)?;
    let y = norm(&mut model, "by pixel", y, 16)?;
    let y = conv(&mut model, "in groups", y, [16, 16], 3, 1, 2)?;
    let y = norm(&mut model, "in groups", y, 16)?;
    let kind = PoolKind::Average { with_padding: false };
    model.builder.name_nodes("mean of windows");
    let y = model.builder.op(Pool::Slide { kind, window: window(3, 2, 1), ceil: false }, &[y])?;
    model.builder.name_nodes("mean");
    let y = model.builder.op(Pool::Global { kind }, &[y])?;
    let y = model.builder.op(Movement::Flatten { axis: 1 }, &[y])?;
    let weights = model.weights("linear.weights", &[CLASSES, 16], 16)?;
    let bias = model.constant("linear.bias", CLASSES, 0.0)?;
    model.builder.name_nodes("linear");
    let product = Product::MatMul { transpose_a: false, transpose_b: true, alpha: 1.0, beta: 1.0 };
    let scores = model.builder.op(product, &[y, weights, bias])?;
    if !training {
        return Ok((model, scores));
    }
    let classes = model.builder.input("classes", DType::I64, &[batch]);
    model.builder.name_nodes("loss");
    let softmax = Reduction::Softmax { kind: SoftmaxKind::LogSoftmax, axis: 1, to_end: false };
    let scores = model.builder.op(softmax, &[scores])?;
    let loss = Reduction::NegativeLogLikelihood { reduction: LossReduction::Mean, ignore: None };
    let loss = model.builder.op(loss, &[scores, classes])?;
    Ok((model, loss))
}

fn window(kernel: usize, stride: usize, pad: usize) -> Window {
    Window {
        kernel: vec![kernel; 2],
        strides: vec![stride; 2],
        dilations: Vec::new(),
        padding: Padding::Explicit(vec![(pad, pad); 2]),
    }
}

/// A convolution with the output size of the input divided by the stride.
fn conv(
    model: &mut Model,
    name: &str,
    x: ValueId,
    [from, to]: [usize; 2],
    kernel: usize,
    stride: usize,
    groups: usize,
) -> Result<ValueId, RunError> {
    let each = from / groups;
    let weights = model.weights(&format!("{name}.weights"), &[to, each, kernel, kernel], each * kernel * kernel)?;
    model.builder.name_nodes(name);
    model.builder.op(Product::Conv { window: window(kernel, stride, kernel / 2), groups }, &[x, weights])
}

/// Batch normalization and ReLU.
fn norm(model: &mut Model, name: &str, x: ValueId, channels: usize) -> Result<ValueId, RunError> {
    let scale = model.constant(&format!("{name}.scale"), channels, 1.0)?;
    let bias = model.constant(&format!("{name}.bias"), channels, 0.0)?;
    let mean = model.buffer(&format!("{name}.mean"), channels, 0.0)?;
    let variance = model.buffer(&format!("{name}.variance"), channels, 1.0)?;
    model.builder.name_nodes(format!("{name} norm"));
    let momentum = model.training.then_some(0.9);
    let operands = [x, scale, bias, mean, variance].map(Some);
    let result = model.builder.op_with(
        Norm::Batch { epsilon: 1e-5, momentum },
        &operands,
        if model.training { 3 } else { 1 },
    )?;
    if let [_, next_mean, next_variance] = result[..] {
        model.update_buffer(mean, next_mean);
        model.update_buffer(variance, next_variance);
    }
    model.builder.name_nodes(format!("{name} relu"));
    model.builder.map(Unary::Relu, result[0])
}
