//! Makes a failing program smaller: lines and blocks go as long as it still fails.

/// The smallest text found that still fails. `fails` must hold for the text itself.
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
                // The block goes, what it held stays.
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

/// The text without the first block whose opening line has `opening` in it.
pub(super) fn without_block(text: &str, opening: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let Some(at) = lines.iter().position(|line| line.contains(opening)) else { return text.to_owned() };
    [&lines[..at], &lines[block_end(&lines, at)..]].concat().join("\n")
}

/// Where a line ends, or the block that it opens; the line itself if it closes one.
fn block_end(lines: &[&str], start: usize) -> usize {
    let depth = |line: &str| line.matches('{').count() as i32 - line.matches('}').count() as i32;
    match depth(lines[start]) {
        0 => start + 1,
        // What closes a block goes with its opening.
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

/// A program shrinks to what makes it fail.
pub(super) fn proof() -> Result<(), String> {
    let text = "a {\n    x;\n    if (1) {\n        bug;\n        y;\n    }\n}\nb {\n    z;\n}";
    let small = shrink(text, |text| text.contains("bug") && text.contains("a {"));
    if small == "a {\n        bug;\n}" { Ok(()) } else { Err(format!("got {small:?}")) }
}
