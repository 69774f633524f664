//! Attention and rotary embeddings.

use roci_graph::ops::Attend;
use roci_graph::ops::attend::{Attention, Rotary, Scores};
use roci_graph::ops::elementwise::Binary;
use roci_graph::ops::reduction::{Reduction, SoftmaxKind};
use roci_graph::{DType, ValueId};

use super::List;
use super::products::matmul;
use super::sketch::Sketch;
use crate::commands::matrix::compare::Tolerance;

const PLAIN: Attention = Attention {
    scale: None,
    causal: false,
    pads_mask: true,
    heads: (None, None),
    softcap: 0.0,
    scores: Scores::Products,
};

pub(super) fn add(list: &mut List) {
    list.add_both("attention", |sketch| {
        sketch.tolerance = Tolerance::sums(sketch.dtype);
        let (q, k, v) = operands(sketch, 2);
        vec![sketch.op(Attend::Attention(PLAIN), &[q, k, v])]
    });
    list.add("attention, causal", |sketch| {
        sketch.tolerance = Tolerance::sums(sketch.dtype);
        let (q, k, v) = operands(sketch, 2);
        vec![sketch.op(Attend::Attention(Attention { causal: true, ..PLAIN }), &[q, k, v])]
    });
    list.add("attention, causal, lengths", |sketch| {
        sketch.tolerance = Tolerance::sums(sketch.dtype);
        let (q, k, v) = operands(sketch, 2);
        let lengths = sketch.listed(DType::I64, &[1], &[9.0]);
        let op = Attend::Attention(Attention { causal: true, ..PLAIN });
        sketch.op_with(op, &[Some(q), Some(k), Some(v), None, None, None, Some(lengths)], 1)
    });
    list.add("attention, mask", |sketch| {
        sketch.tolerance = Tolerance::sums(sketch.dtype);
        let (q, k, v) = operands(sketch, 2);
        let mask = sketch.input_in(&[7, 11], -4.0, 0.0);
        vec![sketch.op(Attend::Attention(PLAIN), &[q, k, v, mask])]
    });
    list.add("attention, grouped queries", |sketch| {
        sketch.tolerance = Tolerance::sums(sketch.dtype);
        let (q, k, v) = operands(sketch, 1);
        vec![sketch.op(Attend::Attention(PLAIN), &[q, k, v])]
    });
    list.add("attention, heads in rows", |sketch| {
        sketch.tolerance = Tolerance::sums(sketch.dtype);
        let (q, k, v) = (sketch.input(&[1, 7, 16]), sketch.input(&[1, 9, 16]), sketch.input(&[1, 9, 16]));
        let op = Attention { heads: (Some(2), Some(2)), ..PLAIN };
        vec![sketch.op(Attend::Attention(op), &[q, k, v])]
    });
    list.add("attention of its parts", |sketch| {
        sketch.tolerance = Tolerance::sums(sketch.dtype);
        let (q, v) = (sketch.input(&[2, 7, 16]), sketch.input(&[2, 11, 16]));
        let k = sketch.input(&[2, 16, 11]);
        let scores = sketch.op(matmul(), &[q, k]);
        let quarter = sketch.number(0.25);
        let scaled = sketch.op(Binary::Mul, &[scores, quarter]);
        let softmax = Reduction::Softmax { kind: SoftmaxKind::Softmax, axis: -1, to_end: false };
        let weights = sketch.op(softmax, &[scaled]);
        vec![sketch.op(matmul(), &[weights, v])]
    });
    for (name, interleaved) in [("rotary embedding", false), ("rotary embedding, interleaved", true)] {
        list.add(name, move |sketch| {
            sketch.tolerance = Tolerance::sums(sketch.dtype);
            let x = sketch.input(&[1, 2, 7, 8]);
            let (cosines, sines) = (sketch.input(&[16, 4]), sketch.input(&[16, 4]));
            let places = sketch.input_of(DType::I64, &[1, 7], 0.0, 16.0);
            let op = Rotary { interleaved, turned: 0, heads: None };
            vec![sketch.op(Attend::Rotary(op), &[x, cosines, sines, places])]
        });
    }
}

/// Queries of two heads, keys and values of so many.
fn operands(sketch: &mut Sketch, heads: usize) -> (ValueId, ValueId, ValueId) {
    let q = sketch.input(&[1, 2, 7, 16]);
    (q, sketch.input(&[1, heads, 11, 16]), sketch.input(&[1, heads, 11, 16]))
}
