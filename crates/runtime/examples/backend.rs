//! ONNX's backend tests on a device:
//! `cargo run --release -p roci-runtime --example backend -- DIR --device URI [--op NAME] [--only TEXT] [--table]
//! [--results FILE]`.
//!
//! DIR is `onnx/backend/test/data` of the `onnx` package. Without `--results` every case counts; with it, only those
//! that the file (case to `pass`) says another implementation passes. `--table` prints a table by operation in Markdown.
//! Devices are `cpu`, `vulkan:0`, …, and emulated GPUs, `emu:gfx1010`.

#![expect(clippy::print_stdout, reason = "that is what it is for")]

#[path = "../../onnx/examples/backend_host/suite.rs"]
mod suite;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use roci_amdgpu::{AmdgpuDriver, CodeLibrary, Origin, Settings};
use roci_cpu::CpuDriver;
use roci_device_library::DeviceLibrary;
use roci_emu::Chip;
use roci_hal::cache::Cache;
use roci_hal::{Device, Registry};
use roci_hsa::{Runtime, Source};
use roci_runtime::{Error, Note, Session};
use roci_vulkan::VulkanDriver;
use suite::{Arguments, Case, Outcome, compare};

fn main() -> ExitCode {
    let Some(arguments) = Arguments::new() else {
        println!("usage: backend DIR --device URI [--op NAME] [--only TEXT] [--table] [--results FILE]");
        return ExitCode::from(2);
    };
    let vulkan = VulkanDriver::new(roci_vulkan::Options { cache: Cache::of_user("vulkan"), validate: None });
    let registry = Registry::new().with(CpuDriver::new()).with(vulkan).with(emulated());
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

/// Emulated AMD GPUs, made to order.
fn emulated() -> AmdgpuDriver {
    let unavailable = |reason: String| roci_hal::Error::Unavailable {
        what: "the emulated GPU".into(),
        reason,
        hint: "`cargo run --release -p roci-device-build` rebuilds its kernels".into(),
    };
    let library: CodeLibrary = Arc::new(move |target: &str| {
        let library = DeviceLibrary::embedded().map_err(|error| unavailable(error.to_string()))?;
        let target = target.parse().map_err(|error: roci_codeobj::TargetError| unavailable(error.to_string()))?;
        Ok(library.find(&target).map_err(|error| unavailable(error.to_string()))?.bytes.to_vec())
    });
    let chips = Chip::ALL.iter().map(|chip| chip.name().to_owned()).collect();
    let origin = Origin::Emulated { chips, last_fault: Arc::new(roci_emu_hsa::last_fault) };
    let open = move |chips: &[String]| {
        let chips = chips.iter().filter_map(|name| name.parse().ok()).collect();
        let config = roci_emu_hsa::Config::for_process(chips).map_err(|error| unavailable(error.to_string()))?;
        roci_emu_hsa::provide(config);
        Runtime::open(Source::Table(roci_emu_hsa::table())).map_err(|error| unavailable(error.to_string()))
    };
    AmdgpuDriver::new(origin, Box::new(open), library, Settings::from_environment())
}

fn run(case: &Path, device: &Device) -> Outcome {
    let case = match Case::open(case) {
        Ok(case) => case,
        Err(reason) => return Outcome::Unsupported(reason),
    };
    let mut session = Session::new(case.graph, device.clone());
    let mut note: Option<String> = None;
    for (inputs, expected) in &case.sets {
        // Twice: the second run replays what the first recorded.
        for _ in 0..2 {
            let made = match session.run(inputs) {
                Ok(made) => made,
                Err(error @ Error::Unsupported { .. }) => return Outcome::Unsupported(error.to_string()),
                Err(error) => return Outcome::Wrong(error.to_string()),
            };
            if let Err(reason) = compare(&made, expected) {
                return Outcome::Wrong(reason);
            }
            for one in session.notes() {
                note = match one {
                    Note::Reference { op, .. } => Some(format!("by the definition of {op}")),
                    Note::Integers { op, .. } => {
                        note.or_else(|| Some(format!("with 64-bit integers ({op}) on the host")))
                    }
                    _ => note,
                };
            }
        }
    }
    Outcome::Passed(note)
}
