//! Absence is reported by name, or fails the test.

use std::fmt::Display;
use std::io::Write;

use crate::env;
use crate::skipped::{here, skipped};

/// All that `ROCI_REQUIRE` may name: what tests need from outside, then the drivers whose devices they open.
pub const KNOWN: &[&str] = &[
    "clang",
    "hipcc",
    "hsa-headers",
    "kubectl",
    "libhsa",
    "lld-22",
    "llvm-22",
    "pocl",
    "podman",
    "rocminfo",
    "rocsparse",
    "slurm",
    "spirv-val",
    "tsan",
    "userfaultfd",
    "amdgpu",
    "cpu",
    "emu",
    "null",
    "opencl",
    "rusticl",
    "vulkan",
];

/// Whether `ROCI_REQUIRE` names `what`.
///
/// # Panics
/// If `ROCI_REQUIRE` names something unknown: a requirement with a typing error would never be enforced.
pub fn is_required(what: &str) -> bool {
    let list = env::read(env::REQUIRE).unwrap_or_default();
    match names(&list) {
        Ok(names) => names.contains(&what),
        Err(error) => panic!("{error}"),
    }
}

/// The names of a comma-separated list, all of them known.
fn names(list: &str) -> Result<Vec<&str>, String> {
    let names: Vec<_> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    match names.iter().find(|name| !KNOWN.contains(name)) {
        Some(unknown) => Err(format!("ROCI_REQUIRE names `{unknown}`; it may name {}", KNOWN.join(", "))),
        None => Ok(names),
    }
}

/// Says something that the reader of a passing run may want to know. What is not there is said by [`absent`](crate::absent) instead.
pub fn note(text: &str) {
    // Straight to the stream: the test harness hides what a passing test prints by macro.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Passes on what was found. Otherwise says what is absent, on standard error and by [`skipped`], and gives `None`, for the
/// test to return.
///
/// # Panics
/// If `ROCI_REQUIRE` names `what`, since its absence is then a failure; if it names something unknown; and if `what` is
/// not in [`KNOWN`], since nobody could then require it.
pub fn require<T, E: Display>(what: &str, found: Result<T, E>) -> Option<T> {
    assert!(KNOWN.contains(&what), "`{what}` is not in roci_testkit::KNOWN, so that ROCI_REQUIRE cannot name it");
    // Asked also of what is there: a typing error must show on a machine that has everything.
    let required = is_required(what);
    match found {
        Ok(found) => Some(found),
        Err(error) => {
            assert!(!required, "ROCI_REQUIRE names `{what}`, but it is absent: {error}");
            note(&format!("absent: {what}: {error} (set ROCI_REQUIRE={what} to make this a failure)"));
            skipped(&here(), &format!("{what}: {error}"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_passes() {
        assert_eq!(require("null", Ok::<_, String>(3)), Some(3));
    }

    #[test]
    #[should_panic(expected = "not in roci_testkit::KNOWN")]
    fn what_nobody_could_require_is_refused() {
        require("a toaster", Ok::<_, String>(3));
    }

    #[test]
    fn a_list_is_read_and_its_typing_errors_are_refused_with_what_is_known() {
        assert_eq!(names(""), Ok(vec![]));
        assert_eq!(names(" clang, pocl,,spirv-val"), Ok(vec!["clang", "pocl", "spirv-val"]));
        let error = names("clang,pcol").expect_err("a typing error");
        assert!(
            error.starts_with("ROCI_REQUIRE names `pcol`; it may name clang, ") && error.contains(" pocl,"),
            "{error}"
        );
    }

    #[test]
    fn the_test_script_knows_the_same_names() {
        let script = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../test")).expect("it is there");
        let list = script.lines().find_map(|line| line.strip_prefix("known=(")?.strip_suffix(')'));
        assert_eq!(list.expect("a line `known=(…)`").split(' ').collect::<Vec<_>>(), KNOWN);
    }
}
