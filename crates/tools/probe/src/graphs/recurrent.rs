//! Recurrent layers.

use roci_graph::ValueId;
use roci_graph::ops::Recurrent;
use roci_graph::ops::recurrent::{Direction, Kind};

use super::ProbeList;
use super::builder::CaseBuilder;
use super::tolerance;

pub(super) fn add(list: &mut ProbeList) {
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
        list.add(name, move |builder| {
            builder.tolerance = tolerance::sums(builder.dtype);
            let x = builder.input(&[6, 3, 10]);
            layer(builder, kind, direction, x, [10, 9])
        });
    }
}

/// A recurrent layer with all its outputs. The sizes are those of the input features and of the
/// hidden state.
pub(super) fn layer(
    builder: &mut CaseBuilder,
    kind: Kind,
    direction: Direction,
    x: ValueId,
    [inputs, hidden]: [usize; 2],
) -> Vec<ValueId> {
    let (ways, gates) = (direction.count(), kind.gates() * hidden);
    let w = builder.weight(&[ways, gates, inputs]);
    let (r, bias) = (builder.weight(&[ways, gates, hidden]), builder.weight(&[ways, 2 * gates]));
    let activations = kind.activations().repeat(ways);
    let op = Recurrent { kind, direction, activations, clip: None, batch_first: false };
    let outputs = if matches!(kind, Kind::Lstm { .. }) { 3 } else { 2 };
    builder.op_with(op, &[x, w, r, bias].map(Some), outputs)
}
