//! The structure of CHANGELOG.md, Keep a Changelog 1.1.0, which the release workflow parses.

use std::fs;

use crate::{regex, report, root};

const SECTIONS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

/// Errors in the structure of a changelog.
fn problems(text: &str) -> Vec<String> {
    let version = regex(r"^\[(\d+)\.(\d+)\.(\d+)\] - \d{4}-\d{2}-\d{2}$");
    let mut problems = Vec::new();
    let mut newer = None;
    let mut names = Vec::new();
    for (index, heading) in text.lines().filter_map(|line| line.strip_prefix("## ")).enumerate() {
        let number = |captures: &regex::Captures<'_>| {
            [1, 2, 3].map(|part| captures[part].parse::<u64>().expect("the pattern allows only digits"))
        };
        match version.captures(heading) {
            None if index == 0 && heading == "[Unreleased]" => names.push("Unreleased".to_owned()),
            Some(captures) if index > 0 => {
                let number = number(&captures);
                if newer.is_some_and(|newer| newer <= number) {
                    problems.push(format!("`{heading}` is below an older version"));
                }
                newer = Some(number);
                names.push(number.map(|part| part.to_string()).join("."));
            }
            _ => problems.push(format!("`{heading}`: first `[Unreleased]`, then `[1.2.3] - 2026-12-31`")),
        }
    }
    for heading in text.lines().filter_map(|line| line.strip_prefix("### ")) {
        if !SECTIONS.contains(&heading) {
            problems.push(format!("`{heading}` is not one of {SECTIONS:?}"));
        }
    }
    for name in names {
        if !text.lines().any(|line| line.starts_with(&format!("[{name}]: https://"))) {
            problems.push(format!("`[{name}]` has no link at the end"));
        }
    }
    problems
}

#[test]
fn the_changelog_has_the_form_of_keep_a_changelog() {
    let text = fs::read_to_string(root().join("CHANGELOG.md")).expect("the changelog");
    report(&problems(&text));
    assert!(text.contains(&format!("\n## [{}] - ", env!("CARGO_PKG_VERSION"))), "the version in Cargo.toml");
}

#[test]
fn wrong_forms_are_found() {
    let links = "[Unreleased]: https://x\n[0.2.0]: https://x\n[0.1.0]: https://x\n";
    let good = "## [Unreleased]\n### Added\n## [0.2.0] - 2026-12-31\n### Fixed\n## [0.1.0] - 2026-11-18\n";
    assert!(problems(&format!("{good}{links}")).is_empty());
    for (from, to, problem) in [
        ("## [Unreleased]\n", "", "first `[Unreleased]`"),
        ("2026-12-31", "December", "first `[Unreleased]`"),
        ("[0.2.0] -", "[0.0.9] -", "below an older version"),
        ("### Fixed", "### Repaired", "is not one of"),
        ("[0.1.0]: https", "0.1.0: https", "has no link"),
    ] {
        let wrong = format!("{good}{links}").replace(from, to);
        assert!(problems(&wrong).iter().any(|one| one.contains(problem)), "{wrong}: {:?}", problems(&wrong));
    }
}
