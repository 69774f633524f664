//! Records skipped tests in a file: runners such as cargo-nextest hide the output of passing tests.
//!
//! `ROCI_SKIPPED` names the file, which `./test` creates and prints at the end. A line is the
//! reason, a tab, and the test. Duplicate lines of one test (a binary that is run once to list its
//! tests, then to run them) count once.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use crate::env;
use crate::require::note;

/// Records that `place` (a test, or a case of a suite) was not run or was allowed to fail, and why.
///
/// Does nothing unless `ROCI_SKIPPED` names a file.
///
/// # Panics
/// If the file cannot be written: the skip would go unreported.
pub fn skipped(place: &str, reason: &str) {
    let Some(file) = env::read(env::SKIPPED).filter(|file| !file.is_empty()) else { return };
    if let Err(error) = append(Path::new(&file), place, reason) {
        panic!("cannot write to `{file}`, which {} names: {error}", env::SKIPPED);
    }
}

/// Reports something missing on standard error and with [`skipped`]. The calling test should then
/// return.
pub fn absent(reason: &str) {
    note(&format!("absent: {reason}"));
    skipped(&here(), reason);
}

/// The running test binary, and the test's name if it runs on its own thread, as in the standard
/// harness.
pub(crate) fn here() -> String {
    let binary = std::env::current_exe().unwrap_or_default();
    let binary = binary.file_stem().unwrap_or_default().to_string_lossy();
    format!("{binary} {}", std::thread::current().name().unwrap_or_default())
}

/// Appends a line with a single write in append mode, because many processes write concurrently.
fn append(file: &Path, place: &str, reason: &str) -> std::io::Result<()> {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("{}\t{}\n", one_line(reason), one_line(place));
    OpenOptions::new().append(true).create(true).open(file)?.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::{require, tools::Tool};

    /// Marks the child process that [`in_a_child`] starts.
    const CHILD: &str = "ROCI_TESTKIT_CHILD";

    /// Runs `work` in a child process by running the test `name` again, and returns what it
    /// recorded.
    fn in_a_child(name: &str, work: fn()) -> Option<String> {
        if env::read(CHILD).is_some() {
            work();
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("skipped");
        let output = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", &format!("skipped::tests::{name}")])
            .env(CHILD, "1")
            .env(env::SKIPPED, &file)
            .env_remove(env::REQUIRE)
            .output()
            .expect("this binary starts");
        assert!(output.status.success(), "{output:?}");
        Some(std::fs::read_to_string(file).unwrap_or_default())
    }

    #[test]
    fn an_absent_tool_reaches_the_file() {
        let written = in_a_child("an_absent_tool_reaches_the_file", || {
            assert!(require("rusticl", Tool::find(&["no-such-program-of-ours"])).is_none());
        });
        let Some(written) = written else { return };
        let (reason, place) = written.split_once('\t').expect("a reason and a place");
        assert_eq!(reason, "rusticl: none of these is on PATH: no-such-program-of-ours");
        assert!(place.starts_with("roci_testkit-") && written.ends_with('\n'), "{written}");
        assert_eq!(written.lines().count(), 1, "{written}");
    }

    #[test]
    fn available_tools_are_not_reported() {
        let written = in_a_child("available_tools_are_not_reported", || {
            assert_eq!(require("rusticl", Ok::<_, String>(3)), Some(3));
        });
        assert_eq!(written.unwrap_or_default(), "");
    }

    #[test]
    fn writers_at_once_lose_no_line() {
        const LINES: usize = 2000;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("skipped");
        // Each write opens the file anew, so two threads behave like two processes.
        std::thread::scope(|scope| {
            for writer in ["first", "second"] {
                let file = &file;
                scope.spawn(move || {
                    for line in 0..LINES {
                        append(file, writer, &format!("{line}")).expect("it can be written");
                    }
                });
            }
        });
        let written = std::fs::read_to_string(&file).expect("it exists");
        for writer in ["first", "second"] {
            let lines = written.lines().filter_map(|line| line.strip_suffix(writer)?.strip_suffix('\t'));
            assert!(lines.eq((0..LINES).map(|line| line.to_string())), "lines of the {writer} writer");
        }
        assert_eq!(written.lines().count(), 2 * LINES);
    }

    #[test]
    fn a_reason_of_many_lines_is_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("skipped");
        append(&file, "a/case", "wrong:\n\tgot 1\n\twanted 2\n").expect("it can be written");
        assert_eq!(std::fs::read_to_string(&file).expect("it exists"), "wrong: got 1 wanted 2\ta/case\n");
    }
}
