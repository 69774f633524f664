//! Data movement: views, selection by fixed rules, and resampling.

use roci_graph::ops::Movement;
use roci_graph::ops::elementwise::Unary;
use roci_graph::ops::movement::{
    AspectPolicy, Coordinates, GridMode, GridPadding, Nearest, PadMode, Resize, ResizeMode,
};
use roci_graph::{DType, Tensor};

use super::ProbeList;
use super::tolerance;

pub(super) fn add(list: &mut ProbeList) {
    views(list);
    parts(list);
    for (name, mode) in [
        ("pad, constant", PadMode::Constant),
        ("pad, reflect", PadMode::Reflect),
        ("pad, edge", PadMode::Edge),
        ("pad, wrap", PadMode::Wrap),
    ] {
        list.add(name, move |builder| {
            let x = builder.input(&[3, 7, 9]);
            let pads = builder.list(&[0, 2, 3, 1, 1, 2]);
            vec![builder.op(Movement::Pad { mode }, &[x, pads])]
        });
    }
    for (name, column_first) in [("depth to space", false), ("pixel shuffle", true)] {
        list.add(name, move |builder| {
            let x = builder.input(&[1, 12, 5, 7]);
            vec![builder.op(Movement::DepthToSpace { block: 2, column_first }, &[x])]
        });
    }
    list.add("space to depth", |builder| {
        let x = builder.input(&[1, 3, 6, 10]);
        vec![builder.op(Movement::SpaceToDepth { block: 2 }, &[x])]
    });
    for (name, upper) in [("upper triangle", true), ("lower triangle", false)] {
        list.add(name, move |builder| {
            let x = builder.input(&[2, 9, 11]);
            vec![builder.op(Movement::Trilu { upper }, &[x])]
        });
    }
}

fn views(list: &mut ProbeList) {
    list.add("reshape", |builder| {
        let x = builder.input(&[4, 6, 5]);
        let negated = builder.op(Unary::Neg, &[x]);
        let sizes = builder.list(&[0, -1]);
        vec![builder.op(Movement::Reshape { allow_zero: false }, &[negated, sizes])]
    });
    list.add("squeeze, unsqueeze", |builder| {
        let x = builder.input(&[4, 1, 5]);
        let axes = builder.list(&[1]);
        let squeezed = builder.op(Movement::Squeeze, &[x, axes]);
        let axes = builder.list(&[0, 3]);
        vec![builder.op(Movement::Unsqueeze, &[squeezed, axes])]
    });
    let orders: [(&str, &[usize], &[usize]); 4] = [
        ("transpose", &[33, 47], &[1, 0]),
        ("transpose, channels last", &[2, 5, 9, 7], &[0, 2, 3, 1]),
        ("transpose, heads", &[2, 9, 3, 8], &[0, 2, 1, 3]),
        ("transpose, five axes", &[2, 3, 4, 5, 6], &[4, 1, 3, 0, 2]),
    ];
    for (name, shape, perm) in orders {
        list.add(name, move |builder| {
            let x = builder.input(shape);
            vec![builder.op(Movement::Transpose { perm: Some(perm.to_vec()) }, &[x])]
        });
    }
    list.add_typed(DType::F16, "transpose, f16", |builder| {
        let x = builder.input(&[33, 47]);
        vec![builder.op(Movement::Transpose { perm: None }, &[x])]
    });
    list.add("expand", |builder| {
        let x = builder.input(&[5, 1, 9]);
        let sizes = builder.list(&[2, 5, 7, 9]);
        vec![builder.op(Movement::Expand, &[x, sizes])]
    });
    list.add("tile", |builder| {
        let x = builder.input(&[3, 5]);
        let repeats = builder.list(&[2, 3]);
        vec![builder.op(Movement::Tile, &[x, repeats])]
    });
}

fn parts(list: &mut ProbeList) {
    list.add("slice", |builder| {
        let x = builder.input(&[7, 11, 13]);
        let (starts, ends) = (builder.list(&[1, 2, 3]), builder.list(&[6, 9, -1]));
        vec![builder.op(Movement::Slice, &[x, starts, ends])]
    });
    list.add("slice, steps and backwards", |builder| {
        let x = builder.input(&[7, 11]);
        let (starts, ends) = (builder.list(&[0, -1]), builder.list(&[7, -12]));
        let (axes, steps) = (builder.list(&[0, 1]), builder.list(&[2, -3]));
        vec![builder.op(Movement::Slice, &[x, starts, ends, axes, steps])]
    });
    for (name, axis) in [("concat, first axis", 0), ("concat, channels", 1), ("concat, last axis", -1)] {
        list.add(name, move |builder| {
            let sizes: [usize; 3] = [3, 5, 2];
            let shape = |size: usize| match axis {
                0 => [size, 4, 7],
                1 => [2, size, 7],
                _ => [2, 4, size],
            };
            let parts = sizes.map(|size| builder.input(&shape(size)));
            vec![builder.op(Movement::Concat { axis }, &parts)]
        });
    }
    list.add("split, equal", |builder| {
        let x = builder.input(&[4, 9, 5]);
        builder.op_with(Movement::Split { axis: 1, parts: 3 }, &[Some(x)], 3)
    });
    list.add("split, sizes", |builder| {
        let x = builder.input(&[4, 9]);
        let sizes = builder.list(&[2, 4, 3]);
        builder.op_with(Movement::Split { axis: 1, parts: 3 }, &[Some(x), Some(sizes)], 3)
    });
}

/// A resize of the last two axes of an image.
type ResizeForm = (&'static str, ResizeMode, Coordinates, [f32; 2]);

pub(super) fn resize(list: &mut ProbeList) {
    let floor = ResizeMode::Nearest(Nearest::Floor);
    let forms: [ResizeForm; 8] = [
        ("nearest, twice", floor, Coordinates::Asymmetric, [2.0, 2.0]),
        ("nearest, half-pixel", ResizeMode::Nearest(Nearest::RoundPreferFloor), Coordinates::HalfPixel, [1.7, 2.3]),
        ("nearest, smaller", floor, Coordinates::Asymmetric, [0.6, 0.5]),
        ("linear, twice", ResizeMode::Linear, Coordinates::HalfPixel, [2.0, 2.0]),
        ("linear, align corners", ResizeMode::Linear, Coordinates::AlignCorners, [1.5, 2.5]),
        ("linear, smaller", ResizeMode::Linear, Coordinates::PytorchHalfPixel, [0.6, 0.7]),
        ("cubic, twice", ResizeMode::Cubic(-0.75), Coordinates::HalfPixel, [2.0, 2.0]),
        ("cubic, align corners", ResizeMode::Cubic(-0.5), Coordinates::AlignCorners, [1.5, 1.25]),
    ];
    for (name, mode, coordinates, scales) in forms {
        list.add(format!("resize {name}"), move |builder| {
            builder.tolerance = tolerance::sums(builder.dtype);
            let x = builder.input(&[1, 3, 10, 8]);
            let scales = builder.known(Tensor::vector(vec![1.0, 1.0, scales[0], scales[1]]));
            let resize = Resize {
                mode,
                coordinates,
                antialias: false,
                exclude_outside: false,
                extrapolation: 0.0,
                policy: AspectPolicy::Stretch,
                axes: None,
            };
            builder.op_with(Movement::Resize(resize), &[Some(x), None, Some(scales)], 1)
        });
    }
    list.add("grid sample, linear", |builder| {
        builder.tolerance = tolerance::sums(builder.dtype);
        let (x, grid) = (builder.input(&[1, 3, 7, 9]), builder.input_in(&[1, 5, 6, 2], -1.1, 1.1));
        let op = Movement::GridSample { mode: GridMode::Linear, padding: GridPadding::Zeros, align_corners: false };
        vec![builder.op(op, &[x, grid])]
    });
}
