//! Redirected paths.

use std::ffi::{CStr, c_char};

/// Environment variable with the directory of the simulated files.
const DIRECTORY: &CStr = c"ROCI_EMU_EXEC";
/// Maximum bytes of a path on Linux, with the NUL.
const PATH_MAX: usize = 4096;

unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
}

/// Target of a redirected path.
#[derive(Clone, Copy)]
enum Target {
    /// `/dev/null`.
    Null,
    /// A name in the directory, and the rest of the path.
    Inside(&'static [u8], *const c_char),
}

/// Whether redirection is enabled, by `roci emu exec`.
pub(crate) fn is_active() -> bool {
    !directory().is_null()
}

/// Path of the directory; null if the variable is not set.
fn directory() -> *const c_char {
    // SAFETY: the name is NUL-terminated; programs must not modify the environment while other
    // threads use it.
    unsafe { getenv(DIRECTORY.as_ptr()) }
}

/// Calls a function with the path or its redirection.
///
/// # Safety
/// The path is null or a NUL-terminated string.
pub(crate) unsafe fn redirect<T>(path: *const c_char, call: impl FnOnce(*const c_char) -> T) -> T {
    // SAFETY: the caller upholds the same contract.
    match unsafe { target(path) } {
        None => call(path),
        // SAFETY: the rest of the target is a suffix of the path.
        Some(target) => unsafe { redirect_to(path, target, call) },
    }
}

/// Target of a path; `None` if it is not redirected.
///
/// # Safety
/// The path is null or a NUL-terminated string.
unsafe fn target(path: *const c_char) -> Option<Target> {
    // SAFETY: not null, so the caller guarantees a NUL-terminated string, here and below.
    let ended = |path: *const c_char| unsafe { path.read() } == 0;
    // SAFETY: see above.
    let after = |prefix| unsafe { strip(path, prefix) };
    if path.is_null() {
        return None;
    }
    if after(b"/dev/kfd").is_some_and(ended) {
        return Some(Target::Null);
    }
    if after(b"/proc/modules").is_some_and(ended) {
        return Some(Target::Inside(b"/modules", c"".as_ptr()));
    }
    let rest = after(b"/sys/module/amdgpu")?;
    // SAFETY: `rest` points at most to the NUL of the path.
    let next = unsafe { rest.read() }.cast_unsigned();
    (next == 0 || next == b'/').then_some(Target::Inside(b"/amdgpu", rest))
}

/// Strips a prefix from a string.
///
/// # Safety
/// The string is NUL-terminated.
unsafe fn strip(string: *const c_char, prefix: &[u8]) -> Option<*const c_char> {
    for (index, &expected) in prefix.iter().enumerate() {
        // SAFETY: all bytes before matched the prefix, so none of them was the NUL.
        if unsafe { string.wrapping_add(index).read() }.cast_unsigned() != expected {
            return None;
        }
    }
    Some(string.wrapping_add(prefix.len()))
}

/// Calls a function with the path of a target. Separate and cold, so that the common case has no
/// path buffer on its stack.
///
/// # Safety
/// The rest in `target` is NUL-terminated.
#[cold]
unsafe fn redirect_to<T>(path: *const c_char, target: Target, call: impl FnOnce(*const c_char) -> T) -> T {
    let directory = directory();
    if directory.is_null() {
        return call(path);
    }
    let (name, rest) = match target {
        Target::Null => return call(c"/dev/null".as_ptr()),
        Target::Inside(name, rest) => (name, rest),
    };
    let mut buffer = [0u8; PATH_MAX];
    // SAFETY: strings of the environment are NUL-terminated.
    let end = unsafe { append(&mut buffer, 0, directory) };
    let end = end.and_then(|end| {
        buffer.get_mut(end..end + name.len())?.copy_from_slice(name);
        Some(end + name.len())
    });
    // SAFETY: the caller upholds the same contract.
    match end.and_then(|end| unsafe { append(&mut buffer, end, rest) }) {
        Some(_) => call(buffer.as_ptr().cast()),
        None => call(path),
    }
}

/// Writes a string with its NUL to the buffer at an offset and returns the offset of the NUL;
/// `None` if it does not fit.
///
/// # Safety
/// The string is NUL-terminated.
unsafe fn append(buffer: &mut [u8; PATH_MAX], mut offset: usize, string: *const c_char) -> Option<usize> {
    let mut string = string;
    loop {
        // SAFETY: the loop ends at the NUL.
        let byte = unsafe { string.read() }.cast_unsigned();
        *buffer.get_mut(offset)? = byte;
        if byte == 0 {
            return Some(offset);
        }
        (offset, string) = (offset + 1, string.wrapping_add(1));
    }
}
