//! The `roci` command: reads the command line, runs one verb, turns its end into an exit code.
//!
//! Start reading at `cli/` (what can be asked for), then `commands/` (one file a verb). `registry.rs` has the drivers,
//! `printer.rs` alone writes.

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
mod npy;
mod printer;
mod registry;
mod units;

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
            let output = OutputArgs { color: cli::color_asked(readable()), ..OutputArgs::default() };
            let printer = Printer::new(output, cli::json_asked(readable()));
            let ended = printer.usage(&message).map_err(CliError::from);
            (printer, ended)
        }
    };
    let status = ended.unwrap_or_else(|error| {
        let status = ExitStatus::from(&error);
        if status != ExitStatus::Success {
            printer.end(&error, status);
        }
        status
    });
    status.into()
}
