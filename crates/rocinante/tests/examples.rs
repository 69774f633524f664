//! Every example runs, on the devices that the machine has.

use std::path::PathBuf;
use std::process::Command;

/// Runs an example that cargo built along with this test; `None` without the device, unless the tests require it.
fn run(what: &str, name: &str, argument: &str) -> Option<String> {
    let tests = std::env::current_exe().expect("the test is a file");
    let examples: PathBuf = tests.ancestors().nth(2).expect("it is in deps").join("examples");
    let output = Command::new(examples.join(name)).arg(argument).output().expect("cargo builds examples for tests");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let result = if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) };
    roci_testkit::require(what, result)
}

#[test]
fn hello_compute() {
    let shown = run("vulkan", "hello_compute", "vulkan:0");
    assert!(shown.is_none_or(|text| text.contains("doubled 1000 numbers, the last to 1998")));
}

#[test]
fn replay() {
    assert!(run("vulkan", "replay", "vulkan:0").is_none_or(|text| text.contains("100 replays of 2 dispatches")));
}

#[cfg(feature = "amdgpu")]
#[test]
fn emulated() {
    let shown = run("clang", "emulated", "gfx1013");
    assert!(shown.is_none_or(|text| text.contains("27 reaches 1 after 111 steps")));
}
