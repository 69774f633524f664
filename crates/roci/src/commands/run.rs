//! `roci run`: chooses between language models and ONNX models.

use crate::cli::{DriverArgs, RunArgs};
use crate::commands::{language, onnx};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::Printer;

/// Runs a model of either kind.
pub(super) fn run(arguments: &RunArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    if language::is_language_model(&arguments.model) {
        language::run(arguments, drivers, printer)
    } else {
        onnx::run(arguments, drivers, printer)
    }
}
