//! `libhsa-runtime64.so.1` on emulated GPUs: every function of the C interface under its names and version.

#![expect(unsafe_code, reason = "symbols are exported to C")]

use std::sync::LazyLock;

use roci_hsa::{Api, abi::*};

static API: LazyLock<Api> = LazyLock::new(roci_emu_hsa::api);

/// Calls a function of the table; the emulated runtime has all of them.
macro_rules! call {
    (required $name:ident($($argument:ident),*)) => {
        // SAFETY: C's promises are handed on.
        unsafe { (API.$name)($($argument),*) }
    };
    (optional $name:ident($($argument:ident),*)) => {
        match API.$name {
            // SAFETY: C's promises are handed on.
            Some(function) => unsafe { function($($argument),*) },
            None => std::process::abort(),
        }
    };
    (additional $name:ident($($argument:ident),*)) => {
        // SAFETY: C's promises are handed on.
        unsafe { (roci_emu_hsa::ADDITIONAL.$name)($($argument),*) }
    };
}

/// Exports a function for each row. A symbol with a version cannot be defined under its own name: it is another name for one
/// that is.
macro_rules! export {
    ($($need:ident fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        #[unsafe(export_name = concat!("roci_", stringify!($name)))]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            call!($need $name($($argument),*))
        }
        std::arch::global_asm!(concat!(".symver roci_", stringify!($name), ", ", stringify!($name), "@@ROCR_1"));
    )*};
}
roci_hsa::for_each_function!(export);
roci_hsa::for_each_additional_function!(export);

/// Exports older names of functions that are exported.
macro_rules! export_old_names {
    ($($old:ident = $new:ident;)*) => {$(
        std::arch::global_asm!(concat!(".symver roci_", stringify!($new), ", ", stringify!($old), "@@ROCR_1"));
    )*};
}
roci_hsa::for_each_old_name!(export_old_names);

/// Where debuggers look for loaded code: `struct r_debug` of `link.h`. The list is empty, since a debugger of GPU code has no
/// kernel driver to ask about waves here.
#[repr(C)]
struct LoadedCode {
    version: c_int,
    map: *const c_void,
    breakpoint: usize,
    state: c_int,
    base: usize,
}

// SAFETY: nothing changes it.
unsafe impl Sync for LoadedCode {}

/// The version of the list that AMD's library writes.
const LIST_VERSION: c_int = 10;

#[unsafe(export_name = "roci_amdgpu_r_debug")]
static LOADED_CODE: LoadedCode =
    LoadedCode { version: LIST_VERSION, map: std::ptr::null(), breakpoint: 0, state: 0, base: 0 };
std::arch::global_asm!(".symver roci_amdgpu_r_debug, _amdgpu_r_debug@@ROCR_1");
