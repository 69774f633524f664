//! Assertions that return a failure with a message.

use std::fmt::Debug;

use roci_base::Hint;
use roci_hal::Error;

use crate::case::{CaseResult, Failure};

/// Asserts a condition.
pub(crate) fn holds(condition: bool, otherwise: impl Into<String>) -> CaseResult {
    if condition { Ok(()) } else { Err(Failure::Wrong(otherwise.into())) }
}

/// Asserts that two values are equal.
pub(crate) fn equal<T: PartialEq + Debug>(what: &str, got: T, expected: T) -> CaseResult {
    holds(got == expected, format!("{what}: got {got:?}, expected {expected:?}"))
}

/// Asserts that two sequences are equal. Reports the first difference instead of printing both.
pub(crate) fn same<T: PartialEq + Debug>(what: &str, got: &[T], expected: &[T]) -> CaseResult {
    equal(&format!("{what}, length"), got.len(), expected.len())?;
    match got.iter().zip(expected).position(|(got, expected)| got != expected) {
        None => Ok(()),
        Some(at) => Err(Failure::Wrong(format!("{what}: element {at} is {:?}, expected {:?}", got[at], expected[at]))),
    }
}

/// Asserts that a call is rejected as invalid, with these words in the message and a hint.
pub(crate) fn refused<T>(result: Result<T, Error>, words: &[&str]) -> CaseResult {
    match result {
        Ok(_) => Err(Failure::Wrong(format!("was accepted, expected an error with {words:?}"))),
        Err(error @ Error::Invalid { .. }) => {
            holds(error.hint().is_some_and(|hint| !hint.is_empty()), format!("{error}: has no hint"))?;
            mentions(&error, words)
        }
        Err(error) => Err(Failure::Wrong(format!("failed with {error:?}, expected an invalid call with {words:?}"))),
    }
}

/// Asserts that an error message contains these words.
pub(crate) fn mentions(error: &Error, words: &[&str]) -> CaseResult {
    let text = error.to_string();
    match words.iter().find(|word| !text.contains(**word)) {
        None => Ok(()),
        Some(word) => Err(Failure::Wrong(format!("the error should mention `{word}`: {text}"))),
    }
}

/// Asserts that the device is lost, with these words in the message.
pub(crate) fn lost<T>(result: Result<T, Error>, words: &[&str]) -> CaseResult {
    match result {
        Ok(_) => Err(Failure::Wrong("worked on a device that should be lost".into())),
        Err(error @ Error::Lost(_)) => mentions(&error, words),
        Err(error) => Err(Failure::Wrong(format!("failed with {error:?}, expected a lost device"))),
    }
}

/// Reinterprets bytes as words.
pub(crate) fn words_of(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|word| u32::from_ne_bytes(*word)).collect()
}
