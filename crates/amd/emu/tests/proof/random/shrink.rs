//! Minimizes a failing program: removes lines and blocks as long as it still fails.

/// The smallest text that still fails. `fails` must hold for the input.
pub(super) fn shrink(text: &str, fails: impl Fn(&str) -> bool) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    loop {
        let before = lines.len();
        let mut at = 0;
        while at < lines.len() {
            let end = block_end(&lines, at);
            let without: Vec<&str> = lines[..at].iter().chain(&lines[end..]).copied().collect();
            let inside = (end - at > 2).then(|| [&lines[..at], &lines[at + 1..end - 1], &lines[end..]].concat());
            if end > at && fails(&without.join("\n")) {
                lines = without;
            } else if let Some(inside) = inside
                && fails(&inside.join("\n"))
            {
                // Remove the block, keep its contents.
                lines = inside;
            } else {
                at += 1;
            }
        }
        if lines.len() == before {
            return lines.join("\n");
        }
    }
}

/// Removes the first block whose opening line contains `opening`.
pub(super) fn without_block(text: &str, opening: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let Some(at) = lines.iter().position(|line| line.contains(opening)) else { return text.to_owned() };
    [&lines[..at], &lines[block_end(&lines, at)..]].concat().join("\n")
}

/// End of a line, or of the block that it opens. The line itself if it closes a block.
fn block_end(lines: &[&str], start: usize) -> usize {
    let depth = |line: &str| line.matches('{').count() as i32 - line.matches('}').count() as i32;
    match depth(lines[start]) {
        0 => start + 1,
        // A closing line is removed together with its opening line.
        open if open < 0 => start,
        mut open => {
            for (offset, line) in lines[start + 1..].iter().enumerate() {
                open += depth(line);
                if open <= 0 {
                    return start + offset + 2;
                }
            }
            lines.len()
        }
    }
}

/// A program is minimized to the part that fails.
pub(super) fn proof() -> Result<(), String> {
    let text = "a {\n    x;\n    if (1) {\n        bug;\n        y;\n    }\n}\nb {\n    z;\n}";
    let small = shrink(text, |text| text.contains("bug") && text.contains("a {"));
    if small == "a {\n        bug;\n}" { Ok(()) } else { Err(format!("got {small:?}")) }
}
