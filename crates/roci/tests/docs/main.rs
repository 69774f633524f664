//! The documentation is checked against the repository: links, paths, crates, commands with their
//! flags, environment variables; counts, tables, sample outputs, cited commits, dependencies
//! between layers, the form of paragraphs and of the changelog, and the help of scripts.

mod changelog;
mod counts;
mod history;
mod layers;
#[path = "../../../tools/doctor/tests/common/mod.rs"]
mod machines;
mod prose;
mod reference;
mod samples;
mod scripts;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Every Markdown page of the repository with its text. Changelog entries describe the past, so
/// only links are checked there.
fn pages() -> Vec<(PathBuf, String)> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let (path, name) = (entry.path(), entry.file_name().into_string().expect("UTF-8"));
            if path.is_dir() && name != "target" && (!name.starts_with('.') || name == ".github") {
                collect(&path, found);
            } else if name.ends_with(".md") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    collect(&root(), &mut found);
    assert!(found.len() > 20, "only {} pages", found.len());
    found.into_iter().map(|path| (path.clone(), fs::read_to_string(path).expect("a page"))).collect()
}

fn is_changelog(page: &Path) -> bool {
    page.ends_with("CHANGELOG.md")
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern")
}

/// GitHub's anchor of a heading.
fn anchor(heading: &str) -> String {
    let is_kept = |one: char| one.is_alphanumeric() || matches!(one, '-' | '_' | ' ');
    heading
        .trim()
        .to_lowercase()
        .chars()
        .filter(|one| is_kept(*one))
        .map(|one| if one == ' ' { '-' } else { one })
        .collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    text.lines().filter_map(|line| line.strip_prefix('#')).map(|line| anchor(line.trim_start_matches('#'))).collect()
}

/// Code of a page: indented or fenced blocks, and spans between backticks.
fn code(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut continues = false;
    for line in text.lines().filter(|line| line.starts_with("    ")) {
        let line = line.trim().trim_start_matches("$ ");
        match found.last_mut().filter(|_| continues) {
            Some(last) => last.push_str(line),
            None => found.push(line.to_owned()),
        }
        continues = line.ends_with('\\');
    }
    found.extend(regex("`([^`\n]+)`").captures_iter(text).map(|span| span[1].to_owned()));
    found
}

fn report(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn links_lead_to_pages_and_headings() {
    let link = regex(r"\]\(([^)\s]+)\)");
    let mut problems = Vec::new();
    for (page, text) in pages() {
        for target in link.captures_iter(&text).map(|link| link[1].to_owned()) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let to = if file.is_empty() { page.clone() } else { page.parent().expect("a folder").join(file) };
            if !to.exists() {
                problems.push(format!("{}: `{target}` does not exist", page.display()));
            } else if !heading.is_empty() && !anchors(&fs::read_to_string(&to).expect("a page")).contains(heading) {
                problems.push(format!("{}: `{target}` has no such heading", page.display()));
            }
        }
    }
    report(&problems);
}

#[test]
fn paths_exist() {
    let path = regex(r"(?:^|[\s`(])((?:crates|docs|examples|fuzz|scripts)/[A-Za-z0-9_./-]*[A-Za-z0-9_/-])");
    let mut problems = Vec::new();
    for (page, text) in pages().into_iter().filter(|(page, _)| !is_changelog(page)) {
        for code in code(&text) {
            for found in path.captures_iter(&code).map(|found| found[1].to_owned()) {
                let artifact = found.starts_with("fuzz/artifacts");
                let pattern = code.contains(&format!("{found}*")) || code.contains(&format!("{found}<"));
                if !artifact && !pattern && !root().join(&found).exists() {
                    problems.push(format!("{}: `{found}` does not exist", page.display()));
                }
            }
        }
    }
    report(&problems);
}

/// What cargo knows of the crates.
fn metadata() -> serde_json::Value {
    let output =
        Command::new(env!("CARGO")).args(["metadata", "--no-deps", "--format-version=1", "--offline"]).output();
    serde_json::from_slice(&output.expect("cargo").stdout).expect("JSON")
}

/// The folder of a package of [`metadata`] in the repository.
fn folder(package: &serde_json::Value) -> String {
    let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
    let folder = manifest.parent().expect("a folder").strip_prefix(root()).expect("a folder of the repository");
    folder.display().to_string()
}

/// Folder and name of every crate.
fn crates() -> Vec<(String, String)> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    packages.iter().map(|package| (folder(package), package["name"].as_str().expect("a name").to_owned())).collect()
}

#[test]
fn the_crate_map_lists_every_crate_in_its_folder() {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("a page");
    let row = regex(r"(?m)^\| `([a-z0-9-]+)` \| `([a-z0-9/-]+)` \|");
    let listed: BTreeSet<_> = row.captures_iter(&page).map(|row| (row[2].to_owned(), row[1].to_owned())).collect();
    let real: BTreeSet<_> = crates().into_iter().collect();
    let missing: Vec<_> = real.difference(&listed).collect();
    let unknown: Vec<_> = listed.difference(&real).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing: {missing:?}; no such crate: {unknown:?}");
}

#[test]
fn commands_name_crates_that_exist() {
    let package = regex(r"\bcargo .*?-p ([a-z0-9-]+)");
    let names: BTreeSet<_> = crates().into_iter().map(|(_, name)| name).collect();
    let mut problems = Vec::new();
    for (page, text) in pages().into_iter().filter(|(page, _)| !is_changelog(page)) {
        for code in code(&text) {
            for name in package.captures_iter(&code).map(|found| found[1].to_owned()) {
                if !names.contains(&name) {
                    problems.push(format!("{}: there is no crate `{name}`", page.display()));
                }
            }
        }
    }
    report(&problems);
}

/// The help of a verb, or of a verb of a verb.
fn help(words: &[&str]) -> Option<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_roci")).args(words).arg("--help").env_clear().output().expect("roci");
    output.status.success().then(|| String::from_utf8(output.stdout).expect("UTF-8"))
}

#[test]
fn commands_name_verbs_and_flags_that_exist() {
    let mut problems = Vec::new();
    for (page, text) in pages().into_iter().filter(|(page, _)| !is_changelog(page)) {
        for code in code(&text) {
            // A comment or a pipe ends the command; arguments of a program under `emu exec` are not
            // checked.
            let mut words = code.split_whitespace();
            if words.next() != Some("roci") {
                continue;
            }
            let Some(verb) = words.next().filter(|verb| verb.chars().all(|one| one.is_ascii_lowercase() || one == '-'))
            else {
                continue;
            };
            if verb.starts_with("--") || verb == "help" {
                continue;
            }
            let rest: Vec<&str> = words.take_while(|word| !matches!(*word, "|" | "#" | "--" | "&&" | ";")).collect();
            let below = rest
                .first()
                .copied()
                .filter(|word| help(&[verb, word]).is_some_and(|_| matches!(verb, "doctor" | "emu" | "lab")));
            let Some(text) = help(&below.map_or(vec![verb], |below| vec![verb, below])) else {
                problems.push(format!("{}: `{code}`: there is no verb `{verb}`", page.display()));
                continue;
            };
            for flag in rest.iter().filter(|word| word.starts_with("--")) {
                let name = flag.split('=').next().unwrap_or(flag).trim_end_matches(|one: char| !one.is_alphanumeric());
                if !regex(&format!(r"{}\b", regex::escape(name))).is_match(&text) {
                    problems.push(format!("{}: `{code}`: `roci {verb}` has no `{name}`", page.display()));
                }
            }
        }
    }
    report(&problems);
}

#[test]
fn environment_variables_exist() {
    let name = regex(r"\bROCI_[A-Z0-9_]+\b");
    // Variables of tests and scripts are not in `roci env`: their sources must read them.
    let mut sources = String::new();
    for folder in ["crates", "scripts", ".ci", "fuzz"] {
        let arguments = ["-rhoE", "ROCI_[A-Z0-9_]+", "--include=*.rs", "--exclude-dir=docs", folder];
        let output = Command::new("grep").args(arguments).current_dir(root()).output().expect("grep");
        sources.push_str(&String::from_utf8_lossy(&output.stdout));
    }
    sources.push_str(&fs::read_to_string(root().join("test")).expect("the test command"));
    let known: BTreeSet<&str> = name.find_iter(&sources).map(|found| found.as_str()).collect();
    let mut problems = Vec::new();
    for (page, text) in pages().into_iter().filter(|(page, _)| !is_changelog(page)) {
        for found in name.find_iter(&text).filter(|found| !known.contains(found.as_str())) {
            problems.push(format!("{}: nothing reads `{}`", page.display(), found.as_str()));
        }
    }
    report(&problems);
}

#[test]
fn the_table_of_contents_lists_every_page() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).expect("a page");
    let folder = root().join("docs");
    let pages = pages()
        .into_iter()
        .filter_map(|(page, _)| page.strip_prefix(&folder).ok().map(|page| page.display().to_string()));
    let missing: Vec<_> =
        pages.filter(|page| page != "SUMMARY.md" && !summary.contains(&format!("({page})"))).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md does not list {missing:?}");
}

#[test]
fn every_dependency_has_one_row() {
    let page = fs::read_to_string(root().join("docs/reference/dependencies.md")).expect("a page");
    let cell = regex(r"(?m)^\| ([a-z][a-z0-9_, -]*) \|");
    let mut rows: Vec<_> =
        cell.captures_iter(&page).flat_map(|row| row[1].split(", ").map(str::to_owned).collect::<Vec<_>>()).collect();
    rows.sort();
    let mut manifest = fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    manifest = manifest
        .split("[workspace.dependencies]")
        .nth(1)
        .and_then(|rest| rest.split("\n[").next())
        .expect("a table")
        .to_owned();
    let name = regex(r"(?m)^([a-z0-9_-]+) = ");
    let mut used: Vec<_> =
        name.captures_iter(&manifest).map(|line| line[1].to_owned()).filter(|name| !name.starts_with("roci")).collect();
    used.sort();
    assert_eq!(rows, used, "rows of docs/reference/dependencies.md, and `[workspace.dependencies]`");
}
