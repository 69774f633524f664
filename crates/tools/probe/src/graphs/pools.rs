//! Pooling.

use roci_graph::ops::Pool;
use roci_graph::ops::pool::PoolKind;

use super::ProbeList;
use super::builder::sized;
use super::tolerance;

const MAX: PoolKind = PoolKind::Max { column_major: false };
const MEAN: PoolKind = PoolKind::Average { with_padding: false };

/// Parameters of a two-dimensional pool.
type PoolForm = (&'static str, PoolKind, &'static [usize], usize, usize, bool);

pub(super) fn add(list: &mut ProbeList) {
    let forms: [PoolForm; 9] = [
        ("max pool 2x2", MAX, &[2, 2], 2, 0, false),
        ("max pool 3x3, stride 2, pad 1", MAX, &[3, 3], 2, 1, false),
        ("max pool, ceil", MAX, &[3, 3], 2, 0, true),
        ("average pool 2x2", MEAN, &[2, 2], 2, 0, false),
        ("average pool 3x3, pad 1", MEAN, &[3, 3], 1, 1, false),
        ("average pool, padding counts", PoolKind::Average { with_padding: true }, &[3, 3], 2, 1, false),
        ("average pool, ceil", MEAN, &[3, 3], 2, 1, true),
        ("lp pool", PoolKind::Lp { order: 2.0 }, &[3, 3], 2, 0, false),
        // PyTorch's export of an adaptive pool whose output size divides the input size.
        ("adaptive average pool, 14x14 to 7x7", MEAN, &[2, 2], 2, 0, false),
    ];
    for (name, kind, kernel, stride, pad, ceil) in forms {
        list.add_both(name, move |builder| {
            builder.tolerance = tolerance::sums(builder.dtype);
            let side = if name.starts_with("adaptive") { [14, 14] } else { [13, 11] };
            let x = builder.input(&[2, 5, side[0], side[1]]);
            let window = sized(kernel, &[stride, stride], &[pad, pad]);
            vec![builder.op(Pool::Slide { kind, window, ceil }, &[x])]
        });
    }
    list.add("max pool with places", |builder| {
        let x = builder.input(&[2, 3, 8, 10]);
        let op = Pool::Slide { kind: MAX, window: sized(&[2, 2], &[2, 2], &[0, 0]), ceil: false };
        builder.op_with(op, &[Some(x)], 2)
    });
    list.add("max pool 1d", |builder| {
        let x = builder.input(&[2, 5, 31]);
        vec![builder.op(Pool::Slide { kind: MAX, window: sized(&[3], &[2], &[1]), ceil: false }, &[x])]
    });
    list.add("average pool 3d", |builder| {
        let x = builder.input(&[1, 3, 7, 6, 5]);
        let window = sized(&[2, 3, 2], &[2, 2, 2], &[0, 1, 0]);
        vec![builder.op(Pool::Slide { kind: MEAN, window, ceil: false }, &[x])]
    });
    let global = [("global average pool", MEAN), ("global max pool", MAX)];
    for (name, kind) in global {
        list.add(name, move |builder| {
            let x = builder.input(&[2, 9, 7, 7]);
            vec![builder.op(Pool::Global { kind }, &[x])]
        });
    }
}
