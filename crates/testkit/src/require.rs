//! Missing tools and devices are reported by name, or fail the test.

use std::fmt::Display;
use std::io::Write;

use crate::env;
use crate::skipped::{here, skipped};

/// The names that `ROCI_REQUIRE` accepts: external tools, then the drivers whose devices tests
/// open.
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
    "python3",
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
/// If `ROCI_REQUIRE` contains an unknown name: a requirement with a typo would never be enforced.
pub fn is_required(what: &str) -> bool {
    let list = env::read(env::REQUIRE).unwrap_or_default();
    match names(&list) {
        Ok(names) => names.contains(&what),
        Err(error) => panic!("{error}"),
    }
}

/// Splits a comma-separated list. An error if a name is not in [`KNOWN`].
fn names(list: &str) -> Result<Vec<&str>, String> {
    let names: Vec<_> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    match names.iter().find(|name| !KNOWN.contains(name)) {
        Some(unknown) => Err(format!("ROCI_REQUIRE names `{unknown}`; it may name {}", KNOWN.join(", "))),
        None => Ok(names),
    }
}

/// Prints a note about a test that passes. For something missing, use [`absent`](crate::absent).
pub fn note(text: &str) {
    // Bypasses the test harness, which captures the `eprintln!` output of passing tests.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Returns what was found. If it is missing, reports that on standard error and with [`skipped`],
/// and returns `None`; the test should then return.
///
/// # Panics
/// If `ROCI_REQUIRE` names `what` and it is missing, if `ROCI_REQUIRE` contains an unknown name,
/// or if `what` is not in [`KNOWN`], because it could then never be required.
pub fn require<T, E: Display>(what: &str, found: Result<T, E>) -> Option<T> {
    assert!(KNOWN.contains(&what), "`{what}` is not in roci_testkit::KNOWN, so that ROCI_REQUIRE cannot name it");
    // Checked even if nothing is missing: a typo must show on a machine that has everything.
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
    fn available_tools_pass() {
        assert_eq!(require("null", Ok::<_, String>(3)), Some(3));
    }

    #[test]
    #[should_panic(expected = "not in roci_testkit::KNOWN")]
    fn unknown_names_are_refused() {
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
        let script = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../test")).expect("it exists");
        let list = script.lines().find_map(|line| line.strip_prefix("known=(")?.strip_suffix(')'));
        assert_eq!(list.expect("a line `known=(…)`").split(' ').collect::<Vec<_>>(), KNOWN);
    }
}
