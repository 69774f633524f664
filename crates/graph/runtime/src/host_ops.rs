//! Which operations run on the host, on every device.

use roci_graph::Op;

/// Whether an operation always runs on the host: control flow, sequences, text and classic models,
/// whose results are not arrays of numbers.
///
/// Two more groups run on the host for other reasons. Operations on shapes have known operands and
/// are precomputed. Operations whose output shape depends on data need that data before memory can
/// be planned.
pub(crate) fn runs_on_host(op: &Op) -> bool {
    matches!(op, Op::Control(_) | Op::Sequence(_) | Op::Text(_) | Op::Classic(_))
}
