//! `roci doctor watch`: what a program prints and how it ends is passed on, and explained.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::super::{assert_code, assert_error, command, roci, stderr, stdout};

/// Runs a script under `watch`. The test's variables are not passed on, except for the path.
fn watch(script: &str) -> std::process::Output {
    let mut command = command(&["doctor", "watch", "--", "/bin/sh", "-c", script]);
    command.env("PATH", "/usr/bin:/bin").output().expect("the binary was built for this test")
}

#[test]
fn output_and_exit_code_of_the_program_are_passed_on() {
    let output = watch("printf 'one\\n\\001\\377no end'; echo two >&2; exit 7");
    assert_code_of(&output, 7);
    assert_eq!(output.stdout, b"one\n\x01\xffno end");
    assert!(stderr(&output).lines().any(|line| line == "two"), "{}", stderr(&output));
    assert!(!stderr(&output).contains("roci: "), "{}", stderr(&output));
    let output = watch("kill -9 $$");
    assert_code_of(&output, 137);
    assert!(stderr(&output).contains("ended by signal 9; often the memory was exhausted"), "{}", stderr(&output));
    let missing = roci(&["doctor", "watch", "--log", "/dev/null", "--", "/no/such/program"]);
    assert_error(&missing, 127, "cannot start `/no/such/program`", "name and path");
}

/// Like `assert_code`, for output that is not text.
#[track_caller]
fn assert_code_of(output: &std::process::Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
}

#[test]
fn a_problem_is_explained_on_standard_error() {
    let output = watch("echo start; echo 'RuntimeError: HIP error: invalid device function'; echo go on");
    assert_code(&output, 0);
    assert_eq!(stdout(&output), "start\nRuntimeError: HIP error: invalid device function\ngo on\n");
    let text = stderr(&output);
    for expected in ["roci: blocker LIB-02 ", "output, line 2: RuntimeError", "What to do:", "roci: seen: LIB-02"] {
        assert!(text.contains(expected), "{expected} is missing:\n{text}");
    }
}

fn follow(path: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut command = command(&["doctor", "watch", "--log", path]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it was built for this test");
    // It says when it follows the file.
    let mut notes = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    while !line.contains("following") {
        line.clear();
        assert!(notes.read_line(&mut line).expect("it is text") > 0, "it ended");
    }
    child.stderr = Some(notes.into_inner());
    let output = BufReader::new(child.stdout.take().expect("it is piped"));
    (child, output)
}

/// The next line that starts with `roci: `.
fn next(output: &mut BufReader<std::process::ChildStdout>) -> String {
    let mut line = String::new();
    while !line.starts_with("roci: ") {
        line.clear();
        assert!(output.read_line(&mut line).expect("it is text") > 0, "it ended");
    }
    line
}

#[test]
fn a_file_is_followed_until_ctrl_c() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    let name = path.to_str().expect("its name is text");
    let fault = "amdgpu 0000:03:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32770)\n";
    fs::write(&path, "Segmentation fault (core dumped)\n").expect("a file");
    let (mut child, mut output) = follow(name);
    let mut file = fs::OpenOptions::new().append(true).open(&path).expect("it exists");
    file.write_all(fault.as_bytes()).expect("there is space");
    assert!(next(&mut output).starts_with("roci: high FLT-01"), "what was there before is not explained");
    // A log that is rotated.
    fs::rename(&path, folder.path().join("log.1")).expect("it exists");
    fs::write(&path, "Segmentation fault (core dumped)\n").expect("a file");
    let line = next(&mut output);
    assert!(line.contains("segmentation fault"), "{line}");
    let pid = Pid::from_raw(child.id().cast_signed()).expect("it is not 0");
    kill_process(pid, Signal::INT).expect("it runs");
    let last = next(&mut output);
    assert!(last.starts_with("roci: seen: FLT-01, segmentation-fault"), "{last}");
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
}

#[test]
fn ctrl_c_leaves_the_end_to_the_program() {
    let script = "trap 'echo caught; exit 3' TERM INT; echo ready; while :; do sleep 0.05; done";
    let mut command = command(&["doctor", "watch", "--", "/bin/sh", "-c", script]);
    command.env("PATH", "/usr/bin:/bin").stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it was built for this test");
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut line = String::new();
    output.read_line(&mut line).expect("it is text");
    assert_eq!(line, "ready\n");
    // Not from a terminal: it is passed on.
    kill_process(Pid::from_raw(child.id().cast_signed()).expect("it is not 0"), Signal::TERM).expect("it runs");
    line.clear();
    output.read_line(&mut line).expect("it is text");
    assert_eq!(line, "caught\n");
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
}

#[test]
fn a_log_that_cannot_be_followed_is_an_error() {
    assert_error(
        &roci(&["doctor", "watch", "--log", "/no/such/log"]),
        2,
        "cannot read `/no/such/log`",
        "choose a file",
    );
    assert_error(&roci(&["doctor", "watch", "--log", "/tmp"]), 2, "cannot read `/tmp`", "choose a file");
}
