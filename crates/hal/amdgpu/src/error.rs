//! Errors of HSA as errors of the HAL.

use roci_hal::Error;

/// An [`Error::Unavailable`] with a generic hint.
pub(crate) fn unavailable(what: &str, reason: impl std::fmt::Display) -> Error {
    Error::Unavailable {
        what: what.to_owned(),
        reason: reason.to_string(),
        hint: "`roci devices` shows what each driver finds".to_owned(),
    }
}

/// Converts an HSA error.
pub(crate) fn failed(error: roci_hsa::Error) -> Error {
    let hint = error.remedy().unwrap_or_else(|| "`roci devices` shows what each driver finds".to_owned());
    Error::Unavailable { what: "the AMD GPU".to_owned(), reason: error.to_string(), hint }
}
