//! Attention and rotary embeddings.

use roci_graph::ops::AttentionOp;
use roci_graph::ops::attention::{Attention, Rotary, Scores};
use roci_graph::ops::elementwise::Binary;
use roci_graph::ops::reduction::{Reduction, SoftmaxKind};
use roci_graph::{DType, ValueId};

use super::ProbeList;
use super::builder::CaseBuilder;
use super::products::matmul;
use super::tolerance;

const PLAIN: Attention = Attention {
    scale: None,
    causal: false,
    pads_mask: true,
    heads: (None, None),
    softcap: 0.0,
    scores: Scores::Products,
};

pub(super) fn add(list: &mut ProbeList) {
    list.add_both("attention", |builder| {
        builder.tolerance = tolerance::sums(builder.dtype);
        let (q, k, v) = operands(builder, 2);
        vec![builder.op(AttentionOp::Attention(PLAIN), &[q, k, v])]
    });
    list.add("attention, causal", |builder| {
        builder.tolerance = tolerance::sums(builder.dtype);
        let (q, k, v) = operands(builder, 2);
        vec![builder.op(AttentionOp::Attention(Attention { causal: true, ..PLAIN }), &[q, k, v])]
    });
    list.add("attention, causal, lengths", |builder| {
        builder.tolerance = tolerance::sums(builder.dtype);
        let (q, k, v) = operands(builder, 2);
        let lengths = builder.listed(DType::I64, &[1], &[9.0]);
        let op = AttentionOp::Attention(Attention { causal: true, ..PLAIN });
        builder.op_with(op, &[Some(q), Some(k), Some(v), None, None, None, Some(lengths)], 1)
    });
    list.add("attention, mask", |builder| {
        builder.tolerance = tolerance::sums(builder.dtype);
        let (q, k, v) = operands(builder, 2);
        let mask = builder.input_in(&[7, 11], -4.0, 0.0);
        vec![builder.op(AttentionOp::Attention(PLAIN), &[q, k, v, mask])]
    });
    list.add("attention, grouped queries", |builder| {
        builder.tolerance = tolerance::sums(builder.dtype);
        let (q, k, v) = operands(builder, 1);
        vec![builder.op(AttentionOp::Attention(PLAIN), &[q, k, v])]
    });
    list.add("attention, heads in rows", |builder| {
        builder.tolerance = tolerance::sums(builder.dtype);
        let (q, k, v) = (builder.input(&[1, 7, 16]), builder.input(&[1, 9, 16]), builder.input(&[1, 9, 16]));
        let op = Attention { heads: (Some(2), Some(2)), ..PLAIN };
        vec![builder.op(AttentionOp::Attention(op), &[q, k, v])]
    });
    list.add("attention of its parts", |builder| {
        builder.tolerance = tolerance::sums(builder.dtype);
        let (q, v) = (builder.input(&[2, 7, 16]), builder.input(&[2, 11, 16]));
        let k = builder.input(&[2, 16, 11]);
        let scores = builder.op(matmul(), &[q, k]);
        let quarter = builder.number(0.25);
        let scaled = builder.op(Binary::Mul, &[scores, quarter]);
        let softmax = Reduction::Softmax { kind: SoftmaxKind::Softmax, axis: -1, to_end: false };
        let weights = builder.op(softmax, &[scaled]);
        vec![builder.op(matmul(), &[weights, v])]
    });
    for (name, interleaved) in [("rotary embedding", false), ("rotary embedding, interleaved", true)] {
        list.add(name, move |builder| {
            builder.tolerance = tolerance::sums(builder.dtype);
            let x = builder.input(&[1, 2, 7, 8]);
            let (cosines, sines) = (builder.input(&[16, 4]), builder.input(&[16, 4]));
            let places = builder.input_of(DType::I64, &[1, 7], 0.0, 16.0);
            let op = Rotary { interleaved, rotary_dim: 0, heads: None };
            vec![builder.op(AttentionOp::Rotary(op), &[x, cosines, sines, places])]
        });
    }
}

/// Queries with two heads; keys and values with `heads` heads.
fn operands(builder: &mut CaseBuilder, heads: usize) -> (ValueId, ValueId, ValueId) {
    let q = builder.input(&[1, 2, 7, 16]);
    (q, builder.input(&[1, heads, 11, 16]), builder.input(&[1, heads, 11, 16]))
}
