//! ONNX's backend tests on a device: `cargo run --release -p roci-runtime --example backend -- DIR
//! --device URI [--op NAME] [--only TEXT] [--table] [--results FILE]`.
//!
//! DIR is `onnx/backend/test/data` of the `onnx` package. With `--results`, only the cases count
//! that another implementation passes according to that file (case to `pass`). `--table` prints a
//! Markdown table by operation. Devices are `cpu`, `vulkan:0`, …, and emulated GPUs such as
//! `emu:gfx1010`.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

#[path = "../../onnx/examples/backend_host/suite.rs"]
mod suite;

use std::path::Path;
use std::process::ExitCode;

use roci_hal::Device;
use roci_runtime::{Error, Note, Session};
use suite::{Arguments, Case, Outcome, compare};

fn main() -> ExitCode {
    let Some(arguments) = Arguments::new() else {
        println!("usage: backend DIR --device URI [--op NAME] [--only TEXT] [--table] [--results FILE]");
        return ExitCode::from(2);
    };
    let registry = roci_drivers::registry();
    let device = arguments.device.parse().map_err(roci_hal::Error::from).and_then(|uri| registry.open(&uri, None));
    let device = match device {
        Ok(device) => device,
        Err(error) => {
            println!("{error}");
            return ExitCode::from(3);
        }
    };
    arguments.run(|case| run(case, &device))
}

fn run(case: &Path, device: &Device) -> Outcome {
    let case = match Case::open(case) {
        Ok(case) => case,
        Err(reason) => return Outcome::Unsupported(reason),
    };
    let mut session = Session::new(case.graph, device.clone());
    let mut note: Option<String> = None;
    for (inputs, expected) in &case.sets {
        // Twice: the second run is a replay.
        for _ in 0..2 {
            let result = match session.run(inputs) {
                Ok(result) => result,
                Err(error @ Error::Unsupported { .. }) => return Outcome::Unsupported(error.to_string()),
                Err(error) => return Outcome::Wrong(error.to_string()),
            };
            if let Err(reason) = compare(&result, expected) {
                return Outcome::Wrong(reason);
            }
            for one in session.notes() {
                note = match one {
                    Note::Reference { op, .. } => Some(format!("by the definition of {op}")),
                    Note::HostIntegers { op, .. } => {
                        note.or_else(|| Some(format!("with 64-bit integers ({op}) on the host")))
                    }
                    _ => note,
                };
            }
        }
    }
    Outcome::Passed(note)
}
