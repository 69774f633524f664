//! Errors of the OpenCL C writer, with the line of the WGSL source that causes them.

use naga::Span;

/// Why a module cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A construct that the writer or the target does not support.
    #[error("`{construct}` {reason}{}", at(*line))]
    Unsupported {
        /// The construct as WGSL spells it.
        construct: String,
        /// Why it is not supported; completes the sentence that starts with the construct.
        reason: String,
        /// Line in the source, if known.
        line: Option<u32>,
    },
    /// An `override` that was not resolved before writing.
    #[error("override `{name}` must be resolved before writing{}", at(*line))]
    Override {
        /// Name of the override.
        name: String,
        /// Line in the source, if known.
        line: Option<u32>,
    },
    /// The module would not pass naga's validation.
    #[error("the module is inconsistent: {0}")]
    Invalid(String),
}

fn at(line: Option<u32>) -> String {
    line.map(|line| format!(" (line {line})")).unwrap_or_default()
}

/// The line a span starts on; `None` without source text or if the span is out of its range.
pub(super) fn line_of(source: Option<&str>, span: Span) -> Option<u32> {
    let start = span.to_range()?.start;
    let before = source?.as_bytes().get(..start)?;
    u32::try_from(before.iter().filter(|&&byte| byte == b'\n').count() + 1).ok()
}

/// The most common reason.
pub(super) const OUTSIDE: &str = "is not supported in compute kernels";
