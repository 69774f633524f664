//! Text helpers: counted nouns, and shortened names from outside.

use crate::report::one_line;

/// A name for error messages: one line, shortened.
pub(crate) fn cut(name: &str) -> String {
    const MAX_LENGTH: usize = 60;
    let name = one_line(name);
    match name.char_indices().nth(MAX_LENGTH) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

/// A number with its noun: `1 run`, `3 runs`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// A shortened list of names.
pub(crate) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    const MAX_ENTRIES: usize = 12;
    let displayed: Vec<String> = names.iter().take(MAX_ENTRIES).map(|name| cut(name.as_ref())).collect();
    let more =
        if names.len() > MAX_ENTRIES { format!(" and {} more", names.len() - MAX_ENTRIES) } else { String::new() };
    format!("{}{more}", displayed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_and_lists_are_counted() {
        assert_eq!(cut("sdma\n-off"), "sdma -off");
        assert_eq!(cut(&"ü".repeat(61)), format!("{}…", "ü".repeat(60)));
        assert_eq!([count(1, "run", "runs"), count(0, "run", "runs")], ["1 run", "0 runs"]);
        assert_eq!(listed(&["a", "b"]), "a, b");
        assert!(listed(&["x"; 14]).ends_with("x and 2 more"));
    }
}
