//! Recognizes layer normalization: `(x - mean) / sqrt(mean((x - mean)^2) + epsilon)`, `* scale +
//! bias`.

use crate::ops::elementwise::{Binary, Unary};
use crate::ops::reduction::ReduceKind;
use crate::ops::{Elementwise, Norm, Reduction};
use crate::{DType, Graph, Op, ValueId};

use super::constant;
use super::uses::{UseIndex, View};

/// Replaces each match by one node.
pub(super) fn norms(graph: &mut Graph) {
    let mut known = UseIndex::new(graph);
    for index in 0..graph.nodes.len() {
        if let Some(LayerNorm { x, epsilon, scale, bias, last }) = find(graph, &known, index) {
            // The new node takes the position of the last matched one, where all operands are
            // available.
            graph.nodes[last].kind = None;
            graph.nodes[last].op = Norm::Layer { axis: -1, epsilon, rms: false, stash: DType::F32 }.into();
            known.rewire(graph, last, vec![Some(x), Some(scale), Some(bias)]);
        }
    }
}

struct LayerNorm {
    x: ValueId,
    epsilon: f32,
    scale: ValueId,
    bias: ValueId,
    /// The node that adds the bias.
    last: usize,
}

/// The operand of a mean over the last axis, with the axis kept.
fn mean(view: &View<'_>, id: ValueId) -> Option<ValueId> {
    let node = view.producer(id)?;
    let Op::Reduction(Reduction::Reduce { fold: ReduceKind::Mean, keep: true, .. }) = &node.op else { return None };
    let axes = constant(view.graph, node, 1)?.integers().ok()?;
    (axes == [-1]).then(|| view.operand(node, 0))?
}

/// The layer normalization whose division is at `index`.
fn find(graph: &Graph, known: &UseIndex, index: usize) -> Option<LayerNorm> {
    let node = &graph.nodes[index];
    if !matches!(&node.op, Op::Elementwise(Elementwise::Binary(Binary::Div))) {
        return None;
    }
    let view = View::new(graph, known);
    let (centered, deviation) = (view.operand(node, 0)?, view.operand(node, 1)?);
    let root = view.producer(deviation)?;
    matches!(&root.op, Op::Elementwise(Elementwise::Unary(Unary::Sqrt))).then_some(())?;
    let (a, b) = view.binary(view.operand(root, 0)?, Binary::Add)?;
    let (variance, epsilon) = match (view.scalar(a), view.scalar(b)) {
        (None, Some(epsilon)) => (a, epsilon),
        (Some(epsilon), None) => (b, epsilon),
        _ => return None,
    };
    let squares = mean(&view, variance)?;
    let same = match view.binary(squares, Binary::Pow) {
        Some((base, power)) => base == centered && view.scalar(power) == Some(2.0),
        None => view.binary(squares, Binary::Mul)? == (centered, centered),
    };
    let (x, center) = view.binary(centered, Binary::Sub)?;
    if !same || mean(&view, center)? != x {
        return None;
    }
    let result = node.outputs.first().copied().flatten()?;
    let (scale, bias, last) = affine(&view, result)?;
    Some(LayerNorm { x, epsilon: epsilon as f32, scale, bias, last })
}

/// The scale and bias, constants of one row, that follow a value with no other use.
fn affine(view: &View<'_>, result: ValueId) -> Option<(ValueId, ValueId, usize)> {
    let next = |id: ValueId, kind: Binary| -> Option<(usize, ValueId)> {
        let (at, other) = view.reader_with(id, kind)?;
        let row = view.graph.constants.get(&other)?;
        (row.rank() == 1 && row.len() > 1).then_some((at, other))
    };
    let (mul, scale) = next(result, Binary::Mul)?;
    let (add, bias) = next(view.graph.nodes[mul].outputs.first().copied().flatten()?, Binary::Add)?;
    let same = view.graph.constants.get(&scale)?.len() == view.graph.constants.get(&bias)?.len();
    same.then_some((scale, bias, add))
}
