//! ONNX's backend tests on the host:
//! `cargo run --release -p roci-onnx --example backend_host -- DIR [--op NAME] [--only TEXT] [--table]
//! [--results FILE]`.
//!
//! DIR is `onnx/backend/test/data` of the `onnx` package. Without `--results` every case counts; with it, only those
//! that the file (case to `pass`) says another implementation passes. `--table` prints a table by operation in Markdown.

#![expect(clippy::print_stdout, reason = "that is what it is for")]

mod suite;

use std::path::Path;
use std::process::ExitCode;

use suite::{Arguments, Case, Outcome, compare};

fn main() -> ExitCode {
    let Some(arguments) = Arguments::new() else {
        println!("usage: backend_host DIR [--op NAME] [--only TEXT] [--table] [--results FILE]");
        return ExitCode::from(2);
    };
    arguments.run(|case| match run(case) {
        Ok(()) => Outcome::Passed(None),
        Err(reason) => Outcome::Wrong(reason),
    })
}

fn run(case: &Path) -> Result<(), String> {
    let case = Case::open(case)?;
    for (inputs, expected) in case.sets {
        let made = roci_graph::run(&case.graph, inputs).map_err(|error| error.to_string())?;
        compare(&made, &expected)?;
    }
    Ok(())
}
