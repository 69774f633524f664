//! Recurrent layers.

use roci_graph::ValueId;
use roci_graph::ops::Recurrent;
use roci_graph::ops::recurrent::{Direction, Kind};

use super::List;
use super::sketch::Sketch;
use crate::commands::matrix::compare::Tolerance;

pub(super) fn add(list: &mut List) {
    let (lstm, gru) = (Kind::Lstm { coupled: false }, Kind::Gru { linear_before_reset: false });
    let forms = [
        ("rnn", Kind::Rnn, Direction::Forward),
        ("gru", gru, Direction::Forward),
        ("gru, reset behind the product", Kind::Gru { linear_before_reset: true }, Direction::Forward),
        ("gru, both ways", gru, Direction::Both),
        ("lstm", lstm, Direction::Forward),
        ("lstm, backwards", lstm, Direction::Reverse),
        ("lstm, both ways", lstm, Direction::Both),
    ];
    for (name, kind, direction) in forms {
        list.add(name, move |sketch| {
            sketch.tolerance = Tolerance::sums(sketch.dtype);
            let x = sketch.input(&[6, 3, 10]);
            layer(sketch, kind, direction, x, [10, 9])
        });
    }
}

/// A layer of such a width over a sequence of that one, with all its outputs.
pub(super) fn layer(
    sketch: &mut Sketch,
    kind: Kind,
    direction: Direction,
    x: ValueId,
    [inputs, hidden]: [usize; 2],
) -> Vec<ValueId> {
    let (ways, gates) = (direction.count(), kind.gates() * hidden);
    let w = sketch.weight(&[ways, gates, inputs]);
    let (r, bias) = (sketch.weight(&[ways, gates, hidden]), sketch.weight(&[ways, 2 * gates]));
    let activations = kind.activations().repeat(ways);
    let op = Recurrent { kind, direction, activations, clip: None, batch_first: false };
    let outputs = if matches!(kind, Kind::Lstm { .. }) { 3 } else { 2 };
    sketch.op_with(op, &[x, w, r, bias].map(Some), outputs)
}
