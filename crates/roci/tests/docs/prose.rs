//! The form of the text: short paragraphs, and lines that fit into a terminal.

use crate::{pages, regex, report};

/// A paragraph that is longer is split or becomes a list.
const MAX_LINES: usize = 5;
const MAX_COLUMNS: usize = 100;

/// What is too long on a page. Tables and code are exempt.
fn too_long(text: &str) -> Vec<String> {
    let item = regex(r"^\s*(?:[-*]|\d+\.) ");
    let (mut start, mut length) = (0, 0);
    let mut is_fenced = false;
    let mut problems = Vec::new();
    for (number, line) in text.lines().chain([""]).enumerate().map(|(index, line)| (index + 1, line)) {
        let is_fence = line.starts_with("```");
        is_fenced ^= is_fence;
        let is_table = line.trim_start().starts_with('|');
        let is_code = is_fenced || is_fence || (line.starts_with("    ") && length == 0 && !item.is_match(line));
        if !is_code && !is_table && line.chars().count() > MAX_COLUMNS {
            problems.push(format!("{number}: the line has more than {MAX_COLUMNS} columns"));
        }
        let is_item = item.is_match(line) && !is_code;
        if is_item || is_code || is_table || line.trim().is_empty() || line.starts_with('#') {
            if length > MAX_LINES {
                problems.push(format!("{start}: the paragraph has {length} lines; at most {MAX_LINES}"));
            }
            (start, length) = (number, usize::from(is_item));
        } else {
            if length == 0 {
                start = number;
            }
            length += 1;
        }
    }
    problems
}

#[test]
fn paragraphs_and_lines_are_short() {
    let problems: Vec<_> = pages()
        .iter()
        .flat_map(|(page, text)| too_long(text).into_iter().map(move |problem| format!("{}:{problem}", page.display())))
        .collect();
    report(&problems);
}

#[test]
fn long_paragraphs_and_lines_are_found() {
    let five = "a\n".repeat(5);
    assert!(too_long(&format!("{five}\n{five}\n- {five}- {five}")).is_empty());
    assert_eq!(too_long(&format!("# Title\n\n{five}a\n")), ["3: the paragraph has 6 lines; at most 5"]);
    assert_eq!(too_long(&format!("{five}\n- {five}  a\n- b\n")), ["7: the paragraph has 6 lines; at most 5"]);
    let long = "x".repeat(101);
    assert_eq!(too_long(&format!("{long}\n")), ["1: the line has more than 100 columns"]);
    assert!(too_long(&format!("| {long} |\n\n    {long}\n\n```\n{long}\n```\n")).is_empty());
}
