//! Words that diagnosis needs: those of the built-in rules and patterns.

use std::sync::LazyLock;

use crate::rules::builtin_texts;

/// Short words of kernel messages that no rule has.
const MORE: &str = "desktop session timeout address memory device kernel process thread buffer";

/// All words in lower case, without addresses of web pages.
static WORDS: LazyLock<String> = LazyLock::new(|| {
    let words = builtin_texts().flat_map(str::split_whitespace).filter(|word| !word.contains("://"));
    let mut all = words.chain([MORE]).collect::<Vec<_>>().join(" ");
    all.make_ascii_lowercase();
    all
});

/// Whether a name is a common word, or a part of one.
pub(crate) fn is_common(name: &str) -> bool {
    WORDS.contains(&name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_messages_are_common_and_names_are_not() {
        assert!(is_common("tim") && is_common("Ring") && is_common("user") && is_common("amd"));
        assert!(!is_common("naomi") && !is_common("ceres") && !is_common("amos"));
    }
}
