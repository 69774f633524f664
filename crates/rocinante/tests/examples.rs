//! Runs every example on the devices of the machine.

use std::path::PathBuf;
use std::process::Command;

/// Runs an example that cargo built with this test. Returns `None` without the device, unless
/// `ROCI_REQUIRE` names it.
fn run(what: &str, name: &str, arguments: &[&str]) -> Option<String> {
    let tests = std::env::current_exe().expect("the test is a file");
    let examples: PathBuf = tests.ancestors().nth(2).expect("it is in deps").join("examples");
    let output = Command::new(examples.join(name)).args(arguments).output().expect("cargo builds examples for tests");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let result = if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) };
    roci_testkit::require(what, result)
}

#[test]
fn hello_compute() {
    let output = run("vulkan", "hello_compute", &["vulkan:0"]);
    assert!(output.is_none_or(|text| text.contains("doubled 1000 numbers, the last to 1998")));
}

#[test]
fn replay() {
    assert!(run("vulkan", "replay", &["vulkan:0"]).is_none_or(|text| text.contains("100 replays of 2 dispatches")));
}

#[cfg(feature = "amdgpu")]
#[test]
fn emulated() {
    let output = run("clang", "emulated", &["gfx1013"]);
    assert!(output.is_none_or(|text| text.contains("27 reaches 1 after 111 steps")));
}

#[test]
fn own_driver() {
    let output = run("null", "own_driver", &[]).expect("the null driver is built in");
    assert!(output.starts_with("counting://") && output.ends_with(": 2 batches\n"), "{output}");
}

#[cfg(feature = "onnx")]
#[test]
fn onnx() {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../roci/tests/models/small.onnx");
    let output = run("cpu", "onnx", &[model, "cpu"]).expect("every machine has a CPU");
    assert!(output.contains("F32"), "{output}");
}

#[cfg(feature = "gguf")]
#[test]
fn chat() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let model = folder.path().join("model.gguf");
    std::fs::write(&model, roci_lm::synthetic::talking().bytes().expect("a model")).expect("room for it");
    let model = model.to_str().expect("a UTF-8 path");
    let output = run("cpu", "chat", &[model, "hello", "cpu"]).expect("every machine has a CPU");
    assert!(output.len() > 1, "the model generated no text");
}
