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

#[cfg(test)]
mod tests {
    use roci_lm::synthetic::{architectures, hybrids};

    use super::*;

    #[test]
    fn models_with_gated_delta_nets_are_refused_and_others_are_not() {
        let described = |case: &roci_lm::synthetic::Case| {
            Model::new(&case.open().expect("the synthetic file is valid"), Some(case.context))
                .expect("the architecture is described")
        };
        for case in architectures() {
            assert!(check(&described(&case)).is_ok(), "{}", case.name);
        }
        for case in hybrids() {
            let error = check(&described(&case)).expect_err("no device computes it");
            let name = case.recipe.architecture;
            let expected = format!("the architecture `{name}` has gated delta nets, which no device computes yet");
            assert_eq!(error.to_string(), expected);
        }
    }
}
