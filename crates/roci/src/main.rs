//! The `roci` command: parses the command line, runs one verb, and maps its result to an exit code.
//!
//! Start at `cli/` (verbs and options), then `commands/` (one file or folder per verb).
//! `registry.rs` registers the drivers; all output goes through `printer.rs`.

#![forbid(unsafe_code)]

mod child;
mod cli;
mod commands;
mod error;
mod exit;
mod folders;
mod hsa;
mod input;
mod interrupt;
mod printer;
mod registry;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, OutputArgs};
use error::CliError;
use exit::ExitStatus;
use printer::Printer;

fn main() -> ExitCode {
    let arguments = || std::env::args_os();
    let readable = || arguments().map(|argument| argument.to_string_lossy().into_owned());
    let (printer, ended) = match Cli::try_parse_from(arguments()) {
        Ok(cli) => {
            let printer = Printer::new(cli.output, cli.command.json());
            let ended = commands::run(cli.command, &cli.drivers, &printer);
            (printer, ended)
        }
        Err(message) => {
            let output = OutputArgs { color: cli::requested_color(readable()), ..OutputArgs::default() };
            let printer = Printer::new(output, cli::is_json_requested(readable()));
            let ended = printer.parser_message(&message).map_err(CliError::from);
            (printer, ended)
        }
    };
    let status = ended.unwrap_or_else(|error| {
        let status = ExitStatus::from(&error);
        if status != ExitStatus::Success {
            printer.failure(&error, status);
        }
        status
    });
    status.into()
}
