//! Strings from C.

#![expect(unsafe_code, reason = "reads a string by pointer")]

use std::ffi::{CStr, c_char};

/// Copies a string; `None` for null. Invalid UTF-8 is replaced.
///
/// # Safety
/// `string` is null or a NUL-terminated string that does not change during the call.
pub(crate) unsafe fn copy(string: *const c_char) -> Option<String> {
    if string.is_null() {
        return None;
    }
    #[expect(clippy::disallowed_methods, reason = "the unbound lifetime ends in this expression")]
    // SAFETY: not null, so the caller guarantees a NUL-terminated string.
    let string = unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned();
    Some(string)
}

/// The string in a byte array: up to the first NUL, trimmed, with invalid UTF-8 replaced.
pub(crate) fn from_bytes(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_copied_up_to_their_nul() {
        assert_eq!(from_bytes(b"gfx1010 \0rest"), "gfx1010");
        assert_eq!(from_bytes(b"full"), "full");
        assert_eq!(from_bytes(b"\xff\0"), "\u{fffd}");
        // SAFETY: a C string literal.
        assert_eq!(unsafe { copy(c"text".as_ptr()) }.as_deref(), Some("text"));
        // SAFETY: null is allowed.
        assert_eq!(unsafe { copy(std::ptr::null()) }, None);
    }
}
