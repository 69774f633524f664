//! The report of golden file differences: the sources as files, and a diff.

use std::fmt::Write as _;
use std::io;
use std::ops::Range;
use std::path::Path;

use crate::files::{Problem, write_file};

/// Maximum printed lines per diff; the written files have the rest.
const SHOWN_LINES: usize = 40;
/// Context lines around a change.
const CONTEXT: usize = 3;
/// Above this many line pairs, the diff is a single block, because matching lines would take
/// seconds.
const MAX_PAIRS: usize = 4_000_000;

/// Writes the sources of `problems` to `old/…` and `new/…` in `folder`, and describes the problems.
pub(crate) fn report(problems: &[Problem<'_>], folder: &Path) -> io::Result<String> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut names = String::new();
    let mut differences = String::new();
    for problem in problems {
        let _ = writeln!(names, "{}", describe(problem));
        if let Problem::Changed { id, code, .. } | Problem::Added { id, code } = problem {
            let (new, source) = (folder.join("new").join(id.path()), code.source());
            write_file(&new, &source)?;
            if let Problem::Changed { old: Some(known), .. } = problem {
                let old = folder.join("old").join(id.path());
                write_file(&old, known)?;
                let _ = writeln!(differences, "--- {}\n+++ {}", old.display(), new.display());
                differences.push_str(&shortened(&unified(known, &source)));
            }
        }
    }
    Ok(format!(
        "{} problems with golden files\n\n{names}\n{differences}\n\
         The sources are in {}: `new` has every source that changed, `old` the full sources before.\n\
         CONTRIBUTING.md says how to get the other old sources. If the change is intended, run again with ROCI_BLESS=1 \
         and review `git diff crates/kernels/select/golden`.",
        problems.len(),
        folder.display(),
    ))
}

fn describe(problem: &Problem<'_>) -> String {
    match problem {
        Problem::Changed { id, .. } => format!("changed: {id}"),
        Problem::Added { id, .. } => format!("not in the manifest: {id}"),
        Problem::Removed(id) => format!("stale manifest entry: {id}"),
        Problem::Stale(path) => format!("stale full source: {}", path.display()),
        Problem::Uncovered { feature, id } => format!("no full source covers `{feature}`, which `{id}` uses"),
        Problem::Form => "the manifest is not as ROCI_BLESS=1 writes it".to_owned(),
    }
}

fn shortened(difference: &str) -> String {
    let mut excerpt: String = difference.split_inclusive('\n').take(SHOWN_LINES).collect();
    match difference.lines().count().saturating_sub(SHOWN_LINES) {
        0 => {}
        more => {
            let _ = writeln!(excerpt, "({more} more lines)");
        }
    }
    excerpt
}

/// The hunks of a unified diff.
fn unified(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let edits = edits(&old, &new);
    let mut hunks: Vec<Range<usize>> = Vec::new();
    for (at, _) in edits.iter().enumerate().filter(|(_, (sign, _))| *sign != ' ') {
        let (start, end) = (at.saturating_sub(CONTEXT), (at + CONTEXT + 1).min(edits.len()));
        match hunks.last_mut() {
            Some(last) if start <= last.end => last.end = end,
            _ => hunks.push(start..end),
        }
    }
    let count = |range: &[(char, &str)], other: char| range.iter().filter(|(sign, _)| *sign != other).count();
    let mut text = String::new();
    for hunk in hunks {
        let (before, within) = (&edits[..hunk.start], &edits[hunk]);
        let [old, new] = ['+', '-'].map(|other| format!("{},{}", count(before, other) + 1, count(within, other)));
        let _ = writeln!(text, "@@ -{old} +{new} @@");
        for (sign, line) in within {
            let _ = writeln!(text, "{sign}{line}");
        }
    }
    text
}

/// The lines of both versions in order, each with a marker: space for unchanged, `-` for removed,
/// `+` for added.
fn edits<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let (a, b) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);

    let mut edits: Vec<(char, &str)> = old[..head].iter().map(|line| (' ', *line)).collect();
    let common = if a.len() * b.len() <= MAX_PAIRS { longest_common(a, b) } else { Vec::new() };
    let (mut i, mut j) = (0, 0);
    for (next_i, next_j) in common.into_iter().chain([(a.len(), b.len())]) {
        edits.extend(a[i..next_i].iter().map(|line| ('-', *line)));
        edits.extend(b[j..next_j].iter().map(|line| ('+', *line)));
        edits.extend(a.get(next_i).map(|line| (' ', *line)));
        (i, j) = (next_i + 1, next_j + 1);
    }
    edits.extend(old_rest[a.len()..].iter().map(|line| (' ', *line)));
    edits
}

/// The longest common subsequence, as indices into both lists.
fn longest_common(a: &[&str], b: &[&str]) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    // `lengths[i * width + j]` is the length for the suffixes `a[i..]` and `b[j..]`.
    let mut lengths = vec![0u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            lengths[i * width + j] = match a[i] == b[j] {
                true => lengths[(i + 1) * width + j + 1] + 1,
                false => lengths[(i + 1) * width + j].max(lengths[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut common) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            common.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    common
}

#[test]
fn a_diff_has_the_changed_lines_and_their_context() {
    let old: String = (1..=20).map(|line| format!("{line}\n")).collect();
    let new = old.replace("\n5\n", "\nfive\n").replace("\n18\n", "\n").replace("\n19\n", "\n19\n19.5\n");
    let expected = "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n\
                  @@ -15,6 +15,6 @@\n 15\n 16\n 17\n-18\n 19\n+19.5\n 20\n";
    assert_eq!(unified(&old, &new), expected);
    assert_eq!(unified(&old, &old), "");
    assert_eq!(unified("", "a\n"), "@@ -1,0 +1,1 @@\n+a\n");
}

#[test]
fn a_long_diff_is_truncated_with_the_number_of_omitted_lines() {
    let new: String = (0..100).map(|line| format!("{line}\n")).collect();
    let excerpt = shortened(&unified("", &new));
    assert_eq!(excerpt.lines().count(), SHOWN_LINES + 1);
    assert!(excerpt.ends_with("(61 more lines)\n"), "{excerpt}");
}
