//! The interposed libc functions.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Searches only libraries that were loaded after this one.
const RTLD_NEXT: *mut c_void = std::ptr::without_provenance_mut(usize::MAX);
const ENOSYS: c_int = 38;

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    safe fn __errno_location() -> *mut c_int;
}

/// A libc function, looked up on first use.
pub(crate) struct LibcFunction {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl LibcFunction {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Address of the function; `None` if this libc lacks it.
    pub(crate) fn find(&self) -> Option<*mut c_void> {
        // Concurrent lookups find the same address.
        let mut address = self.address.load(Ordering::Relaxed);
        if address.is_null() {
            // SAFETY: the name is NUL-terminated.
            address = unsafe { dlsym(RTLD_NEXT, self.name.as_ptr()) };
            self.address.store(address, Ordering::Relaxed);
        }
        (!address.is_null()).then_some(address)
    }
}

/// Result of a libc function on failure.
pub(crate) trait FailureValue {
    const FAILED: Self;
}

impl FailureValue for c_int {
    const FAILED: Self = -1;
}

impl FailureValue for *mut c_void {
    const FAILED: Self = std::ptr::null_mut();
}

/// Fails with `ENOSYS`, for a function that this libc lacks.
pub(crate) fn missing<T: FailureValue>() -> T {
    fail(ENOSYS)
}

/// Sets `errno` and returns the failure value.
pub(crate) fn fail<T: FailureValue>(error: c_int) -> T {
    // SAFETY: libc returns a valid pointer to `errno` of this thread.
    unsafe { __errno_location().write(error) };
    T::FAILED
}
