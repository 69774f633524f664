//! Tests of the gradients of network layers.

use super::{Test, check, numbers};
use crate::Tensor;
use crate::ops::pool::PoolKind;
use crate::ops::reduction::{LossReduction, SoftmaxKind};
use crate::ops::window::{Padding, Window};
use crate::ops::{Norm, Pool, Product, Reduction};
use crate::{DType, Op};

/// A convolution: sizes of the input, channels, kernel, stride, dilation, padding before and after,
/// groups.
type Form<'a> = (&'a [usize], [usize; 2], &'a [usize], usize, usize, (usize, usize), usize);

const FORMS: [Form<'static>; 16] = [
    (&[7], [2, 3], &[3], 1, 1, (0, 0), 1),
    (&[9], [2, 4], &[3], 2, 1, (1, 0), 2),
    (&[11], [3, 3], &[2], 3, 2, (2, 1), 3),
    (&[5, 6], [2, 3], &[3, 3], 1, 1, (1, 1), 1),
    (&[6, 5], [3, 2], &[1, 1], 1, 1, (0, 0), 1),
    (&[6, 7], [2, 2], &[3, 2], 2, 1, (0, 1), 1),
    // No window covers the end of the input.
    (&[8, 9], [1, 2], &[2, 2], 3, 1, (0, 0), 1),
    (&[8, 8], [2, 2], &[3, 3], 3, 1, (1, 1), 2),
    (&[7, 8], [2, 2], &[2, 3], 1, 2, (2, 0), 1),
    (&[9, 8], [4, 6], &[2, 2], 2, 3, (1, 2), 2),
    // One weight per channel, and several.
    (&[6, 6], [4, 4], &[3, 3], 2, 1, (1, 1), 4),
    (&[5, 5], [3, 6], &[3, 3], 1, 1, (1, 1), 3),
    (&[1, 4], [2, 2], &[1, 3], 1, 1, (0, 1), 1),
    // Padding wider than the kernel.
    (&[3, 3], [1, 2], &[2, 2], 2, 1, (3, 3), 1),
    (&[4, 3, 5], [2, 2], &[2, 3, 2], 1, 1, (1, 0), 1),
    (&[5, 4, 4], [2, 4], &[3, 2, 2], 2, 1, (1, 1), 2),
];

fn window(rank: usize, kernel: &[usize], stride: usize, dilation: usize, pads: (usize, usize)) -> Window {
    Window {
        kernel: kernel.to_vec(),
        strides: vec![stride; rank],
        dilations: vec![dilation; rank],
        padding: Padding::Explicit(vec![pads; rank]),
    }
}

#[test]
fn convolution_gradients() -> Test {
    for (sizes, [from, to], kernel, stride, dilation, pads, groups) in FORMS {
        let window = window(sizes.len(), &[], stride, dilation, pads);
        let name = format!("{window:?} of {sizes:?}, {from} to {to} in {groups}");
        let x = numbers(1, &[&[2, from], sizes].concat())?;
        let w = numbers(2, &[&[to, from / groups], kernel].concat())?;
        check(&name, &[x, w, numbers(3, &[to])?], &|b, inputs| {
            b.op(Product::Conv { window: window.clone(), groups }, inputs)
        })?;
    }
    for padding in [Padding::SameUpper, Padding::SameLower] {
        for (size, stride) in [(7, 2), (6, 1), (8, 3)] {
            let window = Window { padding: padding.clone(), ..window(1, &[], stride, 1, (0, 0)) };
            check(&format!("{window:?}"), &[numbers(4, &[2, 2, size])?, numbers(5, &[3, 2, 2])?], &|b, inputs| {
                b.op(Product::Conv { window: window.clone(), groups: 1 }, inputs)
            })?;
        }
    }
    Ok(())
}

#[test]
fn transposed_convolutions() -> Test {
    // Strides, dilations, padding, output padding, groups.
    for (stride, dilation, pads, more, groups) in
        [(1, 1, (0, 0), 0, 1), (2, 1, (1, 0), 1, 2), (3, 2, (2, 1), 2, 1), (2, 1, (1, 1), 0, 2)]
    {
        let window = window(2, &[], stride, dilation, pads);
        let op = Product::ConvTranspose { window, groups, output_padding: vec![more; 2], output_shape: None };
        let inputs = [numbers(6, &[2, 4, 3, 4])?, numbers(7, &[4, 3, 3, 2])?, numbers(8, &[3 * groups])?];
        check(&format!("{op:?}"), &inputs, &|b, inputs| b.op(op.clone(), inputs))?;
    }
    Ok(())
}

#[test]
fn products_of_matrices() -> Test {
    let shapes: [[&[usize]; 2]; 7] = [
        [&[3, 4], &[4, 2]],
        [&[2, 3, 4], &[4, 2]],
        [&[3, 4], &[5, 4, 2]],
        [&[2, 1, 3, 4], &[5, 4, 2]],
        [&[4], &[4, 2]],
        [&[3, 4], &[4]],
        [&[4], &[4]],
    ];
    for [a, b] in shapes {
        let product = Product::MatMul { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 };
        check(&format!("{a:?} {b:?}"), &[numbers(9, a)?, numbers(10, b)?], &|builder, inputs| {
            builder.op(product.clone(), inputs)
        })?;
    }
    // A linear layer, with every transposition of its operands.
    for (transpose_a, transpose_b) in [(false, true), (true, false), (true, true)] {
        let a = if transpose_a { [4, 3] } else { [3, 4] };
        let b = if transpose_b { [2, 4] } else { [4, 2] };
        for bias in [&[2][..], &[3, 1], &[]] {
            let product = Product::MatMul { transpose_a, transpose_b, alpha: 0.5, beta: 2.0 };
            let inputs = [numbers(11, &a)?, numbers(12, &b)?, numbers(13, bias)?];
            check(&format!("{product:?}"), &inputs, &|builder, inputs| builder.op(product.clone(), inputs))?;
        }
    }
    Ok(())
}

/// A pool: sizes, kernel, stride, dilation, padding, and whether partial windows at the end count.
type Pooling<'a> = (&'a [usize], &'a [usize], usize, usize, (usize, usize), bool);

#[test]
fn pool_gradients() -> Test {
    let max = PoolKind::Max { column_major: false };
    let [without, with] = [false, true].map(|with_padding| PoolKind::Average { with_padding });
    let forms: [Pooling<'_>; 7] = [
        (&[9], &[3], 2, 1, (1, 0), false),
        (&[6, 6], &[2, 2], 2, 1, (0, 0), false),
        (&[7, 6], &[3, 2], 1, 1, (1, 1), false),
        (&[7, 8], &[3, 3], 2, 1, (1, 1), true),
        (&[8, 7], &[2, 2], 3, 1, (0, 0), false),
        (&[9, 9], &[2, 3], 2, 2, (1, 2), false),
        (&[4, 5, 4], &[2, 2, 3], 2, 1, (0, 1), false),
    ];
    for (sizes, kernel, stride, dilation, pads, ceil) in forms {
        for kind in [max, without, with] {
            let window = window(sizes.len(), kernel, stride, dilation, pads);
            let op = Pool::Slide { kind, window, ceil };
            let x = numbers(14, &[&[2, 3], sizes].concat())?;
            check(&format!("{op:?}"), &[x], &|b, inputs| b.op(op.clone(), inputs))?;
        }
    }
    for kind in [max, without] {
        check("global pool", &[numbers(15, &[2, 3, 4, 5])?], &|b, inputs| b.op(Pool::Global { kind }, inputs))?;
    }
    Ok(())
}

#[test]
fn normalization_gradients() -> Test {
    let positive = |salt, shape: &[usize]| -> Result<Tensor, crate::OpError> {
        Tensor::new(shape, numbers(salt, shape)?.floats()?.iter().map(|one| one.abs() + 0.5).collect())
    };
    // Parameters by channel, and by element of a sample.
    for (x, each) in [(&[3, 2, 4, 2][..], &[2][..]), (&[5, 3], &[3]), (&[4, 2, 3], &[2, 3])] {
        let (x, scale, bias) = (numbers(16, x)?, numbers(17, each)?, numbers(18, each)?);
        let (mean, variance) = (numbers(19, each)?, positive(20, each)?);
        let operands = [x, scale, bias];
        check("batch norm in training", &operands, &|b, inputs| {
            let (mean, variance) = (b.constant(mean.clone()), b.constant(variance.clone()));
            let operands = [inputs, &[mean, variance]].concat();
            b.op(Norm::Batch { epsilon: 1e-3, momentum: Some(0.9) }, &operands)
        })?;
        let all = [&operands[..], &[mean.clone(), variance.clone()]].concat();
        check("batch norm", &all, &|b, inputs| b.op(Norm::Batch { epsilon: 1e-3, momentum: None }, inputs))?;
    }
    for rms in [false, true] {
        for axis in [1, -1] {
            let op = Norm::Layer { axis, epsilon: 1e-3, rms, stash: DType::F64 };
            let each = if axis == 1 { &[3, 4][..] } else { &[4] };
            let mut inputs = vec![numbers(21, &[2, 3, 4])?, numbers(22, each)?];
            inputs.extend((!rms).then(|| numbers(23, each)).transpose()?);
            check("layer norm", &inputs, &|b, inputs| b.op(op.clone(), inputs))?;
        }
    }
    Ok(())
}

#[test]
fn softmax_cross_entropy() -> Test {
    let classes = |shape: &[usize], all: &[i64]| Tensor::new(shape, all.to_vec());
    let reductions = [LossReduction::None, LossReduction::Sum, LossReduction::Mean];
    let targets = [
        (&[4, 3][..], classes(&[4], &[0, 2, 1, 2])?, None),
        (&[4, 3], classes(&[4], &[0, -1, 1, -1])?, Some(-1)),
        (&[2, 3, 2], classes(&[2, 2], &[0, 2, 1, 255])?, Some(255)),
    ];
    for (x, target, ignore) in targets {
        for reduction in reductions {
            for weighted in [false, true] {
                let loss: Op = Reduction::NegativeLogLikelihood { reduction, ignore }.into();
                let inputs = [numbers(24, x)?, target.clone()];
                check(&format!("{loss:?} {weighted}"), &inputs, &|b, inputs| {
                    let kind = SoftmaxKind::LogSoftmax;
                    let y = b.op(Reduction::Softmax { kind, axis: 1, to_end: false }, &inputs[..1])?;
                    let mut operands = vec![y, inputs[1]];
                    if weighted {
                        operands.push(b.constant(Tensor::vector(vec![0.5, 2.0, 1.25])));
                    }
                    b.op(loss.clone(), &operands)
                })?;
            }
        }
    }
    Ok(())
}
