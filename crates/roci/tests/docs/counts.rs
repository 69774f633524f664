//! Numbers in the documentation that the program knows.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::{regex, root};

/// Standard output of a successful `roci`.
fn roci(line: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_roci")).args(line.split(' ')).env_clear().output().expect("roci");
    assert!(output.status.success(), "`roci {line}`: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).expect("a page")
}

/// The numbers that the groups of a pattern find on a page, which must have it exactly once.
fn numbers(name: &str, pattern: &str) -> Vec<usize> {
    let page = page(name);
    let pattern = regex(pattern);
    let found: Vec<_> = pattern.captures_iter(&page).collect();
    assert_eq!(found.len(), 1, "{name} has `{pattern}` {} times", found.len());
    found[0]
        .iter()
        .skip(1)
        .map(|number| number.expect("a number").as_str().replace(',', "").parse().expect("a number"))
        .collect()
}

#[test]
fn probes_of_the_matrix() {
    // The first line is the heading.
    let probes = roci("matrix --list").lines().count() - 1;
    for (name, pattern) in [
        ("README.md", r"tests (\d+) operations"),
        ("CONTRIBUTING.md", r"# (\d+) operations on every device"),
        ("docs/reference/status.md", r"(\d+) probes on every device"),
    ] {
        assert_eq!(numbers(name, pattern), [probes], "{name}");
    }
}

#[test]
fn rules_of_the_doctor() {
    let rules = roci("doctor rules").lines().count() - 1;
    assert_eq!(numbers("docs/guide/doctor.md", r"It has (\d+) rules"), [rules]);
}

#[test]
fn built_in_experiments() {
    let row = regex(r"(?m)^\| `([a-z0-9-]+)` \| ");
    let page = page("docs/guide/lab.md");
    let table =
        page.split("| Built-in experiment |").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a table");
    let listed: BTreeSet<_> = row.captures_iter(table).map(|row| row[1].to_owned()).collect();
    let folder = fs::read_dir(root().join("crates/tools/lab/experiments")).expect("the experiments");
    let files = folder.map(|file| file.expect("a file").file_name().into_string().expect("UTF-8"));
    let real: BTreeSet<_> = files
        .filter_map(|file| file.strip_suffix(".toml").map(str::to_owned))
        .filter(|name| name != "template")
        .collect();
    assert_eq!(listed, real, "the table of docs/guide/lab.md");

    let checked: Value =
        serde_json::from_str(&roci("lab check gfx1010-pytorch --set python=python --json")).expect("JSON");
    let strategies = checked["strategies"].as_array().expect("a list").len();
    let operations = numbers("docs/guide/lab.md", r"(\d+) operations of PyTorch in three settings");
    assert_eq!(strategies, 3 * operations[0]);
}

#[test]
fn kernels_of_the_device_library() {
    let library: Value = serde_json::from_str(&roci("objects --library --json")).expect("JSON");
    let files = library["files"].as_array().expect("a list");
    let objects: Vec<_> = files.iter().flat_map(|file| file["objects"].as_array().expect("a list")).collect();
    let kernels: Vec<usize> =
        objects.iter().map(|object| object["kernels"].as_array().expect("a list").len()).collect();
    let common = *kernels.iter().min().expect("objects");
    let more = kernels.iter().max().expect("objects") - common;
    let bytes: usize = objects
        .iter()
        .map(|object| object["bytes"].as_u64().and_then(|bytes| bytes.try_into().ok()).unwrap_or(0))
        .sum();
    let name = "docs/reference/device-library.md";
    let row =
        r"code objects: (\d+) targets with (\d+) kernels each, (\d+) more on targets with matrix units \| ([\d,]+) \|";
    assert_eq!(numbers(name, row), [objects.len(), common, more, bytes]);
    let archive = fs::metadata(root().join("crates/kernels/device-library/library.zst")).expect("the archive").len();
    assert_eq!(
        numbers(name, r"archive, which the binary embeds \| ([\d,]+) \|"),
        [usize::try_from(archive).expect("small")]
    );
    assert_eq!(objects.len(), 11, "then correct `eleven AMD targets` in docs/reference/status.md");
    assert!(page("docs/reference/status.md").contains("prebuilt for eleven AMD targets"));
}

#[test]
fn chips_of_the_emulator() {
    let arguments = ["emu", "exec", "--gpu", "gfx9", "--", "true"];
    let output = Command::new(env!("CARGO_BIN_EXE_roci")).args(arguments).env_clear().output().expect("roci");
    let chip = regex(r"gfx1[0-9]{3}");
    let chips = |text: &str| chip.find_iter(text).map(|found| found.as_str().to_owned()).collect::<BTreeSet<_>>();
    let known = chips(&String::from_utf8_lossy(&output.stderr));
    assert!(known.len() > 3, "{output:?}");
    let guide = page("docs/guide/emulator.md");
    assert_eq!(
        chips(guide.split("Chips: ").nth(1).and_then(|rest| rest.split(", with").next()).expect("a list")),
        known
    );
    let status = page("docs/reference/status.md");
    let row = status.lines().find(|line| line.starts_with("| `roci emu run`")).expect("a row");
    assert_eq!(chips(row), known);
}
