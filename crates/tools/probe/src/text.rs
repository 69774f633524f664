//! Text of drivers and devices, made safe for terminals and tables.

/// Joins the lines of a message by semicolons and replaces control characters, which a driver or a
/// file may put into it.
pub fn one_line(text: &str) -> String {
    let text = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    // A terminal would execute escape sequences.
    text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_become_one_line() {
        assert_eq!(one_line("first\n  second\n"), "first; second");
        assert_eq!(one_line("a\u{1b}[2Jb\tc"), "a [2Jb c");
    }
}
