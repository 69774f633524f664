//! Logs that users pass to `roci doctor --log`.

use std::sync::LazyLock;

use roci_doctor::{Conclusion, LogReader, RuleSet};

static DOCTOR: LazyLock<Result<(LogReader, RuleSet), String>> =
    LazyLock::new(|| Ok((LogReader::new()?, RuleSet::builtin().map_err(|error| error.to_string())?)));

/// Decodes a log and draws conclusions from it.
pub fn target(data: &[u8]) {
    let (reader, rule_set) = DOCTOR.as_ref().expect("the built-in rules are valid");
    let _ = Conclusion::of(reader, rule_set, &LogReader::decode(data));
}
