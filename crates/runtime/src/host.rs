//! Which operations run on the host, whatever the device.

use roci_graph::Op;

/// Whether an operation is the host's: graphs inside of nodes, sequences and text, whose results are no arrays of numbers.
///
/// Operations on shapes run there too, but because their operands are known, and those whose result has a shape that
/// depends on data, because nothing can be planned before it is known.
pub(crate) fn runs_on_host(op: &Op) -> bool {
    matches!(op, Op::Control(_) | Op::Sequence(_) | Op::Text(_) | Op::Classic(_))
}
