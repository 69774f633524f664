//! Absence is reported by name, or fails the test.

use std::fmt::Display;
use std::io::Write;

use crate::env;

/// Whether `ROCI_REQUIRE` names `what`.
pub fn is_required(what: &str) -> bool {
    env::read(env::REQUIRE).is_some_and(|list| list.split(',').any(|one| one.trim() == what))
}

/// Says something that the reader of a passing run should know.
pub fn note(text: &str) {
    // Straight to the stream: the test harness hides what a passing test prints by macro.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Passes on what was found. Otherwise says on standard error what is absent and gives `None`, for the test to return.
///
/// # Panics
/// If `ROCI_REQUIRE` names `what`, since its absence is then a failure.
pub fn require<T, E: Display>(what: &str, found: Result<T, E>) -> Option<T> {
    match found {
        Ok(found) => Some(found),
        Err(error) => {
            assert!(!is_required(what), "ROCI_REQUIRE names `{what}`, but it is absent: {error}");
            note(&format!("absent: {what}: {error} (set ROCI_REQUIRE={what} to make this a failure)"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_passes() {
        assert_eq!(require("anything", Ok::<_, String>(3)), Some(3));
    }

    #[test]
    fn what_is_absent_and_not_required_is_none() {
        assert_eq!(require::<i32, _>("a tool that nobody requires", Err("not installed")), None);
    }
}
