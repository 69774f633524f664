//! Why a module cannot be written as OpenCL C, with the line of the WGSL that says so.

use naga::Span;

/// Why a module cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A construct outside what the writer, or this target, can express.
    #[error("`{construct}` {reason}{}", at(*line))]
    Unsupported {
        /// The construct as WGSL spells it.
        construct: String,
        /// Why it cannot be had, as the rest of the sentence.
        reason: String,
        /// The line in the source, where known.
        line: Option<u32>,
    },
    /// An `override` that was not given its value before writing.
    #[error("override `{name}` must be resolved before writing{}", at(*line))]
    Override {
        /// Its name.
        name: String,
        /// The line in the source, where known.
        line: Option<u32>,
    },
    /// The module is not what validation would let through.
    #[error("the module is inconsistent: {0}")]
    Invalid(String),
}

fn at(line: Option<u32>) -> String {
    line.map(|line| format!(" (line {line})")).unwrap_or_default()
}

/// The line a span starts on; none without source, or where the span does not fit the source.
pub(super) fn line_of(source: Option<&str>, span: Span) -> Option<u32> {
    let start = span.to_range()?.start;
    let before = source?.as_bytes().get(..start)?;
    u32::try_from(before.iter().filter(|&&byte| byte == b'\n').count() + 1).ok()
}

/// The usual reason.
pub(super) const OUTSIDE: &str = "is not part of the compute subset";
