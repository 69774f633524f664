//! Convolutions of all forms, the operation that fails on RDNA1 under ROCm.

use roci_graph::DType;
use roci_graph::ops::elementwise::{Binary, Unary};
use roci_graph::ops::window::{Padding, Window};
use roci_graph::ops::{Norm, Product};

use super::ProbeList;
use super::builder::window;
use super::tolerance;

/// Parameters of a convolution with bias.
#[derive(Clone, Copy)]
struct ConvShape {
    name: &'static str,
    input: &'static [usize],
    weights: &'static [usize],
    stride: usize,
    pad: usize,
    dilation: usize,
    groups: usize,
}

const PLAIN: ConvShape = ConvShape { name: "", input: &[], weights: &[], stride: 1, pad: 0, dilation: 1, groups: 1 };

const FORMS: [ConvShape; 15] = [
    ConvShape { name: "conv1d", input: &[2, 16, 37], weights: &[32, 16, 3], ..PLAIN },
    ConvShape { name: "conv1d, stride 2, pad 1", input: &[2, 5, 37], weights: &[7, 5, 3], stride: 2, pad: 1, ..PLAIN },
    ConvShape { name: "conv2d 3 to 16, 3x3, on 32x32", input: &[1, 3, 32, 32], weights: &[16, 3, 3, 3], ..PLAIN },
    ConvShape { name: "conv2d 1x1", input: &[2, 19, 9, 11], weights: &[33, 19, 1, 1], ..PLAIN },
    ConvShape { name: "conv2d 3x3", input: &[1, 17, 13, 11], weights: &[35, 17, 3, 3], pad: 1, ..PLAIN },
    ConvShape { name: "conv2d 5x5", input: &[1, 6, 13, 11], weights: &[18, 6, 5, 5], pad: 2, ..PLAIN },
    ConvShape {
        name: "conv2d 7x7, stride 2",
        input: &[1, 3, 29, 27],
        weights: &[16, 3, 7, 7],
        stride: 2,
        pad: 3,
        ..PLAIN
    },
    ConvShape { name: "conv2d, stride 3, no pad", input: &[2, 4, 17, 19], weights: &[6, 4, 3, 3], stride: 3, ..PLAIN },
    ConvShape {
        name: "conv2d, dilation 2",
        input: &[1, 8, 15, 13],
        weights: &[20, 8, 3, 3],
        pad: 2,
        dilation: 2,
        ..PLAIN
    },
    ConvShape { name: "conv2d, 4 groups", input: &[1, 16, 11, 9], weights: &[24, 4, 3, 3], pad: 1, groups: 4, ..PLAIN },
    ConvShape {
        name: "conv2d, depthwise",
        input: &[1, 24, 13, 11],
        weights: &[24, 1, 3, 3],
        pad: 1,
        groups: 24,
        ..PLAIN
    },
    ConvShape {
        name: "conv2d, depthwise 5x5, stride 2",
        input: &[1, 12, 15, 13],
        weights: &[12, 1, 5, 5],
        stride: 2,
        pad: 2,
        groups: 12,
        ..PLAIN
    },
    ConvShape { name: "conv2d, many channels", input: &[1, 64, 7, 7], weights: &[96, 64, 3, 3], pad: 1, ..PLAIN },
    ConvShape { name: "conv3d", input: &[1, 3, 7, 9, 8], weights: &[8, 3, 3, 3, 3], pad: 1, ..PLAIN },
    ConvShape { name: "conv3d, stride 2", input: &[1, 2, 9, 9, 8], weights: &[5, 2, 2, 3, 3], stride: 2, ..PLAIN },
];

impl ConvShape {
    fn window(&self) -> Window {
        let all = |number: usize| vec![number; self.weights.len() - 2];
        window(&all(self.stride), &all(self.pad), &all(self.dilation))
    }

    fn add(self, list: &mut ProbeList, dtype: DType) {
        let name = if dtype == DType::F32 { self.name.to_owned() } else { format!("{}, {dtype}", self.name) };
        list.add_typed(dtype, name, move |builder| {
            builder.tolerance = tolerance::sums(builder.dtype);
            let x = builder.input(self.input);
            let (w, bias) = (builder.weight(self.weights), builder.weight(&self.weights[..1]));
            vec![builder.op(Product::Conv { window: self.window(), groups: self.groups }, &[x, w, bias])]
        });
    }
}

pub(super) fn add(list: &mut ProbeList) {
    for form in FORMS {
        form.add(list, DType::F32);
        if matches!(form.name, "conv1d" | "conv2d 1x1" | "conv2d 3x3" | "conv2d, depthwise" | "conv3d") {
            form.add(list, DType::F16);
        }
    }
    list.add("conv2d, same padding", |builder| {
        builder.tolerance = tolerance::sums(builder.dtype);
        let (x, w) = (builder.input(&[1, 5, 14, 13]), builder.weight(&[9, 5, 3, 4]));
        let window = Window { padding: Padding::SameUpper, ..window(&[2, 2], &[], &[]) };
        vec![builder.op(Product::Conv { window, groups: 1 }, &[x, w])]
    });
    fused(list);
    transposed(list);
}

/// Convolutions with the operations that follow them in models, which the runtime fuses where
/// possible.
fn fused(list: &mut ProbeList) {
    list.add_both("conv2d, batch norm, relu", |builder| {
        builder.tolerance = tolerance::layers(builder.dtype);
        let (x, w) = (builder.input(&[1, 8, 11, 9]), builder.weight(&[16, 8, 3, 3]));
        let conv = builder.op(Product::Conv { window: window(&[], &[1, 1], &[]), groups: 1 }, &[x, w]);
        let (scale, bias, mean) = (builder.weight_in(&[16], 0.5, 1.5), builder.weight(&[16]), builder.weight(&[16]));
        let variance = builder.weight_in(&[16], 0.5, 2.0);
        let norm = Norm::Batch { epsilon: 1e-5, momentum: None };
        let norm = builder.op(norm, &[conv, scale, bias, mean, variance]);
        vec![builder.op(Unary::Relu, &[norm])]
    });
    list.add("conv2d, residual, relu", |builder| {
        builder.tolerance = tolerance::sums(builder.dtype);
        let x = builder.input(&[1, 16, 9, 11]);
        let (w, bias) = (builder.weight(&[16, 16, 3, 3]), builder.weight(&[16]));
        let conv = builder.op(Product::Conv { window: window(&[], &[1, 1], &[]), groups: 1 }, &[x, w, bias]);
        let sum = builder.op(Binary::Add, &[conv, x]);
        vec![builder.op(Unary::Relu, &[sum])]
    });
}

/// Transposed convolutions, each with its output padding.
const TRANSPOSED: [(ConvShape, usize); 5] = [
    (ConvShape { name: "transposed conv1d", input: &[1, 5, 13], weights: &[5, 7, 3], ..PLAIN }, 0),
    (ConvShape { name: "transposed conv2d", input: &[1, 16, 7, 9], weights: &[16, 3, 3, 3], ..PLAIN }, 0),
    (
        ConvShape {
            name: "transposed conv2d, stride 2",
            input: &[1, 8, 7, 5],
            weights: &[8, 6, 4, 4],
            stride: 2,
            pad: 1,
            ..PLAIN
        },
        0,
    ),
    (
        ConvShape {
            name: "transposed conv2d, output padding, groups",
            input: &[1, 6, 7, 5],
            weights: &[6, 4, 3, 3],
            stride: 2,
            pad: 1,
            groups: 2,
            ..PLAIN
        },
        1,
    ),
    (
        ConvShape {
            name: "transposed conv3d, stride 2",
            input: &[1, 3, 4, 5, 3],
            weights: &[3, 2, 2, 2, 2],
            stride: 2,
            ..PLAIN
        },
        0,
    ),
];

fn transposed(list: &mut ProbeList) {
    for (form, more) in TRANSPOSED {
        list.add(form.name, move |builder| {
            builder.tolerance = tolerance::sums(builder.dtype);
            let (x, w) = (builder.input(form.input), builder.weight(form.weights));
            let bias = builder.weight(&[form.weights[1] * form.groups]);
            let op = Product::ConvTranspose {
                window: form.window(),
                groups: form.groups,
                output_padding: vec![more; form.weights.len() - 2],
                output_shape: None,
            };
            vec![builder.op(op, &[x, w, bias])]
        });
    }
}
