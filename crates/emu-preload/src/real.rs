//! The functions of libc that ours stand before.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// `RTLD_NEXT`: look only in what was loaded after us.
const NEXT: *mut c_void = std::ptr::without_provenance_mut(usize::MAX);
/// The error number of a function that is not there.
const ENOSYS: c_int = 38;

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    safe fn __errno_location() -> *mut c_int;
}

/// A function that is looked for once.
pub(crate) struct Real {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Real {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Its address, if this libc has it.
    pub(crate) fn find(&self) -> Option<*mut c_void> {
        // Two threads that look at once find the same.
        let mut address = self.address.load(Ordering::Relaxed);
        if address.is_null() {
            // SAFETY: the name is a string that ends with a zero.
            address = unsafe { dlsym(NEXT, self.name.as_ptr()) };
            self.address.store(address, Ordering::Relaxed);
        }
        (!address.is_null()).then_some(address)
    }
}

/// What libc's functions give when they fail.
pub(crate) trait Failed {
    const FAILED: Self;
}

impl Failed for c_int {
    const FAILED: Self = -1;
}

impl Failed for *mut c_void {
    const FAILED: Self = std::ptr::null_mut();
}

/// Fails as a function does that this libc does not have.
pub(crate) fn missing<T: Failed>() -> T {
    fail(ENOSYS)
}

/// Fails with an error number.
pub(crate) fn fail<T: Failed>(error: c_int) -> T {
    // SAFETY: this thread's own error number, always there.
    unsafe { __errno_location().write(error) };
    T::FAILED
}
