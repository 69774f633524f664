//! Simulates the files of the `amdgpu` kernel driver for programs under `roci emu exec`.
//!
//! The library is loaded with `LD_PRELOAD` and interposes the libc functions that take a path. It
//! redirects three paths: `/dev/kfd` to `/dev/null`; `/proc/modules` and everything under
//! `/sys/module/amdgpu` to the directory in `ROCI_EMU_EXEC`. All other paths are passed on
//! unchanged, as are all paths without the variable. Two ioctls of `/dev/kfd` are emulated. Nothing
//! here allocates.

#![expect(unsafe_code, reason = "interposes libc functions")]

mod kfd;
mod path;
mod real;

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};

use real::LibcFunction;

/// Defines libc functions that take a path: name, arguments before the path, arguments after it,
/// result.
///
/// The file mode of `open` is a variadic argument in C. The calling conventions of Linux pass it
/// like a named one; if the caller omits it, an unspecified value is passed on and ignored.
macro_rules! interpose {
    ($($name:ident [$($first:ident: $first_type:ty),*] [$($last:ident: $last_type:ty),*] -> $result:ty;)*) => {$(
        /// The libc function with redirected paths.
        ///
        /// # Safety
        /// The caller upholds the safety contract of the libc function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $($first: $first_type,)* path: *const c_char $(, $last: $last_type)*
        ) -> $result {
            type Function = unsafe extern "C" fn($($first_type,)* *const c_char $(, $last_type)*) -> $result;
            static REAL: LibcFunction = LibcFunction::new(match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("the name contains a NUL"),
            });
            let Some(real) = REAL.find() else { return real::missing() };
            // SAFETY: the type is that of the libc function with this name.
            let real = unsafe { std::mem::transmute::<*mut c_void, Function>(real) };
            // SAFETY: the caller upholds the contract of libc; a replaced path is a string that
            // lives during the call.
            let call = |path| unsafe { real($($first,)* path $(, $last)*) };
            // SAFETY: the caller passes null or a NUL-terminated string, as libc requires.
            unsafe { path::redirect(path, call) }
        }
    )*};
}

interpose! {
    open [] [flags: c_int, mode: c_uint] -> c_int;
    open64 [] [flags: c_int, mode: c_uint] -> c_int;
    openat [folder: c_int] [flags: c_int, mode: c_uint] -> c_int;
    openat64 [folder: c_int] [flags: c_int, mode: c_uint] -> c_int;
    // Variants for `_FORTIFY_SOURCE`.
    __open_2 [] [flags: c_int] -> c_int;
    __open64_2 [] [flags: c_int] -> c_int;
    __openat_2 [folder: c_int] [flags: c_int] -> c_int;
    __openat64_2 [folder: c_int] [flags: c_int] -> c_int;
    fopen [] [mode: *const c_char] -> *mut c_void;
    fopen64 [] [mode: *const c_char] -> *mut c_void;
    opendir [] [] -> *mut c_void;
    access [] [mode: c_int] -> c_int;
    faccessat [folder: c_int] [mode: c_int, flags: c_int] -> c_int;
    stat [] [buffer: *mut c_void] -> c_int;
    stat64 [] [buffer: *mut c_void] -> c_int;
    lstat [] [buffer: *mut c_void] -> c_int;
    lstat64 [] [buffer: *mut c_void] -> c_int;
    fstatat [folder: c_int] [buffer: *mut c_void, flags: c_int] -> c_int;
    fstatat64 [folder: c_int] [buffer: *mut c_void, flags: c_int] -> c_int;
    statx [folder: c_int] [flags: c_int, mask: c_uint, buffer: *mut c_void] -> c_int;
    // For programs that were linked with glibc before 2.33.
    __xstat [version: c_int] [buffer: *mut c_void] -> c_int;
    __xstat64 [version: c_int] [buffer: *mut c_void] -> c_int;
    __lxstat [version: c_int] [buffer: *mut c_void] -> c_int;
    __lxstat64 [version: c_int] [buffer: *mut c_void] -> c_int;
    __fxstatat [version: c_int, folder: c_int] [buffer: *mut c_void, flags: c_int] -> c_int;
    __fxstatat64 [version: c_int, folder: c_int] [buffer: *mut c_void, flags: c_int] -> c_int;
}

/// The libc function with emulated requests of `/dev/kfd`. Its last argument is variadic in C,
/// which is passed like a named one.
///
/// # Safety
/// The caller upholds the safety contract of the libc function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioctl(file: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    type Function = unsafe extern "C" fn(c_int, c_ulong, *mut c_void) -> c_int;
    static REAL: LibcFunction = LibcFunction::new(c"ioctl");
    // SAFETY: the caller upholds the contract of `ioctl`.
    if let Some(result) = unsafe { kfd::ioctl(file, request, argument) } {
        return result;
    }
    let Some(real) = REAL.find() else { return real::missing() };
    // SAFETY: variadic arguments are passed like named ones, so the type is that of the libc
    // function.
    let real = unsafe { std::mem::transmute::<*mut c_void, Function>(real) };
    // SAFETY: the caller upholds the contract of `ioctl`.
    unsafe { real(file, request, argument) }
}
