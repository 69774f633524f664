//! ONNX's backend tests on the host: `cargo run --release -p roci-onnx --example backend_host --
//! DIR [--op NAME] [--only TEXT] [--table] [--results FILE]`.
//!
//! DIR is `onnx/backend/test/data` of the `onnx` package. With `--results`, only the cases count
//! that another implementation passes according to that file (case to `pass`). `--table` prints a
//! Markdown table by operation.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

#[expect(dead_code, reason = "the host supports every operation and needs no device")]
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
        let result = roci_graph::run(&case.graph, inputs).map_err(|error| error.to_string())?;
        compare(&result, &expected)?;
    }
    Ok(())
}
