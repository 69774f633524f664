//! Statements about results, as functions that say what was wrong.

use std::fmt::Debug;

use roci_hal::{Error, Hint};

use crate::case::{CaseResult, Failure};

/// Something must hold.
pub(crate) fn holds(condition: bool, otherwise: impl Into<String>) -> CaseResult {
    if condition { Ok(()) } else { Err(Failure::Wrong(otherwise.into())) }
}

/// Two values must be equal.
pub(crate) fn equal<T: PartialEq + Debug>(what: &str, got: T, wanted: T) -> CaseResult {
    holds(got == wanted, format!("{what}: got {got:?}, wanted {wanted:?}"))
}

/// Two sequences must be equal; says where they first differ instead of printing both.
pub(crate) fn same<T: PartialEq + Debug>(what: &str, got: &[T], wanted: &[T]) -> CaseResult {
    equal(&format!("{what}, length"), got.len(), wanted.len())?;
    match got.iter().zip(wanted).position(|(got, wanted)| got != wanted) {
        None => Ok(()),
        Some(at) => Err(Failure::Wrong(format!("{what}: element {at} is {:?}, wanted {:?}", got[at], wanted[at]))),
    }
}

/// A call must be refused as invalid, with these words in its message and advice behind it.
pub(crate) fn refused<T>(result: Result<T, Error>, words: &[&str]) -> CaseResult {
    match result {
        Ok(_) => Err(Failure::Wrong(format!("was accepted, wanted a refusal with {words:?}"))),
        Err(error @ Error::Invalid { .. }) => {
            holds(error.hint().is_some_and(|hint| !hint.is_empty()), format!("{error}: says nothing of what to do"))?;
            mentions(&error, words)
        }
        Err(error) => Err(Failure::Wrong(format!("failed with {error:?}, wanted a refusal with {words:?}"))),
    }
}

/// An error must have these words in its message.
pub(crate) fn mentions(error: &Error, words: &[&str]) -> CaseResult {
    let text = error.to_string();
    match words.iter().find(|word| !text.contains(**word)) {
        None => Ok(()),
        Some(word) => Err(Failure::Wrong(format!("the error should mention `{word}`: {text}"))),
    }
}

/// The device must be lost, with these words in the message.
pub(crate) fn lost<T>(result: Result<T, Error>, words: &[&str]) -> CaseResult {
    match result {
        Ok(_) => Err(Failure::Wrong("worked on a device that should be lost".into())),
        Err(error @ Error::Lost(_)) => mentions(&error, words),
        Err(error) => Err(Failure::Wrong(format!("failed with {error:?}, wanted a lost device"))),
    }
}

/// Bytes as words.
pub(crate) fn words_of(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|word| u32::from_ne_bytes(*word)).collect()
}
