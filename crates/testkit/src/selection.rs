//! Which tests of a binary this process may run.

/// Whether this process may run a test whose name starts with `prefix`.
///
/// A runner with a process per test passes `--exact NAME`. Building the other tests of the binary,
/// where that means compiling their sources, would take longer than the test itself.
pub fn may_run(prefix: &str) -> bool {
    selects(std::env::args().skip(1), prefix)
}

fn selects(arguments: impl Iterator<Item = String>, prefix: &str) -> bool {
    let (flags, names): (Vec<_>, Vec<_>) = arguments.partition(|argument| argument.starts_with('-'));
    !flags.iter().any(|flag| flag == "--exact") || names.iter().any(|name| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::selects;

    #[test]
    fn only_an_exact_name_excludes_tests() {
        let selects = |line: &str| selects(line.split_whitespace().map(str::to_owned), "softmax::");
        assert!(selects(""));
        assert!(selects("--list --format terse"));
        assert!(selects("gather"));
        assert!(selects("--exact softmax::full --nocapture"));
        assert!(!selects("--exact log_softmax::full --nocapture"));
    }
}
