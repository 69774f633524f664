//! Which models devices can compute.

use roci_lm::architecture::Model;

use crate::Error;

/// Refuses a model with blocks that devices have no kernels for.
pub(crate) fn check(model: &Model) -> Result<(), Error> {
    let found = if model.is_recurrent() {
        "gated delta nets"
    } else if model.layers.iter().any(|layer| layer.attention().is_some_and(|block| block.output_gate.is_some())) {
        "attention with an output gate"
    } else if model.layers.iter().any(|layer| layer.feed_forward.shared.is_some()) {
        "a shared expert"
    } else {
        return Ok(());
    };
    Err(Error::File {
        message: format!("the architecture `{}` has {found}, which no device computes yet", model.config.architecture),
        hint: Some("choose a model without them".to_owned()),
    })
}
