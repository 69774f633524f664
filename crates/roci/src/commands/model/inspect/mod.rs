//! `roci inspect`: what is in a model, what it takes to run it, and where that is supported.

mod print;
mod report;

use roci_graph::graph::{Declared, Dim};

use super::{ModelError, inputs};
use crate::cli::InspectArgs;
use crate::commands::language::is_language_model;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::Printer;

/// Graphs of so many nodes are listed without being asked.
const FEW: usize = 24;

/// Reads a model and prints what is in it.
pub(crate) fn run(arguments: &InspectArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    if is_language_model(&arguments.model) {
        return Err(ModelError::Language { path: arguments.model.clone() }.into());
    }
    let model = super::open(&arguments.model, &[])?;
    let sizes = inputs::sizes(&model.graph, &arguments.dims)?;
    let report = report::Report::of(&model, &sizes)?;
    if arguments.format.json {
        printer.json(&report)?;
    } else {
        print::print(&report, arguments.nodes || report.nodes <= FEW, printer)?;
    }
    Ok(ExitStatus::Success)
}

/// Dimensions as people write them.
pub(super) fn shape(dims: Option<&[Dim]>) -> String {
    let Some(dims) = dims else { return "?".to_owned() };
    format!("[{}]", dims.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

/// Type and shape of a value as people write them.
fn kind(declared: Option<&Declared>) -> (String, String) {
    match declared {
        Some(Declared::Tensor { dtype, dims }) => (dtype.to_string(), shape(dims.as_deref())),
        Some(Declared::Sequence(inner)) => (format!("sequence of {}", kind(Some(inner)).0), "-".to_owned()),
        Some(Declared::Optional(inner)) => (format!("optional {}", kind(Some(inner)).0), "-".to_owned()),
        None => ("?".to_owned(), "?".to_owned()),
    }
}
