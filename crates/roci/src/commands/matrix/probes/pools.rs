//! Pools.

use roci_graph::ops::Pool;
use roci_graph::ops::pool::PoolKind;

use super::List;
use super::sketch::sized;
use crate::commands::matrix::compare::Tolerance;

const MAX: PoolKind = PoolKind::Max { column_major: false };
const MEAN: PoolKind = PoolKind::Average { with_padding: false };

/// A pool over an image.
type Form = (&'static str, PoolKind, &'static [usize], usize, usize, bool);

pub(super) fn add(list: &mut List) {
    let forms: [Form; 9] = [
        ("max pool 2x2", MAX, &[2, 2], 2, 0, false),
        ("max pool 3x3, stride 2, pad 1", MAX, &[3, 3], 2, 1, false),
        ("max pool, ceil", MAX, &[3, 3], 2, 0, true),
        ("average pool 2x2", MEAN, &[2, 2], 2, 0, false),
        ("average pool 3x3, pad 1", MEAN, &[3, 3], 1, 1, false),
        ("average pool, padding counts", PoolKind::Average { with_padding: true }, &[3, 3], 2, 1, false),
        ("average pool, ceil", MEAN, &[3, 3], 2, 1, true),
        ("lp pool", PoolKind::Lp { order: 2.0 }, &[3, 3], 2, 0, false),
        // What PyTorch exports of an adaptive pool whose output divides the input.
        ("adaptive average pool, 14x14 to 7x7", MEAN, &[2, 2], 2, 0, false),
    ];
    for (name, kind, kernel, stride, pad, ceil) in forms {
        list.add_both(name, move |sketch| {
            sketch.tolerance = Tolerance::sums(sketch.dtype);
            let side = if name.starts_with("adaptive") { [14, 14] } else { [13, 11] };
            let x = sketch.input(&[2, 5, side[0], side[1]]);
            let window = sized(kernel, &[stride, stride], &[pad, pad]);
            vec![sketch.op(Pool::Slide { kind, window, ceil }, &[x])]
        });
    }
    list.add("max pool with places", |sketch| {
        let x = sketch.input(&[2, 3, 8, 10]);
        let op = Pool::Slide { kind: MAX, window: sized(&[2, 2], &[2, 2], &[0, 0]), ceil: false };
        sketch.op_with(op, &[Some(x)], 2)
    });
    list.add("max pool 1d", |sketch| {
        let x = sketch.input(&[2, 5, 31]);
        vec![sketch.op(Pool::Slide { kind: MAX, window: sized(&[3], &[2], &[1]), ceil: false }, &[x])]
    });
    list.add("average pool 3d", |sketch| {
        let x = sketch.input(&[1, 3, 7, 6, 5]);
        let window = sized(&[2, 3, 2], &[2, 2, 2], &[0, 1, 0]);
        vec![sketch.op(Pool::Slide { kind: MEAN, window, ceil: false }, &[x])]
    });
    let global = [("global average pool", MEAN), ("global max pool", MAX)];
    for (name, kind) in global {
        list.add(name, move |sketch| {
            let x = sketch.input(&[2, 9, 7, 7]);
            vec![sketch.op(Pool::Global { kind }, &[x])]
        });
    }
}
