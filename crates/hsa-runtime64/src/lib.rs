//! `libhsa-runtime64.so.1` on emulated GPUs: every function of the C interface under its name and version.

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
