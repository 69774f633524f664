//! What programs under `roci emu exec` see of a GPU driver that is not there.
//!
//! Loaded into a program by `LD_PRELOAD`, it stands before those functions of libc that take a path. Three paths lead
//! elsewhere: `/dev/kfd` to `/dev/null`, `/proc/modules` and `/sys/module/amdgpu` with all below it to the folder that
//! `ROCI_EMU_EXEC` names. Every other path goes to libc as it came, after a look at its first bytes; without the variable
//! all do. Two requests that the driver's device takes are answered by its stand-in. Nothing here allocates.

#![expect(unsafe_code, reason = "it stands between C programs and libc")]

mod kfd;
mod path;
mod real;

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};

use real::Real;

/// Defines functions of libc that take a path: what comes before it, what comes behind, what they give.
///
/// The file mode that opening a file may take is a variable argument in C. In the calling conventions of Linux it is passed
/// like any other; one that the caller left out is passed on without a look at it.
macro_rules! interpose {
    ($($name:ident [$($before:ident: $before_type:ty),*] [$($behind:ident: $behind_type:ty),*] -> $result:ty;)*) => {$(
        /// Like libc's function of the name, with other files behind some paths.
        ///
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $($before: $before_type,)* path: *const c_char $(, $behind: $behind_type)*
        ) -> $result {
            type Function = unsafe extern "C" fn($($before_type,)* *const c_char $(, $behind_type)*) -> $result;
            static REAL: Real = Real::new(match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name has no zeros"),
            });
            let Some(real) = REAL.find() else { return real::missing() };
            // SAFETY: libc's function of this name has this type.
            let real = unsafe { std::mem::transmute::<*mut c_void, Function>(real) };
            // SAFETY: the caller's promise; only the path may be another one, of a string that lives as long as the call.
            let call = |path| unsafe { real($($before,)* path $(, $behind)*) };
            // SAFETY: libc wants a string that ends with a zero, or null.
            unsafe { path::lead(path, call) }
        }
    )*};
}

interpose! {
    open [] [flags: c_int, mode: c_uint] -> c_int;
    open64 [] [flags: c_int, mode: c_uint] -> c_int;
    openat [folder: c_int] [flags: c_int, mode: c_uint] -> c_int;
    openat64 [folder: c_int] [flags: c_int, mode: c_uint] -> c_int;
    // What `_FORTIFY_SOURCE` makes of those.
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
    // What programs that were linked with a glibc before 2.33 call.
    __xstat [version: c_int] [buffer: *mut c_void] -> c_int;
    __xstat64 [version: c_int] [buffer: *mut c_void] -> c_int;
    __lxstat [version: c_int] [buffer: *mut c_void] -> c_int;
    __lxstat64 [version: c_int] [buffer: *mut c_void] -> c_int;
    __fxstatat [version: c_int, folder: c_int] [buffer: *mut c_void, flags: c_int] -> c_int;
    __fxstatat64 [version: c_int, folder: c_int] [buffer: *mut c_void, flags: c_int] -> c_int;
}

/// Like libc's function of the name, with answers of a driver that is not there. Its last argument is a variable one in C,
/// which is passed like any other.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioctl(file: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    type Function = unsafe extern "C" fn(c_int, c_ulong, *mut c_void) -> c_int;
    static REAL: Real = Real::new(c"ioctl");
    // SAFETY: the caller's promise.
    if let Some(answer) = unsafe { kfd::answer(file, request, argument) } {
        return answer;
    }
    let Some(real) = REAL.find() else { return real::missing() };
    // SAFETY: libc's function takes its arguments so, however many the request has.
    let real = unsafe { std::mem::transmute::<*mut c_void, Function>(real) };
    // SAFETY: the caller's promise.
    unsafe { real(file, request, argument) }
}
