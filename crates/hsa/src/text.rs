//! Text that C hands out.

#![expect(unsafe_code, reason = "reads text at an address")]

use std::ffi::{CStr, c_char};

/// A copy of the text at `text`, or `None` for null. What is not Unicode is replaced.
///
/// # Safety
/// `text` is null, or points to bytes that end with a zero and do not change during the call.
pub(crate) unsafe fn copy(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    #[expect(clippy::disallowed_methods, reason = "the unbound lifetime ends in this expression")]
    // SAFETY: the caller promises a zero at the end, and no change while this reads.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    Some(text)
}

/// The text in a fixed array of bytes: up to the first zero, trimmed, what is not Unicode replaced.
pub(crate) fn from_bytes(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_copied_up_to_its_zero() {
        assert_eq!(from_bytes(b"gfx1010 \0rest"), "gfx1010");
        assert_eq!(from_bytes(b"full"), "full");
        assert_eq!(from_bytes(b"\xff\0"), "\u{fffd}");
        // SAFETY: a literal with a zero.
        assert_eq!(unsafe { copy(c"text".as_ptr()) }.as_deref(), Some("text"));
        // SAFETY: null is allowed.
        assert_eq!(unsafe { copy(std::ptr::null()) }, None);
    }
}
