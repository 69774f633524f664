//! Recognizes GELU: `x * (erf(x / sqrt(2)) + 1) * 0.5`, with the factors in any order.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use crate::ops::Elementwise;
use crate::ops::elementwise::{Binary, Unary};
use crate::{Graph, Op, ValueId};

use super::uses::{UseIndex, View};

/// Replaces each match by one node.
pub(super) fn join(graph: &mut Graph) {
    let mut known = UseIndex::new(graph);
    for index in 0..graph.nodes.len() {
        if let Some((x, last)) = find(graph, &known, index) {
            // The new node takes the position of the last matched one.
            graph.nodes[last].kind = None;
            graph.nodes[last].op = Elementwise::Unary(Unary::Gelu { tanh: false }).into();
            known.rewire(graph, last, vec![Some(x)]);
        }
    }
}

/// Whether a constant is this number, to f32 precision.
fn is(view: &View<'_>, id: ValueId, number: f64) -> bool {
    view.scalar(id).is_some_and(|own| (own - number).abs() <= 1e-7 * number)
}

/// The operand of the GELU whose `erf` is at `index`, and the node that computes the result.
fn find(graph: &Graph, known: &UseIndex, index: usize) -> Option<(ValueId, usize)> {
    let node = &graph.nodes[index];
    matches!(&node.op, Op::Elementwise(Elementwise::Unary(Unary::Erf))).then_some(())?;
    let view = View::new(graph, known);
    let scaled = view.operand(node, 0)?;
    let x = match view.binary(scaled, Binary::Div) {
        Some((x, by)) => is(&view, by, SQRT_2).then_some(x)?,
        None => match view.binary(scaled, Binary::Mul)? {
            (x, by) if is(&view, by, FRAC_1_SQRT_2) => x,
            (by, x) if is(&view, by, FRAC_1_SQRT_2) => x,
            _ => return None,
        },
    };
    let first = |index: usize| graph.nodes[index].outputs.first().copied().flatten();
    let (sum, one) = view.reader_with(first(index)?, Binary::Add)?;
    is(&view, one, 1.0).then_some(())?;
    let (product, other) = view.reader_with(first(sum)?, Binary::Mul)?;
    let halved = |(a, b): (ValueId, ValueId)| a == x && is(&view, b, 0.5) || b == x && is(&view, a, 0.5);
    if view.binary(other, Binary::Mul).is_some_and(halved) {
        return Some((x, product));
    }
    let (last, rest) = view.reader_with(first(product)?, Binary::Mul)?;
    let both = other == x && is(&view, rest, 0.5) || rest == x && is(&view, other, 0.5);
    both.then_some((x, last))
}
