//! Says which architectures devices compute, for `scripts/architectures`: a line per synthetic
//! model with the architecture, the name of the model, and what no device computes of it.
#![expect(clippy::print_stdout, reason = "a program for developers")]

use std::error::Error;

use roci_lm::architecture::Model;
use roci_lm::synthetic::{architectures, embedders, hybrids};
use roci_lm_device::unsupported;

fn main() -> Result<(), Box<dyn Error>> {
    for case in architectures().into_iter().chain(hybrids()).chain(embedders()) {
        let model = Model::new(&case.open()?, Some(case.context))?;
        println!("{}\t{}\t{}", model.config.architecture, case.name, unsupported(&model).unwrap_or_default());
    }
    Ok(())
}
