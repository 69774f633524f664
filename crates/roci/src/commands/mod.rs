//! The verbs, one file or folder each. Verbs for models are in `onnx` (ONNX models) and `language`
//! (language models in GGUF); `run.rs` chooses between them.

mod auto;
pub(crate) mod bench;
mod completions;
mod demo;
mod devices;
pub(crate) mod doctor;
pub(crate) mod emu;
mod env;
mod lab;
pub(crate) mod language;
mod man;
pub(crate) mod matrix;
mod objects;
pub(crate) mod onnx;
mod run;
mod train;
pub(crate) mod verify;

use crate::cli::{Command, DriverArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::Printer;

/// Runs one verb.
pub(crate) fn run(command: Command, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    // An invalid timeout is an error before anything runs. Verbs that use no device do not check
    // it, and `env` shows its value.
    if !matches!(
        command,
        Command::Env(_)
            | Command::Inspect(_)
            | Command::Lab(_)
            | Command::Objects(_)
            | Command::Convert(_)
            | Command::Quantize(_)
            | Command::Completions { .. }
            | Command::Man { .. }
    ) {
        roci_hal::deadline::timeout_from_environment()?;
        roci_hal::deadline::compile_timeout_from_environment()?;
    }
    match command {
        Command::Bench(arguments) => bench::run(&arguments, drivers, printer),
        Command::Chat(arguments) => language::chat(&arguments, drivers, printer),
        Command::Convert(arguments) => language::convert(&arguments, printer),
        Command::Demo(arguments) => demo::run(&arguments, drivers, printer),
        Command::Devices(arguments) => devices::run(&arguments, drivers, printer),
        Command::Doctor(arguments) => doctor::run(&arguments, drivers, printer),
        Command::Embed(arguments) => language::embed(&arguments, drivers, printer),
        Command::Emu { command } => emu::run(&command, printer),
        Command::Env(arguments) => env::run(&arguments, printer),
        Command::Lab(arguments) => lab::run(&arguments, printer),
        Command::Matrix(arguments) => matrix::run(&arguments, drivers, printer),
        Command::MatrixProbe(arguments) => matrix::probe(&arguments, drivers, printer),
        Command::Inspect(arguments) => onnx::inspect(&arguments, printer),
        Command::Objects(arguments) => objects::run(&arguments, printer),
        Command::Perplexity(arguments) => language::perplexity(&arguments, drivers, printer),
        Command::Quantize(arguments) => language::quantize(&arguments, printer),
        Command::Rerank(arguments) => language::rerank(&arguments, drivers, printer),
        Command::Run(arguments) => run::run(&arguments, drivers, printer),
        Command::Serve(arguments) => language::serve(&arguments, drivers, printer),
        Command::TrainDemo(arguments) => train::run(&arguments, drivers, printer),
        Command::VerifyRoute(arguments) => verify::run(&arguments, drivers, printer),
        Command::Completions { shell } => completions::run(shell, printer),
        Command::Man { folder } => man::run(folder.as_deref(), printer),
    }
}
