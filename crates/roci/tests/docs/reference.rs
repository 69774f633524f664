//! Tables that are generated from the program: environment variables, verbs and exit codes.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use roci_base::env::VARIABLES;

use crate::{regex, root};

fn page(name: &str) -> String {
    fs::read_to_string(root().join("docs/reference").join(name)).expect("a page")
}

/// The long help of `roci`.
fn help() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_roci")).arg("--help").env_clear().output().expect("roci");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The page, with the generated table between the comments.
fn with_table(page: &str, table: &str) -> String {
    let (before, rest) = page.split_once("<!-- variables").expect("the comment above the table");
    let (comment, rest) = rest.split_once('\n').expect("the table");
    let (_, after) = rest.split_once("<!-- end -->").expect("the comment below the table");
    format!("{before}<!-- variables{comment}\n{table}<!-- end -->{after}")
}

/// The table of all declared variables.
fn variables() -> String {
    let row = |variable: &&roci_base::env::Variable| {
        format!("| `{}` | {} | {} |\n", variable.name, variable.default, variable.help)
    };
    let rows: String = VARIABLES.iter().map(row).collect();
    format!("| Variable | Default | Meaning |\n| --- | --- | --- |\n{rows}")
}

#[test]
fn every_environment_variable_is_in_the_table() {
    let text = page("environment.md");
    let expected = with_table(&text, &variables());
    if roci_testkit::bless() {
        fs::write(root().join("docs/reference/environment.md"), &expected).expect("the page can be written");
    }
    assert_eq!(page("environment.md"), expected, "ROCI_BLESS=1 writes the table");
}

#[test]
fn a_missing_and_an_additional_variable_are_found() {
    let current = with_table(&page("environment.md"), &variables());
    let missing = current.replacen(&format!("| `{}` |", VARIABLES[0].name), "| `OTHER` |", 1);
    let more = current.replace("<!-- end -->", "| `ROCI_DEVICES` | unset | devices |\n<!-- end -->");
    for wrong in [missing, more] {
        assert_ne!(wrong, current);
        assert_eq!(with_table(&wrong, &variables()), current);
    }
}

/// The first words of the lines below a heading of the help.
fn listed(help: &str, heading: &str) -> BTreeSet<String> {
    let word = regex(r"(?m)^ {2,4}([a-z0-9-]+)(?: |$)");
    let section = help.split(heading).nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a section");
    word.captures_iter(section).map(|line| line[1].to_owned()).collect()
}

/// The first cells of the table rows that match a pattern.
fn rows(text: &str, pattern: &str) -> BTreeSet<String> {
    regex(pattern).captures_iter(text).map(|row| row[1].to_owned()).collect()
}

#[test]
fn every_verb_has_a_row() {
    let mut verbs = listed(&help(), "Commands:\n");
    verbs.remove("help");
    assert!(verbs.contains("doctor") && !verbs.contains("matrix-probe"), "{verbs:?}");
    assert_eq!(rows(&page("commands.md"), r"(?m)^\| `roci ([a-z-]+)` \|"), verbs);
}

#[test]
fn every_exit_code_has_a_row() {
    let mut codes = listed(&help(), "Exit codes:\n");
    // Long explanations continue on the next line.
    codes.retain(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    assert!(codes.contains("127"), "{codes:?}");
    assert_eq!(rows(&page("commands.md"), r"(?m)^\| (\d+) \|"), codes);
}

#[test]
fn verbs_and_rows_are_read() {
    let help = "About.\n\nCommands:\n  bench    measures\n           more\n  man\n\nOptions:\n  -q, --quiet\n";
    assert_eq!(listed(help, "Commands:\n"), ["bench", "man"].map(str::to_owned).into());
    assert_eq!(rows("| `roci bench` | x |\n| `roci` |\n", r"(?m)^\| `roci ([a-z-]+)` \|"), ["bench".to_owned()].into());
}
