//! Every script says what it does and how to call it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use roci_testkit::require;
use roci_testkit::tools::Tool;

use crate::{report, root};

/// All scripts, without the modules that some of them import.
fn scripts() -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join("scripts")).expect("the scripts");
    let files = folder.map(|script| script.expect("a file").path());
    files.filter(|file| file.extension().is_none_or(|extension| extension != "py")).collect()
}

/// Errors in the header of a script: the comment or docstring after the first line.
fn problem(name: &str, text: &str) -> Option<String> {
    let mut lines = text.lines();
    if !lines.next().is_some_and(|line| line.starts_with("#!/usr/bin/env ")) {
        return Some(format!("{name}: the first line does not name the interpreter"));
    }
    let first = lines.next().unwrap_or_default();
    let header: Vec<&str> = if first.starts_with("\"\"\"") {
        lines.take_while(|line| !line.starts_with("\"\"\"")).collect()
    } else {
        lines.take_while(|line| line.starts_with('#')).collect()
    };
    let is_call = |line: &&&str| line.starts_with("    ") || line.starts_with("#   ");
    if first.trim_matches(['#', '"', ' ']).is_empty() {
        Some(format!("{name}: the header does not say what it does"))
    } else if !header.iter().filter(is_call).any(|line| line.contains(name)) {
        Some(format!("{name}: the header does not show how to call it"))
    } else {
        None
    }
}

#[test]
fn every_script_has_a_header() {
    let check = |script: PathBuf| {
        let name = script.file_name().and_then(|name| name.to_str()).expect("UTF-8").to_owned();
        problem(&name, &fs::read_to_string(script).expect("a script"))
    };
    let problems: Vec<_> = scripts().into_iter().filter_map(check).collect();
    report(&problems);
}

#[test]
fn every_script_prints_help() {
    if require("python3", Tool::find(&["python3"])).is_none() {
        return;
    }
    let mut problems = Vec::new();
    for script in scripts() {
        let output = Command::new(&script).arg("--help").output().expect("the script is executable");
        let name = script.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        if !output.status.success() || !String::from_utf8_lossy(&output.stdout).contains(name) {
            problems.push(format!("scripts/{name} --help: {output:?}"));
        }
    }
    report(&problems);
}

#[test]
fn headers_without_purpose_or_call_are_found() {
    let of = |text: &str| problem("make-a", text).unwrap_or_default();
    assert_eq!(of("#!/usr/bin/env python3\n\"\"\"Makes.\n\n    scripts/make-a [B]\n\"\"\"\nimport sys\n"), "");
    assert_eq!(of("#!/usr/bin/env bash\n# Makes.\n#\n#   scripts/make-a [B]\n\nset -e\n"), "");
    assert!(of("#!/usr/bin/env bash\n# Makes.\n\nscripts/make-a\n").contains("how to call"));
    assert!(of("#!/usr/bin/env bash\n#\n#   make-a\n").contains("what it does"));
    assert!(of("# Makes.\n").contains("interpreter"));
}
