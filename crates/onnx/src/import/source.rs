//! Tensors made of little.

use super::NodeContext;
use crate::Error;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    match node.op().as_str() {
        "Identity" => {
            let input = node.required(0)?;
            node.bind(0, input)
        }
        _ => Ok(false),
    }
}
