//! Commits that the documentation cites are in the history of this branch.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use crate::{pages, regex, report, root};

fn git(arguments: &[&str]) -> std::io::Result<Output> {
    Command::new("git").args(arguments).current_dir(root()).output()
}

/// Why the history cannot be read: a package has none, a shallow clone has a part of it.
fn no_history() -> Option<String> {
    let output = match git(&["rev-parse", "--is-shallow-repository"]) {
        Ok(output) => output,
        Err(error) => return Some(format!("git does not start: {error}")),
    };
    match (output.status.success(), &*String::from_utf8_lossy(&output.stdout)) {
        (true, "false\n") => None,
        (true, _) => Some("the clone is shallow".to_owned()),
        (false, _) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// The commits that a text cites: `commit 1234abc`, `commits 1234abc, 5678def`.
fn cited(text: &str) -> BTreeSet<String> {
    let list = regex(r"\bcommits?\s+([0-9a-f]{7,40}(?:(?:,\s+|\s+and\s+)[0-9a-f]{7,40}\b)*)");
    let id = regex(r"[0-9a-f]{7,40}");
    list.captures_iter(text)
        .flat_map(|list| id.find_iter(&list[1]).map(|id| id.as_str().to_owned()).collect::<Vec<_>>())
        .collect()
}

fn is_ancestor(commit: &str) -> bool {
    git(&["merge-base", "--is-ancestor", commit, "HEAD"]).expect("git started before").status.success()
}

#[test]
fn cited_commits_are_in_the_history() {
    if let Some(reason) = no_history() {
        roci_testkit::absent(&format!("the history of the repository: {reason}"));
        return;
    }
    assert!(!is_ancestor("7b56d9ed") && is_ancestor("HEAD"), "a commit that does not exist is told apart");
    let mut problems = Vec::new();
    let mut count = 0;
    for (page, text) in pages() {
        for commit in cited(&text) {
            count += 1;
            if !is_ancestor(&commit) {
                problems.push(format!("{}: commit {commit} is not an ancestor of HEAD", page.display()));
            }
        }
    }
    report(&problems);
    assert!(count > 10, "only {count} commits are cited");
}

#[test]
fn citations_are_read() {
    let text = "On 2026-11-16, commits a4a591a, 359754f,\na44480f. Later (commit\n2dca700): commit messages.";
    assert_eq!(cited(text), ["2dca700", "359754f", "a44480f", "a4a591a"].map(str::to_owned).into());
}
