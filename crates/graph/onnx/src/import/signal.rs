//! Fourier transforms.

use roci_graph::Tensor;
use roci_graph::ops::Signal;

use super::NodeContext;
use crate::Error;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    match node.op().as_str() {
        "DFT" => {
            let op = Signal::Dft { inverse: node.flag("inverse", false)?, onesided: node.flag("onesided", false)? };
            if node.version() >= 20 {
                return node.emit(op);
            }
            let axis = Tensor::scalar(node.int_or("axis", 1)?);
            let axis = node.constant(axis);
            let operands = [node.input(0), node.input(1), Some(axis)];
            node.emit_with(op, &operands)
        }
        "STFT" => {
            let op = Signal::Stft { onesided: node.flag("onesided", true)? };
            node.emit(op)
        }
        _ => Ok(false),
    }
}
