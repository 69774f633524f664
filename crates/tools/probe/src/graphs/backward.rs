//! Gradients of layers, and whole training steps: the coverage of MIOpen's backward calls.
//!
//! The loss is a weighted sum of all results with a different weight each, so that every result has
//! an effect.

use roci_graph::ops::elementwise::{Binary, Unary};
use roci_graph::ops::pool::PoolKind;
use roci_graph::ops::reduction::{LossReduction, SoftmaxKind};
use roci_graph::ops::{Norm, Op, Pool, Product, Reduction};
use roci_graph::train::{CLASSES, Optimizer, SIDE, example};
use roci_graph::{DType, Tensor};

use super::ProbeList;
use super::builder::{sized, window};
use super::tolerance;

/// A convolution: input, weights, stride, padding, dilation, groups.
type BackwardForm = (&'static str, &'static [usize], &'static [usize], usize, usize, usize, usize);

const FORMS: [BackwardForm; 8] = [
    ("conv1d", &[2, 6, 37], &[8, 6, 3], 1, 1, 1, 1),
    ("conv2d", &[2, 7, 13, 11], &[18, 7, 3, 3], 1, 1, 1, 1),
    ("conv2d 1x1", &[2, 19, 9, 7], &[17, 19, 1, 1], 1, 0, 1, 1),
    ("conv2d, stride 2", &[2, 4, 14, 13], &[6, 4, 3, 3], 2, 1, 1, 1),
    ("conv2d, dilation 2", &[1, 5, 13, 12], &[6, 5, 3, 3], 1, 2, 2, 1),
    ("conv2d, 3 groups", &[2, 6, 11, 9], &[9, 2, 3, 3], 1, 1, 1, 3),
    ("conv2d, depthwise, stride 2", &[2, 8, 13, 12], &[8, 1, 3, 3], 2, 1, 1, 8),
    ("conv3d", &[1, 3, 7, 6, 5], &[4, 3, 2, 3, 2], 1, 1, 1, 1),
];

const MAX: PoolKind = PoolKind::Max { column_major: false };
const MEAN: PoolKind = PoolKind::Average { with_padding: false };

pub(super) fn add(list: &mut ProbeList) {
    for form in FORMS {
        convolution(list, form);
    }
    layer(
        list,
        "linear",
        &[&[9, 21], &[13, 21], &[13]],
        Product::MatMul { transpose_a: false, transpose_b: true, alpha: 1.0, beta: 1.0 },
    );
    list.add("backward of batch norm", |builder| {
        builder.tolerance = tolerance::layers(builder.dtype);
        let x = [builder.input(&[4, 6, 7, 5]), builder.input(&[6]), builder.input(&[6])];
        let statistics = [builder.weight(&[6]), builder.weight_in(&[6], 0.5, 1.0)];
        let y = builder.op(Norm::Batch { epsilon: 1e-5, momentum: Some(0.9) }, &[&x[..], &statistics].concat());
        builder.backward(y, &x)
    });
    layer(
        list,
        "layer norm",
        &[&[5, 6, 20], &[20], &[20]],
        Norm::Layer { axis: -1, epsilon: 1e-5, rms: false, stash: DType::F32 },
    );
    let slide = |kind, kernel: &[usize], stride, pad| {
        let window = sized(kernel, &[stride, stride], &[pad, pad]);
        Pool::Slide { kind, window, ceil: false }
    };
    layer(list, "max pool 2x2", &[&[2, 5, 14, 12]], slide(MAX, &[2, 2], 2, 0));
    layer(list, "max pool 3x3, stride 2, pad 1", &[&[2, 5, 13, 11]], slide(MAX, &[3, 3], 2, 1));
    layer(list, "average pool 3x3, stride 2, pad 1", &[&[2, 5, 13, 11]], slide(MEAN, &[3, 3], 2, 1));
    layer(list, "global average pool", &[&[3, 7, 6, 5]], Pool::Global { kind: MEAN });
    layer(list, "relu", &[&[5, 33]], Unary::Relu);
    layer(list, "sigmoid", &[&[5, 33]], Unary::Sigmoid);
    layer(list, "a product that is broadcast", &[&[5, 33], &[33]], Binary::Mul);
    list.add("backward of softmax cross entropy", |builder| {
        builder.tolerance = tolerance::sums(builder.dtype);
        let x = builder.input(&[11, 7]);
        let classes = builder.input_of(DType::I64, &[11], 0.0, 6.99);
        let softmax = Reduction::Softmax { kind: SoftmaxKind::LogSoftmax, axis: 1, to_end: false };
        let y = builder.op(softmax, &[x]);
        let loss = Reduction::NegativeLogLikelihood { reduction: LossReduction::Mean, ignore: None };
        let y = builder.op(loss, &[y, classes]);
        builder.backward(y, &[x])
    });
    for optimizer in [
        Optimizer::SGD,
        // Without a large epsilon, the update is the sign of the gradient even where the gradient
        // is nearly zero, and rounding errors flip it.
        Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-2, weight_decay: 0.0 },
    ] {
        training(list, optimizer);
    }
}

/// Gradients by data and by weights, as separate probes: other libraries have separate calls for
/// them.
fn convolution(list: &mut ProbeList, (name, input, weights, stride, pad, dilation, groups): BackwardForm) {
    for (index, by) in ["data", "weights"].into_iter().enumerate() {
        list.add(format!("{name}, backward by {by}"), move |builder| {
            builder.tolerance = tolerance::sums(builder.dtype);
            let rank = weights.len() - 2;
            let window = window(&vec![stride; rank], &vec![pad; rank], &vec![dilation; rank]);
            let operands = [builder.input(input), builder.input_in(weights, -0.5, 0.5)];
            let y = builder.op(Product::Conv { window, groups }, &operands);
            builder.backward(y, &operands[index..=index])
        });
    }
}

/// Gradients by all operands.
fn layer(list: &mut ProbeList, name: &str, operands: &'static [&'static [usize]], op: impl Into<Op>) {
    let op = op.into();
    list.add(format!("backward of {name}"), move |builder| {
        builder.tolerance = tolerance::sums(builder.dtype);
        let operands: Vec<_> = operands.iter().map(|shape| builder.input(shape)).collect();
        let y = builder.op(op.clone(), &operands);
        builder.backward(y, &operands)
    });
}

/// One training step. The outputs are the loss and all state that is carried to the next step.
fn training(list: &mut ProbeList, optimizer: Optimizer) {
    const BATCH: usize = 4;
    list.add(format!("a step of training, {}", optimizer.name()), move |builder| {
        builder.tolerance = tolerance::layers(builder.dtype);
        let step = example(builder.dtype, BATCH, true, 1).and_then(|(model, loss)| model.step(loss, &optimizer));
        let Some(step) = builder.or_record_error(step) else { return Vec::new() };
        builder.input(&[BATCH, 1, SIDE, SIDE]);
        builder.feed(Tensor::vector((0..BATCH).map(|at| (at * 2 % CLASSES) as i64).collect()));
        builder.feed(Tensor::scalar(0.05f32));
        for tensor in step.state {
            builder.feed(tensor.initial);
        }
        let mut outputs = builder.take(step.graph);
        outputs.rotate_left(1);
        outputs
    });
}
