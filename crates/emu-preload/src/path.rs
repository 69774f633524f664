//! Which paths lead elsewhere, and where to.

use std::ffi::{CStr, c_char};

/// The folder that holds what the driver's files would say.
const FOLDER: &CStr = c"ROCI_EMU_EXEC";
/// The longest path that Linux takes, with the zero at its end.
const LONGEST: usize = 4096;

unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
}

/// Where a path leads.
#[derive(Clone, Copy)]
enum Target {
    /// A file that can be opened and does nothing.
    Null,
    /// This in the folder.
    Inside(&'static [u8], *const c_char),
}

/// Whether the program is one that was started to see other files.
pub(crate) fn is_active() -> bool {
    !folder().is_null()
}

/// The folder's path; null if there is none.
fn folder() -> *const c_char {
    // SAFETY: the name ends with a zero; as every program that reads its environment we trust that no thread changes it now.
    unsafe { getenv(FOLDER.as_ptr()) }
}

/// Calls a function with the path, or with the one that it leads to.
///
/// # Safety
/// The path is null or a string that ends with a zero.
pub(crate) unsafe fn lead<T>(path: *const c_char, call: impl FnOnce(*const c_char) -> T) -> T {
    // SAFETY: the caller's promise.
    match unsafe { target(path) } {
        None => call(path),
        // SAFETY: what is behind the name comes from the path.
        Some(target) => unsafe { lead_elsewhere(path, target, call) },
    }
}

/// Where a path leads, if it is one of ours.
///
/// # Safety
/// The path is null or a string that ends with a zero.
unsafe fn target(path: *const c_char) -> Option<Target> {
    // SAFETY: the caller's promise, here and below.
    let ended = |path: *const c_char| unsafe { path.read() } == 0;
    // SAFETY: see above.
    let behind = |prefix| unsafe { strip(path, prefix) };
    if path.is_null() {
        return None;
    }
    if behind(b"/dev/kfd").is_some_and(ended) {
        return Some(Target::Null);
    }
    if behind(b"/proc/modules").is_some_and(ended) {
        return Some(Target::Inside(b"/modules", c"".as_ptr()));
    }
    let rest = behind(b"/sys/module/amdgpu")?;
    // SAFETY: at most the zero at the end of the path.
    let next = unsafe { rest.read() }.cast_unsigned();
    (next == 0 || next == b'/').then_some(Target::Inside(b"/amdgpu", rest))
}

/// What a string has behind a prefix.
///
/// # Safety
/// It ends with a zero.
unsafe fn strip(text: *const c_char, prefix: &[u8]) -> Option<*const c_char> {
    for (index, &wanted) in prefix.iter().enumerate() {
        // SAFETY: what came before was the prefix, so that the string has not ended yet.
        if unsafe { text.wrapping_add(index).read() }.cast_unsigned() != wanted {
            return None;
        }
    }
    Some(text.wrapping_add(prefix.len()))
}

/// The rare case, with its room for a path.
///
/// # Safety
/// The target's end is a string that ends with a zero.
#[cold]
unsafe fn lead_elsewhere<T>(path: *const c_char, target: Target, call: impl FnOnce(*const c_char) -> T) -> T {
    let folder = folder();
    if folder.is_null() {
        return call(path);
    }
    let (name, rest) = match target {
        Target::Null => return call(c"/dev/null".as_ptr()),
        Target::Inside(name, rest) => (name, rest),
    };
    let mut room = [0u8; LONGEST];
    // SAFETY: the environment's strings end with a zero.
    let end = unsafe { append(&mut room, 0, folder) };
    let end = end.and_then(|end| {
        room.get_mut(end..end + name.len())?.copy_from_slice(name);
        Some(end + name.len())
    });
    // SAFETY: the caller's promise.
    match end.and_then(|end| unsafe { append(&mut room, end, rest) }) {
        Some(_) => call(room.as_ptr().cast()),
        None => call(path),
    }
}

/// Puts a string into the room at a place: where it ends, if a zero still fits behind it.
///
/// # Safety
/// It ends with a zero.
unsafe fn append(room: &mut [u8; LONGEST], mut at: usize, text: *const c_char) -> Option<usize> {
    let mut text = text;
    loop {
        // SAFETY: not behind the zero, where this ends.
        let byte = unsafe { text.read() }.cast_unsigned();
        *room.get_mut(at)? = byte;
        if byte == 0 {
            return Some(at);
        }
        (at, text) = (at + 1, text.wrapping_add(1));
    }
}
