//! Words for people: numbers with what they count, and names of others that are not too long to echo.

use crate::report::one_line;

/// A name as errors echo it: one line, and not a long one.
pub(crate) fn cut(name: &str) -> String {
    const LONGEST: usize = 60;
    let name = one_line(name);
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

/// A number and what it counts: `1 run`, `3 runs`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// Names in a line: as many as it holds.
pub(crate) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    const MOST: usize = 12;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| cut(name.as_ref())).collect();
    let more = if names.len() > MOST { format!(" and {} more", names.len() - MOST) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_cut_and_what_is_many_is_counted() {
        assert_eq!(cut("sdma\n-off"), "sdma -off");
        assert_eq!(cut(&"ü".repeat(61)), format!("{}…", "ü".repeat(60)));
        assert_eq!([count(1, "run", "runs"), count(0, "run", "runs")], ["1 run", "0 runs"]);
        assert_eq!(listed(&["a", "b"]), "a, b");
        assert!(listed(&["x"; 14]).ends_with("x and 2 more"));
    }
}
