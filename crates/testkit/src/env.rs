//! The environment variables that tests read. They are not read by the program, so its own table does not list them.

/// Comma-separated names of what must be there: its absence fails a test instead of being reported.
pub(crate) const REQUIRE: &str = "ROCI_REQUIRE";
/// Set to `1`, golden tests rewrite their files instead of comparing.
pub(crate) const BLESS: &str = "ROCI_BLESS";
/// Where programs are.
pub(crate) const PATH: &str = "PATH";

#[expect(clippy::disallowed_methods, reason = "the one place where tests read the environment")]
pub(crate) fn read(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Whether golden files shall be rewritten (`ROCI_BLESS=1`) instead of compared.
pub fn bless() -> bool {
    read(BLESS).is_some_and(|value| value == "1")
}
